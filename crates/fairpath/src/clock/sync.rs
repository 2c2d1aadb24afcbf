use std::collections::VecDeque;
use std::fmt;

use super::bounds::OffsetBounds;
use super::exchange::{Exchange, Reply, Request};
use super::slew::Slew;
use crate::time::{LocalInstant, Now, SharedInstant, Span};

/// The bridge from this machine's clock to the shared one.
///
/// Send what [`poll_request`](Self::poll_request) gives, feed what comes back to
/// [`handle_reply`](Self::handle_reply), ask [`now`](Self::now) once per frame and per arrival, and
/// sleep until [`poll_deadline`](Self::poll_deadline). Call in the order of local time: an instant
/// before the latest one seen is taken as the latest one, so a caller's clock that runs backwards
/// is held, not followed.
///
/// Shared time never falls within an [`epoch`](Self::epoch), whatever the replies say, and never
/// depends on how often anyone asks.
#[derive(Clone, Debug)]
pub struct ClockSync {
    config: ClockConfig,
    synced: Option<Synced>,
    rival: Option<Rival>,
    epoch: u32,
    latest: LocalInstant,
    outstanding: VecDeque<Outstanding>,
    last_request: Option<Outstanding>,
    accepted_count: u32,
}

/// What is known once there was an exchange: where the offset must lie, and what is shown of it.
#[derive(Clone, Copy, Debug)]
struct Synced {
    bounds: OffsetBounds,
    slew: Slew,
}

/// Bounds that contradict the believed ones. If enough exchanges in a row agree with them, a clock
/// has stepped and they take over; if one does not, it was a fluke.
#[derive(Clone, Copy, Debug)]
struct Rival {
    bounds: OffsetBounds,
    witnesses: u32,
}

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    id: u32,
    sent: LocalInstant,
}

/// The knobs of a [`ClockSync`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockConfig {
    /// How fast two clocks may drift apart, in parts per million. Default 200: two crystals at the
    /// 100 ppm that the worst of ordinary ones are specified to.
    ///
    /// Too low, and the stated uncertainty is a lie when a clock is worse than that; too high, and
    /// quick exchanges are forgotten too soon, so that jitter shows. Example: at 200 an
    /// exchange that is 10 s old counts as 2 ms wider on either side.
    pub drift_ppm: u32,
    /// How much faster or slower than local time shared time may run while it is being corrected,
    /// in parts per million, at most 500 000. Default 50 000, which is 5 %.
    ///
    /// Too low, and the clock is wrong for long; too high, and everybody's motion visibly speeds
    /// up. Example: at 5 % a correction of 10 ms takes 200 ms.
    pub slew_ppm: u32,
    /// How far off the clock must be to jump into a new epoch instead of slewing. Default 1 s,
    /// which would take 20 s to slew at 5 %.
    ///
    /// Too low, and a burst of jitter breaks the timeline; too high, and a machine that slept plays
    /// in the past for minutes.
    pub step_beyond: Span,
    /// Between requests while the clock is young or in doubt. Default 100 ms.
    ///
    /// Too low, and all samples meet the same queue; too high, and the first seconds are played on
    /// one sample.
    pub interval_fast: Span,
    /// Between requests once it has settled. Default 1 s: at 200 ppm that costs 0.2 ms of
    /// uncertainty, and on the wire some tens of bytes per second.
    ///
    /// Too low only costs bytes; too high, and on jittery links few samples are quick before their
    /// predecessors have grown old. Example: with ± 30 ms of jitter each way, four times this
    /// interval about doubles the typical error.
    pub interval_relaxed: Span,
    /// How many exchanges it takes to settle. Default 10: with jitter that is uniform over 60 ms
    /// each way the quickest of ten is about 5 ms above the minimum.
    pub settled_after: u32,
    /// When an unanswered request is given up. Default 5 s, three times the longest round trip we
    /// promise to serve; a reply that comes later counts as unsolicited.
    ///
    /// Too low, and a slow link never syncs; too high, and after [`ClockSync::OUTSTANDING_MAX`]
    /// losses in a row the next request waits longer.
    pub round_trip_max: Span,
}

