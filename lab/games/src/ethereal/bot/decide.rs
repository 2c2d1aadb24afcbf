//! Decides whether to fight or retreat, and which errand to run.

use fairpath::number::EntityId;
use fairpath::vector::{Vec2, Vector};

use super::{Bot, Errand, Manoeuvre, Refuge, Stance, nearest, ticks};
use crate::ethereal::config::TICKS_PER_SECOND;
use crate::ethereal::item::ItemKind;
use crate::ethereal::map::Map;
use crate::ethereal::view::{SeenPlayer, View};

impl Bot {
    pub(super) fn choose_stance(&mut self, map: &Map, view: &View) {
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

    /// Returns the enemy to react to: the nearest, or the current target if it is hardly farther.
    fn foe_to_deal_with(&self, view: &View) -> Option<EntityId> {
        let distance = |foe: &SeenPlayer| foe.body.position.distance(view.own.position);
        // A running fight is kept up to a larger distance.
        let is_calm = self.stance == Stance::Calm;
        let within = self.character.engage_within * if is_calm { 1.0 } else { 1.25 };
        let noticed = || self.memory.noticed(view, self.character.reaction_ticks);
        let nearest = nearest(noticed().filter(|foe| distance(foe) < within), view.own.position)?;
        let current = match self.stance {
            Stance::Fight(target) => noticed().find(|foe| foe.id == target),
            Stance::Calm | Stance::Flee(_) => None,
        };
        let keeps = current.filter(|foe| distance(foe) < 1.3 * distance(nearest));
        Some(keeps.unwrap_or(nearest).id)
    }

    /// Returns whether to retreat: hurt, out of ammunition, or outnumbered.
    fn wants_to_run(&mut self, view: &View) -> bool {
        let is_running = matches!(self.stance, Stance::Flee(_));
        // A retreating bot needs more health to turn round than to stay in a fight.
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

    /// Chooses a friend, a needed item or a start: near to the bot and far from enemies.
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

    /// Chooses another errand when this one is done, has no target, or has lasted long enough.
    pub(super) fn rethink(&mut self, map: &Map, view: &View) {
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
        /// The distance at which a place counts as reached.
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

    /// Returns a random friend to join: nearer and moving friends are likelier.
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

    /// Returns a near item, at a randomised distance.
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

    /// Returns the team's meeting place with a random offset. The place changes every
    /// [`CALL_TICKS`]; half of the places are near the centre.
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
}

/// About how long a decision to fight or to retreat is kept.
const STANCE_SECS: f64 = 0.9;
/// The radius in which players count for being outnumbered.
const COUNTED_WITHIN: f64 = 620.0;
/// Enemies farther than this from a refuge do not count.
const DANGER_WITHIN: f64 = 900.0;
/// A bot without a friend within this distance is alone.
const LONELY_BEYOND: f64 = 420.0;
/// The chance that a change of errand begins with standing still.
const HESITATION_CHANCE: f64 = 0.33;
/// How long a team keeps a meeting place.
const CALL_TICKS: u64 = 12 * TICKS_PER_SECOND as u64;

fn has_use(view: &View, kind: ItemKind) -> bool {
    match kind {
        ItemKind::Health => view.health < view.health_max,
        ItemKind::Ammo => view.ammo < view.ammo_max,
    }
}
