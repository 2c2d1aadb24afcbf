//! Players that play like people: not perfectly.
//!
//! A bot looks a few times per second, decides from what it is *shown*, and keeps its hands still until it looks
//! again. While nothing happens it runs errands: goes where its team said to meet, joins a friend, follows the
//! trail of an enemy, fetches things. Whoever it notices near enough turns that into a fight or a flight. It
//! has only keys, eight ways to go; it weaves, hesitates, changes its mind and misses.
//!
//! | room | what is in it |
//! | --- | --- |
//! | `temperament` | what kinds of players there are |
//! | `memory` | whom it has seen, and where |
//! | `route` | the way round walls |
//!
//! These bots are one half of an experiment whose other half are the predictors, so the two share nothing: no
//! code, no formula, no number.

mod memory;
mod route;
mod temperament;

pub use temperament::Temperament;

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};

use super::config::TICKS_PER_SECOND;
use super::input::{Input, Keys};
use super::item::ItemKind;
use super::map::Map;
use super::view::{SeenPlayer, View};
use memory::Memory;
use route::Route;
use temperament::Character;

/// A player who decides from a [`View`].
#[derive(Clone, Debug)]
pub struct Bot {
    temperament: Temperament,
    character: Character,
    random: Random,
    /// What the team says; all its bots draw the same from it.
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
    /// Where beside a friend it likes to be.
    station: Habit<Vec2>,
    /// How far off its way it heads, as the tangent of the angle.
    sway: Habit<f64>,
    /// Which way it circles an enemy: −1, 0 or 1.
    strafe: Habit<f64>,
    /// How far off it aims just now, in radians.
    aim_error: f64,
    stuck_since: Option<u64>,
}

/// Whether there is an enemy to deal with, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stance {
    Calm,
    Fight(EntityId),
    Flee(Refuge),
}

/// Where to be safer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Refuge {
    Place(Vec2),
    Friend(EntityId),
}

/// What a bot is about while it is calm.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Errand {
    /// To where the team said.
    Rally(Vec2),
    /// With this friend.
    Join(EntityId),
    /// To where this enemy is, or was.
    Hunt(EntityId),
    /// To this item.
    Fetch(usize),
}

/// A short thing that comes before everything else.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Manoeuvre {
    way: Vec2,
    until: u64,
}

