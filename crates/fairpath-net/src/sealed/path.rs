//! Whether sealed packets are used, and to which address they go.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;

use fairpath::time::{LocalInstant, Span};

use super::{Challenge, Content, OVERHEAD_TO_CLIENT};

/// The end of a connection that a [`Path`] belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client. Its server does not move.
    Client,
    /// The server. Its client may appear at another address.
    Server,
}

/// Decides for one end of a connection. Knows nothing of keys: [`SealedLink`](super::SealedLink)
/// tells it what was sealed and opened.
///
/// * **Probing.** An end sends challenges, and uses sealed packets once one was echoed: then both
///   ways carry them. Without an echo it tries again later, with longer and longer pauses.
/// * **In use.** Each end reports to the other which packets arrived. If what it sent is not
///   reported in time, an end falls back to QUIC datagrams and probes again later.
/// * **Moving.** A server sends only challenges to an address that its client has not proven, at
///   most three times the bytes that came from there, and moves when the echo comes from there.
///
/// Feed it with `on_*`, drain [`poll_signal`](Self::poll_signal) and
/// [`poll_quic_ping`](Self::poll_quic_ping), and call again at
/// [`poll_deadline`](Self::poll_deadline). `now` must never go backwards.
pub struct Path {
    side: Side,
    peer: SocketAddr,
    draw: Box<dyn FnMut() -> Challenge + Send>,
    state: State,
    round_trip: Span,
    /// The pause before the next series of probes.
    pause: Span,
    probe: Option<Probe>,
    /// A quiet client challenges the server, in use as well.
    is_probe_owed: bool,
    echo_owed: Option<Challenge>,
    candidate: Option<Candidate>,
    unreported: Unreported,
    report: ReportDuty,
    /// When a packet of the peer was last opened.
    heard_at: LocalInstant,
    /// When a datagram of the peer's session last came.
    datagram_at: Option<LocalInstant>,
    /// Whether the peer's datagrams come so often that silence means something.
    is_flowing: bool,
    /// When a datagram of this end's session last left, and whether the one before was close.
    sent_at: Option<LocalInstant>,
    sends_often: bool,
    /// When this end last pinged over QUIC.
    pinged_at: Option<LocalInstant>,
    falls: u64,
    moves: u64,
}

/// A packet that the path wants to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// [`Content::Challenge`].
    Challenge(Challenge),
    /// [`Content::Echo`].
    Echo(Challenge),
    /// [`Content::Report`] without a datagram.
    Report,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Probing { sent: u32, next_at: LocalInstant },
    InUse { since: LocalInstant },
}

/// The challenge to the current address, until it is echoed.
#[derive(Clone, Copy, Debug)]
struct Probe {
    challenge: Challenge,
    first_at: LocalInstant,
    last_at: LocalInstant,
}

/// An address from which authentic packets came, and which is not proven yet.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    address: SocketAddr,
    challenge: Challenge,
    bytes_received: usize,
    bytes_sent: usize,
    next_at: LocalInstant,
}

/// Sent datagrams that the peer has not reported yet: one in each [`MARK_EVERY`].
#[derive(Debug, Default)]
struct Unreported(VecDeque<(u64, LocalInstant)>);

/// What this end owes the peer.
#[derive(Clone, Copy, Debug, Default)]
struct ReportDuty {
    /// When the first datagram arrived that is not reported.
    owed_since: Option<LocalInstant>,
    reported_at: Option<LocalInstant>,
}

/// Pause between the probes of a series. Longer than most round trips, and a series is over within
/// a second.
const PROBE_EVERY: Span = Span::from_millis(200);
/// Four: at 30 % loss in both ways one series in fifteen fails.
const PROBES_PER_SERIES: u32 = 4;
/// Pause after a failed series or a fall. Doubles up to the maximum, where probing a network that
/// blocks sealed packets costs a few bytes a second.
const PAUSE_MIN: Span = Span::from_secs(1);
const PAUSE_MAX: Span = Span::from_secs(32);
/// Sealed packets that worked for this long earn the shortest pause again.
const STABLE_AFTER: Span = Span::from_secs(10);

