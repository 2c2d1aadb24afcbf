use std::collections::BTreeMap;

use super::{Anchor, Placement, Replica};
use crate::dr_vector::DrVector;
use crate::motion::Motion;
use crate::time::{Now, Span};
use crate::vector::Planar;

/// Places many entities at once.
///
/// One array per axis and no branch in the loop, so that a hundred thousand straight movers cost no
/// more than reading their memory. Entities on curves keep their slot and are placed one by one.
/// The results equal those of [`Replica::place`] to the last bit, without clips. So they are
/// relative to the parent, where there is one.
///
/// Give every entity a slot, call [`set`](Self::set) whenever its replica used a DR vector, and
/// [`place_all`](Self::place_all) once a frame.
#[derive(Clone, Debug)]
pub struct Crowd<V: Planar> {
    placement: Placement,
    horizon: Span,
    /// Microseconds on the placement's clock: whole numbers, which f64 subtracts exactly.
    start: Vec<f64>,
    axes: Vec<Axis>,
    curved: BTreeMap<usize, DrVector<V>>,
}

#[derive(Clone, Debug, Default)]
struct Axis {
    origin: Vec<f64>,
    velocity: Vec<f64>,
}

/// The positions of a crowd, one array per axis. Keep it from frame to frame: it allocates once.
#[derive(Clone, Debug, Default)]
pub struct Positions {
    axes: Vec<Vec<f64>>,
}

impl Positions {
    /// Returns component `axis` of every position, by slot.
    pub fn axis(&self, axis: usize) -> &[f64] {
        &self.axes[axis]
    }

    /// Returns the position in `slot`.
    pub fn get<V: Planar>(&self, slot: usize) -> V {
        V::from_components(|axis| self.axes[axis][slot])
    }
}

impl<V: Planar> Crowd<V> {
    /// Returns an empty crowd of replicas with this placement and horizon.
    pub fn new(placement: Placement, horizon: Span) -> Self {
        let axes = vec![Axis::default(); V::DIMENSIONS];
        Self { placement, horizon, start: Vec::new(), axes, curved: BTreeMap::new() }
    }

    /// Returns the number of slots.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Returns whether there is no slot.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// Copies the DR vector that `replica` follows into `slot`, and adds slots up to it. A replica
    /// without one is placed at the origin.
    pub fn set(&mut self, slot: usize, replica: &Replica<V>) {
        self.grow_to(slot + 1);
        self.curved.remove(&slot);
        let Some(belief) = replica.belief() else { return self.write(slot, V::ZERO, V::ZERO) };
        self.start[slot] = match belief.anchor {
            Anchor::Local(start) => start.as_micros() as f64,
            Anchor::Shared(start) => start.as_micros() as f64,
        };
        match &belief.vector.motion {
            Motion::Static(at) => self.write(slot, at.position, V::ZERO),
            Motion::Linear(line) => self.write(slot, line.position, line.velocity),
            _ => {
                self.curved.insert(slot, belief.vector);
            }
        }
    }

    /// Writes the position of every slot at `now`.
    pub fn place_all(&self, now: Now, positions: &mut Positions) {
        positions.axes.resize_with(V::DIMENSIONS, Vec::new);
        let now_us = self.micros(now);
        let horizon_us = self.horizon.as_micros() as f64;
        for (axis, out) in self.axes.iter().zip(&mut positions.axes) {
            out.resize(self.len(), 0.0);
            let lines = axis.origin.iter().zip(&axis.velocity).zip(&self.start);
            for (out, ((origin, velocity), start)) in out.iter_mut().zip(lines) {
                *out = origin + velocity * age_secs_at(now_us, *start, horizon_us);
            }
        }
        for (&slot, vector) in &self.curved {
            let position = vector.motion.position_at(age_secs_at(now_us, self.start[slot], horizon_us));
            for (index, out) in positions.axes.iter_mut().enumerate() {
                out[slot] = position.component(index);
            }
        }
    }

    /// Returns the time on the placement's clock.
    fn micros(&self, now: Now) -> f64 {
        match self.placement {
            Placement::Global => now.shared.as_micros() as f64,
            Placement::Local | Placement::Hop => now.local.as_micros() as f64,
        }
    }

    fn grow_to(&mut self, len: usize) {
        if len > self.len() {
            self.start.resize(len, 0.0);
            for axis in &mut self.axes {
                axis.origin.resize(len, 0.0);
                axis.velocity.resize(len, 0.0);
            }
        }
    }

    fn write(&mut self, slot: usize, origin: V, velocity: V) {
        for (index, axis) in self.axes.iter_mut().enumerate() {
            axis.origin[slot] = origin.component(index);
            axis.velocity[slot] = velocity.component(index);
        }
    }
}

/// A comparison instead of `f64::min`, which must also handle NaN: this is one instruction.
fn age_secs_at(now_us: f64, start_us: f64, horizon_us: f64) -> f64 {
    let age_us = now_us - start_us;
    1e-6 * if age_us < horizon_us { age_us } else { horizon_us }
}
