use super::millionths;
use crate::time::{LocalInstant, Span};

/// The offset in use: it approaches its target at a limited rate, so that shared time never jumps.
/// A closed form in the time since the last change of target, however often it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slew {
    since: LocalInstant,
    offset: Span,
    correction: Span,
    rate_ppm: u32,
}

impl Slew {
    /// Returns a slew that shows `offset` at once.
    pub(super) fn stepped_to(offset: Span, local: LocalInstant, rate_ppm: u32) -> Self {
        Self { since: local, offset, correction: Span::ZERO, rate_ppm }
    }

    /// Returns a slew that moves from the offset at `local` towards `target`.
    #[must_use]
    pub(super) fn aimed_at(&self, target: Span, local: LocalInstant) -> Self {
        let offset = self.offset_at(local);
        Self { since: local, offset, correction: target - offset, rate_ppm: self.rate_ppm }
    }

    /// Returns the offset at `local`. It is slower than time, so local + offset never falls.
    pub(super) fn offset_at(&self, local: LocalInstant) -> Span {
        let elapsed = (local - self.since).max(Span::ZERO);
        let reach = millionths(elapsed, self.rate_ppm);
        self.offset + self.correction.clamp(-reach, reach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> LocalInstant {
        LocalInstant::from_millis(millis)
    }

    #[test]
    fn ten_milliseconds_take_two_hundred_at_five_percent() {
        let slew = Slew::stepped_to(Span::ZERO, at(0), 50_000).aimed_at(Span::from_millis(-10), at(1_000));
        assert_eq!(slew.offset_at(at(1_000)), Span::ZERO);
        assert_eq!(slew.offset_at(at(1_100)), Span::from_millis(-5));
        assert_eq!(slew.offset_at(at(1_200)), Span::from_millis(-10));
        assert_eq!(slew.offset_at(at(9_000)), Span::from_millis(-10));
    }

    #[test]
    fn a_new_aim_starts_from_what_is_shown() {
        let slew = Slew::stepped_to(Span::ZERO, at(0), 50_000).aimed_at(Span::from_millis(10), at(0));
        let turned = slew.aimed_at(Span::ZERO, at(100));
        assert_eq!(turned.offset_at(at(100)), Span::from_millis(5));
        assert_eq!(turned.offset_at(at(200)), Span::ZERO);
    }
}
