//! Error-index: a copy goes where it avoids the most error, at a price that the budget sets and
//! that is higher for those who have fared well. Derived in `docs/error-index.md`.

mod balance;
mod config;
mod forecast;
mod purse;
mod restraint;
mod rounds;
mod yardstick;

pub use config::ErrorIndexConfig;

use self::balance::Balance;
use self::forecast::{Ground, not_below};
use self::purse::Purse;
use self::restraint::Restraint;
use self::yardstick::Yardstick;
use super::{Candidate, Claims, DecisionContext, Removed, Scheduler};
use crate::error::Path;
use crate::ledger::{Belief, Page};
use crate::number::{EntityId, ReceiverId};
use crate::random::Random;
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// Buys the copies that are worth it.
///
/// At every trigger, and a few times between triggers, each receiver that is not told of the newest
/// DR vector gets an index: the distance that a copy would take off its error, judged shortly after
/// the copy's arrival against a *forecast* of the entity, less what it is held back by because
/// others fare worse (`balance.rs`), which is as much as the mean error leaves room for
/// (`restraint.rs`). Whoever is above the price gets a copy, the highest first, as long as the
/// budget has credit (`purse.rs`). Who does not answer, or has only just joined, must wait for
/// its turn besides (`rounds.rs`).
///
/// Somebody who knows nothing of the entity, or nothing of its present life, is told at once
/// whatever it costs: there is no error to weigh against a thing that is missing on a screen. With
/// a budget of zero that is all that is ever sent.
#[derive(Clone, Debug)]
pub struct ErrorIndex {
    config: ErrorIndexConfig,
    purse: Purse,
    yardstick: Yardstick,
    restraint: Restraint,
    ground: Ground,
    /// When to look again.
    look_at: Option<SharedInstant>,
    /// Who is above the price. Reused from decision to decision, like the next.
    wishes: Vec<Wish>,
    accounts: Vec<f64>,
}

/// A copy that is worth its price.
#[derive(Clone, Copy, Debug)]
struct Wish {
    receiver: ReceiverId,
    index: f64,
    account: f64,
}

impl ErrorIndex {
    /// With these knobs; those that make no sense count as the nearest that do.
    pub fn new(config: ErrorIndexConfig) -> Self {
        let config = config.sensible();
        Self {
            config,
            purse: Purse::default(),
            yardstick: Yardstick::default(),
            restraint: Restraint::default(),
            ground: Ground::default(),
            look_at: None,
            wishes: Vec::new(),
            accounts: Vec::new(),
        }
    }

    /// What the budget has saved, in its own unit; negative if it owes.
    pub fn credit(&self) -> f64 {
        self.purse.tokens()
    }

