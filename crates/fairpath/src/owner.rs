//! The side that knows the truth.

use crate::dr_vector::{Attitude, DrVector};
use crate::motion::MotionKind;
use crate::number::{EntityId, Generation, Life};
use crate::state::{Observation, State};
use crate::time::{SharedInstant, Span};
use crate::trigger::{Reason, Trigger};
use crate::vector::Planar;
use crate::wire::Precision;

/// Watches one entity whose truth it is told every frame, and cuts a DR vector whenever the
/// exported path is no longer good enough.
///
/// The exported path is what receivers *decode*: a DR vector is moved onto the wire's time grid and
/// rounded to the wire's precision before it is compared with anything, or thresholds would lie.
#[derive(Clone, Debug)]
pub struct Owner<V: Planar> {
    entity: EntityId,
    trigger: Trigger,
    kind: MotionKind,
    precision: Precision,
    sends_attitude: bool,
    exported: Option<DrVector<V>>,
}

/// A DR vector that was just cut, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Export<V: Planar> {
    /// What receivers should be told, exactly as they will decode it.
    pub vector: DrVector<V>,
    /// What made it necessary.
    pub reason: Reason,
}

/// The observed state holds a NaN, an infinity, or a number greater than
/// [`NUMBER_MAX`](crate::motion::NUMBER_MAX). Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotFinite(pub EntityId);

impl std::fmt::Display for NotFinite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "entity {} was observed with a number that is not finite, or greater than 1e30", self.0.0)
    }
}

impl std::error::Error for NotFinite {}

impl<V: Planar> Owner<V> {
    /// Watches `entity`, predicts it with a straight line and cuts when `trigger` says so.
    pub fn new(entity: EntityId, trigger: Trigger) -> Self {
        Self {
            entity,
            trigger,
            kind: MotionKind::default(),
            precision: Precision::default(),
            sends_attitude: false,
            exported: None,
        }
    }

    /// Predicts with another model: circular for what steers, quadratic for what falls.
    #[must_use]
    pub fn with_model(mut self, kind: MotionKind) -> Self {
        self.kind = kind;
        self
    }

    /// Rounds as this wire format does. Receivers must decode with the same.
    #[must_use]
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Also tells which way the entity faces, where that does not follow from its motion.
    #[must_use]
    pub fn with_attitude(mut self) -> Self {
        self.sends_attitude = true;
        self
    }

    /// Goes on from what somebody else exported last: receivers already follow that.
    #[must_use]
    pub fn continuing(mut self, exported: DrVector<V>) -> Self {
        self.exported = Some(exported);
        self
    }

    /// Tells the truth of this frame; call it every frame. Answers with a DR vector when one is
    /// due.
    ///
    /// `now` must not go backwards. Of several observations within one step of the wire's time grid
    /// (1 ms by default) at most one cuts, unless the entity jumps.
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

    /// The newest DR vector: what receivers believe once they have it.
    pub fn exported(&self) -> Option<&DrVector<V>> {
        self.exported.as_ref()
    }

    /// The entity this watches.
    pub fn entity(&self) -> EntityId {
        self.entity
    }

    fn reason_to_cut(&self, observation: &Observation<V>, now: SharedInstant) -> Option<Reason> {
        let Some(exported) = &self.exported else { return Some(Reason::Born) };
        match observation {
            Observation::Jumped(_) => Some(Reason::Jumped),
            Observation::Moved(_) if self.on_grid(now) <= exported.generated_at => None,
            Observation::Moved(state) => self.trigger.check(state, exported, now),
        }
    }

    fn cut(&self, state: &State<V>, now: SharedInstant, reason: Reason) -> DrVector<V> {
        let generated_at = match &self.exported {
            // Later than the last one even within one grid step: order is by generation time.
            Some(last) => self.on_grid(now).max(last.generated_at + self.precision.time_step()),
            None => self.on_grid(now),
        };
        let at_start = self.kind.from_state(state).state_at((generated_at - now).as_secs_f64());
        let (life, generation) = match &self.exported {
            Some(last) if reason == Reason::Jumped => (last.life.next(), last.generation.next()),
            Some(last) => (last.life, last.generation.next()),
            None => (Life::default(), Generation::default()),
        };
        let attitude = self.sends_attitude.then(|| Attitude {
            orientation: V::turned(state.orientation, state.spin, (generated_at - now).as_secs_f64()),
            spin: state.spin,
        });
        let motion = self.kind.from_state(&at_start);
        let exact = DrVector { entity: self.entity, life, generation, generated_at, motion, attitude };
        self.precision.as_decoded(&exact)
    }

    /// The last instant of the wire's time grid that is not after `now`.
    fn on_grid(&self, now: SharedInstant) -> SharedInstant {
        let step = self.precision.time_step().as_micros();
        SharedInstant::ZERO + Span::from_micros(now.as_micros().div_euclid(step) * step)
    }
}
