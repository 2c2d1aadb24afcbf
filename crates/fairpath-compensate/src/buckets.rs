use std::collections::BTreeMap;

use fairpath::time::{SharedInstant, Span};

/// Bucket synchronisation, as in the game MiMaze: messages wait until all others of the same
/// instant can have arrived, and are then played together.
///
/// A message issued at t is played at t + playout, in the bucket of that instant. All participants
/// open the same bucket at the same instant of the shared clock, so all see the same, as long as no
/// participant is farther away than the playout delay. For a participant without a message in the
/// bucket, its last message is reported, and the game extrapolates from it.
///
/// ```
/// use fairpath_compensate::{BucketConfig, Buckets, BucketOutcome};
/// use fairpath::time::SharedInstant;
///
/// let ms = SharedInstant::from_millis;
/// let mut buckets = Buckets::new(BucketConfig::default());
/// buckets.poll(ms(1_000));
/// // Played at 1105 ms, in the bucket of 1080 to 1120 ms.
/// assert_eq!(buckets.file(1, ms(1_005), "left"), BucketOutcome::Bucket(27));
/// assert_eq!(buckets.file(2, ms(1_015), "right"), BucketOutcome::Bucket(27));
/// let mut opened = std::iter::from_fn(|| buckets.poll(ms(1_120)));
/// let bucket = opened.find(|bucket| bucket.number == 27).unwrap();
/// assert_eq!(bucket.fresh, [(1, "left"), (2, "right")]);
/// ```
#[derive(Clone, Debug)]
pub struct Buckets<T> {
    config: BucketConfig,
    next: Option<i64>,
    filed: BTreeMap<i64, BTreeMap<u32, Issued<T>>>,
    last: BTreeMap<u32, Issued<T>>,
    skipped_count: u64,
}

#[derive(Clone, Debug)]
struct Issued<T> {
    at: SharedInstant,
    message: T,
}

/// The maximum number of unopened buckets. 64: two and a half seconds in MiMaze. Messages farther
/// ahead are refused, and after a longer stall the oldest buckets are skipped.
pub const BUCKETS_MAX: i64 = 64;

/// The maximum number of participants: 256. Further ones are refused.
pub const PARTICIPANTS_MAX: usize = 256;

/// How long messages wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketConfig {
    /// The time that one bucket covers. Default 40 ms, as in MiMaze: 25 a second. It adds up to its
    /// own length to the delay.
    pub length: Span,
    /// How long after it was issued a message is played. Default 100 ms, as in MiMaze. Below the
    /// delay of the farthest participant its messages arrive too late; above 150 ms players notice
    /// it in their own controls.
    pub playout: Span,
}

impl Default for BucketConfig {
    fn default() -> Self {
        Self { length: Span::from_millis(40), playout: Span::from_millis(100) }
    }
}

/// The result of [`Buckets::file`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketOutcome {
    /// It waits in this bucket.
    Bucket(i64),
    /// The same participant has a newer one in its bucket. Dropped.
    Superseded,
    /// Its bucket was opened. Not played, but the participant's last message unless a newer exists.
    Late,
    /// It is more than [`BUCKETS_MAX`] buckets ahead. Dropped.
    TooFarAhead,
    /// There are [`PARTICIPANTS_MAX`] others already. Dropped.
    Full,
}

/// The messages that are played together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket<T> {
    /// The bucket's number: it covers the instants from `number` lengths after zero to the next.
    pub number: i64,
    /// The messages in it, by participant.
    pub fresh: Vec<(u32, T)>,
    /// The other participants: their last message, and when it was issued.
    pub missing: Vec<(u32, T, SharedInstant)>,
}

impl<T: Clone> Buckets<T> {
    /// Creates empty buckets. The length is at least a millisecond.
    pub fn new(config: BucketConfig) -> Self {
        let config = BucketConfig { length: config.length.max(Span::from_millis(1)), ..config };
        Self { config, next: None, filed: BTreeMap::new(), last: BTreeMap::new(), skipped_count: 0 }
    }

    /// Stores a message. Call [`poll`](Self::poll) first: it starts the buckets.
    pub fn file(&mut self, participant: u32, issued_at: SharedInstant, message: T) -> BucketOutcome {
        let number = self.number_at(issued_at + self.config.playout);
        let issued = Issued { at: issued_at, message };
        if self.next.is_none_or(|next| number >= next + BUCKETS_MAX) {
            return BucketOutcome::TooFarAhead;
        }
        if self.next.is_some_and(|next| number < next) {
            self.keep_last_word(participant, issued);
            return BucketOutcome::Late;
        }
        let bucket = self.filed.entry(number).or_default();
        if bucket.get(&participant).is_some_and(|there| there.at >= issued_at) {
            return BucketOutcome::Superseded;
        }
        if bucket.len() == PARTICIPANTS_MAX && !bucket.contains_key(&participant) {
            return BucketOutcome::Full;
        }
        bucket.insert(participant, issued);
        BucketOutcome::Bucket(number)
    }

