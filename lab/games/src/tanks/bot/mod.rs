//! Bots that drive like people, imperfectly.
//!
//! A bot looks a few times per second, decides from what it is *shown*, and keeps its input until
//! it looks again. It has an errand (wander, hunt, fetch the flag, guard) that it exchanges for
//! another at random times. Short manoeuvres take precedence over the errand: dodge a shot, back
//! out of a corner, weave while reloading, hesitate. It leads its target and misses a bit.
//!
//! | module | contents |
//! | --- | --- |
//! | `temperament` | the kinds of bots |
//! | `steer` | routes round boxes, driving to a point, collision avoidance |
//! | `aim` | lead, lines of fire, dodging shots |

mod aim;
mod steer;
mod temperament;

pub use temperament::Temperament;

use std::f64::consts::TAU;

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};

use super::flag::FlagPlace;
use super::input::Input;
use super::map::Map;
use super::view::{SeenTank, View};
use steer::Route;
use temperament::Character;

/// A bot that decides from a [`View`].
#[derive(Clone, Debug)]
pub struct Bot {
    temperament: Temperament,
    character: Character,
    random: Random,
    errand: Errand,
    rethink_at: SharedInstant,
    look_at: SharedInstant,
    manoeuvre: Option<Manoeuvre>,
    hands: Input,
    /// When a short turn ends, even before the next look.
    release_at: SharedInstant,
    route: Route,
    /// The aiming error of the next shot, in radians.
    aim_error: f64,
    /// The current deviation from its route, in radians: a tank that drives straight is easily hit.
    sway: f64,
    sway_until: SharedInstant,
    /// Since when the tank has hardly moved although it pushes.
    stuck_since: Option<SharedInstant>,
    life: u16,
}

/// What a bot does while no manoeuvre takes precedence.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Errand {
    /// Drives to this random place.
    Wander(Vec2),
    Hunt(EntityId),
    /// Drives to the other team's flag.
    Fetch,
    /// Drives to this place near its own flag.
    Guard(Vec2),
}

/// A short action that takes precedence over the errand.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Manoeuvre {
    input: Input,
    until: SharedInstant,
    /// Whether it continues even if it leads into an obstacle, for example to back out of a corner.
    is_stubborn: bool,
}

impl Bot {
    /// Returns a bot of this temperament that draws from `random`.
    pub fn new(temperament: Temperament, random: Random) -> Self {
        Self {
            temperament,
            character: temperament.character(),
            random,
            errand: Errand::Wander(Vec2::ZERO),
            rethink_at: SharedInstant::ZERO,
            look_at: SharedInstant::ZERO,
            manoeuvre: None,
            hands: Input::IDLE,
            release_at: SharedInstant::ZERO,
            route: Route::default(),
            aim_error: 0.0,
            sway: 0.0,
            sway_until: SharedInstant::ZERO,
            stuck_since: None,
            life: 0,
        }
    }

    pub fn temperament(&self) -> Temperament {
        self.temperament
    }

    /// Returns whether it looks at its view `now`. Between looks it keeps its input.
    pub fn is_looking(&self, now: SharedInstant) -> bool {
        self.look_at <= now
    }

    /// Returns its input at `now` without a look: as before, not firing, and a short turn ends.
    pub fn held(&self, now: SharedInstant) -> Input {
        let turn = if now < self.release_at { self.hands.turn } else { 0.0 };
        Input { turn, fire: false, ..self.hands }
    }

    /// Returns its input; decides anew from `view` if it looks now.
    pub fn drive(&mut self, map: &Map, view: &View) -> Input {
        if !self.is_looking(view.now) {
            return self.held(view.now);
        }
        self.look_again_soon(view.now);
        if !view.is_alive {
            self.hands = Input::IDLE;
            return self.hands;
        }
        self.notice_new_life(view);
        self.notice_being_stuck(view);
        self.notice_shots(view);
        self.rethink(map, view);
        let wish = self.manoeuvre_or_errand(map, view);
        self.hands = self.by_hand(view.now, wish).firing(self.fires(map, view));
        self.hands
    }