    /// Claims what is worth it, and shows everybody who is not worth it to `watch`: what a copy
    /// would gain, of how much it would have to gain, and by which paths.
    fn decide<V: Planar>(
        &mut self,
        scene: &DecisionContext<'_, V>,
        claims: &mut Claims,
        mut watch: impl FnMut(&Refused<'_, V>),
    ) {
        // What could not leave so far is paid for by nobody yet, and may be worth less by now.
        claims.discard_waiting(scene);
        let Some((forecast, told)) =
            forecast::forecast(scene, self.config.forecast_window).zip(scene.ledger.placed_if_told())
        else {
            return;
        };
        let strength = self.strength(scene);
        let balance =
            Balance::among(scene, self.purse.entities(), strength, &self.config, &mut self.accounts);
        let is_plenty = self.purse.is_plenty(scene.entity, scene.candidates.len(), &self.config);
        let price = match is_plenty {
            true => 0.0,
            false => self.purse.price(scene.entity, balance.level(), claims.len(), &self.config),
        };
        let floor = self.ground.below(scene.entity, forecast.position_at(scene.now));
        let turn = self.yardstick.turn(scene.entity, scene.now);
        let mut musts = 0;
        self.wishes.clear();
        for (candidate, page) in with_pages(scene).filter(|(candidate, _)| !candidate.standing.is_told) {
            let delay = delay_of(candidate, scene.now);
            match belief_ahead(&page, scene.now + delay + self.config.outlook) {
                Outlook::Nothing => {
                    musts += 1;
                    claims.send(scene, candidate.receiver, scene.now, f64::INFINITY);
                }
                Outlook::Places { placed, at } => {
                    let there = not_below(forecast.position_at(at), floor);
                    let gain = there.distance(placed.position_at(at)) - there.distance(told.position_at(at));
                    let held_back = if is_plenty { 0.0 } else { balance.hold_back(candidate, delay) };
                    let index = gain - held_back;
                    if index > price && (is_plenty || turn.allows(candidate)) {
                        let account = candidate.account;
                        self.wishes.push(Wish { receiver: candidate.receiver, index, account });
                    } else {
                        watch(&Refused {
                            gain,
                            needed: price + held_back,
                            at,
                            paths: [&forecast, placed, told],
                        });
                    }
                }
            }
        }
        self.purse.must_send(scene.entity, musts);
        self.keep_what_can_be_paid(scene.entity, claims.len());
        for wish in &self.wishes {
            claims.send(scene, wish.receiver, scene.now, wish.index);
        }
    }

    /// How hard those who fare well are held back now.
    fn strength<V: Planar>(&mut self, scene: &DecisionContext<'_, V>) -> f64 {
        if self.config.fairness <= 0.0 {
            return 0.0;
        }
        let times = self.yardstick.compare(scene);
        self.restraint.strength(times, scene.account_secs, scene.now, &self.config)
    }

    fn next_look(&self, now: SharedInstant) -> Option<SharedInstant> {
        (self.config.look_again > Span::ZERO).then(|| now + self.config.look_again)
    }

    /// When to look again at an entity at which it has just looked: soon, if somebody may get a
    /// copy by then; later, if nothing is near its price; not before the next trigger, if
    /// everybody knows all there is to know.
    fn look_after<V: Planar>(
        &self,
        scene: &DecisionContext<'_, V>,
        quiet: Span,
        claimed: bool,
    ) -> Option<SharedInstant> {
        let is_known =
            |candidate: &Candidate| candidate.standing.is_told && scene.ledger.is_settled(candidate.receiver);
        let soon = self.next_look(scene.now)?;
        if claimed || !self.wishes.is_empty() {
            Some(soon)
        } else if scene.candidates.iter().all(is_known) {
            None
        } else {
            Some(soon.max(scene.now + quiet))
        }
    }

    /// Keeps the highest wishes; of equal ones those with the larger account, then the smaller id.
    fn keep_what_can_be_paid(&mut self, entity: EntityId, reserved: usize) {
        let count = self.purse.affordable(entity, reserved, &self.config);
        if count < self.wishes.len() {
            if count > 0 {
                self.wishes.select_nth_unstable_by(count, |one, other| {
                    (other.index.total_cmp(&one.index))
                        .then(other.account.total_cmp(&one.account))
                        .then(one.receiver.cmp(&other.receiver))
                });
            }
            self.wishes.truncate(count);
            // Claims are quickest in the order of receivers.
            self.wishes.sort_unstable_by_key(|wish| wish.receiver);
        }
    }
}

impl<V: Planar> Scheduler<V> for ErrorIndex {
    fn on_trigger(&mut self, scene: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        self.purse.meet(scene.entity, scene.ledger.newest_freezes_at());
        // What nobody could hear earns nothing, or the first to join would find a fortune.
        if scene.candidates.is_empty() {
            return;
        }
        self.purse.earn(scene.entity, scene.candidates.len(), &self.config);
        self.ground.on_trigger(scene);
        let every = self.purse.triggers_for_all(scene.entity, scene.candidates.len(), &self.config);
        self.yardstick.on_trigger(scene, every);
        self.decide(scene, claims, |_| {});
        let next = self.next_look(scene.now);
        // Others must not be kept waiting because this one is busy.
        let others = self.look_at.filter(|_| self.purse.entities() > 1);
        self.look_at = others.into_iter().chain(next).min();
    }

    fn on_deadline(&mut self, scene: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        let mut quiet = QUIET_MAX;
        self.decide(scene, claims, |refused| quiet = quiet.min(refused.quiet()));
        let next = self.look_after(scene, quiet, !claims.is_empty());
        // Called for one entity after the other: the first begins anew, and whoever is in the greatest
        // hurry counts.
        let others = self.look_at.filter(|look_at| *look_at > scene.now);
        self.look_at = others.into_iter().chain(next).min();
    }

    fn poll_deadline(&self) -> Option<SharedInstant> {
        self.look_at
    }

