//! Error-index: sends a copy where it avoids the most error. The budget sets a price, and the price
//! is higher for receivers with little error so far. Derived in
//! `docs/src/benchmarks/error-index.md`.

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

/// Sends the copies that reduce error by more than the current price.
///
/// At every trigger, and a few times between triggers, each receiver without the newest DR vector
/// gets an index. The index is the distance by which a copy would reduce the receiver's error,
/// judged shortly after the copy's arrival against a *forecast* of the entity, less a fairness
/// penalty if other receivers have more error (`penalty.rs`). The penalty is as large as the mean
/// error leaves room for (`fairness_weight.rs`). Receivers above the price get a copy, the highest
/// index first, as long as the budget has credit (`priced_budget.rs`). Receivers that do not
/// acknowledge, or have only just joined, are served round-robin besides (`round_robin.rs`).
///
/// A receiver that does not know the entity, or not its current life, is sent it at once at any
/// cost: there is no error to weigh against an entity that is missing on a screen. With a budget of
/// zero nothing else is sent.
#[derive(Clone, Debug)]
pub struct ErrorIndex {
    config: ErrorIndexConfig,
    budget: PricedBudget,
    baseline: Baseline,
    fairness_weight: FairnessWeight,
    ground: GroundLevels,
    /// When to decide again.
    look_at: Option<SharedInstant>,
    /// Copies above the price. Reused from decision to decision, like `accounts`.
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
    /// Returns the scheduler with these settings, or the nearest valid ones.
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

    /// Returns the unspent budget, in its own unit; negative if it is overspent.
    pub fn credit(&self) -> f64 {
        self.budget.tokens()
    }

    /// Claims the copies that are worth their price, and passes every rejected one to `watch`.
    fn decide<V: Planar>(
        &mut self,
        context: &DecisionContext<'_, V>,
        claims: &mut Claims,
        mut watch: impl FnMut(&RejectedBid<'_, V>),
    ) {
        // A waiting copy is not paid for yet, and may be worth less by now.
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
        // A receiver with the newest copy places the forecast itself, until it freezes.
        let is_forecast_told = context.ledger.exported() == Some(&forecast);
        let freezes_at = context.ledger.newest_freezes_at();
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
                    let foreseen = forecast.position_at(at);
                    let there = not_below(foreseen, floor);
                    let is_told = is_forecast_told && freezes_at.is_some_and(|freezes_at| at <= freezes_at);
                    let told_there = if is_told { foreseen } else { told.position_at(at) };
                    let gain = there.distance(placed.position_at(at)) - there.distance(told_there);
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

    /// The current weight of fairness.
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

    /// When to decide again about an entity after this decision: soon, if a receiver may get a copy
    /// by then; later, if no index is near the price; not before the next trigger, if all receivers
    /// have acknowledged everything.
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

    /// Keeps the highest bids that the budget can pay; of equal ones those with the larger account,
    /// then the smaller id.
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
            // Claims are fastest to insert in the order of receivers.
            self.bids.sort_unstable_by_key(|bid| bid.receiver);
        }
    }
}

impl<V: Planar> Scheduler<V> for ErrorIndex {
    fn on_trigger(&mut self, context: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        self.budget.add_entity(context.entity, context.ledger.newest_freezes_at());
        // A trigger without receivers earns nothing: the first to join finds no large credit.
        if context.candidates.is_empty() {
            return;
        }
        self.budget.earn(context.entity, context.candidates.len(), &self.config);
        self.ground.on_trigger(context);
        let every = self.budget.triggers_for_all(context.entity, context.candidates.len(), &self.config);
        self.baseline.on_trigger(context, every);
        self.decide(context, claims, |_| {});
        let next = self.next_look(context.now);
        // A busy entity must not delay the others.
        let others = self.look_at.filter(|_| self.budget.entities() > 1);
        self.look_at = others.into_iter().chain(next).min();
    }

    fn on_deadline(&mut self, context: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        let mut quiet = QUIET_MAX;
        self.decide(context, claims, |rejected| quiet = quiet.min(rejected.quiet()));
        let next = self.look_after(context, quiet, !claims.is_empty());
        // Called for each entity: the first call resets the deadline, the earliest counts.
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
    /// The forecast, the path placed without the copy, and the path placed with it.
    paths: [&'a Path<V>; 3],
}

impl<V: Planar> RejectedBid<'_, V> {
    /// How long the copy will surely not be worth its price if nothing happens: the time in which
    /// the gain reaches a quarter of what is needed, at the speed at which the paths part. The rest
    /// is for a falling price and for the error that others accumulate: with half instead of a
    /// quarter, crowds have up to 0.9 % more error than with a decision every time.
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
        // A path that freezes parts at another speed.
        let freezes = self.paths.iter().filter_map(|path| path.freezes_after(self.at)).min();
        let parted = Span::from_secs_f64((missing / parting).min(QUIET_MAX.as_secs_f64()));
        freezes.map_or(parted, |freezes| parted.min(freezes))
    }
}

/// The longest pause while a receiver has not acknowledged everything. A missing receipt makes a
/// copy worth its price unforeseeably: that may wait a fifth of the guaranteed silence.
const QUIET_MAX: Span = Span::from_millis(400);

/// The path that a receiver will place shortly after the arrival of a copy sent now.
enum ExpectedBelief<'a, V: Planar> {
    /// No path, and no copy is under way.
    Nothing,
    /// This path, to be judged at this instant.
    Places { placed: &'a Path<V>, at: SharedInstant },
}

fn belief_ahead<'a, V: Planar>(page: &ReceiverPage<'a, V>, at: SharedInstant) -> ExpectedBelief<'a, V> {
    // The receiver's first copy may arrive later than a copy sent now is expected: it counts.
    let after_all = || page.belief_at(SharedInstant::from_micros(i64::MAX));
    match page.belief_at(at) {
        ReceiverBelief::Places(placed) => ExpectedBelief::Places { placed, at },
        ReceiverBelief::Nothing | ReceiverBelief::EarlierLife => match after_all() {
            ReceiverBelief::Places(placed) => ExpectedBelief::Places { placed, at },
            ReceiverBelief::Nothing | ReceiverBelief::EarlierLife => ExpectedBelief::Nothing,
        },
    }
}

/// Candidates side by side with their ledger pages: both are ordered by id.
fn with_pages<'a, V: Planar>(
    context: &'a DecisionContext<'a, V>,
) -> impl Iterator<Item = (&'a Candidate, ReceiverPage<'a, V>)> + 'a {
    let mut pages = context.ledger.pages();
    context.candidates.iter().filter_map(move |candidate| {
        let page = pages.find(|page| page.receiver() >= candidate.receiver)?;
        (page.receiver() == candidate.receiver).then_some((candidate, page))
    })
}

/// The expected delay of a copy. Before the first receipt half of the silence is the best guess:
/// with a shorter delay there would be a receipt by now.
#[inline]
fn delay_of(candidate: &Candidate, now: SharedInstant) -> Span {
    let unknown = || candidate.silence(now).scaled(0.5).min(DELAY_UNKNOWN_MAX);
    candidate.delay.unwrap_or_else(unknown).max(Span::ZERO)
}

/// The longest delay assumed for a receiver that never reports: the far end of the links that we
/// promise to serve. With more, a silent receiver would make all others look near.
const DELAY_UNKNOWN_MAX: Span = Span::from_secs(1);