    /// Returns the input as its device gives it: a mouse any turn, keys full or none, even briefly.
    fn by_hand(&mut self, now: SharedInstant, wish: Input) -> Input {
        self.release_at = SharedInstant::from_micros(i64::MAX);
        if self.character.has_mouse || wish.turn.abs() >= 1.0 {
            return wish;
        }
        self.release_at = now + Span::from_secs_f64(wish.turn.abs() * steer::FULL_TURN_SECS);
        Input { turn: if wish.turn == 0.0 { 0.0 } else { wish.turn.signum() }, ..wish }
    }

    /// Schedules the next look, at an irregular interval like a person's.
    fn look_again_soon(&mut self, now: SharedInstant) {
        self.look_at = now + self.around(self.character.look_secs);
    }

    fn notice_new_life(&mut self, view: &View) {
        if view.life != self.life {
            self.life = view.life;
            self.manoeuvre = None;
            self.stuck_since = None;
            self.rethink_at = view.now;
        }
    }

    /// Backs out, turning to a random side, if it pushes without moving.
    fn notice_being_stuck(&mut self, view: &View) {
        /// A fifth of reverse speed: a tank that slides along a wall is faster.
        const CRAWL: f64 = 2.5;
        const PATIENCE: Span = Span::from_millis(400);
        let pushes = self.hands.throttle.abs() > 0.2;
        if !pushes || view.own.velocity.length() > CRAWL {
            self.stuck_since = None;
            return;
        }
        let since = *self.stuck_since.get_or_insert(view.now);
        if view.now - since < PATIENCE {
            return;
        }
        self.stuck_since = None;
        let input = Input::drive(-self.hands.throttle.signum(), self.random.between(-1.0, 1.0).signum());
        let until = view.now + Span::from_secs_f64(self.random.between(0.6, 1.6));
        self.manoeuvre = Some(Manoeuvre { input, until, is_stubborn: true });
    }

    /// Dodges a shot that has been visible for the reaction time.
    fn notice_shots(&mut self, view: &View) {
        let seen = view.now - Span::from_secs_f64(self.character.reaction_secs);
        let Some(threat) = aim::nearest_threat(view, self.hands, seen) else { return };
        if !self.random.chance(self.character.alertness) {
            return;
        }
        let input = aim::best_dodge(view, &threat);
        self.manoeuvre = Some(Manoeuvre { input, until: threat.passes_at, is_stubborn: false });
    }

    /// Chooses another errand when this one is done, has no target, or has lasted long enough.
    fn rethink(&mut self, map: &Map, view: &View) {
        if let Some(foe) = self.distraction(map, view) {
            self.errand = Errand::Hunt(foe);
            self.rethink_at = self.some_time_from(view.now, DISTRACTED_SECS);
        } else if self.rethink_at <= view.now || self.is_done(view) {
            self.errand = self.choose_errand(map, view);
            self.rethink_at = self.some_time_from(view.now, self.character.mind_secs);
            self.hesitate(view);
        }
    }

    /// Returns a foe in sight that distracts it from the errand.
    fn distraction(&mut self, map: &Map, view: &View) -> Option<EntityId> {
        let has_better_to_do = matches!(self.errand, Errand::Hunt(_)) || view.is_carrying();
        let chance = self.character.boldness_per_sec * self.character.look_secs;
        if has_better_to_do || !self.random.chance(chance) {
            return None;
        }
        let is_near = |foe: &&SeenTank| {
            foe.state.position.distance(view.own.position) < self.character.fighting_distance
        };
        let foe = nearest_foe(view).filter(is_near)?;
        map.sees(view.own.position, foe.state.position).then_some(foe.id)
    }

    fn is_done(&self, view: &View) -> bool {
        /// The distance at which a place counts as reached.
        const THERE: f64 = 15.0;
        match self.errand {
            Errand::Wander(place) | Errand::Guard(place) => view.own.position.distance(place) < THERE,
            Errand::Hunt(foe) => view.tank(foe).is_none(),
            Errand::Fetch => matches!(view.flag(view.team.other()).place, FlagPlace::Carried(_)),
        }
    }

