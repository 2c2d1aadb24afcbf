use super::rollout::roll_out;
use super::{Body, Known, Missing, Predictor, Reason, Relation, TICK_SECS};
use fairpath::vector::{Vec2, Vector};

/// The interest scheme of Li and Chen, **reconstructed** from what other papers say about it.
///
/// Each player and item nearby attracts or repels the subject, by how interesting and how near it
/// is. The sum bends the direction of motion, beginning shortly after the last known tick. The
/// speed stays.
///
/// The full paper was not available. That items count is in Shi 2014, section 2.4; how much they do
/// is not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Is {
    config: IsConfig,
}

/// The weights of [`Is`]. Lengths are pixels of the game Ethereal; for other data use
/// [`scaled`](Self::scaled).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IsConfig {
    /// Attraction of a friend; negative values repel. Default 1, the reference for others.
    pub friend: f64,
    /// Attraction of an enemy no stronger than the subject. Default 0.5: prey, but it shoots.
    pub weaker_enemy: f64,
    /// Attraction of a stronger enemy. Default −1: it repels as much as a friend attracts.
    pub stronger_enemy: f64,
    /// Attraction of an item that restores what the subject has nothing of. Default 1, that of a
    /// friend. An item counts by what the subject lacks: at half health, a health item has half of
    /// this and half of [`useless_item`](Self::useless_item).
    pub needed_item: f64,
    /// Attraction of an item that the subject cannot use, being at full strength. Default −0.2, a
    /// guess: it repels a little, because the subject leaves it to others. At 0 it is not noticed.
    pub useless_item: f64,
    /// Distance at which the attraction has fallen to zero, linearly from its full weight at
    /// distance zero. Default 1000 pixels, as far as EKB aligns.
    pub reach: f64,
    /// Turn of the direction per tick, in radians, by one full weight at a right angle. Default
    /// 0.03: towards a friend 500 pixels away, which has half the weight, the subject turns by
    /// about 45° in a second. At 0 the path is a line; above 0.3 the last known direction is lost
    /// after a few ticks.
    pub bend: f64,
    /// Ticks for which the last known velocity is kept before anything bends it. Default 6, 100 ms:
    /// no player reacts faster.
    pub straight_ticks: u32,
}

impl Default for IsConfig {
    fn default() -> Self {
        Self {
            friend: 1.0,
            weaker_enemy: 0.5,
            stronger_enemy: -1.0,
            needed_item: 1.0,
            useless_item: -0.2,
            reach: 1_000.0,
            bend: 0.03,
            straight_ticks: 6,
        }
    }
}

impl IsConfig {
    /// Returns the same weights for a world in which every length is `factor` times as long.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { reach: self.reach * factor, ..self }
    }
}

impl Is {
    /// Creates the predictor with these weights.
    pub const fn new(config: IsConfig) -> Self {
        Self { config }
    }
}

impl Predictor for Is {
    fn name(&self) -> &str {
        "IS"
    }

    fn predict(
        &mut self,
        _subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let start = known.newest();
        let mut course = Course::new(&self.config, &start, known);
        roll_out(start.position, ticks, positions, |tick, from| course.step(tick, from));
        Ok(())
    }

    fn reason(&mut self, _subject: usize, known: &Known<'_>, _ticks: u32) -> Reason {
        let start = known.newest();
        Course::new(&self.config, &start, known).reason(&start)
    }
}

/// A player on its way, with a direction that interests bend.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course<'a> {
    config: &'a IsConfig,
    known: &'a Known<'a>,
    direction: Vec2,
    /// Units per tick.
    speed: f64,
}

impl<'a> Course<'a> {
    pub(super) fn new(config: &'a IsConfig, start: &Body, known: &'a Known<'a>) -> Self {
        let direction = start.velocity.normalize_or_zero();
        Self { config, known, direction, speed: start.velocity.length() * TICK_SECS }
    }

    pub(super) fn step(&mut self, tick: u32, from: Vec2) -> Vec2 {
        if tick > self.config.straight_ticks {
            self.bend(from);
        }
        from + self.direction * self.speed
    }

    /// Returns what bends the direction at the start.
    pub(super) fn reason(&self, start: &Body) -> Reason {
        Reason::Interests {
            velocity: start.velocity,
            pull: self.pull(start.position),
            straight_ticks: self.config.straight_ticks,
        }
    }

    fn bend(&mut self, from: Vec2) {
        let bent = (self.direction + self.pull(from) * self.config.bend).normalize_or_zero();
        if bent != Vec2::ZERO {
            self.direction = bent;
        }
    }

    fn pull(&self, from: Vec2) -> Vec2 {
        let players = self.known.others.iter().map(|other| {
            let is_stronger = other.condition.influence() > self.known.condition.influence();
            let interest = match other.relation {
                Relation::Friend => self.config.friend,
                Relation::Enemy if is_stronger => self.config.stronger_enemy,
                Relation::Enemy => self.config.weaker_enemy,
            };
            (other.body.position, interest)
        });
        let items = self.known.items.iter().map(|item| {
            let lack = self.known.condition.lack(item.gain);
            let interest = self.config.needed_item * lack + self.config.useless_item * (1.0 - lack);
            (item.position, interest)
        });
        let reach_inverse = 1.0 / self.config.reach;
        let mut pull = Vec2::ZERO;
        for (position, interest) in players.chain(items) {
            let offset = position - from;
            let distance = offset.length();
            if distance > 0.0 && distance < self.config.reach {
                // The unit vector towards it, times 1 − distance/reach.
                pull += offset * (interest * (1.0 / distance - reach_inverse));
            }
        }
        pull
    }
}