    /// Returns the next bucket whose time is over, in order, empty ones included.
    pub fn poll(&mut self, now: SharedInstant) -> Option<Bucket<T>> {
        let running = self.number_at(now);
        let mut next = *self.next.get_or_insert(running);
        if running - next > BUCKETS_MAX {
            self.skipped_count += (running - BUCKETS_MAX - next).unsigned_abs();
            next = running - BUCKETS_MAX;
            self.filed = self.filed.split_off(&next);
        } else if next - running > BUCKETS_MAX {
            // The clock was set back.
            self.filed.clear();
            next = running;
        }
        self.next = Some(next);
        if next >= running {
            return None;
        }
        self.next = Some(next + 1);
        Some(self.open(next))
    }

    /// Forgets a participant that has left.
    pub fn leave(&mut self, participant: u32) {
        self.last.remove(&participant);
        for bucket in self.filed.values_mut() {
            bucket.remove(&participant);
        }
    }

    /// Returns the buckets skipped because [`poll`](Self::poll) was not called for too long.
    pub fn skipped_count(&self) -> u64 {
        self.skipped_count
    }

    fn open(&mut self, number: i64) -> Bucket<T> {
        let filed = self.filed.remove(&number).unwrap_or_default();
        let missing = self.last.iter().filter(|(participant, _)| !filed.contains_key(participant));
        let missing =
            missing.map(|(participant, last)| (*participant, last.message.clone(), last.at)).collect();
        let fresh =
            filed.iter().map(|(participant, issued)| (*participant, issued.message.clone())).collect();
        for (participant, issued) in filed {
            self.keep_last_word(participant, issued);
        }
        Bucket { number, fresh, missing }
    }

    fn keep_last_word(&mut self, participant: u32, issued: Issued<T>) {
        let has_room = self.last.len() < PARTICIPANTS_MAX || self.last.contains_key(&participant);
        if has_room && self.last.get(&participant).is_none_or(|last| last.at < issued.at) {
            self.last.insert(participant, issued);
        }
    }

    fn number_at(&self, at: SharedInstant) -> i64 {
        at.as_micros().div_euclid(self.config.length.as_micros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> SharedInstant {
        SharedInstant::from_millis(millis)
    }

    fn buckets() -> Buckets<char> {
        let mut buckets = Buckets::new(BucketConfig::default());
        assert_eq!(buckets.poll(ms(0)), None);
        buckets
    }

    #[test]
    fn everybody_within_the_playout_delay_plays_the_same() {
        let delays = [0, 40, 99];
        let played = delays.map(|delay| {
            let mut buckets = buckets();
            let mut played = Vec::new();
            for now in 0..2_000 {
                if now >= delay && (now - delay) % 30 == 0 {
                    let letter = char::from_u32(0x4e00 + (now - delay) as u32).unwrap();
                    assert!(matches!(buckets.file(1, ms(now - delay), letter), BucketOutcome::Bucket(_)));
                }
                played.extend(std::iter::from_fn(|| buckets.poll(ms(now))));
            }
            played
        });
        assert_eq!(played[0], played[1]);
        assert_eq!(played[0], played[2]);
        assert!(played[0].iter().filter(|bucket| !bucket.fresh.is_empty()).count() > 40);
    }

    #[test]
    fn who_is_late_is_played_by_the_last_word() {
        let mut buckets = buckets();
        buckets.file(1, ms(0), 'a');
        let opened: Vec<Bucket<char>> = std::iter::from_fn(|| buckets.poll(ms(200))).collect();
        assert_eq!(opened.iter().map(|bucket| bucket.number).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(opened[2].fresh, [(1, 'a')]);
        assert_eq!(opened[3].missing, [(1, 'a', ms(0))]);
        assert_eq!(buckets.file(1, ms(50), 'b'), BucketOutcome::Late);
        assert_eq!(buckets.file(1, ms(20), 'c'), BucketOutcome::Late);
        assert_eq!(buckets.poll(ms(240)).map(|bucket| bucket.missing), Some(vec![(1, 'b', ms(50))]));
        buckets.leave(1);
        assert_eq!(buckets.poll(ms(280)).map(|bucket| bucket.missing), Some(vec![]));
    }

    #[test]
    fn a_stall_a_forged_stamp_and_a_clock_that_is_set_are_bounded() {
        let mut buckets = buckets();
        assert_eq!(buckets.file(1, ms(86_400_000), 'x'), BucketOutcome::TooFarAhead);
        assert_eq!(std::iter::from_fn(|| buckets.poll(ms(86_400_000))).count() as i64, BUCKETS_MAX);
        assert!(buckets.skipped_count() > 2_000_000);
        let at = ms(86_400_000);
        let filed: Vec<BucketOutcome> =
            (0..1_000).map(|participant| buckets.file(participant, at, 'x')).collect();
        assert_eq!(
            filed.iter().filter(|filed| **filed == BucketOutcome::Full).count(),
            1_000 - PARTICIPANTS_MAX
        );
        assert_eq!(buckets.poll(ms(1_000)), None, "back by a day");
        assert!(buckets.poll(ms(1_100)).is_some(), "and on from there");
    }
}