    fn choose_errand(&mut self, map: &Map, view: &View) -> Errand {
        let weights = self.character.errands;
        let mut dice = self.random.unit() * (weights.wander + weights.hunt + weights.fetch + weights.guard);
        let mut falls_on = |weight: f64| {
            dice -= weight;
            dice < 0.0
        };
        if falls_on(weights.hunt)
            && let Some(foe) = nearest_foe(view)
        {
            return Errand::Hunt(foe.id);
        }
        if falls_on(weights.fetch) {
            return Errand::Fetch;
        }
        if falls_on(weights.guard) {
            return Errand::Guard(self.place_near(map, map.base(view.team).centre, GUARD_RADIUS));
        }
        Errand::Wander(self.place_near(map, Vec2::ZERO, map.half_side()))
    }

    /// Sometimes stops for a moment, as people do.
    fn hesitate(&mut self, view: &View) {
        if self.random.chance(HESITATION_CHANCE) {
            self.keep_on(view, Input::IDLE, 0.2, 0.8);
        }
    }

    fn manoeuvre_or_errand(&mut self, map: &Map, view: &View) -> Input {
        self.manoeuvre = self.manoeuvre.filter(|manoeuvre| view.now < manoeuvre.until);
        match self.manoeuvre {
            Some(Manoeuvre { input, is_stubborn: true, .. }) => input,
            Some(Manoeuvre { input, .. }) => self.avoid_trouble(map, view, input),
            None => {
                let wish = self.errand_input(map, view);
                self.avoid_trouble(map, view, wish)
            }
        }
    }

    /// Returns the input, or a similar one that leads into no obstacle. A reversal is kept for a
    /// while: changing direction with every look would get nowhere.
    fn avoid_trouble(&mut self, map: &Map, view: &View, wish: Input) -> Input {
        let input = steer::clear_of_trouble(map, view, wish);
        if input.throttle * wish.throttle < 0.0 {
            self.keep_on(view, input, 0.5, 1.5);
        }
        input
    }

    /// Keeps this input for a random time between `secs_min` and `secs_max`.
    fn keep_on(&mut self, view: &View, input: Input, secs_min: f64, secs_max: f64) {
        let until = view.now + Span::from_secs_f64(self.random.between(secs_min, secs_max));
        self.manoeuvre = Some(Manoeuvre { input, until, is_stubborn: false });
    }

    fn errand_input(&mut self, map: &Map, view: &View) -> Input {
        let own_flag = view.flag(view.team);
        if view.is_carrying() {
            return self.travel(map, view, map.base(view.team).centre);
        }
        if let FlagPlace::Dropped { .. } = own_flag.place
            && own_flag.position.distance(view.own.position) < RESCUE_DISTANCE
        {
            return self.travel(map, view, own_flag.position);
        }
        match self.errand {
            Errand::Wander(place) | Errand::Guard(place) => self.travel(map, view, place),
            Errand::Fetch => self.travel(map, view, view.flag(view.team.other()).position),
            Errand::Hunt(foe) => match view.tank(foe).copied() {
                Some(foe) => self.fight(map, view, &foe),
                None => self.hands,
            },
        }
    }

    /// Drives to `goal`, swaying. A reversal lasts a while, or it would oscillate near a foe.
    fn travel(&mut self, map: &Map, view: &View, goal: Vec2) -> Input {
        if self.sway_until <= view.now {
            let goes_straight = self.random.chance(STRAIGHT_CHANCE);
            self.sway = if goes_straight { 0.0 } else { SWAY_RAD * self.random.normal() };
            self.sway_until = self.some_time_from(view.now, SWAY_SECS);
        }
        let input = self.route.drive(map, &view.own, goal, self.sway);
        if input.throttle < 0.0 {
            self.keep_on(view, input, 0.5, 1.2);
        }
        input
    }

