//! A fleet of simulated entities that obey the rules of DIS.

use fairpath::motion::Dis;
use fairpath::motion::dis::Model;
use fairpath::random::Random;
use fairpath::rotation::Quat;
use fairpath::time::{SharedInstant, Span};
use fairpath::{State, Vec3, Vector};
use fairpath_dis::path::{rebased, state_at};
use fairpath_dis::pdu::{Description, EntityState, Look, Pdu};
use fairpath_dis::stamp::{Instants, Stamp};
use fairpath_dis::{DisId, EntityType, Fineness};

use super::world::exchange;

/// A simulated entity: its true curve changes now and then, and it obeys the rules of DIS.
pub(super) struct Simulated {
    pub(super) id: DisId,
    model: Model,
    truth: Dis,
    truth_since: SharedInstant,
    change_at: SharedInstant,
    told: Option<(SharedInstant, Dis)>,
    random: Random,
}

fn vector(random: &mut Random, size: f64) -> Vec3 {
    let mut one = || (random.unit() * 2.0 - 1.0) * size;
    Vec3::new(one(), one(), one())
}

impl Simulated {
    pub(super) fn new(number: u16, seed: u64) -> Self {
        let mut random = Random::from_seed(seed + u64::from(number));
        let model = Model::from_number((number % 9 + 1) as u8).expect("1 to 9");
        let truth = Dis {
            model,
            position: vector(&mut random, 20_000.0),
            velocity: Vec3::ZERO,
            acceleration: Vec3::ZERO,
            orientation: Quat::from_rotation_vector(vector(&mut random, 2.0)),
            angular_velocity: Vec3::ZERO,
        };
        let (since, id) = (SharedInstant::ZERO, DisId::new(17, 1, number));
        Self { id, model, truth, truth_since: since, change_at: since, told: None, random }
    }

    /// Returns the true state in the local frame.
    pub(super) fn truth_at(&self, now: SharedInstant) -> State<Vec3> {
        state_at(&self.truth, (now - self.truth_since).as_secs_f64())
    }

    /// Returns the entity's PDU at `now`, if the rules say that one is due: 1 m, 3°, 5 s.
    pub(super) fn step(&mut self, now: SharedInstant, noon_us: i64) -> Option<(Vec<u8>, Dis)> {
        if now >= self.change_at {
            let here = rebased(&self.truth, (now - self.truth_since).as_secs_f64());
            let fast = if self.model.moves() { 1.0 } else { 0.0 };
            // 150 m/s at first, then changed by up to 10 m/s.
            let by = if here.velocity == Vec3::ZERO { 150.0 } else { 10.0 };
            self.truth = Dis {
                velocity: here.velocity + vector(&mut self.random, by * fast),
                acceleration: vector(&mut self.random, 5.0 * fast),
                angular_velocity: vector(&mut self.random, 0.2 * fast),
                ..here
            };
            self.truth_since = now;
            self.change_at = now + Span::from_secs_f64(2.0 + 6.0 * self.random.unit());
        }
        let frame = exchange(Fineness::Exact).frame();
        let here = rebased(&self.truth, (now - self.truth_since).as_secs_f64());
        let is_due = self.told.is_none_or(|(at, told)| {
            let reckoned = state_at(&told, (now - at).as_secs_f64());
            now - at >= Span::from_secs(5)
                || reckoned.position.distance(here.position) > 1.0
                || reckoned.orientation.angle_to(here.orientation) > 3f64.to_radians()
        });
        if !is_due {
            return None;
        }
        let description = Description {
            version: 7,
            force: 1,
            kind: EntityType([1, 2, 0, 225, 1, 0, 0, 0]),
            ..Description::default()
        };
        let look = Look { description: description.with_marking("TEST"), ..Look::default() };
        let instants = Instants {
            local: fairpath::LocalInstant::from_micros(now.as_micros()),
            unix_us: noon_us + now.as_micros(),
        };
        let (stamp, late) = Stamp::of(instants, true);
        let motion = frame.motion_to_geocentric(&rebased(&here, late));
        let bytes = EntityState { id: self.id, motion, look }.write(1, stamp);
        // What receivers decode: single precision, as the standard has it.
        let pdu = Pdu::split(&bytes).next().expect("one").expect("valid");
        let decoded = EntityState::read(pdu, Default::default()).expect("valid").motion;
        self.told = Some((now, rebased(&frame.motion_to_local(&decoded), -late)));
        Some((bytes, decoded))
    }
}
