use crate::time::{SharedInstant, Span};

/// Whether a receiver confirms what is sent to it.
///
/// Who does not can be far away, cut off, or somebody who never reads: nobody can tell. Where copies go to whoever looks
/// worst off, that makes a difference.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answers {
    /// When the first copy left since the last receipt came.
    waiting_since: Option<SharedInstant>,
}

impl Answers {
    /// For how long a receipt may be awaited.
    ///
    /// 3 s: the longest round trip that we promise to serve, and another copy and its receipt half as far away, should the
    /// first be lost. Shorter, and honest receivers behind bad links are taken for silent; longer, and others wait
    /// for somebody who is not there.
    const PATIENCE: Span = Span::from_secs(3);

    /// A copy left.
    pub(super) fn handle_departure(&mut self, at: SharedInstant) {
        self.waiting_since.get_or_insert(at);
    }

    /// A receipt came that was news.
    pub(super) fn handle_receipt(&mut self) {
        self.waiting_since = None;
    }

    /// Whether it is time to believe that nobody listens.
    pub(super) fn are_missing(&self, now: SharedInstant) -> bool {
        self.waiting_since.is_some_and(|since| now - since > Self::PATIENCE)
    }
}
