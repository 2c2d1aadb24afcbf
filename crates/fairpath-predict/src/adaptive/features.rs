use super::AdaptiveConfig;
use crate::{Body, Known, Relation, TICK_SECS};
use fairpath::vector::{Vec2, Vector};

pub(super) const FEATURES: usize = 19;

/// The subject's situation as vectors that turn and shift with the scene. The unit of length is the
/// distance covered in one second at top speed.
pub(super) type Features = [Vec2; FEATURES];

pub(super) const VELOCITY: usize = 0;

/// Number of kinds of situation that the gate distinguishes.
pub(super) const CONTEXTS: usize = LEVELS * LEVELS * LEVELS;

/// Limits of none, little, some and much, in top speeds: a half, and each a quarter of the next.
const LIMITS: [f64; 3] = [1.0 / 32.0, 1.0 / 8.0, 1.0 / 2.0];
const LEVELS: usize = LIMITS.len() + 1;

/// A subject's situation when a prediction is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sketch {
    pub(super) features: Features,
    /// Kind of situation, below [`CONTEXTS`].
    pub(super) context: usize,
}

/// Where all players usually are: a running mean and the mean squared distance from it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arena {
    seen: f64,
    centre: Vec2,
    squares: f64,
}

/// Ticks over which mean velocities are taken: two seconds, halved four times. From the current
/// input over a dodge, a turn and a run to a plan.
const LOOK_BACK: [usize; 5] = [7, 15, 30, 60, 120];

const TURN_TICKS: usize = 6;

impl Sketch {
    pub(super) fn of(known: &Known<'_>, arena: &Arena, top_speed: f64, config: &AdaptiveConfig) -> Self {
        let scale = 1.0 / top_speed;
        let now = known.newest();
        let velocity = now.velocity * scale;
        let means = LOOK_BACK.map(|ticks| mean_velocity(known.history, ticks) * scale);
        let before = back(known.history, TURN_TICKS).velocity * scale;
        let turn_rate = turn_rate(before, velocity).clamp(-config.turn_rate_max, config.turn_rate_max);
        let speed = velocity.length();
        let (inward, inward_far) = arena.pulls(now.position);
        let neighbours = Neighbours::around(now.position, known, scale, config.neighbour_reach);
        let features = [
            velocity,
            means[0],
            means[1],
            means[2],
            means[3],
            means[4],
            velocity - before,
            Vec2::new(-velocity.y, velocity.x) * turn_rate,
            velocity * speed,
            velocity * turn_rate.abs(),
            inward * scale,
            inward_far * scale,
            neighbours.friends.towards,
            neighbours.enemies.towards,
            neighbours.friends.velocity,
            neighbours.enemies.velocity,
            neighbours.friends.nearest,
            neighbours.enemies.nearest,
            known.inputs.last().copied().unwrap_or_default(),
        ];
        Self {
            features,
            context: context(speed, (velocity - means[1]).length(), (velocity - means[3]).length()),
        }
    }
}

/// Returns the kind of situation: the speed, and how far it differs from the mean of the last
/// quarter of a second and of the last second; each in top speeds, as none, little, some or much.
fn context(speed: f64, dodge: f64, turn: f64) -> usize {
    let place = |value: f64| LIMITS.iter().filter(|limit| value >= **limit).count();
    (place(speed) * LEVELS + place(dodge)) * LEVELS + place(turn)
}

impl Arena {
    /// Number of recent positions that count: about ten minutes of eight players.
    const MEMORY: f64 = 100_000.0;

    pub(super) fn handle_place(&mut self, place: Vec2) {
        self.seen = (self.seen + 1.0).min(Self::MEMORY);
        self.centre += (place - self.centre) * (1.0 / self.seen);
        self.squares += ((place - self.centre).length_squared() - self.squares) / self.seen;
    }

    /// Returns the offset to the middle, and the same scaled by how far out the place is.
    fn pulls(&self, place: Vec2) -> (Vec2, Vec2) {
        let inward = self.centre - place;
        let far = if self.squares > 0.0 { inward.length_squared() / self.squares } else { 0.0 };
        (inward, inward * far)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Neighbours {
    friends: Side,
    enemies: Side,
}

/// One team, as the subject sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// Offset to the mean position.
    towards: Vec2,
    velocity: Vec2,
    /// Offset to the nearest player, weighted down with distance.
    nearest: Vec2,
}

impl Neighbours {
    fn around(place: Vec2, known: &Known<'_>, scale: f64, reach: f64) -> Self {
        let (mut friends, mut enemies) = (Count::default(), Count::default());
        for other in known.others {
            let side = match other.relation {
                Relation::Friend => &mut friends,
                Relation::Enemy => &mut enemies,
            };
            side.add((other.body.position - place) * scale, other.body.velocity * scale);
        }
        Self { friends: friends.side(reach), enemies: enemies.side(reach) }
    }
}

#[derive(Clone, Copy, Debug)]
struct Count {
    count: f64,
    towards: Vec2,
    velocity: Vec2,
    nearest: Vec2,
    nearest_squared: f64,
}

impl Default for Count {
    fn default() -> Self {
        let [towards, velocity, nearest] = [Vec2::ZERO; 3];
        Self { count: 0.0, towards, velocity, nearest, nearest_squared: f64::INFINITY }
    }
}

impl Count {
    fn add(&mut self, way: Vec2, velocity: Vec2) {
        self.count += 1.0;
        self.towards += way;
        self.velocity += velocity;
        let squared = way.length_squared();
        if squared < self.nearest_squared {
            (self.nearest, self.nearest_squared) = (way, squared);
        }
    }

    fn side(&self, reach: f64) -> Side {
        if self.count == 0.0 {
            return Side::default();
        }
        let each = 1.0 / self.count;
        Side {
            towards: self.towards * each,
            velocity: self.velocity * each,
            nearest: self.nearest * libm::exp(-self.nearest.length() / reach),
        }
    }
}

/// Returns the subject `ticks` ago, or the oldest known tick.
fn back(history: &[Body], ticks: usize) -> Body {
    history[history.len().saturating_sub(ticks + 1)]
}

fn mean_velocity(history: &[Body], ticks: usize) -> Vec2 {
    let ticks = ticks.min(history.len() - 1);
    let now = history[history.len() - 1];
    if ticks == 0 {
        return now.velocity;
    }
    (now.position - back(history, ticks).position) * (1.0 / (ticks as f64 * TICK_SECS))
}

fn turn_rate(before: Vec2, now: Vec2) -> f64 {
    let angle = libm::atan2(before.x * now.y - before.y * now.x, before.x * now.x + before.y * now.y);
    angle / (TURN_TICKS as f64 * TICK_SECS)
}
