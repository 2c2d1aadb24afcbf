//! When a client connects, gives up, and tries again.

#[cfg(test)]
mod tests;

use std::time::Duration;

use fairpath::random::Random;
use fairpath::time::{LocalInstant, Span};

use crate::problem::ConnectionProblem;

/// The attempts of one client to reach its server: one at a time, with pauses that grow and are
/// random, so that a crowd that has lost its server does not come back as one.
///
/// Feed it with `on_*`, do what [`poll`](Self::poll) says until it returns `None`, and poll again
/// at [`poll_deadline`](Self::poll_deadline). `now` must never go backwards.
#[derive(Debug)]
pub(crate) struct Reconnect {
    pauses: Pauses,
    random: Random,
    state: State,
    failed: u32,
}

/// The times of a [`Reconnect`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pauses {
    /// Time limit of an attempt that the server has answered.
    pub(crate) connect_within: Span,
    /// Time limit of an attempt without any answer.
    pub(crate) answer_within: Span,
    /// Pause after the first failure. Each further one doubles it.
    pub(crate) min: Span,
    pub(crate) max: Span,
}

/// What the client does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Begin an attempt.
    Connect,
    /// Abandon the current one. From now on it neither sends nor reads a packet.
    GiveUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting { until: LocalInstant },
    Connecting { since: LocalInstant, is_answered: bool },
    Connected { since: LocalInstant },
    Over,
}

impl Reconnect {
    /// A client that connects at once.
    pub(crate) fn new(pauses: Pauses, random: Random, now: LocalInstant) -> Self {
        Self { pauses, random, state: State::Waiting { until: now }, failed: 0 }
    }

    /// Attempts that failed since the last connection that lasted.
    pub(crate) fn failed(&self) -> u32 {
        self.failed
    }

    pub(crate) fn poll(&mut self, now: LocalInstant) -> Option<Step> {
        if self.poll_deadline().is_none_or(|at| now < at) {
            return None;
        }
        if let State::Connecting { .. } = self.state {
            self.fail(now);
            return Some(Step::GiveUp);
        }
        self.state = State::Connecting { since: now, is_answered: false };
        Some(Step::Connect)
    }

    pub(crate) fn poll_deadline(&self) -> Option<LocalInstant> {
        match self.state {
            State::Waiting { until } => Some(until),
            State::Connecting { since, is_answered: false } => {
                Some(since + self.pauses.answer_within.min(self.pauses.connect_within))
            }
            State::Connecting { since, is_answered: true } => Some(since + self.pauses.connect_within),
            State::Connected { .. } | State::Over => None,
        }
    }

    /// A packet for the current attempt has arrived: the server is there.
    pub(crate) fn on_answered(&mut self) {
        if let State::Connecting { is_answered, .. } = &mut self.state {
            *is_answered = true;
        }
    }

    /// The current attempt has become a connection.
    pub(crate) fn on_connected(&mut self, now: LocalInstant) {
        self.state = State::Connected { since: now };
    }

    /// The current attempt has failed, or the connection has ended.
    pub(crate) fn on_problem(&mut self, problem: ConnectionProblem, now: LocalInstant) {
        if problem.is_final() {
            self.state = State::Over;
        }
        // An attempt that was given up is counted already.
        if matches!(self.state, State::Over | State::Waiting { .. }) {
            return;
        }
        // A connection that lasted resets the count, and a server that restarts does. Another short
        // connection counts as a failed attempt.
        let has_lasted =
            matches!(self.state, State::Connected { since } if now - since > self.pauses.connect_within);
        if has_lasted || problem.is_restart() {
            self.failed = 0;
            self.state = State::Waiting { until: now + self.pause() };
        } else {
            self.fail(now);
        }
    }

    fn fail(&mut self, now: LocalInstant) {
        self.failed = self.failed.saturating_add(1);
        self.state = State::Waiting { until: now + self.pause() };
    }

    /// The pause after this many failures: between half and all of it, at random.
    fn pause(&mut self) -> Span {
        let doublings = self.failed.saturating_sub(1).min(16);
        let longest = self.pauses.min.as_micros().saturating_mul(1 << doublings);
        let longest = longest.min(self.pauses.max.as_micros()) as f64;
        Span::from_micros(self.random.between(0.5 * longest, longest) as i64)
    }
}

impl Pauses {
    pub(crate) fn new(connect_within: Duration, min: Duration, max: Duration) -> Self {
        let span = |duration: Duration| {
            Span::from_micros(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX / 4))
        };
        Self {
            connect_within: span(connect_within),
            answer_within: ANSWER_WITHIN,
            min: span(min),
            max: span(max),
        }
    }
}

/// Time limit of an attempt without any answer: the slowest round trip (2 s) and a first packet
/// that was repeated once. QUIC doubles the pauses between its first packets (1 s, 2 s, 4 s), so a
/// longer attempt would notice the server's return late: a new one begins with a packet at once.
const ANSWER_WITHIN: Span = Span::from_millis(2_500);
