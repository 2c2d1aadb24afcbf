use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fairpath::time::{LocalInstant, SharedInstant};

/// The clock that a server or a client lives by: the machine's monotonic clock, set once and never
/// again.
///
/// A server's clock is what its clients synchronise to. [`Clock::unix`], which both use unless told
/// otherwise, shows what the system's clock showed at the start: recordings of several processes on
/// one machine then have one timeline, and a server that was started again goes on where the old
/// one stopped. Steps of the system's clock after the start are not followed.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    set_at: Instant,
    showed_us: i64,
}

impl Clock {
    /// Microseconds since 1970, as the system has it now.
    pub fn unix() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::showing(i64::try_from(since.as_micros()).unwrap_or(i64::MAX / 2))
    }

    /// A clock that shows this many microseconds now.
    pub fn showing(micros: i64) -> Self {
        Self { set_at: Instant::now(), showed_us: micros }
    }

    /// The time now, for a server.
    pub fn shared(&self) -> SharedInstant {
        SharedInstant::from_micros(self.micros())
    }

    /// The time now, for a client.
    pub fn local(&self) -> LocalInstant {
        LocalInstant::from_micros(self.micros())
    }

    /// When it shows this many microseconds; now, if that is past.
    pub(crate) fn when(&self, micros: i64) -> Instant {
        let ahead = micros.saturating_sub(self.micros()).max(0);
        Instant::now() + Duration::from_micros(ahead as u64).min(FAR)
    }

    fn micros(&self) -> i64 {
        self.showed_us + i64::try_from(self.set_at.elapsed().as_micros()).unwrap_or(i64::MAX / 2)
    }
}

/// Nothing is waited for longer than this before it is looked at again.
const FAR: Duration = Duration::from_secs(3600);
