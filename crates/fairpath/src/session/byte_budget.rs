//! The byte budget of one peer: datagrams, streams and messages together.

use super::Budget;
use super::bucket::Bucket;
use crate::time::{LocalInstant, Span};

/// Counts all bytes to one peer, and says when the next may leave.
///
/// Every byte draws from one bucket. Streams carry births and deaths of objects, confirmations and
/// reliable calls, and they leave at once. So that they neither starve motion nor surprise it:
///
/// - streams draw at most half of the rate. Births wait for that half (`has_room_for_birth`); what
///   cannot wait and exceeds it is sent beyond the budget, and motion does not pay for it;
/// - motion leaves a reserve in the bucket for the births to come: their moving mean.
#[derive(Clone, Debug)]
pub(super) struct ByteBudget {
    all: Bucket,
    /// What streams may draw from `all`.
    streams: Bucket,
    planned: MovingRate,
    share: Option<Share>,
    rate_max: f64,
}

impl ByteBudget {
    /// The part of the rate that streams may take while motion waits. Half: with a third, ships are
    /// a fifth more accurate at half of broadcast's bytes, but a quarter of all bullets is not
    /// seen.
    const STREAMS_SHARE: f64 = 0.5;
    /// Least room for a datagram: below it, wait for more. 60 bytes are receipts and three or four
    /// DR vectors. With 40 headers take so much that ships have a third more error at a fifth of
    /// broadcast's bytes, with 100 copies wait for each other and ships have half as much again.
    const SPEAK_BYTES: f64 = 60.0;
    /// How many seconds of births motion leaves in the bucket. A quarter: a burst of births leaves
    /// at once, and motion goes on. More is bandwidth that is saved and not used.
    const RESERVE_SECS: f64 = 0.25;

    pub(super) fn new(budget: Budget, datagram_every: Span) -> Self {
        let (rate, burst) = (f64::from(budget.bytes_per_sec), f64::from(budget.burst_bytes));
        Self {
            all: Bucket::new(rate, burst),
            streams: Bucket::new(Self::STREAMS_SHARE * rate, streams_burst(rate, burst)).with_debt_max(burst),
            planned: MovingRate::default(),
            share: budget.share.filter(|share| *share < 1.0).map(|share| Share::new(share, datagram_every)),
            rate_max: rate,
        }
    }

    /// Lets only this share of the rate count from now on, because the link is congested.
    pub(super) fn slow_down(&mut self, share: f64, now: LocalInstant) {
        self.all.set_share(share, now);
        self.streams.set_share(share, now);
    }

    // ── births ──

    /// Returns whether to announce another object now.
    pub(super) fn has_room_for_birth(&mut self, now: LocalInstant) -> bool {
        self.streams.level(now) > 0.0 && self.all.level(now) > 0.0
    }

    /// Returns when to announce another object.
    pub(super) fn birth_at(&self, now: LocalInstant) -> LocalInstant {
        self.streams.when(1.0, now).max(self.all.when(1.0, now))
    }

    /// An announcement waits to leave: its part of the streams is taken.
    pub(super) fn on_announced(&mut self, bytes: usize) {
        self.streams.spend(bytes as f64);
        if let Some(share) = &mut self.share {
            share.birth_bytes += Share::GAIN * (bytes as f64 - share.birth_bytes);
        }
    }

    // ── sent bytes ──

    /// An announcement leaves.
    pub(super) fn on_announcement_sent(&mut self, bytes: usize) {
        self.plan(bytes);
        self.all.spend(bytes as f64);
    }

    /// A message on a stream leaves that could not wait.
    pub(super) fn on_message_sent(&mut self, bytes: usize) {
        self.plan(bytes);
        self.all.spend(self.streams.take_up_to(bytes as f64));
    }

    /// Broadcast would send these bytes too.
    fn plan(&mut self, bytes: usize) {
        self.planned.add(bytes as f64);
        if let Some(share) = &mut self.share {
            share.cost.add(bytes as f64);
        }
    }

