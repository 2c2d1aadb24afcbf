//! Drivers that play like people: not perfectly.
//!
//! A bot looks a few times per second, decides from what it is *shown*, and keeps its hands still
//! until it looks again. It has an errand (wander, hunt, fetch the flag, guard) that it gives up at
//! random times for another, and short manoeuvres that come before the errand: dodge a shot, back
//! out of a corner, weave while reloading, hesitate. It aims with lead, and misses a little.
//!
//! | room | what is in it |
//! | --- | --- |
//! | `temperament` | what kinds of players there are |
//! | `steer` | the way round boxes, driving to a point, keeping clear |
//! | `aim` | lead, lines of fire, shots that are coming |

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

/// A driver who decides from a [`View`].
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
    /// When the turn ends even if nothing new is seen.
    release_at: SharedInstant,
    route: Route,
    /// How far off the next shot is aimed, in radians.
    aim_error: f64,
    /// How far off its way it heads just now, in radians: who drives straight is easily hit.
    sway: f64,
    sway_until: SharedInstant,
    /// Since when the tank has hardly moved although it should.
    stuck_since: Option<SharedInstant>,
    life: u16,
}

/// What a bot is about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Errand {
    /// To this place, because why not.
    Wander(Vec2),
    /// After this tank.
    Hunt(EntityId),
    /// To the other team's flag.
    Fetch,
    /// To this place near the own flag.
    Guard(Vec2),
}

/// A short thing that comes before the errand.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Manoeuvre {
    input: Input,
    until: SharedInstant,
    /// Whether it is kept up even if it leads into something: to back out of a corner, say.
    is_stubborn: bool,
}

impl Bot {
    /// A bot of this temperament with its own dice.
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

    /// What kind of player it is.
    pub fn temperament(&self) -> Temperament {
        self.temperament
    }

    /// Whether it looks at its screen `now`; in between, its hands do as they did.
    pub fn is_looking(&self, now: SharedInstant) -> bool {
        self.look_at <= now
    }

    /// What its hands do at `now` if it does not look: what they did, but the trigger is pressed
    /// only while looking, and a key that was meant for a short turn is let go in time.
    pub fn held(&self, now: SharedInstant) -> Input {
        let turn = if now < self.release_at { self.hands.turn } else { 0.0 };
        Input { turn, fire: false, ..self.hands }
    }

    /// Looks at what is shown, if it is time to, and says what the hands do.
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

    /// The wish as this player's hands can do it: a mouse turns by any amount, keys turn fully or
    /// not at all, but for as short as need be.
    fn by_hand(&mut self, now: SharedInstant, wish: Input) -> Input {
        self.release_at = SharedInstant::from_micros(i64::MAX);
        if self.character.has_mouse || wish.turn.abs() >= 1.0 {
            return wish;
        }
        self.release_at = now + Span::from_secs_f64(wish.turn.abs() * steer::FULL_TURN_SECS);
        Input { turn: if wish.turn == 0.0 { 0.0 } else { wish.turn.signum() }, ..wish }
    }

    /// People do not look in rhythm.
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

