//! The machine's clock, which all processes share, and the processor time of this process.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the time since the machine started, by the monotonic clock that all processes share.
pub fn now() -> Duration {
    read(ClockId::Monotonic)
}

/// Returns the processor time of all threads of this process so far, kernel time included.
///
/// On the loopback this includes carrying a sent packet to the receiver's socket.
pub fn processor_time() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// Returns the resident memory of this process, or 0 where the system does not report it.
pub fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Ticks at a steady rate, on a grid: a late tick does not delay the ones after it.
#[derive(Clone, Copy, Debug)]
pub struct TickTimer {
    next: Duration,
    period: Duration,
}

impl TickTimer {
    /// Starts a timer with this many ticks per second. The first tick is now.
    pub fn hz(rate: f64) -> Self {
        Self { next: now(), period: Duration::from_secs_f64(1.0 / rate) }
    }

    /// Waits for the next tick and returns how late it is. Missed ticks are skipped.
    pub fn wait(&mut self) -> Duration {
        let early = self.next.saturating_sub(now());
        if !early.is_zero() {
            std::thread::sleep(early);
        }
        let late = now().saturating_sub(self.next);
        self.next += self.period;
        while self.next + self.period < now() {
            self.next += self.period;
        }
        late
    }
}
