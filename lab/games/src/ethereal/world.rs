use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, TickRate};
use fairpath::vector::{Vec2, Vector};
use fairpath_sim::Digest;

use super::config::{EtherealConfig, Ground, PLAYERS_MAX, TICK_RATE};
use super::history::{HISTORY_TICKS, History, PastPlayer};
use super::input::{Input, Keys};
use super::item::{Item, ItemKind, PICK_UP_WITHIN};
use super::map::Map;
use super::player::{Condition, PLAYER_RADIUS, PendingShot, Player};
use crate::shared::{Game, Moving, OutOfRange, PlayerInput, Team};

/// The whole state of a match.
///
/// [`step`](Self::step) plays one tick. The same rules, seed and inputs give the same bits. Between
/// steps every accessor shows the world as it is at [`now`](Self::now); [`events`](Self::events)
/// lists what happened in the last tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Ethereal {
    config: EtherealConfig,
    map: Map,
    seed: u64,
    random: Random,
    tick: u64,
    players: Vec<Player>,
    items: Vec<Item>,
    history: History,
    points: [u32; 2],
    rounds_won: [u32; 2],
    events: Vec<Event>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A player spawned.
    Born { player: EntityId, life: u16, position: Vec2 },
    /// A shot was fired at the beginning of the tick, judged at the positions of `judged_tick`.
    Fired { player: EntityId, from: Vec2, to: Vec2, judged_tick: u64, end: ShotEnd },
    /// A life ended by another player's shot.
    Died { player: EntityId, life: u16, by: EntityId },
    /// A player picked up the item of this index in [`Ethereal::items`].
    PickedUp { player: EntityId, item: u32, kind: ItemKind },
    /// A team reached the limit. Both scores return to zero, and every player begins a new life.
    RoundWon { team: Team },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShotEnd {
    /// A player of the other team.
    Player(EntityId),
    Wall,
    /// Nothing within its range.
    Nothing,
}

impl Ethereal {
    /// Returns a match at tick zero: every player at a start, every item present.
    pub fn new(config: EtherealConfig, seed: u64) -> Result<Self, OutOfRange> {
        config.check()?;
        let seeded = Random::from_seed(seed);
        let map = match &config.ground {
            Ground::Crossing => Map::crossing(),
            Ground::Generated => Map::generate(&mut seeded.fork(0)),
            Ground::Given(map) => map.clone(),
        };
        let players: Vec<Player> = (0..)
            .zip(Team::of_players(config.players))
            .map(|(number, team)| Player::waiting(EntityId(number), team))
            .collect();
        let mut game = Self {
            items: map.items().iter().map(|spot| Item { spot: *spot, back_at: 0 }).collect(),
            history: History::new(players.len()),
            config,
            map,
            seed,
            random: seeded.fork(1),
            tick: 0,
            players,
            points: [0; 2],
            rounds_won: [0; 2],
            events: Vec::new(),
        };
        game.respawn(0);
        game.remember(0);
        Ok(game)
    }

    /// Plays one tick. `inputs` are in the order of players; a missing one is [`Input::IDLE`].
    pub fn step(&mut self, inputs: &[Input]) {
        let end = self.tick + 1;
        self.events.clear();
        self.take(inputs);
        self.press_triggers();
        self.fire(end);
        self.move_players();
        self.hand_out_items(end);
        self.settle_round();
        self.respawn(end);
        self.remember(end);
        self.tick = end;
    }

    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// Returns the time at the end of the last tick.
    pub fn now(&self) -> SharedInstant {
        instant_of(self.tick)
    }

