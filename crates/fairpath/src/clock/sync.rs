use std::collections::VecDeque;
use std::fmt;

use super::bounds::OffsetBounds;
use super::exchange::{Exchange, Reply, Request};
use super::slew::Slew;
use crate::time::{LocalInstant, Now, SharedInstant, Span};

/// Converts this machine's time to shared time.
///
/// Send what [`poll_request`](Self::poll_request) returns, pass replies to
/// [`handle_reply`](Self::handle_reply), call [`now`](Self::now) once per frame and per arrival,
/// and sleep until [`poll_deadline`](Self::poll_deadline). Call in the order of local time: an
/// instant before the latest one seen counts as the latest one.
///
/// Within an [`epoch`](Self::epoch) shared time never goes backwards, whatever the replies say, and
/// never depends on how often it is read.
///
/// A clock that is [`starting`](Self::starting) is the exception: each exchange sets it to the best
/// estimate, until [`start`](Self::start). Use it where a bad first exchange is likely, and read it
/// when it [is ready](Self::is_ready).
#[derive(Clone, Debug)]
pub struct ClockSync {
    config: ClockConfig,
    synced: Option<Synced>,
    rival: Option<Rival>,
    epoch: u32,
    is_starting: bool,
    latest: LocalInstant,
    outstanding: VecDeque<Outstanding>,
    last_request: Option<Outstanding>,
    accepted_count: u32,
}

/// State after the first exchange: the bounds of the offset, and the offset in use.
#[derive(Clone, Copy, Debug)]
struct Synced {
    bounds: OffsetBounds,
    slew: Slew,
}

/// Bounds that contradict the believed ones. If enough exchanges in a row agree with them, a clock
/// has stepped and they take over; if one exchange does not, they are discarded.
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

/// Settings of a [`ClockSync`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockConfig {
    /// Greatest drift between two clocks, in parts per million. Default 200: two ordinary crystals
    /// at 100 ppm each, the worst they are specified to.
    ///
    /// Too low: the stated uncertainty is wrong for a worse clock. Too high: quick exchanges are
    /// forgotten too soon, and jitter shows. Example: at 200 ppm an exchange that is 10 s old
    /// counts as 2 ms wider on either side.
    pub drift_ppm: u32,
    /// How much faster or slower than local time shared time may run during a correction, in parts
    /// per million, at most 500 000. Default 50 000, which is 5 %.
    ///
    /// Too low: the clock stays wrong for long. Too high: all motion visibly speeds up. Example: at
    /// 5 % a correction of 10 ms takes 200 ms.
    pub slew_ppm: u32,
    /// Error from which the clock jumps into a new epoch instead of slewing. Default 1 s, which
    /// would take 20 s to slew at 5 %.
    ///
    /// Too low: a burst of jitter breaks the timeline. Too high: a machine that slept plays in the
    /// past for minutes.
    pub step_beyond: Span,
    /// Interval between the first [`ClockSync::START_REQUESTS`] requests of a
    /// [`starting`](ClockSync::starting) clock. Default 25 ms: the clock is ready a round trip and
    /// 75 ms after its second request, if no packet is lost.
    ///
    /// Too low: all samples meet the same queue. Too high: a session begins later.
    pub interval_start: Span,
    /// Uncertainty below which a starting clock is ready. Default 20 ms: a round trip of 40 ms is
    /// ready after one exchange, and an object at 50 u/s is off by at most one unit.
    pub ready_within: Span,
    /// Exchanges after which a starting clock is ready, however uncertain. Default 5: the greeting
    /// of a session, which waits if a packet is lost, and four datagrams. With jitter uniform over
    /// 60 ms each way, the quickest of four is about 12 ms above the minimum.
    pub ready_after: u32,
    /// Interval between requests while the clock is new or in doubt. Default 100 ms.
    ///
    /// Too low: all samples meet the same queue. Too high: the first seconds rest on one sample.
    pub interval_fast: Span,
    /// Interval between requests once the clock has settled. Default 1 s: at 200 ppm that costs 0.2
    /// ms of uncertainty, and some tens of bytes per second.
    ///
    /// Too low only costs bytes. Too high: on jittery links the best samples grow old before a
    /// quick one replaces them. Example: with ± 30 ms of jitter each way, four times this interval
    /// about doubles the typical error.
    pub interval_relaxed: Span,
    /// Exchanges until the clock counts as settled. Default 10: with jitter uniform over 60 ms each
    /// way the quickest of ten is about 5 ms above the minimum.
    pub settled_after: u32,
    /// Age at which an unanswered request is given up. Default 5 s, three times the longest
    /// supported round trip. A later reply counts as unsolicited.
    ///
    /// Too low: a slow link never synchronises. Too high: after [`ClockSync::OUTSTANDING_MAX`]
    /// losses in a row the next request waits longer.
    pub round_trip_max: Span,
}