    pub(super) fn on_datagram_sent(&mut self, bytes: usize) {
        let motion = bytes as f64;
        self.all.spend(motion);
    }

    // ── datagrams ──

    /// Returns how many bytes the next datagram may have; `None` if it must wait.
    pub(super) fn room(&mut self, now: LocalInstant) -> Option<f64> {
        self.streams.level(now);
        self.planned.advance(now);
        self.follow_share(now);
        let room = self.all.level(now) - self.reserve();
        (room >= Self::SPEAK_BYTES).then_some(room)
    }

    /// Returns the bytes beyond half of a burst: what may be used for repeats, which must not delay
    /// anything else.
    pub(super) fn spare(&mut self, now: LocalInstant) -> f64 {
        self.all.level(now) - 0.5 * self.all.burst()
    }

    /// Returns when there is room for a datagram.
    pub(super) fn room_at(&self, now: LocalInstant) -> LocalInstant {
        self.all.when(Self::SPEAK_BYTES + self.reserve(), now)
    }

    /// A joiner's first objects come in a burst that does not last: no more than the rate of
    /// streams counts. A budget with a tiny burst still has room for a datagram.
    fn reserve(&self) -> f64 {
        let planned = self.planned.per_sec().min(self.streams.rate());
        (planned * Self::RESERVE_SECS).min(self.all.burst() - Self::SPEAK_BYTES).max(0.0)
    }
}

/// What streams may draw at once: the rest of the burst is motion's. Where bytes are short, at most
/// what half a second earns, so that motion does not pay for a burst of births with a long silence;
/// but a few messages in any case.
fn streams_burst(rate: f64, burst: f64) -> f64 {
    const FEW_BYTES: f64 = 400.0;
    ByteBudget::STREAMS_SHARE * burst.min((0.5 * rate).max(FEW_BYTES))
}

// ── a share of what broadcast would cost ──

impl ByteBudget {
    /// Broadcast would send a copy now.
    pub(super) fn on_broadcast(&mut self, now: LocalInstant) {
        if let Some(share) = &mut self.share {
            let cost = share.copy_cost(now);
            share.cost.add(cost);
        }
    }

    /// A datagram left with so many DR vectors in `vector_bytes`, and with `other_bytes`.
    pub(super) fn on_content_sent(&mut self, vectors: usize, vector_bytes: usize, other_bytes: usize) {
        if let Some(share) = &mut self.share {
            share.learn(vectors, vector_bytes, other_bytes);
        }
    }

    /// An object ended before it was announced. Broadcast would have announced and removed it.
    pub(super) fn on_birth_missed(&mut self) {
        if let Some(share) = &mut self.share {
            share.cost.add(share.birth_bytes + Share::REMOVAL_BYTES);
        }
    }

    /// Follows what broadcast costs. The rate stays at its limit until that is known.
    fn follow_share(&mut self, now: LocalInstant) {
        let Some(share) = &mut self.share else { return };
        if share.cost.advance(now) && share.cost.is_known() {
            let rate = (share.part * share.cost.per_sec()).clamp(RATE_MIN.min(self.rate_max), self.rate_max);
            self.all.set_rate(rate, self.all.burst(), now);
            let burst = streams_burst(rate, self.all.burst());
            self.streams.set_rate(Self::STREAMS_SHARE * rate, burst, now);
        }
    }
}

/// The least rate that follows from a share: enough for a joiner's first objects where nothing has
/// moved yet.
const RATE_MIN: f64 = 200.0;

/// What broadcast would cost, and the part of it that is allowed.
#[derive(Clone, Debug)]
struct Share {
    part: f64,
    cost: MovingRate,
    /// Moving mean of the bytes of a DR vector, without its part of the header.
    vector_bytes: f64,
    /// Moving mean of the bytes beside DR vectors in a datagram that has some: mostly receipts,
    /// which every datagram repeats.
    other_bytes: f64,
    /// Moving mean of the bytes of an announcement.
    birth_bytes: f64,
    /// Copies of the same instant share a datagram, and so do those within this interval.
    datagram_every: Span,
    datagram_at: Option<LocalInstant>,
}

