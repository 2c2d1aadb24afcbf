//! The side that knows where an entity really is.

use crate::dr_vector::{Attitude, DrVector};
use crate::motion::MotionKind;
use crate::number::{EntityId, Generation, Life};
use crate::state::{Observation, State};
use crate::time::{SharedInstant, Span};
use crate::trigger::{Trigger, TriggerReason};
use crate::vector::Planar;
use crate::wire::Precision;

/// Watches the true state of one entity every frame, and generates a DR vector whenever the
/// exported path is no longer good enough.
///
/// The exported path is what receivers *decode*: a DR vector is moved onto the wire's time grid and
/// rounded to the wire's precision before it is compared with the truth. Otherwise the threshold
/// would not hold for receivers.
#[derive(Clone, Debug)]
pub struct Owner<V: Planar> {
    entity: EntityId,
    trigger: Trigger,
    kind: MotionKind,
    precision: Precision,
    sends_attitude: bool,
    parent: Option<EntityId>,
    exported: Option<DrVector<V>>,
}

/// A new DR vector, and why it was generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Export<V: Planar> {
    /// The DR vector to send, exactly as receivers will decode it.
    pub vector: DrVector<V>,
    /// Why it was generated.
    pub reason: TriggerReason,
}

/// The observed state holds a NaN, an infinity, or a number greater than
/// [`NUMBER_MAX`](crate::motion::NUMBER_MAX). The observation was ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotFinite(pub EntityId);

impl std::fmt::Display for NotFinite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entity = self.0.0;
        write!(f, "cannot observe entity {entity}: its state holds NaN, an infinity or a number above 1e30")
    }
}

impl std::error::Error for NotFinite {}

impl<V: Planar> Owner<V> {
    /// Returns an owner that predicts with constant velocity and generates when `trigger` fires.
    pub fn new(entity: EntityId, trigger: Trigger) -> Self {
        Self {
            entity,
            trigger,
            kind: MotionKind::default(),
            precision: Precision::default(),
            sends_attitude: false,
            parent: None,
            exported: None,
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

    /// Continues after another owner, whose last DR vector, `exported`, receivers follow. The
    /// entity stays attached to the parent of that DR vector.
    #[must_use]
    pub fn continuing(mut self, exported: DrVector<V>) -> Self {
        self.parent = exported.parent;
        self.exported = Some(exported);
        self
    }

    /// Takes the true state and returns a DR vector when one is due. Call it every frame.
    ///
    /// `now` must not go backwards. Of several observations within one step of the wire's time grid
    /// (1 ms by default) at most one generates a DR vector, unless the entity jumps.
    pub fn observe(
        &mut self,
        observation: Observation<V>,
        now: SharedInstant,
    ) -> Result<Option<Export<V>>, NotFinite> {
        let state = observation.state();
        if !state.stays_finite() {
            return Err(NotFinite(self.entity));
        }
        let Some(reason) = self.reason_to_cut(&observation, now) else { return Ok(None) };
        let vector = self.cut(state, now, reason);
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

    /// Returns the watched entity.
    pub fn entity(&self) -> EntityId {
        self.entity
    }

    fn reason_to_cut(&self, observation: &Observation<V>, now: SharedInstant) -> Option<TriggerReason> {
        let Some(exported) = &self.exported else { return Some(TriggerReason::Born) };
        match observation {
            Observation::Jumped(_) => Some(TriggerReason::Jumped),
            Observation::Moved(_) if exported.parent != self.parent => Some(TriggerReason::Jumped),
            Observation::Moved(_) if self.on_grid(now) <= exported.generated_at => None,
            Observation::Moved(state) => self.trigger.check(state, exported, now),
        }
    }

    fn cut(&self, state: &State<V>, now: SharedInstant, reason: TriggerReason) -> DrVector<V> {
        let generated_at = match &self.exported {
            // Later than the last one even within one grid step: receivers order by this.
            Some(last) => self.on_grid(now).max(last.generated_at + self.precision.time_step()),
            None => self.on_grid(now),
        };
        let at_start = self.kind.from_state(state).state_at((generated_at - now).as_secs_f64());
        let (life, generation) = match &self.exported {
            Some(last) if reason == TriggerReason::Jumped => (last.life.next(), last.generation.next()),
            Some(last) => (last.life, last.generation.next()),
            None => (Life::default(), Generation::default()),
        };
        let attitude = self.sends_attitude.then(|| Attitude {
            orientation: V::turned(state.orientation, state.spin, (generated_at - now).as_secs_f64()),
            spin: state.spin,
        });
        let motion = self.kind.from_state(&at_start);
        let (entity, parent) = (self.entity, self.parent);
        let exact = DrVector { entity, life, generation, generated_at, motion, attitude, parent };
        self.precision.as_decoded(&exact)
    }

    /// The last instant of the wire's time grid that is not after `now`.
    fn on_grid(&self, now: SharedInstant) -> SharedInstant {
        let step = self.precision.time_step().as_micros();
        SharedInstant::ZERO + Span::from_micros(now.as_micros().div_euclid(step) * step)
    }
}
