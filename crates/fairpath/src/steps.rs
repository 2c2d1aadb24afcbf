//! The loop with fixed steps: which ticks to simulate in a frame.

use std::ops::{Add, Sub};

use crate::time::{Span, TickRate};

/// Counts the ticks of a game loop with fixed steps, however long its frames are.
///
/// The ticks lie on an exact grid that begins at the first instant asked for, and each is returned
/// once. `At` is the clock's instant: [`SharedInstant`](crate::SharedInstant) at a server,
/// [`LocalInstant`](crate::LocalInstant) at a client. Observe each tick at its own instant, not at
/// the time of the frame:
///
/// ```
/// use fairpath::prelude::*;
/// use fairpath::{Observation, Owner, Trigger};
///
/// let mut owner = Owner::new(EntityId(1), Trigger::within(0.3)).anticipating();
/// let mut steps = FixedSteps::hz(60);
/// let (mut ship, velocity) = (Vec2::ZERO, Vec2::new(30.0, 0.0));
/// let mut sent = 0;
/// for frame in 0..1000 {
///     let now = SharedInstant::from_millis(frame * 7);
///     for tick in steps.until(now) {
///         ship += velocity * tick.secs();
///         let state = State::moving(ship, velocity);
///         sent += usize::from(owner.observe(Observation::Moved(state), tick.at())?.is_some());
///     }
/// }
/// assert_eq!(sent, 7, "straight for seven seconds: one DR vector a second");
/// # Ok::<(), fairpath::ObserveError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FixedSteps<At> {
    rate: TickRate,
    start: Option<At>,
    next: i64,
    at_once_max: i64,
    skipped: u64,
}

/// One step of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick<At> {
    number: i64,
    at: At,
    rate: TickRate,
}

impl<At: Copy> Tick<At> {
    /// Returns the number of the tick, counted from zero. Skipped ticks count.
    pub fn number(&self) -> i64 {
        self.number
    }

    /// Returns the instant for which the simulated state is true: pass it to `observe`.
    pub fn at(&self) -> At {
        self.at
    }

    /// Returns the length of the step in seconds. It is the same for every tick.
    pub fn secs(&self) -> f64 {
        self.rate.step_secs()
    }
}

impl<At: Copy + Add<Span, Output = At> + Sub<Output = Span>> FixedSteps<At> {
    /// Most ticks returned at once, as a time. 250 ms: longer stalls slow the game down rather than
    /// asking for more work than the machine has time for.
    const AT_ONCE_MAX: Span = Span::from_millis(250);

    /// Returns a loop with `hertz` ticks per second. Panics if `hertz` is zero.
    pub const fn hz(hertz: u32) -> Self {
        let steps = Self { rate: TickRate::hz(hertz), start: None, next: 0, at_once_max: 1, skipped: 0 };
        steps.with_at_once_max(Self::AT_ONCE_MAX)
    }

    /// Sets how much time one call of [`until`](Self::until) may simulate, at least one tick. Ticks
    /// beyond it are skipped. Default 250 ms. Above
    /// [`OBSERVED_LATE_MAX`](crate::OBSERVED_LATE_MAX) a session refuses the oldest ticks.
    #[must_use]
    pub const fn with_at_once_max(mut self, span: Span) -> Self {
        let ticks = self.rate.running_at(span);
        self.at_once_max = if ticks < 1 { 1 } else { ticks };
        self
    }

    /// Returns the ticks that are due at `now`, oldest first. The first call returns tick zero.
    ///
    /// After a stall it returns the newest ticks only and skips the others. Ticks that the caller
    /// does not take from the iterator are due again in the next call.
    ///
    /// The iterator borrows the `FixedSteps`. Where it is a field, a method of the whole struct
    /// cannot be called inside the loop (error E0499): destructure `self` first, or collect the
    /// ticks.
    ///
    /// ```
    /// use fairpath::{FixedSteps, LocalInstant};
    ///
    /// struct Game { steps: FixedSteps<LocalInstant>, ticks: u32 }
    ///
    /// impl Game {
    ///     fn frame(&mut self, now: LocalInstant) {
    ///         let due: Vec<_> = self.steps.until(now).collect();
    ///         for tick in due {
    ///             self.step(tick.secs());
    ///         }
    ///     }
    ///     fn step(&mut self, _secs: f64) { self.ticks += 1; }
    /// }
    /// # let mut game = Game { steps: FixedSteps::hz(60), ticks: 0 };
    /// # game.frame(LocalInstant::ZERO);
    /// # game.frame(LocalInstant::from_millis(50));
    /// # assert_eq!(game.ticks, 4);
    /// ```
    pub fn until(&mut self, now: At) -> Ticks<'_, At> {
        let start = *self.start.get_or_insert(now);
        let end = self.rate.running_at(now - start).saturating_add(1);
        let first = end.saturating_sub(self.at_once_max);
        if first > self.next {
            self.skipped += first.abs_diff(self.next);
            self.next = first;
        }
        Ticks { steps: self, start, end }
    }

    /// Returns how many ticks were skipped so far.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the rate of the ticks.
    pub fn rate(&self) -> TickRate {
        self.rate
    }
}

/// The ticks that are due, from [`FixedSteps::until`].
#[derive(Debug)]
pub struct Ticks<'a, At> {
    steps: &'a mut FixedSteps<At>,
    start: At,
    end: i64,
}

impl<At: Copy + Add<Span, Output = At>> Iterator for Ticks<'_, At> {
    type Item = Tick<At>;

    fn next(&mut self) -> Option<Tick<At>> {
        let FixedSteps { rate, next: number, .. } = *self.steps;
        if number >= self.end {
            return None;
        }
        self.steps.next += 1;
        Some(Tick { number, at: self.start + rate.begin(number), rate })
    }
}
