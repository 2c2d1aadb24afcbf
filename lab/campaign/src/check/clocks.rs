//! Shared clocks never run backwards in a session, run at most 5 % off, and err within their bound.
//!
//! The model is the true time. A clock that was stepped, or drifts more than real clocks, may be
//! wrong until its next session; it may never run backwards.

use std::collections::BTreeMap;

use fairpath::time::{LocalInstant, SharedInstant, Span};

use super::{Findings, Law};

#[derive(Debug, Default)]
pub(crate) struct ClockCheck {
    seen: BTreeMap<usize, ClockReading>,
    excused: BTreeMap<usize, ClockExcuse>,
    /// The largest error of each client's clock in its session.
    worst: BTreeMap<usize, Span>,
}

#[derive(Clone, Copy, Debug)]
struct ClockReading {
    session: u32,
    /// Its uncertainty when the session began.
    unsure: Span,
    local: LocalInstant,
    shared: SharedInstant,
    since: SharedInstant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClockExcuse {
    /// Excused until a session that begins long enough after this instant.
    Stepped(SharedInstant),
    /// Excused until the drift is repaired, which counts as a step.
    Drifts,
}

impl ClockCheck {
    /// The longest time that a request sent before a step can still be answered.
    const ROUND_TRIP_MAX: Span = Span::from_secs(6);
    /// The largest error of a settled clock on a symmetric link, besides jitter.
    const SETTLED_ERROR_MAX: Span = Span::from_millis(5);
    /// The rate at which an initial error is corrected: slewing runs at 5 %.
    const MADE_GOOD: f64 = 0.04;
    /// The time to get enough samples after healing.
    const HEARS_WITHIN: Span = Span::from_secs(2);

    pub(crate) fn on_reading(
        &mut self,
        (client, session): (usize, u32),
        (local, shared): (LocalInstant, SharedInstant),
        uncertainty: Span,
        now: SharedInstant,
        findings: &mut Findings,
    ) {
        let before = self.seen.get(&client).copied().filter(|before| before.session == session);
        let since = before.map_or(now, |before| before.since);
        let unsure = before.map_or(uncertainty, |before| before.unsure);
        self.seen.insert(client, ClockReading { session, unsure, local, shared, since });
        if let Some(before) = before {
            let (passed, ran) = (local - before.local, shared - before.shared);
            let is_steady =
                ran >= Span::ZERO && (ran - passed).abs() <= passed.scaled(0.05) + Span::from_micros(2);
            findings.check(Law::Clock, now, is_steady, || {
                format!("client {client}'s shared clock ran {ran:?} while {passed:?} passed")
            });
        } else {
            self.worst.remove(&client);
        }
        let error = shared - now;
        let worst = self.worst.entry(client).or_default();
        *worst = error.abs().max(*worst);
        if self.is_excused(client, since) {
            return;
        }
        findings.check(Law::Clock, now, error.abs() <= uncertainty, || {
            format!("client {client}'s shared clock is {error:?} off, and says {uncertainty:?} at most")
        });
    }

    pub(crate) fn on_step(&mut self, client: usize, now: SharedInstant) {
        self.excused.insert(client, ClockExcuse::Stepped(now));
    }

    pub(crate) fn on_drift(&mut self, client: usize) {
        self.excused.insert(client, ClockExcuse::Drifts);
    }

    /// Returns the largest error of a client's clock in this session; `None` while it is excused.
    pub(crate) fn worst(&self, client: usize) -> Option<Span> {
        let since = self.seen.get(&client)?.since;
        if self.is_excused(client, since) { None } else { self.worst.get(&client).copied() }
    }

    /// Returns what is wrong with a clock on a symmetric link without faults since `healed_at`.
    pub(crate) fn unsettled(
        &self,
        client: usize,
        (delay, jitter): (Span, Span),
        healed_at: SharedInstant,
        now: SharedInstant,
    ) -> Option<String> {
        let reading = self.seen.get(&client)?;
        let settling = now - reading.since.max(healed_at) - Self::HEARS_WITHIN;
        if self.is_excused(client, reading.since) || settling < Span::ZERO {
            return None;
        }
        let settled = jitter + Self::SETTLED_ERROR_MAX;
        // The initial error is at most the uncertainty minus the link's delay.
        let off_at_first = reading.unsure - delay + jitter;
        let allowed = settled.max(off_at_first - settling.scaled(Self::MADE_GOOD));
        let error = reading.shared - now;
        (error.abs() > allowed)
            .then(|| format!("client {client}'s clock is {error:?} off, not within {allowed:?}"))
    }

    fn is_excused(&self, client: usize, since: SharedInstant) -> bool {
        match self.excused.get(&client) {
            None => false,
            Some(ClockExcuse::Stepped(at)) => since < *at + Self::ROUND_TRIP_MAX,
            Some(ClockExcuse::Drifts) => true,
        }
    }
}
