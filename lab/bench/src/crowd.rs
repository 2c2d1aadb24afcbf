//! Places a hundred thousand entities at one instant.

use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, Generation, Life};
use fairpath::place::{Arrival, Crowd, Placement, Positions, Replica};
use fairpath::random::Random;
use fairpath::time::{Now, SharedInstant};
use fairpath::vector::Vec2;
use fairpath::{DrVector, State};

use crate::measure::{BenchTable, Contender};

const ENTITIES: usize = 100_000;

pub(crate) fn bench() -> BenchTable {
    let replicas = replicas();
    let mut crowd = Crowd::new(Placement::Global, Replica::<Vec2>::HORIZON);
    for (slot, replica) in replicas.iter().enumerate() {
        crowd.set(slot, replica);
    }
    let plain = Plain::new(&replicas);
    let (mut x, mut y) = (vec![0.0; ENTITIES], vec![0.0; ENTITIES]);
    let mut copied = plain.clone();
    let mut positions = Positions::default();
    let now = Now::synchronised(SharedInstant::from_millis(500));
    BenchTable::measure(
        "Placement: 100 000 linear entities in the plane",
        vec![
            Contender::new("plain loop, same arrays", ENTITIES, || {
                plain.place(now, &mut x, &mut y);
                x[7] + y[ENTITIES - 1]
            }),
            Contender::new("copying the same bytes (memcpy)", ENTITIES, || {
                copied.copy_from(&plain);
                copied.x[7]
            }),
            Contender::new("Crowd::place_all (with horizon)", ENTITIES, || {
                crowd.place_all(now, &mut positions);
                positions.axis(0)[7] + positions.axis(1)[ENTITIES - 1]
            }),
            Contender::new("Replica::position, one by one", ENTITIES, || {
                replicas.iter().map(|replica| replica.position(now).map_or(0.0, |at| at.x)).sum()
            }),
            Contender::new("Replica::place, one by one (velocity and heading too)", ENTITIES, || {
                replicas.iter().map(|replica| replica.place(now).map_or(0.0, |at| at.position.x)).sum()
            }),
        ],
    )
    .note("goal: Crowd::place_all within 1.5 of the plain loop")
}

fn replicas() -> Vec<Replica<Vec2>> {
    let mut random = Random::from_seed(1);
    (0..ENTITIES)
        .map(|index| {
            let mut draw = |limit: f64| random.between(-limit, limit);
            let state = State::moving(Vec2::new(draw(500.0), draw(500.0)), Vec2::new(draw(40.0), draw(40.0)));
            let generated_at = SharedInstant::from_micros(-(index as i64 % 1000) * 1000);
            let vector = DrVector {
                entity: EntityId(index as u32),
                life: Life::default(),
                generation: Generation::default(),
                generated_at,
                motion: MotionKind::Linear.from_state(&state),
                attitude: None,
                parent: None,
            };
            let mut replica = Replica::new(Placement::Global);
            replica.accept(&vector, &Arrival::at(Now::synchronised(generated_at)));
            replica
        })
        .collect()
}

/// The same by hand: five arrays and a loop.
#[derive(Clone, Default)]
struct Plain {
    start_us: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    vx: Vec<f64>,
    vy: Vec<f64>,
}

impl Plain {
    fn new(replicas: &[Replica<Vec2>]) -> Self {
        let mut plain = Self::default();
        for vector in replicas.iter().filter_map(Replica::followed) {
            let start = vector.motion.state_at(0.0);
            plain.start_us.push(vector.generated_at.as_micros() as f64);
            plain.x.push(start.position.x);
            plain.y.push(start.position.y);
            plain.vx.push(start.velocity.x);
            plain.vy.push(start.velocity.y);
        }
        plain
    }

    fn copy_from(&mut self, other: &Self) {
        self.start_us.copy_from_slice(&other.start_us);
        self.x.copy_from_slice(&other.x);
        self.y.copy_from_slice(&other.y);
        self.vx.copy_from_slice(&other.vx);
        self.vy.copy_from_slice(&other.vy);
    }

    fn place(&self, now: Now, x: &mut [f64], y: &mut [f64]) {
        let now_us = now.shared.as_micros() as f64;
        let len = x.len();
        let (start, px, py) = (&self.start_us[..len], &self.x[..len], &self.y[..len]);
        let (vx, vy, y) = (&self.vx[..len], &self.vy[..len], &mut y[..len]);
        for i in 0..len {
            let at = (now_us - start[i]) * 1e-6;
            x[i] = px[i] + vx[i] * at;
            y[i] = py[i] + vy[i] * at;
        }
    }
}
