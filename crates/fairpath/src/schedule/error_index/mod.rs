//! Error-index: a copy goes where it avoids the most error, at a price that the budget sets and
//! that is higher for those who have fared well. Derived in `docs/error-index.md`.

mod baseline;
mod config;
mod fairness_weight;
mod forecast;
mod penalty;
mod priced_budget;
mod round_robin;

pub use config::ErrorIndexConfig;

use self::baseline::Baseline;
use self::fairness_weight::FairnessWeight;
use self::forecast::{GroundLevels, not_below};
use self::penalty::FairnessPenalty;
use self::priced_budget::PricedBudget;
use super::{Candidate, Claims, DecisionContext, Removed, Scheduler};
use crate::error::Path;
use crate::ledger::{ReceiverBelief, ReceiverPage};
use crate::number::{EntityId, ReceiverId};
use crate::random::Random;
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// Buys the copies that are worth it.
///
/// At every trigger, and a few times between triggers, each receiver that is not told of the newest
/// DR vector gets an index: the distance that a copy would take off its error, judged shortly after
/// the copy's arrival against a *forecast* of the entity, less what it is held back by because
/// others fare worse (`penalty.rs`), which is as much as the mean error leaves room for
/// (`fairness_weight.rs`). Whoever is above the price gets a copy, the highest first, as long as the
/// budget has credit (`budget.rs`). Who does not answer, or has only just joined, must wait for
/// its turn besides (`rounds.rs`).
///
/// Somebody who knows nothing of the entity, or nothing of its present life, is told at once
/// whatever it costs: there is no error to weigh against a thing that is missing on a screen. With
/// a budget of zero that is all that is ever sent.
#[derive(Clone, Debug)]
pub struct ErrorIndex {
    config: ErrorIndexConfig,
    budget: PricedBudget,
    baseline: Baseline,
    fairness_weight: FairnessWeight,
    ground: GroundLevels,
    /// When to look again.
    look_at: Option<SharedInstant>,
    /// Who is above the price. Reused from decision to decision, like the next.
    bids: Vec<Bid>,
    accounts: Vec<f64>,
}

/// A copy that is worth its price.
#[derive(Clone, Copy, Debug)]
struct Bid {
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
            budget: PricedBudget::default(),
            baseline: Baseline::default(),
            fairness_weight: FairnessWeight::default(),
            ground: GroundLevels::default(),
            look_at: None,
            bids: Vec::new(),
            accounts: Vec::new(),
        }
    }

    /// What the budget has saved, in its own unit; negative if it owes.
    pub fn credit(&self) -> f64 {
        self.budget.tokens()
    }

    /// Claims what is worth it, and shows everybody who is not worth it to `watch`: what a copy
    /// would gain, of how much it would have to gain, and by which paths.
    fn decide<V: Planar>(
        &mut self,
        context: &DecisionContext<'_, V>,
        claims: &mut Claims,
        mut watch: impl FnMut(&RejectedBid<'_, V>),
    ) {
        // What could not leave so far is paid for by nobody yet, and may be worth less by now.
        claims.discard_waiting(context);
        let Some((forecast, told)) =
            forecast::forecast(context, self.config.forecast_window).zip(context.ledger.placed_by_newest())
        else {
            return;
        };
        let strength = self.strength(context);
        let penalty = FairnessPenalty::among(
            context,
            self.budget.entities(),
            strength,
            &self.config,
            &mut self.accounts,
        );
        let is_plenty = self.budget.is_plenty(context.entity, context.candidates.len(), &self.config);
        let price = match is_plenty {
            true => 0.0,
            false => self.budget.price(context.entity, penalty.level(), claims.len(), &self.config),
        };
        let floor = self.ground.below(context.entity, forecast.position_at(context.now));
        let turn = self.baseline.turn(context.entity, context.now);
        let mut musts = 0;
        self.bids.clear();
        for (candidate, page) in with_pages(context).filter(|(candidate, _)| !candidate.standing.has_newest) {
            let delay = delay_of(candidate, context.now);
            match belief_ahead(&page, context.now + delay + self.config.outlook) {
                ExpectedBelief::Nothing => {
                    musts += 1;
                    claims.send(context, candidate.receiver, context.now, f64::INFINITY);
                }
                ExpectedBelief::Places { placed, at } => {
                    let there = not_below(forecast.position_at(at), floor);
                    let gain = there.distance(placed.position_at(at)) - there.distance(told.position_at(at));
                    let held_back = if is_plenty { 0.0 } else { penalty.hold_back(candidate, delay) };
                    let index = gain - held_back;
                    if index > price && (is_plenty || turn.allows(candidate)) {
                        let account = candidate.account;
                        self.bids.push(Bid { receiver: candidate.receiver, index, account });
                    } else {
                        watch(&RejectedBid {
                            gain,
                            needed: price + held_back,
                            at,
                            paths: [&forecast, placed, told],
                        });
                    }
                }
            }
        }
        self.budget.must_send(context.entity, musts);
        self.keep_what_can_be_paid(context.entity, claims.len());
        for bid in &self.bids {
            claims.send(context, bid.receiver, context.now, bid.index);
        }
    }

    /// How hard those who fare well are held back now.
    fn strength<V: Planar>(&mut self, context: &DecisionContext<'_, V>) -> f64 {
        if self.config.fairness <= 0.0 {
            return 0.0;
        }
        let times = self.baseline.compare(context);
        self.fairness_weight.strength(times, context.account_secs, context.now, &self.config)
    }

    fn next_look(&self, now: SharedInstant) -> Option<SharedInstant> {
        (self.config.look_again > Span::ZERO).then(|| now + self.config.look_again)
    }

    /// When to look again at an entity at which it has just looked: soon, if somebody may get a
    /// copy by then; later, if nothing is near its price; not before the next trigger, if
    /// everybody knows all there is to know.
    fn look_after<V: Planar>(
        &self,
        context: &DecisionContext<'_, V>,
        quiet: Span,
        claimed: bool,
    ) -> Option<SharedInstant> {
        let is_known = |candidate: &Candidate| {
            candidate.standing.has_newest && context.ledger.is_settled(candidate.receiver)
        };
        let soon = self.next_look(context.now)?;
        if claimed || !self.bids.is_empty() {
            Some(soon)
        } else if context.candidates.iter().all(is_known) {
            None
        } else {
            Some(soon.max(context.now + quiet))
        }
    }

    /// Keeps the highest bids; of equal ones those with the larger account, then the smaller id.
    fn keep_what_can_be_paid(&mut self, entity: EntityId, reserved: usize) {
        let count = self.budget.affordable(entity, reserved, &self.config);
        if count < self.bids.len() {
            if count > 0 {
                self.bids.select_nth_unstable_by(count, |one, other| {
                    (other.index.total_cmp(&one.index))
                        .then(other.account.total_cmp(&one.account))
                        .then(one.receiver.cmp(&other.receiver))
                });
            }
            self.bids.truncate(count);
            // Claims are quickest in the order of receivers.
            self.bids.sort_unstable_by_key(|bid| bid.receiver);
        }
    }
}