impl Default for ClockConfig {
    fn default() -> Self {
        Self {
            drift_ppm: 200,
            slew_ppm: 50_000,
            step_beyond: Span::from_secs(1),
            interval_fast: Span::from_millis(100),
            interval_relaxed: Span::from_secs(1),
            settled_after: 10,
            round_trip_max: Span::from_secs(5),
        }
    }
}

/// Why a reply was not used. It left the clock as it was, but for [`Disputed`](Self::Disputed),
/// which is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyError {
    /// It answers nothing that is still open: a duplicate, a late one, or an invention.
    Unsolicited,
    /// It came before its request was sent.
    ReceivedBeforeSent,
    /// The server claims to have answered before it was asked.
    AnsweredBeforeAsked,
    /// The server claims to have taken longer than the whole exchange.
    LongerThanRoundTrip,
    /// Its stamps are farther from zero than any clock.
    OutOfRange,
    /// It cannot be true if the earlier ones are. Some more of these in a row will be believed.
    Disputed,
}

impl fmt::Display for ReplyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unsolicited => "the reply answers no open request",
            Self::ReceivedBeforeSent => "the reply came before its request was sent",
            Self::AnsweredBeforeAsked => "the server says that it answered before it was asked",
            Self::LongerThanRoundTrip => "the server says that it took longer than the whole exchange",
            Self::OutOfRange => "the server's stamps are out of range",
            Self::Disputed => "the reply contradicts earlier ones",
        })
    }
}

impl std::error::Error for ReplyError {}

impl ClockSync {
    /// Requests that may be open at once: at the fast interval, 1.6 s of them, the longest round
    /// trip we promise to serve. When all are open, asking waits until one is answered or given
    /// up.
    pub const OUTSTANDING_MAX: usize = 16;
    /// Exchanges in a row that must contradict the earlier ones, and agree with each other, to be
    /// believed. One or two may come from a server that was stopped between two stamps; three
    /// in a row, 100 ms apart, are a clock that has stepped.
    const WITNESSES_NEEDED: u32 = 3;
    /// 36 000 years either way: sums and differences of two stamps within it cannot saturate.
    const STAMP_MAX: Span = Span::from_micros(1 << 60);
    /// At half its speed a clock still runs forward, and nobody can aim on one that is bent more
    /// than that.
    const SLEW_PPM_MAX: u32 = 500_000;

    /// A clock that knows nothing yet. Its first request is due at once.
    pub fn new(config: ClockConfig) -> Self {
        Self {
            config: ClockConfig { slew_ppm: config.slew_ppm.min(Self::SLEW_PPM_MAX), ..config },
            synced: None,
            rival: None,
            epoch: 0,
            latest: LocalInstant::from_micros(i64::MIN),
            outstanding: VecDeque::with_capacity(Self::OUTSTANDING_MAX),
            last_request: None,
            accepted_count: 0,
        }
    }

    /// Both clocks at `local`, or nothing before the first exchange.
    pub fn now(&mut self, local: LocalInstant) -> Option<Now> {
        let local = self.advance(local);
        let offset = self.synced?.slew.offset_at(local);
        Some(Now { local, shared: SharedInstant::ZERO + (local.since_zero() + offset) })
    }

    /// How far [`now`](Self::now) can be from the truth at `local`: always an upper bound, if the
    /// clocks drift no more than allowed and the server is honest. It grows slowly until the
    /// next exchange.
    ///
    /// It covers what is still to be slewed, and while exchanges contradict each other it covers
    /// both sides.
    pub fn uncertainty(&self, local: LocalInstant) -> Option<Span> {
        let local = local.max(self.latest);
        let Synced { bounds, slew } = self.synced?;
        let shown = slew.offset_at(local);
        let believed = bounds.farthest_from(shown, local);
        Some(self.rival.map_or(believed, |rival| believed.max(rival.bounds.farthest_from(shown, local))))
    }