/// An end falls back when a datagram is unreported for this long: within a second of the first lost
/// one, with what [`MARK_EVERY`] adds.
const SILENT_AFTER_MIN: Span = Span::from_millis(700);
/// A slow path is given this much beyond its round trip: [`REPORT_WITHIN`] and jitter.
const SILENT_AFTER_ROUND_TRIP: Span = Span::from_millis(250);
/// The time in which a doubtful path is probed before the end falls back, so that a few lost
/// reports do not look like a blocked path.
const DOUBT_BEFORE: Span = Span::from_millis(400);
const DOUBT_EVERY: Span = Span::from_millis(130);
const MARK_EVERY: Span = Span::from_millis(50);
const MARKS_MAX: usize = 64;

/// Reports ride on datagrams, at most this often: 27 bytes a second. Just below the 80 ms in which
/// a client sends receipts, so that each of them takes one.
const REPORT_EVERY: Span = Span::from_millis(75);
/// Without a datagram to ride on, a report leaves alone after this time.
const REPORT_WITHIN: Span = Span::from_millis(150);

/// A client that hears nothing for this long pings over QUIC, so that QUIC notices if the client's
/// address has changed, and over the sealed path for the same reason. Only if datagrams came more
/// often than that before: a client without objects hears the time once a second.
const QUIET_AFTER: Span = Span::from_millis(300);
/// Pings of a server that sends motion, while QUIC has nothing else to carry. They keep its round
/// trip measured, which the receivers' honesty is checked against. Below a second, in which a ping
/// that waits for the server's next pass still leaves, and in which QUIC's own keep-alive does not
/// come first.
const PING_EVERY: Span = Span::from_millis(900);
/// Datagrams that are further apart carry the time and no motion: clients ask for it every second.
const OFTEN: Span = Span::from_millis(800);
/// Pings of a server that sends no motion, and of a client: their round trip only says how long to
/// wait for reports.
const IDLE_PING_EVERY: Span = Span::from_secs(4);

/// Bytes sent to an unproven address for each byte that came from there, as in QUIC.
const AMPLIFICATION_MAX: usize = 3;
const CHALLENGE_PACKET_BYTES: usize = OVERHEAD_TO_CLIENT + size_of::<Challenge>();
const CANDIDATE_EVERY: Span = Span::from_millis(100);

impl Path {
    /// A path to a peer, whose address QUIC has proven. Begins to probe at once. `draw` returns
    /// random bytes that no peer can predict.
    pub fn new(
        side: Side,
        peer: SocketAddr,
        now: LocalInstant,
        draw: impl FnMut() -> Challenge + Send + 'static,
    ) -> Self {
        Self {
            side,
            peer,
            draw: Box::new(draw),
            state: State::Probing { sent: 0, next_at: now },
            round_trip: Span::ZERO,
            pause: PAUSE_MIN,
            probe: None,
            is_probe_owed: false,
            echo_owed: None,
            candidate: None,
            unreported: Unreported::default(),
            report: ReportDuty::default(),
            heard_at: now,
            datagram_at: None,
            is_flowing: false,
            sent_at: None,
            sends_often: false,
            pinged_at: None,
            falls: 0,
            moves: 0,
        }
    }

    /// Whether session datagrams leave sealed. Otherwise they leave in QUIC datagrams.
    pub fn is_in_use(&mut self, now: LocalInstant) -> bool {
        self.fall_if_silent(now);
        matches!(self.state, State::InUse { .. })
    }

    /// The address to which sealed packets go.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// How often this end has fallen back to QUIC datagrams.
    pub fn falls(&self) -> u64 {
        self.falls
    }

    /// How often the peer has moved to another address.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Takes in QUIC's measure of the round trip: a slow path is given more time.
    pub fn on_round_trip(&mut self, round_trip: Span) {
        self.round_trip = round_trip;
    }

