use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fairpath::time::{LocalInstant, SharedInstant};

/// The clock of a server or a client: the machine's monotonic clock, set once at the start.
///
/// Clients synchronise to the server's clock. [`Clock::unix`], the default of both, shows the
/// system's time at the start. Recordings of several processes on one machine then share a
/// timeline, and a restarted server continues where the old one stopped. Later changes of the
/// system's clock have no effect.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    set_at: Instant,
    showed_us: i64,
}

impl Clock {
    /// A clock that shows the system's time, in microseconds since 1970.
    pub fn unix() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::showing(i64::try_from(since.as_micros()).unwrap_or(i64::MAX / 2))
    }

    /// A clock that shows this many microseconds now.
    pub fn showing(micros: i64) -> Self {
        Self { set_at: Instant::now(), showed_us: micros }
    }

    /// The current time, as a server's shared time.
    pub fn shared(&self) -> SharedInstant {
        SharedInstant::from_micros(self.micros())
    }

    /// What the clock showed at this instant, as a server's shared time.
    pub(crate) fn shared_at(&self, at: Instant) -> SharedInstant {
        let since = at.saturating_duration_since(self.set_at);
        SharedInstant::from_micros(self.showed_us + i64::try_from(since.as_micros()).unwrap_or(i64::MAX / 2))
    }

    /// The current time, as a client's local time.
    pub fn local(&self) -> LocalInstant {
        LocalInstant::from_micros(self.micros())
    }

    /// What the clock showed at this instant, as local time.
    pub(crate) fn local_at(&self, at: Instant) -> LocalInstant {
        LocalInstant::from_micros(self.shared_at(at).as_micros())
    }

    /// The instant at which the clock shows this; at the earliest the one at which it was set.
    pub(crate) fn instant_of(&self, local: LocalInstant) -> Instant {
        let since = local.as_micros().saturating_sub(self.showed_us).max(0);
        self.set_at + Duration::from_micros(since as u64)
    }

    /// When the clock shows this many microseconds; now, if that is past.
    pub(crate) fn when(&self, micros: i64) -> Instant {
        let ahead = micros.saturating_sub(self.micros()).max(0);
        Instant::now() + Duration::from_micros(ahead as u64).min(FAR)
    }

    fn micros(&self) -> i64 {
        self.showed_us + i64::try_from(self.set_at.elapsed().as_micros()).unwrap_or(i64::MAX / 2)
    }
}

/// Longest wait for a deadline before it is checked again.
const FAR: Duration = Duration::from_secs(3600);