    fn on_departed(&mut self, entity: EntityId, _receiver: ReceiverId, at: SharedInstant, cost: f64) {
        self.purse.pay(entity, at, cost, &self.config);
    }

    fn on_joined(&mut self, _entity: EntityId, _receiver: ReceiverId, now: SharedInstant) {
        if self.config.look_again > Span::ZERO {
            self.look_at = self.look_at.into_iter().chain([now]).min();
        }
    }

    fn on_removed(&mut self, left: Removed) {
        if let Removed::Entity(entity) = left {
            self.purse.forget(entity);
            self.yardstick.forget(entity);
            self.ground.forget(entity);
        }
        if self.purse.entities() == 0 {
            self.look_at = None;
        }
    }
}

/// A copy that is not worth its price.
struct Refused<'a, V: Planar> {
    gain: f64,
    needed: f64,
    /// When the gain was judged.
    at: SharedInstant,
    /// The forecast, what is placed without the copy, and what is placed with it.
    paths: [&'a Path<V>; 3],
}

impl<V: Planar> Refused<'_, V> {
    /// For how long it will surely not be worth it, if nothing happens: as long as the gain takes
    /// to a quarter of what is needed, at the speed at which the paths part. The rest is for a
    /// price that falls meanwhile, and for what others gather: with half of it instead, crowds
    /// have up to 0.9 % more error than if it looked every time.
    fn quiet(&self) -> Span {
        if !self.paths.iter().all(|path| path.is_straight()) {
            return Span::ZERO;
        }
        let [there, placed, told] = self.paths.map(|path| path.velocity_at(self.at));
        let parting = there.distance(placed) + there.distance(told);
        let missing = 0.25 * self.needed - self.gain;
        if missing < 0.0 {
            return Span::ZERO;
        }
        // What freezes parts at another speed.
        let freezes = self.paths.iter().filter_map(|path| path.freezes_after(self.at)).min();
        let parted = Span::from_secs_f64((missing / parting).min(QUIET_MAX.as_secs_f64()));
        freezes.map_or(parted, |freezes| parted.min(freezes))
    }
}

/// How long it sleeps at most while somebody does not know everything. A receipt that does not come
/// makes a copy worth it that nobody could foresee: that may wait a fifth of the silence that is
/// promised.
const QUIET_MAX: Span = Span::from_millis(400);

/// What a receiver will make of the entity shortly after a copy that leaves now would arrive.
enum Outlook<'a, V: Planar> {
    /// Nothing, and nothing is on its way.
    Nothing,
    /// It places this path, to be judged at this instant.
    Places { placed: &'a Path<V>, at: SharedInstant },
}

fn belief_ahead<'a, V: Planar>(page: &Page<'a, V>, at: SharedInstant) -> Outlook<'a, V> {
    // Its first copy may be under way and later than a copy sent now is expected to be: that one
    // counts.
    let after_all = || page.belief_at(SharedInstant::from_micros(i64::MAX));
    match page.belief_at(at) {
        Belief::Places(placed) => Outlook::Places { placed, at },
        Belief::Nothing | Belief::EarlierLife => match after_all() {
            Belief::Places(placed) => Outlook::Places { placed, at },
            Belief::Nothing | Belief::EarlierLife => Outlook::Nothing,
        },
    }
}

/// Candidates side by side with their pages: both are in the order of ids.
fn with_pages<'a, V: Planar>(
    scene: &'a DecisionContext<'a, V>,
) -> impl Iterator<Item = (&'a Candidate, Page<'a, V>)> + 'a {
    let mut pages = scene.ledger.pages();
    scene.candidates.iter().filter_map(move |candidate| {
        let page = pages.find(|page| page.receiver() >= candidate.receiver)?;
        (page.receiver() == candidate.receiver).then_some((candidate, page))
    })
}

/// How long a copy will take. Before the first receipt half of the silence is the best guess: if
/// the way were shorter, there would be an answer by now.
#[inline]
fn delay_of(candidate: &Candidate, now: SharedInstant) -> Span {
    let unknown = || candidate.silence(now).scaled(0.5).min(DELAY_UNKNOWN_MAX);
    candidate.delay.unwrap_or_else(unknown).max(Span::ZERO)
}

/// The longest way that is believed of somebody who never reports: the far end of the links that we
/// promise to serve. More, and a silent receiver would make all others look near.
const DELAY_UNKNOWN_MAX: Span = Span::from_secs(1);
