//! Direction, keys and aim.

use std::f64::consts::PI;

use fairpath::vector::{Vec2, Vector};

use super::{Bot, Errand, Manoeuvre, Stance, nearest, ticks};
use crate::ethereal::input::Keys;
use crate::ethereal::map::Map;
use crate::ethereal::view::{SeenPlayer, View};

impl Bot {
    /// Returns the direction to go, of any length; zero is to stand.
    pub(super) fn way_to_go(&mut self, map: &Map, view: &View) -> Vec2 {
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
                // No sway: an item is small.
                Some(item) => self.route.next_stop(map, view.own.position, item.position) - view.own.position,
                None => Vec2::ZERO,
            },
        }
    }

    /// Returns the direction to `goal`, with sway.
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

    /// Returns the way to stay beside a friend: catch up, move along, or wander while it stands.
    fn accompany(&mut self, map: &Map, view: &View, friend: &SeenPlayer) -> Vec2 {
        /// Farther than `BEHIND` from its place it runs there; nearer than `THERE` it has arrived.
        const BEHIND: f64 = 140.0;
        const THERE: f64 = 50.0;
        /// A friend faster than this is travelling, in pixels per second.
        const GOING: f64 = 150.0;
        let here = view.own.position;
        let random = &mut self.random;
        let station = self.station.or_anew(view.tick, || {
            let side = Vec2::from_heading(random.between(-PI, PI)) * random.between(70.0, 220.0);
            (side, ticks(1.0 + 2.5 * random.exponential()))
        });
        // Lead by 0.3 s, about the time to turn there.
        let place = friend.body.position + friend.body.velocity * 0.3 + station;
        let place = if map.is_clear(place) { place } else { friend.body.position };
        let distance = place.distance(here);
        if distance > BEHIND {
            self.travel(map, view, place)
        } else if friend.body.velocity.length() > GOING {
            friend.body.velocity + (place - here) * 2.0
        } else if distance > THERE {
            place - here
        } else {
            let way = if self.random.chance(0.4) { Vec2::ZERO } else { self.any_way() };
            self.manoeuvre = Some(Manoeuvre { way, until: view.tick + self.ticks_around(0.3) });
            way
        }
    }

    /// Returns the direction in a fight: keep the distance, circle the enemy, stay near friends.
    fn fight(&mut self, map: &Map, view: &View, foe: &SeenPlayer) -> Vec2 {
        let offset = foe.body.position - view.own.position;
        let distance = offset.length();
        let likes = self.character.keeps_distance;
        if distance > 1.4 * likes || !map.sees(view.own.position, foe.body.position) {
            return self.travel(map, view, foe.body.position);
        }
        let random = &mut self.random;
        let strafe = self.strafe.or_anew(view.tick, || {
            // To either side, and in one of seven draws to neither.
            let way = [-1.0, 1.0, 0.0][(random.below(7) / 3) as usize];
            (way, ticks(0.15 + 0.35 * random.exponential()))
        });
        let towards = offset.normalize_or_zero();
        let closer = ((distance - likes) / 110.0).clamp(-1.0, 1.0);
        let way = towards * closer + towards.perpendicular() * strafe;
        way + self.pull_of_friends(view) * 0.7
    }

    /// Returns the direction to the nearest friend if it is far.
    fn pull_of_friends(&self, view: &View) -> Vec2 {
        const LONG_WAY: f64 = 240.0;
        let here = view.own.position;
        match nearest(view.friends(), here) {
            Some(friend) if friend.body.position.distance(here) > LONG_WAY => {
                (friend.body.position - here).normalize_or_zero()
            }
            _ => Vec2::ZERO,
        }
    }

    /// Returns the direction to the refuge; once there, away from the nearest enemy.
    fn flee(&mut self, map: &Map, view: &View, place: Vec2) -> Vec2 {
        if place.distance(view.own.position) > 120.0 {
            return self.travel(map, view, place);
        }
        let foe = nearest(view.foes(), view.own.position);
        let away = foe.map_or(Vec2::ZERO, |foe| view.own.position - foe.body.position);
        away.normalize_or_zero() + self.any_way() * 0.7
    }

    /// Returns the keys for a direction: the nearest of eight. It keeps the held keys if they are
    /// nearly as good, and avoids keys that lead into a wall.
    pub(super) fn press(&mut self, map: &Map, view: &View, way: Vec2) -> Keys {
        /// The cosine of 28°: half of 45° and a little, because people change keys reluctantly.
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

    /// Returns the aim, and whether to fire.
    pub(super) fn aim(&mut self, map: &Map, view: &View, keys: Keys) -> (Vec2, bool) {
        /// The share of the aiming error kept from look to look: it drifts instead of jumping.
        const KEPT: f64 = 0.6;
        let target = match self.stance {
            Stance::Fight(foe) => view.player(foe),
            Stance::Flee(_) => {
                nearest(self.memory.noticed(view, self.character.reaction_ticks), view.own.position)
            }
            Stance::Calm => None,
        };
        let Some(target) = target.copied() else { return (self.idle_aim(view, keys), false) };
        let fresh = (1.0 - KEPT * KEPT).sqrt() * self.character.aim_error_rad;
        self.aim_error = KEPT * self.aim_error + fresh * self.random.normal();
        let lead_secs = AIM_LEAD_SECS * (1.0 + 0.4 * self.random.normal());
        let offset = target.body.position + target.body.velocity * lead_secs - view.own.position;
        let aim = view.own.position + offset + offset.perpendicular() * self.aim_error;
        let is_in_reach = offset.length() < 0.95 * view.shot_range;
        let flees = matches!(self.stance, Stance::Flee(_));
        // A retreating bot fires half as often.
        let trigger = self.character.trigger * if flees { 0.5 } else { 1.0 };
        let fires = is_in_reach
            && view.ammo > 0
            && map.sees(view.own.position, target.body.position)
            && self.random.chance(trigger);
        (aim, fires)
    }

    /// Returns the aim without a target: a little ahead, moved only when the direction changes.
    fn idle_aim(&mut self, view: &View, keys: Keys) -> Vec2 {
        if keys == self.hands.keys.without_fire() || keys == Keys::NONE {
            return self.hands.aim;
        }
        let aside = Vec2::new(40.0 * self.random.normal(), 40.0 * self.random.normal());
        view.own.position + keys.direction() * 280.0 + aside
    }
}

/// How far ahead a bot checks for walls: a tenth of a second at top speed.
const FEELER: f64 = 36.0;
/// The lead of its aim: half a look, and the local lag of a shot.
const AIM_LEAD_SECS: f64 = 0.10;
