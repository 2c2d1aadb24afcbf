//! The machine: its clock, which all processes share, and the processor time of this process.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Since the machine was started, by the clock that nobody sets; the same in all processes.
pub fn now() -> Duration {
    read(ClockId::Monotonic)
}

/// What all threads of this process have had of the processor so far, in the kernel too.
///
/// On the loopback a packet is carried to the receiver's socket by whoever sends it: that is in the
/// sender's time.
pub fn processor_time() -> Duration {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Turns at a steady rate, on a grid: a turn that comes late does not move those after it.
#[derive(Clone, Copy, Debug)]
pub struct TickTimer {
    next: Duration,
    period: Duration,
}

impl TickTimer {
    /// The first turn is now.
    pub fn hz(rate: f64) -> Self {
        Self { next: now(), period: Duration::from_secs_f64(1.0 / rate) }
    }

    /// Waits for the next turn, and says how late it comes. Turns that were missed altogether are
    /// left out.
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
