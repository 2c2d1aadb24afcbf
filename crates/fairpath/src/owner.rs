//! The side that knows where an entity really is.

use crate::dr_vector::{Attitude, DrVector};
use crate::forecast::Forecast;
use crate::motion::{Motion, MotionKind};
use crate::number::{EntityId, Generation, Life};
use crate::state::{Observation, State};
use crate::time::{SharedInstant, Span};
use crate::trigger::{Trigger, TriggerReason};
use crate::vector::Planar;
use crate::wire::Precision;

/// The oldest instant for which a session accepts an observation, before its current time: 1 s.
///
/// A game that stalls for longer skips the ticks it missed (see [`FixedSteps`](crate::FixedSteps)).
/// Receivers have long predicted past an older state.
pub const OBSERVED_LATE_MAX: Span = Span::from_secs(1);

/// The latest instant for which a session accepts an observation, after its current time: 100 ms,
/// one tick at 10 Hz. A game that simulates up to the end of the running tick stays below it.
pub const OBSERVED_AHEAD_MAX: Span = Span::from_millis(100);

/// Watches the true state of one entity, and generates a DR vector whenever the exported path is no
/// longer good enough.
///
/// The exported path is what receivers *decode*: a DR vector is moved onto the wire's time grid and
/// rounded to the wire's precision before it is compared with the truth. Otherwise the threshold
/// would not hold for receivers.
#[derive(Debug)]
pub struct Owner<V: Planar> {
    entity: EntityId,
    trigger: Trigger,
    kind: MotionKind,
    precision: Precision,
    sends_attitude: bool,
    anticipation: Option<Anticipation>,
    forecast: Option<Box<dyn Forecast<V>>>,
    parent: Option<EntityId>,
    exported: Option<DrVector<V>>,
    observed_at: Option<SharedInstant>,
}

/// A new DR vector, and why it was generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Export<V: Planar> {
    /// The DR vector to send, exactly as receivers will decode it.
    pub vector: DrVector<V>,
    /// Why it was generated.
    pub reason: TriggerReason,
}

/// Why an owner rejects an observation. The observation was ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObserveError {
    /// The observed state holds a NaN, an infinity, or a number greater than
    /// [`NUMBER_MAX`](crate::motion::NUMBER_MAX).
    NotFinite(EntityId),
    /// The observation is older than the last one of the same entity.
    Older {
        /// The observed entity.
        entity: EntityId,
        /// How much older it is than the last observation.
        by: Span,
    },
}

impl std::fmt::Display for ObserveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotFinite(EntityId(entity)) => write!(
                f,
                "cannot observe entity {entity}: its state holds NaN, an infinity or a number above 1e30"
            ),
            Self::Older { entity: EntityId(entity), by } => write!(
                f,
                "cannot observe entity {entity}: the state is {} ms older than the last observed one; \
                 observe states in the order of their instants",
                by.as_millis_f64()
            ),
        }
    }
}

impl std::error::Error for ObserveError {}

impl<V: Planar> Owner<V> {
    /// Returns an owner that predicts with constant velocity and generates when `trigger` fires.
    pub fn new(entity: EntityId, trigger: Trigger) -> Self {
        Self {
            entity,
            trigger,
            kind: MotionKind::default(),
            precision: Precision::default(),
            sends_attitude: false,
            anticipation: None,
            forecast: None,
            parent: None,
            exported: None,
            observed_at: None,
        }
    }