    /// A packet from [`peer`](Self::peer) was opened. `newest_sent` is the number of the newest
    /// packet that this end has sealed.
    pub fn on_opened(&mut self, now: LocalInstant, content: &Content<'_>, is_newest: bool, newest_sent: u64) {
        self.heard_at = now;
        if is_newest {
            // The client is where it was: a packet from another address was a copy.
            self.candidate = None;
        }
        match content {
            Content::Datagram(_) => self.on_datagram(now),
            Content::Report(seen, datagram) => {
                self.unreported.settle(*seen, newest_sent);
                if !datagram.is_empty() {
                    self.on_datagram(now);
                }
            }
            Content::Challenge(challenge) => self.echo_owed = Some(*challenge),
            Content::Echo(challenge) => self.on_echo(now, *challenge),
        }
    }

    /// An authentic packet of this many bytes came from an address that is not the peer's. A server
    /// challenges that address, or moves to it if this is the echo.
    pub fn on_elsewhere(
        &mut self,
        now: LocalInstant,
        from: SocketAddr,
        bytes: usize,
        is_newest: bool,
        content: &Content<'_>,
    ) {
        if self.side == Side::Client || !is_newest {
            return;
        }
        let known = self.candidate.filter(|candidate| candidate.address == from);
        if let (Content::Echo(echo), Some(candidate)) = (content, known)
            && candidate.challenge == *echo
        {
            return self.move_to(from, now);
        }
        let mut candidate = known.unwrap_or_else(|| Candidate {
            address: from,
            challenge: (self.draw)(),
            bytes_received: 0,
            bytes_sent: 0,
            next_at: now,
        });
        candidate.bytes_received += bytes;
        self.candidate = Some(candidate);
    }

    /// A packet with a session datagram was sealed and leaves for [`peer`](Self::peer).
    pub fn on_datagram_sent(&mut self, now: LocalInstant, number: u64) {
        self.sends_often = self.sent_at.is_some_and(|before| now - before < OFTEN);
        self.sent_at = Some(now);
        self.unreported.mark(number, now);
    }

    /// Whether a datagram that leaves now takes the owed report along. If so, it counts as sent.
    pub fn take_report(&mut self, now: LocalInstant) -> bool {
        let is_due = self.report.owed_since.is_some()
            && self.report.reported_at.is_none_or(|at| now - at >= REPORT_EVERY);
        if is_due {
            self.report.settle(now);
        }
        is_due
    }

    /// The next packet that the path itself wants to send, and where to.
    pub fn poll_signal(&mut self, now: LocalInstant) -> Option<(SocketAddr, Signal)> {
        self.fall_if_silent(now);
        self.poll_candidate(now).or_else(|| {
            let signal = self.poll_echo().or_else(|| self.poll_probe(now)).or_else(|| self.poll_report(now));
            signal.map(|signal| (self.peer, signal))
        })
    }

    /// Whether this end should send a ping over QUIC now.
    pub fn poll_quic_ping(&mut self, now: LocalInstant) -> bool {
        let is_due = self.ping_at().is_some_and(|at| now >= at);
        if is_due {
            if self.quiet_at().is_some_and(|at| now >= at) {
                // The sealed path has to notice a new address too.
                self.is_probe_owed = true;
                self.is_flowing = false;
            }
            self.pinged_at = Some(now);
        }
        is_due
    }

    /// When to call again, if nothing happens before.
    pub fn poll_deadline(&self) -> Option<LocalInstant> {
        let candidate = self.candidate.filter(Candidate::may_be_sent).map(|candidate| candidate.next_at);
        let signals = [self.probe_at(), self.report.due_at(), self.ping_at(), self.silent_at(), candidate];
        let is_owed = self.echo_owed.is_some() || self.is_probe_owed;
        let owed = is_owed.then_some(self.pinged_at.unwrap_or(self.heard_at));
        signals.into_iter().flatten().chain(owed).min()
    }