    /// Whether there were enough exchanges that more will hardly make it better, and none
    /// contradicts the others.
    pub const fn is_settled(&self) -> bool {
        self.accepted_count >= self.config.settled_after && self.rival.is_none()
    }

    /// Counts the jumps of shared time after the first exchange. Instants of different epochs do
    /// not compare: whoever keeps shared instants forgets them when this changes.
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The next request, if one is due. Send it at once: until it is on the wire it counts as under
    /// way.
    pub fn poll_request(&mut self, now: LocalInstant) -> Option<Request> {
        let now = self.advance(now);
        self.give_up_on_old_requests(now);
        if now < self.poll_deadline() {
            return None;
        }
        let id = self.last_request.map_or(0, |last| last.id.wrapping_add(1));
        let request = Outstanding { id, sent: now };
        self.outstanding.push_back(request);
        self.last_request = Some(request);
        Some(Request { id })
    }

    /// When [`poll_request`](Self::poll_request) will have something to send. In the past if it has
    /// now.
    pub fn poll_deadline(&self) -> LocalInstant {
        let Some(last) = self.last_request else { return self.latest };
        let due = last.sent + self.interval();
        match self.outstanding.front() {
            Some(oldest) if self.outstanding.len() >= Self::OUTSTANDING_MAX => {
                due.max(oldest.sent + self.config.round_trip_max)
            }
            _ => due,
        }
    }

    /// Takes in a reply that arrived at `received`, and answers how long its messages were under
    /// way, there and back.
    ///
    /// # Errors
    ///
    /// Says why a reply was not used; nothing needs to be done about it.
    pub fn handle_reply(&mut self, reply: Reply, received: LocalInstant) -> Result<Span, ReplyError> {
        let local = self.advance(received);
        let exchange = self.complete(reply, received)?;
        let evidence = self.evidence(&exchange)?;
        self.outstanding.retain(|open| open.id != reply.id);
        let bounds = self.weigh(evidence)?;
        self.accepted_count = self.accepted_count.saturating_add(1);
        self.aim(bounds, local);
        Ok(exchange.round_trip())
    }

    /// Time as the caller tells it, held where it would go backwards.
    fn advance(&mut self, local: LocalInstant) -> LocalInstant {
        self.latest = self.latest.max(local);
        self.latest
    }

    fn interval(&self) -> Span {
        if self.is_settled() { self.config.interval_relaxed } else { self.config.interval_fast }
    }

    fn give_up_on_old_requests(&mut self, now: LocalInstant) {
        let round_trip_max = self.config.round_trip_max;
        self.outstanding.retain(|open| now - open.sent < round_trip_max);
    }

    /// The exchange that this reply completes, if its stamps are possible at all.
    fn complete(&self, reply: Reply, received: LocalInstant) -> Result<Exchange, ReplyError> {
        let open = self.outstanding.iter().find(|open| open.id == reply.id);
        let open = open.ok_or(ReplyError::Unsolicited)?;
        if received - open.sent > self.config.round_trip_max {
            return Err(ReplyError::Unsolicited);
        }
        if received < open.sent {
            return Err(ReplyError::ReceivedBeforeSent);
        }
        let stamps = [reply.received, reply.sent];
        if stamps.iter().any(|stamp| stamp.since_zero().abs() > Self::STAMP_MAX) {
            return Err(ReplyError::OutOfRange);
        }
        if reply.sent < reply.received {
            return Err(ReplyError::AnsweredBeforeAsked);
        }
        Ok(Exchange {
            client_sent: open.sent,
            server_received: reply.received,
            server_sent: reply.sent,
            client_received: received,
        })
    }

    /// What the exchange proves, unless that is impossible by itself.
    fn evidence(&self, exchange: &Exchange) -> Result<OffsetBounds, ReplyError> {
        let evidence = OffsetBounds::from_exchange(exchange, self.config.drift_ppm);
        if evidence.contradicts(&evidence) { Err(ReplyError::LongerThanRoundTrip) } else { Ok(evidence) }
    }