impl<V: Planar> Scheduler<V> for ErrorIndex {
    fn on_trigger(&mut self, context: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        self.budget.add_entity(context.entity, context.ledger.newest_freezes_at());
        // What nobody could hear earns nothing, or the first to join would find a fortune.
        if context.candidates.is_empty() {
            return;
        }
        self.budget.earn(context.entity, context.candidates.len(), &self.config);
        self.ground.on_trigger(context);
        let every = self.budget.triggers_for_all(context.entity, context.candidates.len(), &self.config);
        self.baseline.on_trigger(context, every);
        self.decide(context, claims, |_| {});
        let next = self.next_look(context.now);
        // Others must not be kept waiting because this one is busy.
        let others = self.look_at.filter(|_| self.budget.entities() > 1);
        self.look_at = others.into_iter().chain(next).min();
    }

    fn on_deadline(&mut self, context: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        let mut quiet = QUIET_MAX;
        self.decide(context, claims, |rejected| quiet = quiet.min(rejected.quiet()));
        let next = self.look_after(context, quiet, !claims.is_empty());
        // Called for one entity after the other: the first begins anew, and whoever is in the greatest
        // hurry counts.
        let others = self.look_at.filter(|look_at| *look_at > context.now);
        self.look_at = others.into_iter().chain(next).min();
    }

    fn poll_deadline(&self) -> Option<SharedInstant> {
        self.look_at
    }

    fn on_departed(&mut self, entity: EntityId, _receiver: ReceiverId, at: SharedInstant, cost: f64) {
        self.budget.pay(entity, at, cost, &self.config);
    }

    fn on_joined(&mut self, _entity: EntityId, _receiver: ReceiverId, now: SharedInstant) {
        if self.config.look_again > Span::ZERO {
            self.look_at = self.look_at.into_iter().chain([now]).min();
        }
    }

    fn on_removed(&mut self, removed: Removed) {
        if let Removed::Entity(entity) = removed {
            self.budget.forget(entity);
            self.baseline.forget(entity);
            self.ground.forget(entity);
        }
        if self.budget.entities() == 0 {
            self.look_at = None;
        }
    }
}

/// A copy that is not worth its price.
struct RejectedBid<'a, V: Planar> {
    gain: f64,
    needed: f64,
    /// When the gain was judged.
    at: SharedInstant,
    /// The forecast, what is placed without the copy, and what is placed with it.
    paths: [&'a Path<V>; 3],
}

impl<V: Planar> RejectedBid<'_, V> {
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
enum ExpectedBelief<'a, V: Planar> {
    /// Nothing, and nothing is on its way.
    Nothing,
    /// It places this path, to be judged at this instant.
    Places { placed: &'a Path<V>, at: SharedInstant },
}

fn belief_ahead<'a, V: Planar>(page: &ReceiverPage<'a, V>, at: SharedInstant) -> ExpectedBelief<'a, V> {
    // Its first copy may be under way and later than a copy sent now is expected to be: that one
    // counts.
    let after_all = || page.belief_at(SharedInstant::from_micros(i64::MAX));
    match page.belief_at(at) {
        ReceiverBelief::Places(placed) => ExpectedBelief::Places { placed, at },
        ReceiverBelief::Nothing | ReceiverBelief::EarlierLife => match after_all() {
            ReceiverBelief::Places(placed) => ExpectedBelief::Places { placed, at },
            ReceiverBelief::Nothing | ReceiverBelief::EarlierLife => ExpectedBelief::Nothing,
        },
    }
}

/// Candidates side by side with their pages: both are in the order of ids.
fn with_pages<'a, V: Planar>(
    context: &'a DecisionContext<'a, V>,
) -> impl Iterator<Item = (&'a Candidate, ReceiverPage<'a, V>)> + 'a {
    let mut pages = context.ledger.pages();
    context.candidates.iter().filter_map(move |candidate| {
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