    // ── probing

    fn poll_echo(&mut self) -> Option<Signal> {
        self.echo_owed.take().map(Signal::Echo)
    }

    fn poll_probe(&mut self, now: LocalInstant) -> Option<Signal> {
        let is_owed = std::mem::take(&mut self.is_probe_owed);
        if !is_owed && self.probe_at().is_none_or(|at| now < at) {
            return None;
        }
        if let State::Probing { sent, next_at } = &mut self.state {
            *sent += 1;
            *next_at = now + PROBE_EVERY;
            if *sent == PROBES_PER_SERIES {
                *sent = 0;
                *next_at = now + self.pause;
                self.pause = (self.pause + self.pause).min(PAUSE_MAX);
            }
        }
        Some(Signal::Challenge(self.start_probe(now)))
    }

    /// Returns the challenge that is under way, or a new one if the echo of that would settle
    /// nothing.
    fn start_probe(&mut self, now: LocalInstant) -> Challenge {
        if let Some(since) = self.unreported.since() {
            self.probe.take_if(|probe| probe.first_at < since);
        }
        let challenge = self.probe.map_or_else(&mut self.draw, |probe| probe.challenge);
        let first_at = self.probe.map_or(now, |probe| probe.first_at);
        self.probe = Some(Probe { challenge, first_at, last_at: now });
        challenge
    }

    /// When the next challenge to the peer is due.
    fn probe_at(&self) -> Option<LocalInstant> {
        match self.state {
            State::Probing { next_at, .. } => Some(next_at),
            State::InUse { .. } => {
                let doubt_at = self.doubt_at()?;
                Some(self.probe.map_or(doubt_at, |probe| doubt_at.max(probe.last_at + DOUBT_EVERY)))
            }
        }
    }

    fn on_echo(&mut self, now: LocalInstant, echo: Challenge) {
        let Some(probe) = self.probe.take_if(|probe| probe.challenge == echo) else { return };
        self.unreported.settle_until(probe.first_at);
        if let State::Probing { .. } = self.state {
            self.begin_use(now);
        }
    }

    fn begin_use(&mut self, now: LocalInstant) {
        self.state = State::InUse { since: now };
        self.unreported = Unreported::default();
    }

    // ── in use

    fn poll_report(&mut self, now: LocalInstant) -> Option<Signal> {
        let is_due = self.report.due_at().is_some_and(|at| now >= at);
        is_due.then(|| {
            self.report.settle(now);
            Signal::Report
        })
    }

    /// A datagram of the peer's session came.
    fn on_datagram(&mut self, now: LocalInstant) {
        self.report.owe(now);
        self.is_flowing = self.datagram_at.is_some_and(|before| now - before < QUIET_AFTER);
        self.datagram_at = Some(now);
    }

    fn ping_at(&self) -> Option<LocalInstant> {
        let State::InUse { since } = self.state else { return None };
        let every = if self.sends_motion() { PING_EVERY } else { IDLE_PING_EVERY };
        let regular = self.pinged_at.map_or(since, |at| at + every);
        [Some(regular), self.quiet_at(), self.unanswered_at()].into_iter().flatten().min()
    }

    /// Whether this end is a server that has sent motion since its last ping.
    fn sends_motion(&self) -> bool {
        let is_since_ping = self.sent_at.is_some_and(|at| self.pinged_at.is_none_or(|pinged| pinged <= at));
        self.side == Side::Server && self.sends_often && is_since_ping
    }

    /// When a client becomes suspicious because it hears nothing.
    fn quiet_at(&self) -> Option<LocalInstant> {
        (self.side == Side::Client && self.is_flowing).then(|| self.heard_at + QUIET_AFTER)
    }