/// Something that is kept for a while, then drawn anew.
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
    /// A bot of this temperament with its own dice. Bots that are handed equal `talk` dice agree where to go.
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

    /// What kind of player it is.
    pub fn temperament(&self) -> Temperament {
        self.temperament
    }

    /// Whether it looks at its screen at this tick; in between, its hands do as they did.
    pub fn is_looking(&self, tick: u64) -> bool {
        self.look_at <= tick
    }

    /// Looks at what is shown, if it is time to, and says what the hands do.
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

    /// People do not look in rhythm.
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

    /// Whoever pushes without getting anywhere tries another way.
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

    /// Fight, flight, or nothing of the kind.
    fn choose_stance(&mut self, map: &Map, view: &View) {
        let Some(foe) = self.foe_to_deal_with(view) else {
            if self.stance != Stance::Calm && self.stance_until <= view.tick {
                self.stance = Stance::Calm;
                self.rethink_at = view.tick;
            }
            return;
        };
        let is_settled = match self.stance {
            Stance::Calm => false,
            Stance::Fight(target) => view.player(target).is_some(),
            Stance::Flee(refuge) => self.place_of(view, refuge).is_some(),
        };
        if is_settled && view.tick < self.stance_until {
            return;
        }
        self.stance = if self.wants_to_run(view) {
            Stance::Flee(self.choose_refuge(map, view))
        } else {
            Stance::Fight(foe)
        };
        self.stance_until = view.tick + self.ticks_around(STANCE_SECS);
    }

    /// The enemy that matters: the nearest, or the one it is fighting already if that is hardly farther.
    fn foe_to_deal_with(&self, view: &View) -> Option<EntityId> {
        let distance = |foe: &SeenPlayer| foe.body.position.distance(view.own.position);
        // A fight that is on is not given up at the first step back.
        let is_calm = self.stance == Stance::Calm;
        let within = self.character.engage_within * if is_calm { 1.0 } else { 1.25 };
        let noticed = || self.memory.noticed(view, self.character.reaction_ticks);
        let nearest = noticed()
            .filter(|foe| distance(foe) < within)
            .min_by(|one, other| distance(one).total_cmp(&distance(other)))?;
        let current = match self.stance {
            Stance::Fight(target) => noticed().find(|foe| foe.id == target),
            Stance::Calm | Stance::Flee(_) => None,
        };
        let keeps = current.filter(|foe| distance(foe) < 1.3 * distance(nearest));
        Some(keeps.unwrap_or(nearest).id)
    }

    /// Hurt, out of ammunition, or too few.
    fn wants_to_run(&mut self, view: &View) -> bool {
        let is_running = matches!(self.stance, Stance::Flee(_));
        // Who runs does not turn round because of a scratch less.
        let nerve = self.character.nerve + if is_running { 0.15 } else { 0.0 };
        let health = f64::from(view.health) / f64::from(view.health_max);
        if view.ammo == 0 || health < nerve + 0.07 * self.random.normal() {
            return true;
        }
        let here = view.own.position;
        let is_near = |other: &&SeenPlayer| other.body.position.distance(here) < COUNTED_WITHIN;
        let foes = self.memory.noticed(view, self.character.reaction_ticks).filter(is_near).count();
        let friends = view.friends().filter(is_near).count();
        let odds = foes as f64 - (friends as f64 + 1.0);
        odds > self.character.odds + 0.5 * self.random.normal()
    }

    /// To a friend, to what helps, or home: whatever is near, and far from those it runs from.
    fn choose_refuge(&mut self, map: &Map, view: &View) -> Refuge {
        let needed = if view.ammo == 0 { ItemKind::Ammo } else { ItemKind::Health };
        let friends = view.friends().map(|friend| (Refuge::Friend(friend.id), friend.body.position));
        let items = view.items.iter().filter(|item| item.kind == needed && item.is_there != Some(false));
        let items = items.map(|item| (Refuge::Place(item.position), item.position));
        let starts = map.starts(view.team);
        let home = starts[self.random.below(starts.len() as u64) as usize];
        let mut best = (Refuge::Place(home), f64::INFINITY);
        for (refuge, place) in friends.chain(items).chain([(Refuge::Place(home), home)]) {
            let danger =
                view.foes().map(|foe| foe.body.position.distance(place)).fold(DANGER_WITHIN, f64::min);
            let cost = place.distance(view.own.position) - 1.2 * danger + 120.0 * self.random.normal();
            if cost < best.1 {
                best = (refuge, cost);
            }
        }
        best.0
    }

    fn place_of(&self, view: &View, refuge: Refuge) -> Option<Vec2> {
        match refuge {
            Refuge::Place(place) => Some(place),
            Refuge::Friend(friend) => view.player(friend).map(|friend| friend.body.position),
        }
    }

    /// Takes up another errand when this one is done, has lost its point, or has gone on for long enough.
    fn rethink(&mut self, map: &Map, view: &View) {
        if self.stance != Stance::Calm || (view.tick < self.rethink_at && !self.is_done(view)) {
            return;
        }
        if let Errand::Hunt(foe) = self.errand
            && view.player(foe).is_none()
        {
            self.memory.forget(foe);
        }
        self.errand = self.choose_errand(map, view);
        let secs = self.character.mind_secs * (0.3 + 0.7 * self.random.exponential());
        self.rethink_at = view.tick + ticks(secs);
        if self.random.chance(HESITATION_CHANCE) {
            let until = view.tick + self.ticks_around(0.4);
            self.manoeuvre = Some(Manoeuvre { way: Vec2::ZERO, until });
        }
    }

    fn is_done(&self, view: &View) -> bool {
        /// Near enough: going somewhere is not parking there.
        const THERE: f64 = 110.0;
        let is_there = |place: Vec2| view.own.position.distance(place) < THERE;
        match self.errand {
            Errand::Rally(place) => is_there(place),
            Errand::Hunt(foe) => self.memory.body_of(foe).is_none_or(|body| is_there(body.position)),
            Errand::Join(friend) => view.player(friend).is_none(),
            Errand::Fetch(item) => view
                .items
                .get(item)
                .is_none_or(|item| item.is_there == Some(false) || !has_use(view, item.kind)),
        }
    }

    fn choose_errand(&mut self, map: &Map, view: &View) -> Errand {
        if self.is_lonely(view)
            && self.random.chance(self.character.sociability)
            && let Some(friend) = self.choose_friend(view)
        {
            return Errand::Join(friend);
        }
        let health = f64::from(view.health) / f64::from(view.health_max);
        let ammo = f64::from(view.ammo) / f64::from(view.ammo_max);
        for (kind, is_needed) in [(ItemKind::Health, health < 0.7), (ItemKind::Ammo, ammo < 0.4)] {
            if is_needed
                && self.random.chance(self.character.care)
                && let Some(item) = self.choose_item(view, Some(kind))
            {
                return Errand::Fetch(item);
            }
        }
        let weights = self.character.errands;
        let mut dice = self.random.unit() * (weights.rally + weights.join + weights.hunt + weights.fetch);
        let mut falls_on = |weight: f64| {
            dice -= weight;
            dice < 0.0
        };
        if falls_on(weights.join) {
            if let Some(friend) = self.choose_friend(view) {
                return Errand::Join(friend);
            }
        } else if falls_on(weights.hunt) {
            if let Some(foe) = self.memory.best_trail(view.tick, view.own.position) {
                return Errand::Hunt(foe);
            }
        } else if falls_on(weights.fetch)
            && let Some(item) = self.choose_item(view, None)
        {
            return Errand::Fetch(item);
        }
        Errand::Rally(self.called_place(map, view))
    }

    fn is_lonely(&self, view: &View) -> bool {
        view.friends().all(|friend| friend.body.position.distance(view.own.position) > LONELY_BEYOND)
    }

    /// A friend to go with: the nearer the likelier, and rather one that is going somewhere.
    fn choose_friend(&mut self, view: &View) -> Option<EntityId> {
        let weight = |friend: &SeenPlayer| {
            let distance = 100.0 + friend.body.position.distance(view.own.position);
            let is_moving = friend.body.velocity.length() > 120.0;
            (if is_moving { 2.0 } else { 1.0 }) / (distance * distance)
        };
        let total: f64 = view.friends().map(weight).sum();
        let mut dice = self.random.unit() * total;
        let chosen = view.friends().find(|friend| {
            dice -= weight(friend);
            dice < 0.0
        });
        chosen.or_else(|| view.friends().last()).map(|friend| friend.id)
    }

    /// The item that is least out of the way, as far as it knows.
    fn choose_item(&mut self, view: &View, kind: Option<ItemKind>) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for (number, item) in view.items.iter().enumerate() {
            let is_wanted = kind.is_none_or(|kind| kind == item.kind) && has_use(view, item.kind);
            if !is_wanted || item.is_there == Some(false) {
                continue;
            }
            let cost = item.position.distance(view.own.position) * self.random.between(0.7, 1.3);
            if best.is_none_or(|(_, least)| cost < least) {
                best = Some((number, cost));
            }
        }
        best.map(|(number, _)| number)
    }

    /// Where the team said to meet. They agree on another place every so often, now and then in the middle; each
    /// makes something else of it by a few steps.
    fn called_place(&mut self, map: &Map, view: &View) -> Vec2 {
        let mut call = self.talk.fork(view.tick / CALL_TICKS);
        let middle = Vec2::new(call.between(-400.0, 400.0), call.between(-700.0, 700.0));
        let spots = map.items();
        let called = if spots.is_empty() || call.chance(0.5) {
            middle
        } else {
            spots[call.below(spots.len() as u64) as usize].position
        };
        let mut place = called;
        for _ in 0..8 {
            let step = Vec2::new(self.random.between(-160.0, 160.0), self.random.between(-160.0, 160.0));
            place = called + step;
            if map.is_clear(place) {
                break;
            }
        }
        place
    }

    /// The way it would like to go, of whatever length; zero is to stand.
    fn way_to_go(&mut self, map: &Map, view: &View) -> Vec2 {
        if let Some(manoeuvre) = self.manoeuvre.filter(|manoeuvre| view.tick < manoeuvre.until) {
            return manoeuvre.way;
        }
        self.manoeuvre = None;
        match self.stance {
            Stance::Fight(foe) => match view.player(foe).copied() {
                Some(foe) => self.fight(map, view, &foe),
                None => self.hands.keys.direction(),
            },
            Stance::Flee(refuge) => match self.place_of(view, refuge) {
                Some(place) => self.flee(map, view, place),
                None => self.hands.keys.direction(),
            },
            Stance::Calm => self.run_errand(map, view),
        }
    }

    fn run_errand(&mut self, map: &Map, view: &View) -> Vec2 {
        match self.errand {
            Errand::Rally(place) => self.travel(map, view, place),
            Errand::Hunt(foe) => match self.memory.body_of(foe) {
                Some(body) => self.travel(map, view, body.position),
                None => Vec2::ZERO,
            },
            Errand::Join(friend) => match view.player(friend).copied() {
                Some(friend) => self.accompany(map, view, &friend),
                None => Vec2::ZERO,
            },
            Errand::Fetch(item) => match view.items.get(item) {
                // Straight on: an item is small.
                Some(item) => self.route.next_stop(map, view.own.position, item.position) - view.own.position,
                None => Vec2::ZERO,
            },
        }
    }

    /// Goes to `goal`, swaying.
    fn travel(&mut self, map: &Map, view: &View, goal: Vec2) -> Vec2 {
        let random = &mut self.random;
        let sway = self.sway.or_anew(view.tick, || {
            let sway = if random.chance(0.3) { 0.0 } else { 0.6 * random.normal() };
            (sway, ticks(0.2 + 0.45 * random.exponential()))
        });
        let way = self.route.next_stop(map, view.own.position, goal) - view.own.position;
        let is_far = way.length() > 160.0;
        if is_far { way + way.perpendicular() * sway } else { way }
    }

    /// Beside a friend: catches up when far, goes along when near, mills about when the friend stands.
    fn accompany(&mut self, map: &Map, view: &View, friend: &SeenPlayer) -> Vec2 {
        let random = &mut self.random;
        let station = self.station.or_anew(view.tick, || {
            let side = Vec2::from_heading(random.between(-3.2, 3.2)) * random.between(70.0, 220.0);
            (side, ticks(1.0 + 2.5 * random.exponential()))
        });
        let place = friend.body.position + friend.body.velocity * 0.3 + station;
        let place = if map.is_clear(place) { place } else { friend.body.position };
        let distance = place.distance(view.own.position);
        if distance > 140.0 {
            return self.travel(map, view, place);
        }
        if friend.body.velocity.length() > 150.0 {
            return friend.body.velocity + (place - view.own.position) * 2.0;
        }
        if distance > 45.0 {
            return place - view.own.position;
        }
        let way = if self.random.chance(0.4) { Vec2::ZERO } else { self.any_way() };
        self.manoeuvre = Some(Manoeuvre { way, until: view.tick + self.ticks_around(0.3) });
        way
    }

    /// Comes to the distance it likes, circles there, and stays in touch with its friends.
    fn fight(&mut self, map: &Map, view: &View, foe: &SeenPlayer) -> Vec2 {
        let offset = foe.body.position - view.own.position;
        let distance = offset.length();
        let likes = self.character.keeps_distance;
        if distance > 1.4 * likes || !map.sees(view.own.position, foe.body.position) {
            return self.travel(map, view, foe.body.position);
        }
        let random = &mut self.random;
        let strafe = self.strafe.or_anew(view.tick, || {
            let way = [-1.0, 1.0, 0.0][(random.below(7) / 3) as usize];
            (way, ticks(0.15 + 0.35 * random.exponential()))
        });
        let towards = offset.normalize_or_zero();
        let closer = ((distance - likes) / 110.0).clamp(-1.0, 1.0);
        let way = towards * closer + towards.perpendicular() * strafe;
        way + self.pull_of_friends(view) * 0.7
    }

    /// Towards the nearest friend if that is a long way.
    fn pull_of_friends(&self, view: &View) -> Vec2 {
        let distance = |friend: &SeenPlayer| friend.body.position.distance(view.own.position);
        let nearest = view.friends().min_by(|one, other| distance(one).total_cmp(&distance(other)));
        match nearest {
            Some(friend) if distance(friend) > 240.0 => {
                (friend.body.position - view.own.position).normalize_or_zero()
            }
            _ => Vec2::ZERO,
        }
    }

    /// To the refuge; whoever is there already keeps moving, away from the nearest enemy.
    fn flee(&mut self, map: &Map, view: &View, place: Vec2) -> Vec2 {
        if place.distance(view.own.position) > 120.0 {
            return self.travel(map, view, place);
        }
        let distance = |foe: &SeenPlayer| foe.body.position.distance(view.own.position);
        let nearest = view.foes().min_by(|one, other| distance(one).total_cmp(&distance(other)));
        let away = nearest.map_or(Vec2::ZERO, |foe| view.own.position - foe.body.position);
        away.normalize_or_zero() + self.any_way() * 0.7
    }

    /// The keys for a way: the nearest of eight, the ones held already if they are nearly as good, and none that lead
    /// into a wall if others nearby do not.
    fn press(&mut self, map: &Map, view: &View, way: Vec2) -> Keys {
        /// The cosine of 28°: half of the 45° between two ways, and a little more out of laziness.
        const GOOD_ENOUGH: f64 = 0.88;
        let way = way.normalize_or_zero();
        if way == Vec2::ZERO {
            return Keys::NONE;
        }
        let held = self.hands.keys.without_fire();
        let is_clear = |keys: Keys| map.is_clear(view.own.position + keys.direction() * FEELER);
        if held.direction().dot(way) > GOOD_ENOUGH && is_clear(held) {
            return held;
        }
        let mut ways = Keys::WAYS;
        ways.sort_by(|one, other| other.direction().dot(way).total_cmp(&one.direction().dot(way)));
        ways.into_iter().take(5).find(|keys| is_clear(*keys)).unwrap_or(ways[0])
    }

    /// Where the cursor goes, and whether to hold the button.
    fn aim(&mut self, map: &Map, view: &View, keys: Keys) -> (Vec2, bool) {
        let target = match self.stance {
            Stance::Fight(foe) => view.player(foe),
            Stance::Flee(_) => {
                let distance = |foe: &SeenPlayer| foe.body.position.distance(view.own.position);
                self.memory
                    .noticed(view, self.character.reaction_ticks)
                    .min_by(|one, other| distance(one).total_cmp(&distance(other)))
            }
            Stance::Calm => None,
        };
        let Some(target) = target.copied() else { return (self.idle_aim(view, keys), false) };
        // The error drifts from look to look rather than jumping about.
        const KEPT: f64 = 0.6;
        let fresh = (1.0 - KEPT * KEPT).sqrt() * self.character.aim_error_rad;
        self.aim_error = KEPT * self.aim_error + fresh * self.random.normal();
        let lead_secs = AIM_LEAD_SECS * (1.0 + 0.4 * self.random.normal());
        let offset = target.body.position + target.body.velocity * lead_secs - view.own.position;
        let aim = view.own.position + offset + offset.perpendicular() * self.aim_error;
        let is_in_reach = offset.length() < 0.95 * view.shot_range;
        let flees = matches!(self.stance, Stance::Flee(_));
        let trigger = self.character.trigger * if flees { 0.5 } else { 1.0 };
        let fires = is_in_reach
            && view.ammo > 0
            && map.sees(view.own.position, target.body.position)
            && self.random.chance(trigger);
        (aim, fires)
    }

    /// Nobody to aim at: a little ahead, moved only when the way changes.
    fn idle_aim(&mut self, view: &View, keys: Keys) -> Vec2 {
        if keys == self.hands.keys.without_fire() || keys == Keys::NONE {
            return self.hands.aim;
        }
        let aside = Vec2::new(40.0 * self.random.normal(), 40.0 * self.random.normal());
        view.own.position + keys.direction() * 280.0 + aside
    }

    fn any_way(&mut self) -> Vec2 {
        Keys::WAYS[self.random.below(8) as usize].direction()
    }

    /// About so many seconds.
    fn ticks_around(&mut self, secs: f64) -> u64 {
        ticks(secs * self.random.between(0.5, 1.5))
    }
}

/// How long a decision to fight or to run is kept, more or less.
const STANCE_SECS: f64 = 0.9;
/// Who counts when it is about being too few.
const COUNTED_WITHIN: f64 = 620.0;
/// Enemies farther than this from a refuge do not make it worse.
const DANGER_WITHIN: f64 = 900.0;
/// Nobody of the team nearer than this: alone.
const LONELY_BEYOND: f64 = 420.0;
/// One change of mind in three begins with standing still.
const HESITATION_CHANCE: f64 = 0.33;
/// How long a team's word holds.
const CALL_TICKS: u64 = 12 * TICKS_PER_SECOND as u64;
/// How far ahead of it a player feels for walls: a tenth of a second's way.
const FEELER: f64 = 36.0;
/// How far ahead of an enemy it aims: half a look, and the time a shot takes to leave.
const AIM_LEAD_SECS: f64 = 0.10;

fn has_use(view: &View, kind: ItemKind) -> bool {
    match kind {
        ItemKind::Health => view.health < view.health_max,
        ItemKind::Ammo => view.ammo < view.ammo_max,
    }
}

fn ticks(secs: f64) -> u64 {
    (secs * f64::from(TICKS_PER_SECOND)).round() as u64
}