impl Default for ClockConfig {
    fn default() -> Self {
        Self {
            drift_ppm: 200,
            slew_ppm: 50_000,
            step_beyond: Span::from_secs(1),
            interval_start: Span::from_millis(25),
            ready_within: Span::from_millis(20),
            ready_after: 5,
            interval_fast: Span::from_millis(100),
            interval_relaxed: Span::from_secs(1),
            settled_after: 10,
            round_trip_max: Span::from_secs(5),
        }
    }
}

/// Why a reply was not used. The clock only remembers [`Disputed`](Self::Disputed) ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyError {
    /// The reply answers no open request: it is a duplicate, late, or forged.
    Unsolicited,
    /// The reply arrived before its request was sent.
    ReceivedBeforeSent,
    /// The server's reply stamp lies before its receipt stamp.
    AnsweredBeforeAsked,
    /// The server claims to have taken longer than the whole exchange.
    LongerThanRoundTrip,
    /// A stamp is farther from zero than 36 000 years.
    OutOfRange,
    /// The reply contradicts earlier ones. Three in a row that agree with each other are believed.
    Disputed,
}

impl fmt::Display for ReplyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unsolicited => "the reply answers no open request",
            Self::ReceivedBeforeSent => "the reply arrived before its request was sent",
            Self::AnsweredBeforeAsked => "the server's reply stamp lies before its receipt stamp",
            Self::LongerThanRoundTrip => "the server claims to have taken longer than the whole exchange",
            Self::OutOfRange => "a time stamp of the server is out of range",
            Self::Disputed => "the reply contradicts earlier replies",
        })
    }
}

impl std::error::Error for ReplyError {}

impl ClockSync {
    /// Requests that may be open at once: 1.6 s of requests at the fast interval, the longest
    /// supported round trip. When all are open, the next waits until one is answered or given up.
    pub const OUTSTANDING_MAX: usize = 16;
    /// Requests that a starting clock sends at the short interval: twice as many as it needs, so
    /// that half of them may be lost. Fewer than [`OUTSTANDING_MAX`](Self::OUTSTANDING_MAX), so that
    /// an outage of a fraction of a second does not end the asking.
    pub const START_REQUESTS: u32 = 8;
    /// Exchanges in a row that must contradict the earlier ones, and agree with each other, to be
    /// believed. A server that was stopped between two stamps can cause one or two; three in a row,
    /// 100 ms apart, show a clock that stepped.
    const WITNESSES_NEEDED: u32 = 3;
    /// 36 000 years either way: sums and differences of two stamps within it cannot saturate.
    const STAMP_MAX: Span = Span::from_micros(1 << 60);
    /// At half its speed a clock still runs forward; above that, aiming becomes impossible.
    const SLEW_PPM_MAX: u32 = 500_000;

    /// Returns a clock without any exchange. Its first request is due at once.
    pub fn new(config: ClockConfig) -> Self {
        Self {
            config: ClockConfig { slew_ppm: config.slew_ppm.min(Self::SLEW_PPM_MAX), ..config },
            synced: None,
            rival: None,
            epoch: 0,
            is_starting: false,
            latest: LocalInstant::from_micros(i64::MIN),
            outstanding: VecDeque::with_capacity(Self::OUTSTANDING_MAX),
            last_request: None,
            accepted_count: 0,
        }
    }

    /// Returns a clock that no application uses yet. Until [`start`](Self::start) every exchange
    /// sets it to the best estimate at once, also backwards, and the first requests follow each
    /// other faster.
    pub fn starting(config: ClockConfig) -> Self {
        Self { is_starting: true, ..Self::new(config) }
    }

    /// Returns whether a starting clock is good enough to use: either the uncertainty is small, or
    /// several exchanges agree.
    pub fn is_ready(&self, local: LocalInstant) -> bool {
        let is_certain = |uncertainty| uncertainty <= self.config.ready_within;
        self.uncertainty(local).is_some_and(is_certain) || self.accepted_count >= self.config.ready_after
    }

    /// Ends the start: from now on shared time does not jump within an epoch.
    pub const fn start(&mut self) {
        self.is_starting = false;
    }

    /// Returns both clocks at `local`, or `None` before the first exchange.
    pub fn now(&mut self, local: LocalInstant) -> Option<Now> {
        let local = self.advance(local);
        let offset = self.synced?.slew.offset_at(local);
        Some(Now { local, shared: SharedInstant::ZERO + (local.since_zero() + offset) })
    }

    /// Returns how far [`now`](Self::now) can be from the truth at `local`. Always an upper bound,
    /// if the clocks drift no more than allowed and the server is honest. It grows between
    /// exchanges.
    ///
    /// The bound includes the correction still to be slewed. While exchanges contradict each other
    /// it covers both sides.
    pub fn uncertainty(&self, local: LocalInstant) -> Option<Span> {
        let local = local.max(self.latest);
        let Synced { bounds, slew } = self.synced?;
        let shown = slew.offset_at(local);
        let believed = bounds.farthest_from(shown, local);
        Some(self.rival.map_or(believed, |rival| believed.max(rival.bounds.farthest_from(shown, local))))
    }

