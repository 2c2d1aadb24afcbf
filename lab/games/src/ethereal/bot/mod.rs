//! Bots that play like people, imperfectly.
//!
//! A bot looks a few times per second, decides from what it is *shown*, and keeps its input until
//! it looks again. Without enemies nearby it runs errands: it goes to its team's meeting place,
//! joins a friend, follows an enemy, fetches items. When it notices an enemy nearby it fights or
//! retreats. It has keys for eight directions; it weaves, hesitates and misses.
//!
//! | module | contents |
//! | --- | --- |
//! | `temperament` | the kinds of bots |
//! | `decide` | whether to fight or retreat, and which errand to run |
//! | `act` | direction, keys and aim |
//! | `memory` | the enemies it has seen, and where |
//! | `route` | routes round walls |
//!
//! Experiments test predictors with these bots, so the two share no code, formula or constant.

mod act;
mod decide;
mod memory;
mod route;
mod temperament;

pub use temperament::Temperament;

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};

use super::config::TICKS_PER_SECOND;
use super::input::{Input, Keys};
use super::map::Map;
use super::view::{SeenPlayer, View};
use memory::Memory;
use route::Route;
use temperament::Character;

/// A bot that decides from a [`View`].
#[derive(Clone, Debug)]
pub struct Bot {
    temperament: Temperament,
    character: Character,
    random: Random,
    /// The team's random generator; all its bots draw the same meeting places from it.
    talk: Random,
    hands: Input,
    look_at: u64,
    life: Option<u16>,
    memory: Memory,
    stance: Stance,
    stance_until: u64,
    errand: Errand,
    rethink_at: u64,
    manoeuvre: Option<Manoeuvre>,
    route: Route,
    /// Its preferred offset from a friend.
    station: Habit<Vec2>,
    /// The deviation from its route, as the tangent of the angle.
    sway: Habit<f64>,
    /// The direction in which it circles an enemy: −1, 0 or 1.
    strafe: Habit<f64>,
    /// The current aiming error, in radians.
    aim_error: f64,
    stuck_since: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stance {
    Calm,
    Fight(EntityId),
    Flee(Refuge),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Refuge {
    Place(Vec2),
    Friend(EntityId),
}

/// What a bot does while it is calm.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Errand {
    /// Goes to the team's meeting place.
    Rally(Vec2),
    Join(EntityId),
    /// Goes to the last known position of this enemy.
    Hunt(EntityId),
    Fetch(usize),
}

/// A short action that takes precedence over the errand.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Manoeuvre {
    way: Vec2,
    until: u64,
}

/// A random value that is kept for a while and then drawn again.
#[derive(Clone, Copy, Debug, Default)]
struct Habit<T> {
    value: T,
    until: u64,
}

impl<T: Copy> Habit<T> {
    fn or_anew(&mut self, tick: u64, draw: impl FnOnce() -> (T, u64)) -> T {
        if self.until <= tick {
            let (value, ticks) = draw();
            *self = Self { value, until: tick + ticks };
        }
        self.value
    }
}

impl Bot {
    /// Returns a bot that draws from `random`. Bots with equal `talk` agree on meeting places.
    pub fn new(temperament: Temperament, talk: Random, random: Random) -> Self {
        Self {
            temperament,
            character: temperament.character(),
            random,
            talk,
            hands: Input::IDLE,
            look_at: 0,
            life: None,
            memory: Memory::default(),
            stance: Stance::Calm,
            stance_until: 0,
            errand: Errand::Rally(Vec2::ZERO),
            rethink_at: 0,
            manoeuvre: None,
            route: Route::default(),
            station: Habit::default(),
            sway: Habit::default(),
            strafe: Habit::default(),
            aim_error: 0.0,
            stuck_since: None,
        }
    }

    pub fn temperament(&self) -> Temperament {
        self.temperament
    }

    /// Returns whether it looks at its view at this tick. Between looks it keeps its input.
    pub fn is_looking(&self, tick: u64) -> bool {
        self.look_at <= tick
    }

    /// Returns its input; decides anew from `view` if it looks now.
    pub fn play(&mut self, map: &Map, view: &View) -> Input {
        if !self.is_looking(view.tick) {
            return self.hands;
        }
        self.look_again_soon(view.tick);
        if !view.is_alive {
            self.hands.keys = Keys::NONE;
            return self.hands;
        }
        self.notice_new_life(view);
        self.memory.update(view);
        self.notice_being_stuck(view);
        self.choose_stance(map, view);
        self.rethink(map, view);
        let way = self.way_to_go(map, view);
        let keys = self.press(map, view, way);
        let (aim, fires) = self.aim(map, view, keys);
        self.hands = Input::new(if fires { keys | Keys::FIRE } else { keys }, aim);
        self.hands
    }

    /// Schedules the next look, at an irregular interval like a person's.
    fn look_again_soon(&mut self, tick: u64) {
        let ticks = self.character.look_ticks * self.random.between(0.5, 1.5);
        self.look_at = tick + (ticks.round() as u64).max(1);
    }

    fn notice_new_life(&mut self, view: &View) {
        if self.life != Some(view.life) {
            self.life = Some(view.life);
            self.memory.clear();
            self.stance = Stance::Calm;
            self.manoeuvre = None;
            self.stuck_since = None;
            self.route.forget();
            self.rethink_at = view.tick;
        }
    }

    /// Tries a random direction if it pushes without moving.
    fn notice_being_stuck(&mut self, view: &View) {
        const CRAWL: f64 = 60.0;
        const PATIENCE_TICKS: u64 = 20;
        let pushes = self.hands.keys.direction() != Vec2::ZERO;
        if !pushes || view.own.velocity.length() > CRAWL {
            self.stuck_since = None;
            return;
        }
        let since = *self.stuck_since.get_or_insert(view.tick);
        if view.tick - since >= PATIENCE_TICKS {
            self.stuck_since = None;
            self.route.forget();
            let way = self.any_way();
            self.manoeuvre = Some(Manoeuvre { way, until: view.tick + self.ticks_around(0.35) });
        }
    }

    fn place_of(&self, view: &View, refuge: Refuge) -> Option<Vec2> {
        match refuge {
            Refuge::Place(place) => Some(place),
            Refuge::Friend(friend) => view.player(friend).map(|friend| friend.body.position),
        }
    }

    fn any_way(&mut self) -> Vec2 {
        Keys::WAYS[self.random.below(8) as usize].direction()
    }

    /// Returns 0.5 to 1.5 times `secs`, in ticks.
    fn ticks_around(&mut self, secs: f64) -> u64 {
        ticks(secs * self.random.between(0.5, 1.5))
    }
}

fn nearest<'a>(players: impl Iterator<Item = &'a SeenPlayer>, here: Vec2) -> Option<&'a SeenPlayer> {
    let distance = |player: &SeenPlayer| player.body.position.distance(here);
    players.min_by(|one, other| distance(one).total_cmp(&distance(other)))
}

fn ticks(secs: f64) -> u64 {
    (secs * f64::from(TICKS_PER_SECOND)).round() as u64
}