    /// Approaches, aims with lead, keeps its distance, and weaves while it reloads.
    fn fight(&mut self, map: &Map, view: &View, foe: &SeenTank) -> Input {
        let distance = foe.state.position.distance(view.own.position);
        if distance > self.character.fighting_distance || !map.sees(view.own.position, foe.state.position) {
            return self.travel(map, view, foe.state.position);
        }
        if view.now < view.reloaded_at {
            return self.weave(view, distance);
        }
        let turn = steer::turn_for(aim::off_target(view, foe) + self.aim_error);
        // It faces the foe, so it keeps its distance by reversing.
        let throttle = if distance < KEEP_AWAY { -1.0 } else { 1.0 };
        Input::drive(throttle, turn)
    }

    /// Moves erratically while it cannot fire.
    fn weave(&mut self, view: &View, distance: f64) -> Input {
        let backs_off = self.random.chance(if distance < KEEP_AWAY { 0.8 } else { 0.35 });
        let throttle = if backs_off { -1.0 } else { 1.0 };
        let turn = (1.6 * self.random.normal()).clamp(-1.0, 1.0);
        let goes_straight = self.random.chance(STRAIGHT_CHANCE);
        let input = Input::drive(throttle, if goes_straight { 0.0 } else { turn });
        self.keep_on(view, input, 0.1, 0.4);
        input
    }

    /// Returns whether to fire: a shot is loaded and would meet a foe.
    fn fires(&mut self, map: &Map, view: &View) -> bool {
        if view.now < view.reloaded_at {
            return false;
        }
        let is_on_target = view.foes().any(|foe| aim::is_on_target(map, view, foe, self.aim_error));
        if is_on_target {
            // The next shot has an error of its own.
            self.aim_error = self.character.aim_error_rad * self.random.normal();
        }
        is_on_target
    }

    /// Returns a random place within `radius` of `centre`, in the field and outside the boxes.
    fn place_near(&mut self, map: &Map, centre: Vec2, radius: f64) -> Vec2 {
        /// Bounds the search on a map that is mostly boxes.
        const TRIES_MAX: u32 = 16;
        // On a huge open field a wanderer would drive for an hour.
        let radius = radius.min(WANDER_RADIUS_MAX);
        let mut place = centre;
        for _ in 0..TRIES_MAX {
            let offset =
                Vec2::from_heading(self.random.between(0.0, TAU)) * (radius * self.random.unit().sqrt());
            place = map.inside(centre + offset);
            if map.is_roomy(place) {
                break;
            }
        }
        place
    }

    /// Returns an instant `secs_mean` ahead on average, exponentially distributed.
    fn some_time_from(&mut self, now: SharedInstant, secs_mean: f64) -> SharedInstant {
        now + Span::from_secs_f64(secs_mean * self.random.exponential())
    }

    /// Returns 0.5 to 1.5 times `secs`.
    fn around(&mut self, secs: f64) -> Span {
        Span::from_secs_f64(secs * self.random.between(0.5, 1.5))
    }
}

/// The radius in which a guard moves around the flag: within a shot's range.
const GUARD_RADIUS: f64 = 150.0;
/// The largest wandering radius: it covers the default field to its corners.
const WANDER_RADIUS_MAX: f64 = 560.0;
/// A bot this near to its own dropped flag returns it, whatever its errand.
const RESCUE_DISTANCE: f64 = 120.0;
/// Nearer than this, a bot backs off: a foe's shot takes 0.6 s for it, long enough to react.
const KEEP_AWAY: f64 = 60.0;
/// The standard deviation of the sway, and its mean duration. At full speed and 200 units away that
/// is a few tank widths to either side, enough to be missed. More costs progress.
const SWAY_RAD: f64 = 0.15;
const SWAY_SECS: f64 = 0.3;
/// The chance to drive straight instead.
const STRAIGHT_CHANCE: f64 = 0.5;
/// The mean time for which a foe in sight distracts a bot.
const DISTRACTED_SECS: f64 = 6.0;
/// The chance that a change of errand begins with standing still.
const HESITATION_CHANCE: f64 = 0.125;

fn nearest_foe(view: &View) -> Option<&SeenTank> {
    let distance = |foe: &SeenTank| foe.state.position.distance(view.own.position);
    view.foes().min_by(|one, other| distance(one).total_cmp(&distance(other)))
}