    /// What to believe, given this evidence and all before it.
    fn weigh(&mut self, evidence: OffsetBounds) -> Result<OffsetBounds, ReplyError> {
        let Some(Synced { bounds, .. }) = self.synced else { return Ok(evidence) };
        if !bounds.contradicts(&evidence) {
            self.rival = None;
            return Ok(bounds.tightened_by(&evidence));
        }
        let rival = match self.rival {
            Some(rival) if !rival.bounds.contradicts(&evidence) => {
                Rival { bounds: rival.bounds.tightened_by(&evidence), witnesses: rival.witnesses + 1 }
            }
            _ => Rival { bounds: evidence, witnesses: 1 },
        };
        if rival.witnesses < Self::WITNESSES_NEEDED {
            self.rival = Some(rival);
            return Err(ReplyError::Disputed);
        }
        self.rival = None;
        Ok(rival.bounds)
    }

    /// Heads for the middle of `bounds`: the first time by a step, then by slewing, and by a step
    /// into a new epoch where slewing would take too long.
    fn aim(&mut self, bounds: OffsetBounds, local: LocalInstant) {
        let target = bounds.middle();
        let stepped = Slew::stepped_to(target, local, self.config.slew_ppm);
        let slew = match self.synced {
            None => stepped,
            Some(Synced { slew, .. }) => {
                if (target - slew.offset_at(local)).abs() > self.config.step_beyond {
                    self.epoch = self.epoch.wrapping_add(1);
                    stepped
                } else {
                    slew.aimed_at(target, local)
                }
            }
        };
        self.synced = Some(Synced { bounds, slew });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose clock is `ahead` of ours, 20 ms away each way.
    struct Scene {
        clock: ClockSync,
        ahead: Span,
    }

    const WAY: Span = Span::from_millis(20);

    impl Scene {
        fn new() -> Self {
            Self { clock: ClockSync::new(ClockConfig::default()), ahead: Span::from_secs(100) }
        }

        fn stamp(&self, local: LocalInstant) -> SharedInstant {
            SharedInstant::ZERO + (local.since_zero() + self.ahead)
        }

        fn exchange(&mut self) -> Result<Span, ReplyError> {
            let sent = self.clock.poll_deadline().max(at(0));
            let request = self.clock.poll_request(sent).expect("it is due");
            let stamp = self.stamp(sent + WAY);
            self.clock.handle_reply(request.answer(stamp, stamp), sent + WAY + WAY)
        }

        fn error(&mut self) -> Span {
            let now = self.clock.now(self.clock.latest).expect("synchronised");
            now.shared - self.stamp(now.local)
        }
    }

    fn at(millis: i64) -> LocalInstant {
        LocalInstant::from_millis(millis)
    }

    #[test]
    fn one_exchange_is_enough() {
        let mut scene = Scene::new();
        assert_eq!(scene.clock.now(at(0)), None);
        assert_eq!(scene.clock.uncertainty(at(0)), None);
        assert_eq!(scene.exchange(), Ok(WAY + WAY));
        assert!(scene.error().abs() <= Span::from_micros(1));
        assert!(scene.clock.uncertainty(at(40)).unwrap() < WAY + Span::from_micros(20));
        assert_eq!(scene.clock.epoch(), 0, "the first step is no new epoch");
    }

    #[test]
    fn asking_is_fast_at_first_and_then_relaxed() {
        let mut scene = Scene::new();
        for _ in 0..10 {
            let due = scene.clock.poll_deadline();
            scene.exchange().unwrap();
            assert_eq!(scene.clock.poll_request(due.max(at(0)) + Span::from_millis(50)), None);
        }
        let sent = scene.clock.last_request.unwrap().sent;
        assert_eq!(scene.clock.poll_deadline(), sent + Span::from_secs(1));
    }

    #[test]
    fn silence_keeps_a_bounded_number_open() {
        let mut clock = ClockSync::new(ClockConfig::default());
        let sent = (0..60_000).filter(|&millis| clock.poll_request(at(millis)).is_some()).count();
        assert!(clock.outstanding.len() <= ClockSync::OUTSTANDING_MAX);
        assert!((150..250).contains(&sent), "16 in 5 s, for a minute: {sent}");
    }

    #[test]
    fn impossible_replies_are_refused_with_their_reason_and_change_nothing() {
        let mut scene = Scene::new();
        scene.exchange().unwrap();
        let request = scene.clock.poll_request(at(1_000)).unwrap();
        let stamp = scene.stamp(at(1_020));
        let far = SharedInstant::from_micros(i64::MAX);
        let before = format!("{:?}", scene.clock.synced);
        let cases = [
            (Request { id: 77 }.answer(stamp, stamp), 1_040, ReplyError::Unsolicited),
            (request.answer(stamp, stamp), 999, ReplyError::ReceivedBeforeSent),
            (request.answer(stamp, stamp + Span::from_micros(-1)), 1_040, ReplyError::AnsweredBeforeAsked),
            (request.answer(stamp, stamp + Span::from_millis(50)), 1_040, ReplyError::LongerThanRoundTrip),
            (request.answer(stamp, far), 1_040, ReplyError::OutOfRange),
            (request.answer(stamp, stamp), 7_000, ReplyError::Unsolicited),
        ];
        for (reply, received, reason) in cases {
            assert_eq!(scene.clock.handle_reply(reply, at(received)), Err(reason));
        }
        assert_eq!(format!("{:?}", scene.clock.synced), before);
        assert_eq!(scene.clock.handle_reply(request.answer(stamp, stamp), at(1_040)), Ok(WAY + WAY));
        let again = scene.clock.handle_reply(request.answer(stamp, stamp), at(1_040));
        assert_eq!(again, Err(ReplyError::Unsolicited), "a duplicate");
    }

    #[test]
    fn one_wrong_reply_raises_doubt_and_the_next_right_one_settles_it() {
        let mut scene = Scene::new();
        for _ in 0..20 {
            scene.exchange().unwrap();
        }
        let honest = scene.ahead;
        scene.ahead = honest + Span::from_millis(500);
        assert_eq!(scene.exchange(), Err(ReplyError::Disputed));
        let latest = scene.clock.latest;
        assert!(scene.clock.uncertainty(latest).unwrap() > Span::from_millis(500), "both may be true");
        scene.ahead = honest;
        scene.exchange().unwrap();
        assert!(scene.error().abs() <= Span::from_micros(1));
        let latest = scene.clock.latest;
        assert!(scene.clock.uncertainty(latest).unwrap() < Span::from_millis(21));
    }

    #[test]
    fn a_server_that_stepped_half_a_second_is_slewed_after() {
        let mut scene = Scene::new();
        scene.exchange().unwrap();
        scene.ahead += Span::from_millis(-500);
        assert_eq!(scene.exchange(), Err(ReplyError::Disputed));
        assert_eq!(scene.exchange(), Err(ReplyError::Disputed));
        scene.exchange().unwrap();
        assert_eq!(scene.clock.epoch(), 0);
        assert!(scene.error() > Span::from_millis(450), "it never jumps");
        scene.clock.advance(at(11_000));
        assert!(scene.error().abs() <= Span::from_micros(1), "10 s at 5 %: {:?}", scene.error());
    }

    #[test]
    fn a_machine_that_slept_wakes_in_a_new_epoch() {
        let mut scene = Scene::new();
        scene.exchange().unwrap();
        scene.ahead += Span::from_secs(3_600);
        while scene.exchange().is_err() {}
        assert_eq!(scene.clock.epoch(), 1);
        assert!(scene.error().abs() <= Span::from_micros(1));
    }

    #[test]
    fn a_local_clock_that_runs_backwards_is_held() {
        let mut scene = Scene::new();
        scene.exchange().unwrap();
        let now = scene.clock.now(at(500)).unwrap();
        assert_eq!(scene.clock.now(at(400)), Some(now));
        assert_eq!(scene.clock.now(at(500)), Some(now));
    }
}
