//! The two readings of Banavar 2005's factors PI and PT.

use fairpath::schedule::Weighting;

/// Where the factors are from. PA is the same in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factors {
    /// Appendix B, the code that the thesis measured: PI is the accumulated minus the acknowledged
    /// error, PT the time since the last acknowledgement.
    Coded,
    /// Section 3.4.1: PI is the error since the DR vector that the receiver follows was generated,
    /// PT the time since the last send.
    Text,
}

impl Factors {
    pub(super) const BOTH: [Self; 2] = [Self::Coded, Self::Text];

    /// The five weightings of the thesis. PA = 1 is the same in both readings.
    pub(super) fn weightings(self) -> [Weighting; 5] {
        Weighting::ALL.map(|weighting| match self {
            Self::Coded if weighting != Weighting::ACCUMULATED => weighting.as_coded(),
            _ => weighting,
        })
    }

    /// The weighting by the instantaneous error alone.
    pub(super) fn instantaneous(self) -> Weighting {
        match self {
            Self::Coded => Weighting::INSTANTANEOUS.as_coded(),
            Self::Text => Weighting::INSTANTANEOUS,
        }
    }

    /// At the end of claim ids.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Coded => "",
            Self::Text => "-text",
        }
    }

    /// At the end of claims.
    pub(super) fn shown(self) -> &'static str {
        match self {
            Self::Coded => "PI and PT as in the code of Appendix B",
            Self::Text => "PI and PT as in the text",
        }
    }
}

/// Every weighting of both readings, once.
pub(super) fn all_weightings() -> impl Iterator<Item = Weighting> {
    let [coded, text] = Factors::BOTH.map(Factors::weightings);
    text.into_iter().chain(coded.into_iter().filter(|weighting| weighting.is_as_coded()))
}
