use fairpath::time::{SharedInstant, Span};
use fairpath_sim::star::Reported;

/// What a receiver's receipts say instead of the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Lie {
    /// The truth, at once.
    #[default]
    Honest,
    /// That everything was this many times as long on the way.
    Overstates(f64),
    /// That everything arrived this long before it was sent.
    BeforeSent(Span),
    Silent,
    /// The truth, at once; and, with a guessed nonce, that lost packets arrived when sent.
    Guesses,
    /// Holds receipts back for so long, and says they arrived half of that later, as if farther.
    HoldsBack(Span),
    /// The same, and makes the transport hold its acknowledgements back as well.
    HoldsAllBack(Span),
}

impl Lie {
    pub fn on_received(self, sent_at: SharedInstant, received_at: SharedInstant) -> Option<Reported> {
        let at_once = |received_at| Some(Reported::at_once(received_at));
        match self {
            Self::Honest | Self::Guesses => at_once(received_at),
            Self::Overstates(times) => at_once(sent_at + (received_at - sent_at).scaled(times)),
            Self::BeforeSent(early) => at_once(sent_at - early),
            Self::HoldsBack(span) | Self::HoldsAllBack(span) => {
                Some(Reported { received_at: Some(received_at + span.scaled(0.5)), held_back: span })
            }
            Self::Silent => None,
        }
    }

    pub fn on_lost(self, sent_at: SharedInstant) -> Option<Reported> {
        (self == Self::Guesses).then_some(Reported::at_once(sent_at))
    }

    pub fn holds_transport_back(self) -> Span {
        if let Self::HoldsAllBack(span) = self { span } else { Span::ZERO }
    }

    #[must_use]
    pub fn without_transport(self) -> Self {
        if let Self::HoldsAllBack(span) = self { Self::HoldsBack(span) } else { self }
    }

    pub fn shown(self) -> String {
        match self {
            Self::Honest => "honest".into(),
            Self::Overstates(times) => format!("overstates {times}×"),
            Self::BeforeSent(early) => format!("reports {} ms before departure", early.as_millis_f64()),
            Self::Silent => "never reports".into(),
            Self::Guesses => "acknowledges unseen".into(),
            Self::HoldsBack(span) => format!("holds back {} ms", span.as_millis_f64()),
            Self::HoldsAllBack(span) => format!("holds all back {} ms", span.as_millis_f64()),
        }
    }
}
