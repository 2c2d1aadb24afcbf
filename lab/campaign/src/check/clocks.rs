//! Shared clocks never fall within a session, run at most 5 % off, and are as wrong as they say at
//! most.
//!
//! The model: the true time. A clock that was stepped, or drifts more than clocks may, is excused
//! from knowing how wrong it is until its next session; from falling it is never excused.

use std::collections::BTreeMap;

use fairpath::time::{LocalInstant, SharedInstant, Span};

use super::{Findings, Law};

/// What every clock has shown.
#[derive(Debug, Default)]
pub(crate) struct ClockCheck {
    seen: BTreeMap<usize, ClockReading>,
    /// Until when a clock is excused.
    excused: BTreeMap<usize, ClockExcuse>,
    /// How wrong each client's clock was at most in its session.
    worst: BTreeMap<usize, Span>,
}

#[derive(Clone, Copy, Debug)]
struct ClockReading {
    session: u32,
    /// How unsure it was when the session began.
    unsure: Span,
    local: LocalInstant,
    shared: SharedInstant,
    since: SharedInstant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClockExcuse {
    /// Until a session that begins this long after.
    Stepped(SharedInstant),
    /// For good, or until it is mended, which counts as a step.
    Drifts,
}

impl ClockCheck {
    /// A reply that was asked for before a step may come after it: so old can a request be.
    const ROUND_TRIP_MAX: Span = Span::from_secs(6);
    /// By how much a settled clock may be off on a link that is alike both ways, besides jitter.
    const SETTLED_ERROR_MAX: Span = Span::from_millis(5);
    /// How fast what it was unsure of when the session began is made good: slewing takes 5 %.
    const MADE_GOOD: f64 = 0.04;
    /// How long it takes to hear enough, once the link is good.
    const HEARS_WITHIN: Span = Span::from_secs(2);

    /// A client's shared clock shows this.
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

    /// A client's clock jumps.
    pub(crate) fn on_step(&mut self, client: usize, now: SharedInstant) {
        self.excused.insert(client, ClockExcuse::Stepped(now));
    }

    /// A client's clock drifts more than clocks may.
    pub(crate) fn on_drift(&mut self, client: usize) {
        self.excused.insert(client, ClockExcuse::Drifts);
    }

    /// Returns how wrong a client's clock was at most in this session; nothing if it has no excuse to be
    /// relied on.
    pub(crate) fn worst(&self, client: usize) -> Option<Span> {
        let since = self.seen.get(&client)?.since;
        if self.is_excused(client, since) { None } else { self.worst.get(&client).copied() }
    }

    /// Returns what is wrong with a clock that has had a good link, alike both ways, since `healed_at`.
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
        // Of what it was unsure of at first, no way is quicker than the link.
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