impl Share {
    /// Bytes of a datagram's header and of the length of its DR vectors.
    const HEAD_BYTES: f64 = 12.0;
    /// Bytes of a DR vector before the first was sent: a linear one in the plane.
    const VECTOR_BYTES: f64 = 9.0;
    /// Bytes of an announcement before the first was sent, and of a removal.
    const BIRTH_BYTES: f64 = 30.0;
    const REMOVAL_BYTES: f64 = 6.0;
    /// Weight of a datagram or an announcement in the means.
    const GAIN: f64 = 1.0 / 16.0;

    fn new(part: f64, datagram_every: Span) -> Self {
        // NaN counts as zero.
        let part = if part > 0.0 { part } else { 0.0 };
        let cost = MovingRate::default();
        Self {
            part,
            cost,
            vector_bytes: Self::VECTOR_BYTES,
            other_bytes: 0.0,
            birth_bytes: Self::BIRTH_BYTES,
            datagram_every,
            datagram_at: None,
        }
    }

    fn copy_cost(&mut self, now: LocalInstant) -> f64 {
        let shares_datagram = self.datagram_at.is_some_and(|at| now <= at + self.datagram_every);
        if shares_datagram {
            return self.vector_bytes;
        }
        self.datagram_at = Some(now);
        self.vector_bytes + self.other_bytes + Self::HEAD_BYTES
    }

    fn learn(&mut self, vectors: usize, vector_bytes: usize, other_bytes: usize) {
        if vectors == 0 {
            // Broadcast sends such a datagram, too.
            self.cost.add((vector_bytes + other_bytes) as f64);
            return;
        }
        let each = (vector_bytes as f64 - Self::HEAD_BYTES).max(0.0) / vectors as f64;
        self.vector_bytes += Self::GAIN * (each - self.vector_bytes);
        self.other_bytes += Self::GAIN * (other_bytes as f64 - self.other_bytes);
    }
}

/// Bytes per second, as a moving mean.
#[derive(Clone, Copy, Debug, Default)]
struct MovingRate {
    per_sec: f64,
    /// Since `since`.
    bytes: f64,
    since: Option<LocalInstant>,
    steps: u32,
}

impl MovingRate {
    /// How often the mean is taken.
    const STEP: Span = Span::from_millis(250);
    /// How much of a step counts: the mean reaches back four seconds or so. Much shorter, and every
    /// volley is a surprise; much longer, and motion saves for bullets long after a fight.
    const GAIN: f64 = 1.0 / 16.0;
    /// Steps until the mean is known.
    const STEPS_MIN: u32 = 8;

    fn add(&mut self, bytes: f64) {
        self.bytes += bytes;
    }

    /// Takes in what was added since the last step, and returns whether it was time to.
    fn advance(&mut self, now: LocalInstant) -> bool {
        let since = *self.since.get_or_insert(now);
        let passed = now - since;
        if passed < Self::STEP {
            return false;
        }
        self.steps = self.steps.saturating_add(1);
        // At first the mean of all steps; after a long pause, only what came since.
        let lasted = passed.as_secs_f64() / Self::STEP.as_secs_f64();
        let gain = (Self::GAIN * lasted).max(1.0 / f64::from(self.steps)).min(1.0);
        self.per_sec += gain * (self.bytes / passed.as_secs_f64() - self.per_sec);
        (self.bytes, self.since) = (0.0, Some(now));
        true
    }

    fn per_sec(&self) -> f64 {
        self.per_sec
    }