    pub fn config(&self) -> &EtherealConfig {
        &self.config
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Returns all players, dead ones included, by id: player n is [`EntityId`]`(n)`, red first.
    pub fn players(&self) -> &[Player] {
        &self.players
    }

    pub fn player(&self, id: EntityId) -> Option<&Player> {
        self.players.get(id.0 as usize)
    }

    /// Returns all items, present or not.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Returns a team's kills in this round.
    pub fn points(&self, team: Team) -> u32 {
        self.points[team.index()]
    }

    pub fn rounds_won(&self, team: Team) -> u32 {
        self.rounds_won[team.index()]
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns where a shot of `shooter` from `from` towards `towards` ends and what it hits, with
    /// all players at their positions of `tick`. Ticks are clamped to the stored ones.
    ///
    /// This is the time warp: judge at the tick that the shooter's client showed.
    pub fn judge(&self, shooter: EntityId, from: Vec2, towards: Vec2, tick: u64) -> (Vec2, ShotEnd) {
        let way = (towards - from).normalize_or_zero() * self.config.shot_range;
        if way == Vec2::ZERO {
            return (from, ShotEnd::Nothing);
        }
        let wall = self.map.first_wall(from, from + way);
        let mut first = (wall.unwrap_or(1.0), wall.map_or(ShotEnd::Nothing, |_| ShotEnd::Wall));
        let oldest = self.tick.saturating_sub(u64::from(HISTORY_TICKS - 1));
        let moments = self.history.at(tick.clamp(oldest, self.tick));
        let team = self.player(shooter).map(Player::team);
        for (player, moment) in self.players.iter().zip(moments) {
            let can_be_hit = player.is_alive() && moment.is_alive && moment.life == player.life;
            if !can_be_hit || Some(player.team) == team {
                continue;
            }
            if let Some(share) = share_to_disc(from, way, moment.position)
                && share < first.0
            {
                first = (share, ShotEnd::Player(player.id));
            }
        }
        (from + way * first.0, first.1)
    }

    /// Returns a digest of the whole state: equal after equal runs, on every platform.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        digest.u64(self.tick).u64(self.random.clone().bits());
        digest.u64(self.players.len() as u64);
        self.players.iter().for_each(|player| player.add_to(&mut digest));
        digest.u64(self.items.len() as u64);
        self.items.iter().for_each(|item| item.add_to(&mut digest));
        for count in self.points.iter().chain(&self.rounds_won) {
            digest.u32(*count);
        }
        digest.value()
    }

    fn take(&mut self, inputs: &[Input]) {
        for (number, player) in self.players.iter_mut().enumerate() {
            player.input = inputs.get(number).copied().unwrap_or_default().limited();
        }
    }

    /// Starts the shots of pressed triggers. Each leaves after `fire_lag_ticks`.
    fn press_triggers(&mut self) {
        for player in &mut self.players {
            let is_loaded = player.reloaded_at <= self.tick && player.ammo > 0;
            if !(player.is_alive() && is_loaded && player.input.keys.has(Keys::FIRE)) {
                continue;
            }
            player.ammo -= 1;
            player.reloaded_at = self.tick + u64::from(self.config.reload_ticks);
            player.pressed = Some(PendingShot {
                leaves_at: self.tick + u64::from(self.config.fire_lag_ticks),
                aim: player.input.aim,
                rewind_ticks: u32::from(player.input.seen_ticks_ago).min(self.config.rewind_ticks_max),
            });
        }
    }

    /// Judges all shots of a tick before it applies any damage, so two players can kill each other.
    fn fire(&mut self, end: u64) {
        let mut hits = Vec::new();
        for number in 0..self.players.len() {
            let Some(pressed) = self.players[number].pressed.filter(|shot| shot.leaves_at <= self.tick)
            else {
                continue;
            };
            self.players[number].pressed = None;
            let (player, from) = (self.players[number].id, self.players[number].body.position);
            let judged_tick = self.tick.saturating_sub(u64::from(pressed.rewind_ticks));
            let (to, shot_end) = self.judge(player, from, pressed.aim, judged_tick);
            self.events.push(Event::Fired { player, from, to, judged_tick, end: shot_end });
            if let ShotEnd::Player(victim) = shot_end {
                hits.push((player, victim));
            }
        }
        for (shooter, victim) in hits {
            self.hurt(victim, shooter, end);
        }
    }

    fn hurt(&mut self, victim: EntityId, shooter: EntityId, end: u64) {
        let player = &mut self.players[victim.0 as usize];
        if !player.is_alive() {
            return;
        }
        player.health = player.health.saturating_sub(self.config.damage);
        if player.health > 0 {
            return;
        }
        let life = player.life;
        player.dies(end + u64::from(self.config.respawn_ticks));
        self.events.push(Event::Died { player: victim, life, by: shooter });
        let killer = &mut self.players[shooter.0 as usize];
        killer.kills = killer.kills.saturating_add(1);
        self.points[killer.team.index()] += 1;
    }

    fn move_players(&mut self) {
        for player in self.players.iter_mut().filter(|player| player.is_alive()) {
            player.moves(&self.map);
        }
    }

    /// Gives each item to a player that touches and needs it; of two, the one with the lower id.
    fn hand_out_items(&mut self, end: u64) {
        for (number, item) in (0..).zip(&mut self.items) {
            if !item.is_there(end) {
                continue;
            }
            let (kind, place) = (item.kind(), item.position());
            let config = &self.config;
            let taker = self.players.iter_mut().find(|player| {
                let has_use = match kind {
                    ItemKind::Health => player.health < config.health_max,
                    ItemKind::Ammo => player.ammo < config.ammo_max,
                };
                player.is_alive() && has_use && player.body.position.distance(place) <= PICK_UP_WITHIN
            });
            let Some(player) = taker else { continue };
            match kind {
                ItemKind::Health => {
                    player.health = player.health.saturating_add(config.health_pack).min(config.health_max);
                }
                ItemKind::Ammo => {
                    player.ammo = player.ammo.saturating_add(config.ammo_pack).min(config.ammo_max);
                }
            }
            item.back_at = end + u64::from(config.item_respawn_ticks);
            self.events.push(Event::PickedUp { player: player.id, item: number, kind });
        }
    }

    /// Ends the round at the score limit and begins the next.
    fn settle_round(&mut self) {
        // Both teams can reach the limit in one tick; then the round continues until one is ahead.
        let [red, blue] = self.points;
        if red.max(blue) < self.config.score_limit || red == blue {
            return;
        }
        let team = if red > blue { Team::Red } else { Team::Blue };
        self.rounds_won[team.index()] = self.rounds_won[team.index()].saturating_add(1);
        self.events.push(Event::RoundWon { team });
        self.points = [0; 2];
        for item in &mut self.items {
            item.back_at = 0;
        }
        for player in &mut self.players {
            player.condition = Condition::Dead { until: 0 };
        }
    }

    fn respawn(&mut self, end: u64) {
        /// The random offset from a start, in pixels; it stays away from the walls of the cell.
        const SCATTER: f64 = 24.0;
        for player in &mut self.players {
            let Condition::Dead { until } = player.condition else { continue };
            if until > end {
                continue;
            }
            let starts = self.map.starts(player.team);
            let start = starts[self.random.below(starts.len() as u64) as usize];
            let mut scatter = || self.random.between(-SCATTER, SCATTER);
            let position = start + Vec2::new(scatter(), scatter());
            player.is_born_at(position, &self.config);
            self.events.push(Event::Born { player: player.id, life: player.life, position });
        }
    }

    fn remember(&mut self, tick: u64) {
        let moments = self.players.iter().map(|player| PastPlayer {
            position: player.body.position,
            life: player.life,
            is_alive: player.is_alive(),
        });
        self.history.remember(tick, moments);
    }
}

impl Game for Ethereal {
    type Config = EtherealConfig;
    type Input = Input;
    type ConfigError = OutOfRange;