    /// Whoever pushes without getting anywhere backs out, turning to whichever side.
    fn notice_being_stuck(&mut self, view: &View) {
        /// A fifth of reverse speed: scraping along a wall is still getting somewhere.
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

    /// Gets out of the way of a shot it has had time to see.
    fn notice_shots(&mut self, view: &View) {
        let seen = view.now - Span::from_secs_f64(self.character.reaction_secs);
        let Some(threat) = aim::nearest_threat(view, self.hands, seen) else { return };
        if !self.random.chance(self.character.alertness) {
            return;
        }
        let input = aim::best_dodge(view, &threat);
        self.manoeuvre = Some(Manoeuvre { input, until: threat.passes_at, is_stubborn: false });
    }

    /// Takes up another errand when this one is done, has lost its point, or has gone on for long
    /// enough.
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

    /// A foe in sight that is more interesting than the errand.
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
        /// Near enough: wandering is not parking.
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

    /// Now and then a person stops to think.
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

    /// The wish, or what comes near to it without leading into something. Who has to go the other
    /// way for it does so for a while: back and forth with every look would get nowhere.
    fn avoid_trouble(&mut self, map: &Map, view: &View, wish: Input) -> Input {
        let input = steer::clear_of_trouble(map, view, wish);
        if input.throttle * wish.throttle < 0.0 {
            self.keep_on(view, input, 0.5, 1.5);
        }
        input
    }

    /// Goes on like this for a while that is between so many seconds.
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

    /// Drives to `goal`, swaying. Who sets back does so for a while, or would dither where a foe
    /// comes in and out of sight.
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

    /// Comes near, turns the barrel where the foe will be, keeps its distance, and weaves while it
    /// reloads.
    fn fight(&mut self, map: &Map, view: &View, foe: &SeenTank) -> Input {
        let distance = foe.state.position.distance(view.own.position);
        if distance > self.character.fighting_distance || !map.sees(view.own.position, foe.state.position) {
            return self.travel(map, view, foe.state.position);
        }
        if view.now < view.reloaded_at {
            return self.weave(view, distance);
        }
        let turn = steer::turn_for(aim::off_target(view, foe) + self.aim_error);
        // Facing a near foe, the way to keep one's distance is backwards.
        let throttle = if distance < KEEP_AWAY { -1.0 } else { 1.0 };
        Input::drive(throttle, turn)
    }

    /// Hard to hit for as long as it cannot hit anybody itself.
    fn weave(&mut self, view: &View, distance: f64) -> Input {
        let backs_off = self.random.chance(if distance < KEEP_AWAY { 0.8 } else { 0.35 });
        let throttle = if backs_off { -1.0 } else { 1.0 };
        let turn = (1.6 * self.random.normal()).clamp(-1.0, 1.0);
        let goes_straight = self.random.chance(STRAIGHT_CHANCE);
        let input = Input::drive(throttle, if goes_straight { 0.0 } else { turn });
        self.keep_on(view, input, 0.1, 0.4);
        input
    }

    /// Whether to press the trigger: loaded, and a foe is where the shot will be.
    fn fires(&mut self, map: &Map, view: &View) -> bool {
        if view.now < view.reloaded_at {
            return false;
        }
        let is_on_target = view.foes().any(|foe| aim::is_on_target(map, view, foe, self.aim_error));
        if is_on_target {
            // The next shot errs in its own way.
            self.aim_error = self.character.aim_error_rad * self.random.normal();
        }
        is_on_target
    }

    /// A random place within `radius` of `centre`, in the field and beside the boxes.
    fn place_near(&mut self, map: &Map, centre: Vec2, radius: f64) -> Vec2 {
        /// A map that is mostly boxes is no reason to search for ever.
        const TRIES_MAX: u32 = 16;
        // On a huge open field a wanderer need not drive for an hour.
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

    /// An instant so many seconds ahead on average, and as likely as not to be any moment: people's
    /// minds have no timetable.
    fn some_time_from(&mut self, now: SharedInstant, secs_mean: f64) -> SharedInstant {
        now + Span::from_secs_f64(secs_mean * self.random.exponential())
    }

    /// About so many seconds.
    fn around(&mut self, secs: f64) -> Span {
        Span::from_secs_f64(secs * self.random.between(0.5, 1.5))
    }
}

/// How far from the flag a guard strolls: within a shot's range of it.
const GUARD_RADIUS: f64 = 150.0;
/// Wandering covers the usual field to its corners.
const WANDER_RADIUS_MAX: f64 = 560.0;
/// Whoever is this near to the own flag on the ground picks it up, whatever the errand.
const RESCUE_DISTANCE: f64 = 120.0;
/// Nearer than this, a fighter backs off: the foe's shot takes 0.6 s, time enough to see it and
/// move.
const KEEP_AWAY: f64 = 60.0;
/// How far people swing to either side of their way, as a standard deviation, and how long they
/// stay on a side, on average. At full speed and 200 units away that is a few tank widths to either
/// side: what it takes to be missed. Much more, and they would hardly get anywhere.
const SWAY_RAD: f64 = 0.15;
const SWAY_SECS: f64 = 0.3;
/// How often they drive straight on instead.
const STRAIGHT_CHANCE: f64 = 0.5;
/// How long a foe in sight holds their attention, on average.
const DISTRACTED_SECS: f64 = 6.0;
/// One change of mind in eight begins with standing still.
const HESITATION_CHANCE: f64 = 0.125;

fn nearest_foe(view: &View) -> Option<&SeenTank> {
    let distance = |foe: &SeenTank| foe.state.position.distance(view.own.position);
    view.foes().min_by(|one, other| distance(one).total_cmp(&distance(other)))
}
