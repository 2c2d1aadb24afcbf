//! The play patterns of EKB, tick by tick: shared by all predictors that use them.

use super::{Body, Condition, EkbConfig, Known, Other, Others, PlayPatterns, Relation, TICK_SECS};
use fairpath::vector::{Vec2, Vector};

const TICKS_PER_SEC: f64 = 1.0 / TICK_SECS;

/// A player among others, from its last known tick on. All positions are relative to the player, so
/// a scene far from the origin is predicted as precisely as one near it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patterns<'a> {
    config: &'a EkbConfig,
    others: &'a [Other],
    /// The others' real positions after the start; empty unless [`Others::Replayed`].
    replayed: &'a [&'a [Vec2]],
    influence: f64,
    /// V_0 in Shi 2014, per tick.
    last_velocity: Vec2,
    /// S in Shi 2014, per tick.
    speed_max: f64,
    /// m in Shi 2014.
    transition_ticks: u32,
}

/// What a player heads for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urge {
    /// The middle of its friends.
    Follow,
    /// Its place in a battle.
    Bravery,
}

/// How a player gets to a place.
pub(super) trait Way {
    /// Returns where a player at `from` goes now to reach `from + offset`, again as an offset.
    fn towards(&mut self, urge: Urge, from: Vec2, offset: Vec2) -> Vec2;
}

/// Straight through walls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Straight;

impl Way for Straight {
    fn towards(&mut self, _urge: Urge, _from: Vec2, offset: Vec2) -> Vec2 {
        offset
    }
}

impl<'a> Patterns<'a> {
    pub(super) fn of_known(config: &'a EkbConfig, known: &Known<'a>) -> Self {
        let replayed = if config.others == Others::Replayed { known.replayed } else { &[] };
        Self { replayed, ..Self::new(config, &known.newest(), known.condition, known.others) }
    }

    pub(super) fn new(
        config: &'a EkbConfig,
        start: &Body,
        condition: Condition,
        others: &'a [Other],
    ) -> Self {
        let mut patterns = Self {
            config,
            others,
            replayed: &[],
            influence: condition.influence(),
            last_velocity: start.velocity * TICK_SECS,
            speed_max: config.top_speed * TICK_SECS,
            transition_ticks: config.transition_ticks_max,
        };
        let nearest = patterns.around(start.position, 0).nearest();
        // The cast saturates: with no player in sight the infinite distance gives the maximum.
        let transition_ticks = (config.transition_ticks_per_unit * nearest).ceil() as u32;
        if nearest.is_finite() {
            patterns.transition_ticks = transition_ticks.min(config.transition_ticks_max);
        }
        patterns
    }

    /// Returns where a player at `from` is at the end of tick `tick` (j in Shi 2014, from 1).
    pub(super) fn step(&self, tick: u32, from: Vec2, way: &mut impl Way) -> Vec2 {
        let wanted = self.wanted(tick, from, way);
        if tick >= self.transition_ticks {
            return from + wanted;
        }
        let share = f64::from(tick) / f64::from(self.transition_ticks);
        from + (self.last_velocity * (1.0 - share) + wanted * share)
    }

    /// Returns what a player at `from` sees at the first tick.
    pub(super) fn seen(&self, from: Vec2, way: &mut impl Way) -> PlayPatterns {
        let around = self.around(from, 1);
        let nearest_enemy = around.enemies.nearest();
        PlayPatterns {
            friends: around.friends.count as u32,
            enemies: around.enemies.count as u32,
            to_friends: around.friends.centre(),
            nearest_enemy,
            is_battle: nearest_enemy <= self.config.battle_within,
            ours: self.strength(&around),
            theirs: around.enemies.influence,
            to_battle_place: self.battle_place(&around),
            wanted: self.wanted(1, from, way) * (1.0 / TICK_SECS),
            transition_ticks: self.transition_ticks,
        }
    }

    /// V_r in Shi 2014.
    fn wanted(&self, tick: u32, from: Vec2, way: &mut impl Way) -> Vec2 {
        let around = self.around(from, tick);
        let has_friends = around.friends.count > 0.0;
        let follow = if has_friends {
            self.headed(way.towards(Urge::Follow, from, around.friends.centre()))
        } else {
            self.last_velocity
        };
        if around.enemies.nearest() <= self.config.battle_within {
            let bravery = self.headed(way.towards(Urge::Bravery, from, self.battle_place(&around)));
            return mixed(self.config.follow_in_battle, follow, bravery);
        }
        let align = if has_friends { limited(around.alignment, self.speed_max) } else { self.last_velocity };
        mixed(self.config.follow_out_of_battle, follow, align)
    }