    const NAME: &'static str = "ethereal";
    const TICK_RATE: TickRate = TICK_RATE;

    fn begin(config: &EtherealConfig, seed: u64) -> Result<Self, OutOfRange> {
        Self::new(config.clone(), seed)
    }

    fn seats(config: &EtherealConfig) -> u32 {
        config.players[0].saturating_add(config.players[1]).min(PLAYERS_MAX)
    }

    fn advance(&mut self, inputs: &[Input]) {
        self.step(inputs);
    }

    fn tick(&self) -> u64 {
        self.tick
    }

    fn moving(&self) -> impl Iterator<Item = Moving> {
        self.players.iter().filter(|player| player.is_alive()).map(|player| Moving {
            id: player.id,
            life: player.life,
            has_jumped: player.condition == Condition::Spawned,
            state: player.state(),
        })
    }

    fn corners(&self) -> (Vec2, Vec2) {
        let bounds = self.map.bounds();
        (bounds.low, bounds.high)
    }
}

pub(super) fn instant_of(tick: u64) -> SharedInstant {
    SharedInstant::ZERO + TICK_RATE.begin(tick as i64)
}

/// Returns the share of `way` at which a line enters the disc of a player at `centre`; 0 inside.
fn share_to_disc(from: Vec2, way: Vec2, centre: Vec2) -> Option<f64> {
    let to_centre = centre - from;
    let length = way.length();
    let unit = way * (1.0 / length);
    let along = to_centre.dot(unit);
    let aside = to_centre.cross_length(unit);
    if aside > PLAYER_RADIUS {
        return None;
    }
    let half_chord = (PLAYER_RADIUS * PLAYER_RADIUS - aside * aside).sqrt();
    let (enters, leaves) = (along - half_chord, along + half_chord);
    (leaves >= 0.0 && enters <= length).then(|| enters.max(0.0) / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_meets_a_disc_where_it_should() {
        let way = Vec2::new(100.0, 0.0);
        let share = |x: f64, y: f64| share_to_disc(Vec2::ZERO, way, Vec2::new(x, y));
        assert_eq!(share(80.0, 0.0), Some(0.5));
        assert_eq!(share(80.0, 30.0), Some(0.8), "a graze is a hit");
        assert_eq!(share(80.0, 30.1), None);
        assert_eq!(share(-31.0, 0.0), None, "behind");
        assert_eq!(share(10.0, 0.0), Some(0.0), "from inside");
        assert_eq!(share(131.0, 0.0), None, "out of reach");
    }
}