    /// Returns whether the clock has settled: exchanges agree, and more would hardly improve it.
    pub const fn is_settled(&self) -> bool {
        self.accepted_count >= self.config.settled_after && self.rival.is_none()
    }

    /// Returns the number of jumps of shared time after the first exchange. Shared instants of
    /// different epochs cannot be compared: discard stored ones when this number changes.
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Returns the next request, if one is due. Send it at once: waiting counts as link delay.
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

    /// Returns when [`poll_request`](Self::poll_request) has a request; past if it has one now.
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

    /// Handles a reply that arrived at `received`. Returns its round trip on the link.
    ///
    /// # Errors
    ///
    /// Returns why the reply was not used. The caller may ignore the error.
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

    /// Returns the caller's time, held where it would go backwards.
    fn advance(&mut self, local: LocalInstant) -> LocalInstant {
        self.latest = self.latest.max(local);
        self.latest
    }

    fn interval(&self) -> Span {
        let is_first = self.last_request.is_none_or(|last| last.id < Self::START_REQUESTS);
        if self.is_starting && is_first {
            self.config.interval_start
        } else if self.is_settled() {
            self.config.interval_relaxed
        } else {
            self.config.interval_fast
        }
    }

    fn give_up_on_old_requests(&mut self, now: LocalInstant) {
        let round_trip_max = self.config.round_trip_max;
        self.outstanding.retain(|open| now - open.sent < round_trip_max);
    }

    /// Returns the exchange that this reply completes, if its stamps are possible.
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

    /// Returns the bounds that the exchange proves, unless they contradict themselves.
    fn evidence(&self, exchange: &Exchange) -> Result<OffsetBounds, ReplyError> {
        let evidence = OffsetBounds::from_exchange(exchange, self.config.drift_ppm);
        if evidence.contradicts(&evidence) { Err(ReplyError::LongerThanRoundTrip) } else { Ok(evidence) }
    }

    /// Returns the bounds to believe, given this evidence and all before it.
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

    /// Aims at the middle of `bounds`: by a step the first time and while starting, then by slewing,
    /// and by a step into a new epoch where slewing would take too long.
    fn aim(&mut self, bounds: OffsetBounds, local: LocalInstant) {
        let target = bounds.middle();
        let stepped = Slew::stepped_to(target, local, self.config.slew_ppm);
        let slew = match self.synced {
            None => stepped,
            Some(_) if self.is_starting => stepped,
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

    /// A server with a clock `ahead` of the client's, 20 ms away each way.
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
    fn a_starting_clock_forgets_a_greeting_that_waited_and_then_never_jumps() {
        let mut scene = Scene { clock: ClockSync::starting(ClockConfig::default()), ..Scene::new() };
        // The greeting waits for 300 ms on its way to the server.
        let request = scene.clock.poll_request(at(0)).expect("it is due");
        let stamp = scene.stamp(at(300) + WAY);
        scene.clock.handle_reply(request.answer(stamp, stamp), at(300) + WAY + WAY).unwrap();
        assert_eq!(scene.error(), Span::from_millis(150));
        assert!(!scene.clock.is_ready(scene.clock.latest), "± 170 ms");
        assert_eq!(scene.clock.poll_deadline(), at(25), "it asks again soon");
        let sent = at(340);
        let request = scene.clock.poll_request(sent).expect("it is due");
        let stamp = scene.stamp(sent + WAY);
        scene.clock.handle_reply(request.answer(stamp, stamp), sent + WAY + WAY).unwrap();
        assert!(scene.error().abs() <= Span::from_micros(40), "it steps: {:?}", scene.error());
        assert_eq!(scene.clock.epoch(), 0);
        scene.clock.start();
        scene.ahead += Span::from_millis(-500);
        while scene.exchange().is_err() {}
        assert!(scene.error() > Span::from_millis(450), "it slews: {:?}", scene.error());
    }

    #[test]
    fn a_starting_clock_is_ready_after_five_exchanges_however_long_the_link() {
        let mut clock = ClockSync::starting(ClockConfig::default());
        let mut sent = at(0);
        for count in 0..5 {
            assert!(!clock.is_ready(sent), "after {count}");
            sent = clock.poll_deadline().max(sent);
            let request = clock.poll_request(sent).expect("it is due");
            let stamp = SharedInstant::ZERO + (sent.since_zero() + Span::from_millis(400));
            clock.handle_reply(request.answer(stamp, stamp), sent + Span::from_millis(800)).unwrap();
            sent += Span::from_millis(800);
        }
        assert!(clock.is_ready(sent));
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