    fn is_known(&self) -> bool {
        self.steps >= Self::STEPS_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> LocalInstant {
        LocalInstant::from_millis(millis)
    }

    fn with_rate(bytes_per_sec: u32) -> ByteBudget {
        ByteBudget::new(Budget { bytes_per_sec, burst_bytes: 1_000, ..Budget::default() }, Span::ZERO)
    }

    /// Sends as much motion as there is room for, and returns its bytes.
    fn move_all(budget: &mut ByteBudget, now: LocalInstant) -> f64 {
        let mut sent = 0.0;
        while let Some(room) = budget.room(now) {
            budget.on_datagram_sent(room as usize);
            sent += room.floor();
        }
        sent
    }

    #[test]
    fn calls_without_bound_leave_half_of_the_rate_to_motion() {
        let mut budget = with_rate(1_000);
        let mut motion = 0.0;
        for millis in 0..20_000 {
            budget.on_message_sent(500);
            motion += move_all(&mut budget, at(millis));
        }
        assert!((9_500.0..=11_500.0).contains(&motion), "{motion} bytes of motion in 20 s");
    }

    #[test]
    fn births_and_motion_together_keep_to_the_rate() {
        let mut budget = with_rate(1_000);
        let (mut births, mut motion) = (0, 0.0);
        for millis in 0..20_000 {
            motion += move_all(&mut budget, at(millis));
            while budget.has_room_for_birth(at(millis)) {
                budget.on_announced(40);
                budget.on_announcement_sent(40);
                births += 40;
            }
        }
        let all = f64::from(births) + motion;
        assert!((19_500.0..=21_100.0).contains(&all), "{births} for births and {motion} for motion");
        assert!((9_000..=10_600).contains(&births), "{births} for births");
    }

    #[test]
    fn a_volley_leaves_within_a_tenth_of_a_second_while_motion_wants_all_it_can_get() {
        let mut budget = with_rate(2_000);
        let (mut waiting, mut fired_at, mut longest) = (0, 0, 0);
        for millis in 0..10_000 {
            if millis % 1_000 == 999 {
                (waiting, fired_at) = (6, millis);
            }
            while waiting > 0 && budget.has_room_for_birth(at(millis)) {
                budget.on_announced(40);
                budget.on_announcement_sent(40);
                waiting -= 1;
                longest = longest.max(millis - fired_at);
            }
            move_all(&mut budget, at(millis));
        }
        assert!(longest <= 100, "the last shot waited for {longest} ms");
    }

    #[test]
    fn a_congested_link_has_its_part_of_a_share_of_broadcast() {
        let share = Budget { share: Some(0.5), ..Budget::default() };
        let mut budget = ByteBudget::new(share, Span::ZERO);
        let mut motion = 0.0;
        for millis in 0..30_000 {
            if millis % 10 == 0 {
                budget.on_broadcast(at(millis));
            }
            if millis % 200 == 0 {
                budget.slow_down(if millis < 15_000 { 0.5 } else { 1.0 }, at(millis));
            }
            let sent = move_all(&mut budget, at(millis));
            motion += if (8_000..15_000).contains(&millis) { sent } else { 0.0 };
        }
        let per_sec = motion / 7.0;
        assert!((500.0..=550.0).contains(&per_sec), "{per_sec}: half of half of 2 100 bytes per second");
    }

    #[test]
    fn a_share_follows_what_broadcast_costs() {
        let share = Budget { share: Some(0.5), ..Budget::default() };
        let mut budget = ByteBudget::new(share, Span::ZERO);
        let mut motion = 0.0;
        for millis in 0..30_000 {
            if millis % 10 == 0 {
                // A hundred copies a second, each in a datagram of its own.
                budget.on_broadcast(at(millis));
            }
            let sent = move_all(&mut budget, at(millis));
            motion += if millis >= 10_000 { sent } else { 0.0 };
        }
        let per_sec = motion / 20.0;
        assert!((1_000.0..=1_100.0).contains(&per_sec), "{per_sec} of 2 100 bytes per second");
    }
}