    /// Returns where a player fights: from its friends towards the enemies if strong, away if weak.
    fn battle_place(&self, around: &Around) -> Vec2 {
        let ours = self.strength(around);
        let theirs = around.enemies.influence;
        let strongest = ours.max(theirs);
        let advantage = if strongest > 0.0 { (ours - theirs) / strongest } else { 0.0 };
        let friends = around.friends.centre();
        let to_the_enemy = (around.enemies.centre() - friends).normalize_or_zero();
        friends + to_the_enemy * (self.config.bravery_reach * advantage)
    }

    fn strength(&self, around: &Around) -> f64 {
        self.config.friend_strength * around.friends.influence + self.influence
    }

    fn headed(&self, offset: Vec2) -> Vec2 {
        offset.normalize_or_zero() * self.speed_max
    }

    /// Returns the players in sight of `from` at tick number `tick`.
    fn around(&self, from: Vec2, tick: u32) -> Around {
        let config = self.config;
        let align_per_unit = 1.0 / (config.align_within - config.align_fully_within);
        let mut around = Around::default();
        for (number, other) in self.others.iter().enumerate() {
            let (place, velocity) = self.motion_of(number, other, tick);
            let offset = place - from;
            if !(offset.x.abs() <= config.sight.x && offset.y.abs() <= config.sight.y) {
                continue;
            }
            let distance_squared = offset.length_squared();
            let influence = other.condition.influence();
            match other.relation {
                Relation::Enemy => around.enemies.add(offset, distance_squared, influence),
                Relation::Friend => {
                    around.friends.add(offset, distance_squared, influence);
                    let weight = (config.align_within - distance_squared.sqrt()) * align_per_unit;
                    around.alignment += velocity * (TICK_SECS * weight.clamp(0.0, 1.0));
                }
            }
        }
        around
    }

    /// Returns another player's position and velocity per second at tick number `tick`.
    fn motion_of(&self, number: usize, other: &Other, tick: u32) -> (Vec2, Vec2) {
        let Body { position, velocity, .. } = other.body;
        match self.config.others {
            Others::Stay => (position, velocity),
            Others::KeepVelocity => {
                let ticks = f64::from(other.ticks_ago) + f64::from(tick);
                (position + velocity * (ticks * TICK_SECS), velocity)
            }
            Others::Replayed => {
                let path = self.replayed.get(number).copied().unwrap_or_default();
                match (path.len().min(tick as usize), path) {
                    (0, _) => (position, velocity),
                    (1, path) => (path[0], velocity),
                    (ticks, path) => (path[ticks - 1], (path[ticks - 1] - path[ticks - 2]) * TICKS_PER_SEC),
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Around {
    friends: Group,
    enemies: Group,
    /// Sum of the friends' velocities per tick, weighted by nearness.
    alignment: Vec2,
}

impl Around {
    fn nearest(&self) -> f64 {
        self.friends.nearest().min(self.enemies.nearest())
    }
}

#[derive(Clone, Copy, Debug)]
struct Group {
    count: f64,
    offsets: Vec2,
    influence: f64,
    nearest_squared: f64,
}

impl Default for Group {
    fn default() -> Self {
        Self { count: 0.0, offsets: Vec2::ZERO, influence: 0.0, nearest_squared: f64::INFINITY }
    }
}

impl Group {
    fn add(&mut self, offset: Vec2, distance_squared: f64, influence: f64) {
        self.count += 1.0;
        self.offsets += offset;
        self.influence += influence;
        self.nearest_squared = self.nearest_squared.min(distance_squared);
    }

    /// Returns the mean offset; zero if the group is empty.
    fn centre(&self) -> Vec2 {
        self.offsets * (1.0 / self.count.max(1.0))
    }

    fn nearest(&self) -> f64 {
        self.nearest_squared.sqrt()
    }
}

fn mixed(share: f64, one: Vec2, other: Vec2) -> Vec2 {
    one * share + other * (1.0 - share)
}

/// Clamps to `length_max`. A vector whose length overflows becomes zero.
fn limited(vector: Vec2, length_max: f64) -> Vec2 {
    let limited = vector.clamp_length(length_max);
    if limited.is_finite() { limited } else { Vec2::ZERO }
}