    /// When a client becomes suspicious because a datagram is not reported: once for each.
    fn unanswered_at(&self) -> Option<LocalInstant> {
        let doubt_at = self.doubt_at().filter(|_| self.side == Side::Client)?;
        self.pinged_at.is_none_or(|pinged_at| pinged_at < doubt_at).then_some(doubt_at)
    }

    /// When this end begins to probe because a datagram is not reported.
    fn doubt_at(&self) -> Option<LocalInstant> {
        self.silent_at().map(|at| at + -DOUBT_BEFORE)
    }

    /// When this end falls back, if no report comes before.
    fn silent_at(&self) -> Option<LocalInstant> {
        let State::InUse { .. } = self.state else { return None };
        let patience = SILENT_AFTER_MIN.max(self.round_trip + SILENT_AFTER_ROUND_TRIP);
        self.unreported.since().map(|since| since + patience)
    }

    fn fall_if_silent(&mut self, now: LocalInstant) {
        let State::InUse { since } = self.state else { return };
        if self.silent_at().is_none_or(|at| now < at) {
            return;
        }
        if now - since >= STABLE_AFTER {
            self.pause = PAUSE_MIN;
        }
        self.state = State::Probing { sent: 0, next_at: now + self.pause };
        self.pause = (self.pause + self.pause).min(PAUSE_MAX);
        self.probe = None;
        self.unreported = Unreported::default();
        self.falls += 1;
    }

    // ── moving

    fn poll_candidate(&mut self, now: LocalInstant) -> Option<(SocketAddr, Signal)> {
        let candidate = self.candidate.as_mut().filter(|candidate| candidate.may_be_sent())?;
        if now < candidate.next_at {
            return None;
        }
        candidate.bytes_sent += CHALLENGE_PACKET_BYTES;
        candidate.next_at = now + CANDIDATE_EVERY;
        Some((candidate.address, Signal::Challenge(candidate.challenge)))
    }

    fn move_to(&mut self, address: SocketAddr, now: LocalInstant) {
        self.peer = address;
        self.candidate = None;
        self.probe = None;
        self.echo_owed = None;
        self.heard_at = now;
        self.moves += 1;
        // The echo proves that both ways carry sealed packets. What left for the old address is
        // lost.
        self.begin_use(now);
    }
}

impl Candidate {
    /// Whether a challenge keeps within what may be sent to an unproven address.
    fn may_be_sent(&self) -> bool {
        self.bytes_sent + CHALLENGE_PACKET_BYTES <= AMPLIFICATION_MAX * self.bytes_received
    }
}

impl Unreported {
    fn mark(&mut self, number: u64, now: LocalInstant) {
        let is_next = self.0.back().is_none_or(|(_, at)| now - *at >= MARK_EVERY);
        if is_next && self.0.len() < MARKS_MAX {
            self.0.push_back((number, now));
        }
    }

    /// When the oldest unreported datagram was sent.
    fn since(&self) -> Option<LocalInstant> {
        self.0.front().map(|(_, at)| *at)
    }

    /// The peer has opened a packet whose number ends in `seen`. It is at most `newest_sent`.
    fn settle(&mut self, seen: u16, newest_sent: u64) {
        let behind = u64::from((newest_sent as u16).wrapping_sub(seen));
        if let Some(seen) = newest_sent.checked_sub(behind) {
            while self.0.pop_front_if(|(number, _)| *number <= seen).is_some() {}
        }
    }

    fn settle_until(&mut self, instant: LocalInstant) {
        while self.0.pop_front_if(|(_, at)| *at <= instant).is_some() {}
    }
}

impl ReportDuty {
    fn owe(&mut self, now: LocalInstant) {
        self.owed_since.get_or_insert(now);
    }

    fn settle(&mut self, now: LocalInstant) {
        *self = Self { owed_since: None, reported_at: Some(now) };
    }

    fn due_at(&self) -> Option<LocalInstant> {
        self.owed_since.map(|since| since + REPORT_WITHIN)
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Path")
            .field("side", &self.side)
            .field("peer", &self.peer)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