    /// Predicts with another model: circular for an entity that steers, quadratic for one that
    /// falls. Default: constant velocity.
    #[must_use]
    pub fn with_model(mut self, kind: MotionKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the precision of the wire format. Receivers must decode with the same.
    #[must_use]
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Also sends the orientation, for an entity whose orientation does not follow from its motion.
    #[must_use]
    pub fn with_attitude(mut self) -> Self {
        self.sends_attitude = true;
        self
    }

    /// Makes the number of DR vectors independent of how often the game observes.
    ///
    /// By default the owner generates at the first observation beyond the threshold: half an
    /// interval late on average, so a game with slow ticks sends fewer. With this option it
    /// generates at the observation *nearest* to the instant of crossing. For that it continues the
    /// truth with its own motion model, by half the usual interval between observations (of at most
    /// 250 ms), and carries the remaining difference to the next DR vector. It never generates
    /// later than it does by default, and the DR vector still describes the observed state.
    #[must_use]
    pub fn anticipating(mut self) -> Self {
        self.anticipation = Some(Anticipation::default());
        self
    }

    /// Exports motions that `forecast` chooses: see [`set_forecast`](Self::set_forecast).
    #[must_use]
    pub fn with_forecast(mut self, forecast: Box<dyn Forecast<V>>) -> Self {
        self.set_forecast(Some(forecast));
        self
    }

    /// Continues after another owner, whose last DR vector, `exported`, receivers follow. The
    /// entity stays attached to the parent of that DR vector.
    #[must_use]
    pub fn continuing(mut self, exported: DrVector<V>) -> Self {
        self.parent = exported.parent;
        self.exported = Some(exported);
        self
    }

    /// Sets the forecast that chooses the motions to export, or removes it. Default: none, and the
    /// owner exports the motion of its own model.
    pub fn set_forecast(&mut self, forecast: Option<Box<dyn Forecast<V>>>) {
        self.forecast = forecast;
    }

    /// Sets the rule that says when a DR vector is due. It counts from the next observation on.
    pub fn set_trigger(&mut self, trigger: Trigger) {
        self.trigger = trigger;
    }

    /// Takes the true state at the instant `at` and returns a DR vector when one is due.
    ///
    /// `at` is the instant for which the state is true, which is not always the time of the call:
    /// in a loop with fixed steps it is the time of the simulated tick. Observe every tick, in
    /// order; two observations of the same instant are allowed.
    ///
    /// Of several observations within one step of the wire's time grid (1 ms by default) at most
    /// one generates a DR vector, unless the entity jumps.
    pub fn observe(
        &mut self,
        observation: Observation<V>,
        at: SharedInstant,
    ) -> Result<Option<Export<V>>, ObserveError> {
        let entity = self.entity;
        if !observation.state().stays_finite() {
            return Err(ObserveError::NotFinite(entity));
        }
        let elapsed = self.observed_at.map_or(Span::ZERO, |last| at - last);
        if elapsed < Span::ZERO {
            return Err(ObserveError::Older { entity, by: -elapsed });
        }
        self.observed_at = Some(at);
        if let Some(anticipation) = &mut self.anticipation {
            anticipation.on_observed(elapsed);
        }
        if let Some(forecast) = &mut self.forecast {
            forecast.observe(&observation, at);
        }
        let Some(reason) = self.reason_to_cut(&observation, at) else { return Ok(None) };
        self.settle(&observation, at);
        let vector = self.cut(observation.state(), at, reason);
        self.exported = Some(vector);
        Ok(Some(Export { vector, reason }))
    }

    /// Replaces the newest DR vector by another one that receivers follow. The parent of observed
    /// states stays as it is.
    pub(crate) fn overrule(&mut self, exported: DrVector<V>) {
        self.exported = Some(exported);
    }

    /// Attaches the entity to a moving parent, or detaches it with `None`.
    ///
    /// From now on observed states are relative to the parent: [`State::relative_to`] computes
    /// them, and triggers measure their thresholds in the parent's axes. If the parent is another
    /// one than before, the next observation begins a new life and generates a DR vector.
    pub fn attach(&mut self, parent: Option<EntityId>) {
        self.parent = parent;
    }

    /// Returns the parent that observed states are relative to.
    pub fn parent(&self) -> Option<EntityId> {
        self.parent
    }

    /// Returns the newest DR vector, or `None` before the first observation.
    pub fn exported(&self) -> Option<&DrVector<V>> {
        self.exported.as_ref()
    }

    /// Returns the instant of the last observation.
    pub(crate) fn observed_at(&self) -> Option<SharedInstant> {
        self.observed_at
    }

    /// Returns the watched entity.
    pub fn entity(&self) -> EntityId {
        self.entity
    }

    fn reason_to_cut(&self, observation: &Observation<V>, at: SharedInstant) -> Option<TriggerReason> {
        let Some(exported) = &self.exported else { return Some(TriggerReason::Born) };
        match observation {
            Observation::Jumped(_) => Some(TriggerReason::Jumped),
            Observation::Moved(_) if exported.parent != self.parent => Some(TriggerReason::Jumped),
            Observation::Moved(_) if self.on_grid(at) <= exported.generated_at => None,
            Observation::Moved(state) => self.trigger.check(state, exported, at).or_else(|| {
                let ahead = self.anticipation.as_ref()?.ahead();
                self.check_after(ahead, (state, &self.continuation(state)), exported, at)
            }),
        }
    }

    /// The motion in which the truth is continued to check the trigger ahead of an observation.
    fn continuation(&self, state: &State<V>) -> Motion<V> {
        let kind = if self.kind == MotionKind::Static { MotionKind::Linear } else { self.kind };
        kind.from_state(state)
    }

    /// Checks the trigger `secs` after the observation, on the truth continued to then.
    fn check_after(
        &self,
        secs: f64,
        (state, continuation): (&State<V>, &Motion<V>),
        exported: &DrVector<V>,
        at: SharedInstant,
    ) -> Option<TriggerReason> {
        let truth = match continuation {
            // A check of these costs as much as two positions.
            Motion::Linear(_) | Motion::Quadratic(_) | Motion::Circular(_)
                if self.trigger.reads_position_only() =>
            {
                State { position: continuation.position_at(secs), ..*state }
            }
            _ => with_own_orientation(state, continuation.state_at(secs), secs),
        };
        self.trigger.check(&truth, exported, at + Span::from_secs_f64(secs))
    }

    /// Carries the time between the crossing and this cut to the next cut.
    fn settle(&mut self, observation: &Observation<V>, at: SharedInstant) {
        if let (Some(mut anticipation), Some(exported), Observation::Moved(state)) =
            (self.anticipation, &self.exported, observation)
        {
            let truth = (state, &self.continuation(state));
            anticipation.on_cut(|secs| self.check_after(secs, truth, exported, at).is_some());
            self.anticipation = Some(anticipation);
        }
    }

    fn cut(&mut self, state: &State<V>, at: SharedInstant, reason: TriggerReason) -> DrVector<V> {
        let generated_at = match &self.exported {
            // Later than the last one even within one grid step: receivers order by this.
            Some(last) => self.on_grid(at).max(last.generated_at + self.precision.time_step()),
            None => self.on_grid(at),
        };
        let secs = (generated_at - at).as_secs_f64();
        let at_start = self.kind.from_state(state).state_at(secs);
        let (life, generation) = match &self.exported {
            Some(last) if reason == TriggerReason::Jumped => (last.life.next(), last.generation.next()),
            Some(last) => (last.life, last.generation.next()),
            None => (Life::default(), Generation::default()),
        };
        let attitude = self.sends_attitude.then(|| Attitude {
            orientation: V::turned(state.orientation, state.spin, secs),
            spin: state.spin,
        });
        let (entity, parent) = (self.entity, self.parent);
        let with_motion = |motion| {
            let exact = DrVector { entity, life, generation, generated_at, motion, attitude, parent };
            self.precision.as_decoded(&exact)
        };
        let own = with_motion(self.kind.from_state(&at_start));
        let foreseen = self.forecast.as_mut().and_then(|forecast| {
            forecast.motion(&continued(state, MotionKind::Quadratic, secs), generated_at)
        });
        foreseen
            .filter(Motion::stays_finite)
            .map(with_motion)
            .filter(|vector| self.trigger.check(state, vector, at).is_none())
            .unwrap_or(own)
    }

    /// Returns the last instant of the wire's time grid that is not after `at`.
    fn on_grid(&self, at: SharedInstant) -> SharedInstant {
        let step = self.precision.time_step().as_micros();
        SharedInstant::ZERO + Span::from_micros(at.as_micros().div_euclid(step) * step)
    }
}

/// Returns the state `secs` later, with a model that may know less than the state: the orientation
/// and the spin remain the body's own.
fn continued<V: Planar>(state: &State<V>, kind: MotionKind, secs: f64) -> State<V> {
    with_own_orientation(state, kind.from_state(state).state_at(secs), secs)
}

fn with_own_orientation<V: Planar>(state: &State<V>, later: State<V>, secs: f64) -> State<V> {
    let orientation = V::turned(state.orientation, state.spin, secs);
    State { orientation, spin: state.spin, ..later }
}

/// Decides how far to look ahead so that cuts are neither early nor late on average.
#[derive(Clone, Copy, Debug, Default)]
struct Anticipation {
    /// The last interval between two observations, in seconds.
    last: f64,
    /// The usual interval between two observations, in seconds.
    usual: f64,
    /// How much later than the crossings all cuts together were, in seconds. Negative if they were
    /// early.
    late: f64,
}

impl Anticipation {
    /// A longer interval is a stall and counts as this long.
    const INTERVAL_MAX: Span = Span::from_millis(250);
    /// The number of intervals whose mean is the usual one: frames jitter, and the next interval is
    /// not known.
    const INTERVALS: f64 = 8.0;
    /// How much lateness the next cuts make up for, in usual intervals. Fixed ticks need a half,
    /// and frames that jitter need more. A stall leaves more than that behind, which nothing
    /// can repair.
    const LATE_MAX: f64 = 2.0;
    /// Halvings in the search for the crossing: to a 64th of the interval.
    const HALVINGS: u32 = 5;

    fn on_observed(&mut self, elapsed: Span) {
        if elapsed > Span::ZERO {
            self.last = elapsed.min(Self::INTERVAL_MAX).as_secs_f64();
            let share = if self.usual == 0.0 { 1.0 } else { 1.0 / Self::INTERVALS };
            self.usual += (self.last - self.usual) * share;
        }
    }

    /// Returns how far to look ahead, in seconds: half an interval if earlier cuts were in time.
    fn ahead(&self) -> f64 {
        (0.5 * self.usual + self.late).max(0.0)
    }

    /// Notes a cut. `fires_after` says whether the trigger fires so many seconds after the cut: the
    /// crossing lies where that begins.
    fn on_cut(&mut self, fires_after: impl Fn(f64) -> bool) {
        let (mut before, mut after) = (-self.last, if fires_after(0.0) { 0.0 } else { self.ahead() });
        for _ in 0..Self::HALVINGS {
            let middle = 0.5 * (before + after);
            *(if fires_after(middle) { &mut after } else { &mut before }) = middle;
        }
        let crossing = 0.5 * (before + after);
        self.late = (self.late - crossing).clamp(-0.5 * self.usual, Self::LATE_MAX * self.usual);
    }
}
