//! One run in virtual time: one truth, one scheduler, and receivers behind their links.

use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, ReceiverId};
use fairpath::random::Random;
use fairpath::schedule::{Dispatcher, DispatcherConfig, Scheduler};
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::trigger::Trigger;
use fairpath::vector::Planar;
use fairpath::wire::{Header, Nonce};
use fairpath::{Export, Observation, Owner, State};
use fairpath_sim::star::{Observer, ReplicaKind, Reported, Star, Watch};

use super::receiver::Receiver;
use crate::truth::Truth;

/// How often the accumulated error is written down. Half a second: a few triggers, and a
/// smooth line in a plot of minutes. What happens in between is integrated exactly all the same.
pub const SAMPLE: Span = Span::from_millis(500);

/// What a run depends on, apart from truth, scheduler and dice.
#[derive(Clone, Debug)]
pub struct Setup {
    pub receivers: Vec<Receiver>,
    pub trigger: Trigger,
    pub model: MotionKind,
    pub dispatcher: DispatcherConfig,
    pub transport_is_asked: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FairnessRun {
    /// The instants of the series, in seconds from the start: every [`SAMPLE`], and the end.
    pub secs: Vec<f64>,
    /// For each receiver: its true accumulated error at each instant.
    pub errors: Vec<Vec<f64>>,
    /// How many DR vectors were generated.
    pub triggers: u64,
    pub vectors: Vec<u64>,
    /// How many bytes that was for all of them together.
    pub bytes: u64,
    /// For each receiver: its mean distance from the truth, at the ticks since its first DR vector.
    pub distance: Vec<f64>,
    pub belief: Belief,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Belief {
    /// When, in seconds from the start: the triggers, which is when schedulers decide.
    pub secs: Vec<f64>,
    /// How far off it was then, as a mean over receivers of |believed − true| accumulated error.
    pub off: Vec<f64>,
    /// The same with its sign: above zero it believed in too much error.
    pub bias: Vec<f64>,
    /// The share of receivers whose books held an estimate, because receipts were missing.
    pub open: Vec<f64>,
    /// How far off the books of the others were, at most: what is settled is no estimate.
    pub settled_off: Vec<f64>,
    /// How many copies were given up on until the end: their receivers' books stay estimates.
    pub unsettled: u64,
}

pub fn run<V: Planar>(
    truth: &Truth<V>,
    setup: &Setup,
    scheduler: Box<dyn Scheduler<V>>,
    random: &Random,
) -> FairnessRun {
    let star = play(truth, setup, scheduler, random, Recorder::new(truth, setup), |star, state, now| {
        for to in setup.ids() {
            let replica = star.replica(to, ENTITY, ReplicaKind::Global);
            if let Some(placed) = replica.and_then(|replica| replica.position(Now::synchronised(now))) {
                let (sum, ticks) = &mut star.watch.distance[to.0 as usize];
                *sum += placed.distance(state.position);
                *ticks += 1;
            }
        }
    });
    star.watch.measured(&star)
}

/// Plays `truth` once before this watch; calls `look` at the end of every tick.
pub(crate) fn play<V: Planar, W: Watch<V>>(
    truth: &Truth<V>,
    setup: &Setup,
    scheduler: Box<dyn Scheduler<V>>,
    random: &Random,
    watch: W,
    mut look: impl FnMut(&mut Star<V, W>, &State<V>, SharedInstant),
) -> Star<V, W> {
    let begin = truth.ticks[0].0;
    let mut owner = Owner::new(ENTITY, setup.trigger.clone()).with_model(setup.model);
    let mut star = Star::new(setup.dispatcher, scheduler, random.fork(0), begin).watched_by(watch);
    star.observers.insert(ENTITY, Observer::new(setup.dispatcher.horizon));
    for (to, receiver) in setup.ids().zip(&setup.receivers) {
        let spoke = receiver.spoke(setup.transport_is_asked, random.fork(u64::from(to.0) + 1));
        star.join(to, spoke, begin);
    }
    for &(now, state) in &truth.ticks {
        star.run_until(now);
        if let Some(export) = owner.observe(Observation::Moved(state), now).expect("truths are finite") {
            star.export(&export, now);
        }
        star.send_due(now);
        look(&mut star, &state, now);
    }
    star
}

impl Setup {
    fn ids(&self) -> impl Iterator<Item = ReceiverId> + use<> {
        (0..self.receivers.len() as u32).map(ReceiverId)
    }
}

/// The entity of every run.
pub(crate) const ENTITY: EntityId = EntityId(1);

/// Counts and records what a run is measured by, and lies for those receivers that lie.
struct Recorder<'a> {
    begin: SharedInstant,
    end: SharedInstant,
    setup: &'a Setup,
    believed: Vec<Believed>,
    triggers: u64,
    /// For each receiver: its distances from the truth, summed up, and at how many ticks.
    distance: Vec<(f64, u64)>,
}

/// The ledger at a trigger: for each receiver its accumulated error, and whether that was settled.
struct Believed {
    at: SharedInstant,
    errors: Vec<(f64, bool)>,
}

impl<V: Planar> Watch<V> for Recorder<'_> {
    fn on_export(&mut self, _: &Export<V>, dispatcher: &Dispatcher<V>, now: SharedInstant) {
        self.triggers += 1;
        // The decision has brought the ledger up to now: reading it disturbs nothing.
        let ledger = dispatcher.ledger(ENTITY).expect("it has just been generated");
        let errors = ledger
            .standings()
            .map(|(receiver, standing)| (standing.accumulated, ledger.is_settled(receiver)))
            .collect();
        self.believed.push(Believed { at: now, errors });
    }

    fn report(&mut self, receiver: ReceiverId, header: &Header, at: SharedInstant) -> Option<Reported> {
        self.setup.receivers[receiver.0 as usize].lie().on_received(header.sent_at, at)
    }

    /// Where the sender does not check nonces, any is right.
    fn forge(
        &mut self,
        receiver: ReceiverId,
        header: &Header,
        now: SharedInstant,
    ) -> Option<(Header, Reported)> {
        let reported = self.setup.receivers[receiver.0 as usize].lie().on_lost(now)?;
        let nonce = if self.setup.dispatcher.trust.is_some() { Nonce(0) } else { header.nonce };
        Some((Header { nonce, ..*header }, reported))
    }

    fn transport_held_back(&mut self, receiver: ReceiverId) -> Span {
        self.setup.receivers[receiver.0 as usize].lie().holds_transport_back()
    }
}

impl<'a> Recorder<'a> {
    fn new<V: Planar>(truth: &Truth<V>, setup: &'a Setup) -> Self {
        Self {
            begin: truth.ticks[0].0,
            end: truth.ticks[truth.ticks.len() - 1].0,
            setup,
            believed: Vec::new(),
            triggers: 0,
            distance: vec![(0.0, 0); setup.receivers.len()],
        }
    }

    fn measured<V: Planar>(&self, star: &Star<V, Self>) -> FairnessRun {
        let samples = (self.end - self.begin).as_micros() / SAMPLE.as_micros();
        let mut instants: Vec<SharedInstant> =
            (0..=samples).map(|sample| self.begin + Span::from_micros(sample * SAMPLE.as_micros())).collect();
        if instants.last() != Some(&self.end) {
            instants.push(self.end);
        }
        let observer = &star.observers[&ENTITY];
        let sent = || self.setup.ids().map(|to| star.link(to).statistics());
        FairnessRun {
            secs: instants.iter().map(|at| (*at - self.begin).as_secs_f64()).collect(),
            errors: self.setup.ids().map(|to| observer.accumulated(to, &instants)).collect(),
            triggers: self.triggers,
            vectors: sent().map(|link| link.sent).collect(),
            bytes: sent().map(|link| link.sent_bytes).sum(),
            distance: self.distance.iter().map(|(sum, ticks)| sum / (*ticks).max(1) as f64).collect(),
            belief: self.belief(star),
        }
    }

    fn belief<V: Planar>(&self, star: &Star<V, Self>) -> Belief {
        let observer = &star.observers[&ENTITY];
        let instants: Vec<SharedInstant> = self.believed.iter().map(|believed| believed.at).collect();
        let none = vec![0.0; instants.len()];
        let mut belief = Belief {
            secs: instants.iter().map(|at| (*at - self.begin).as_secs_f64()).collect(),
            off: none.clone(),
            bias: none.clone(),
            open: none.clone(),
            settled_off: none,
            unsettled: unsettled(&star.dispatcher),
        };
        let of_one = 1.0 / self.setup.receivers.len().max(1) as f64;
        for (index, to) in self.setup.ids().enumerate() {
            let truth = observer.accumulated(to, &instants);
            for (trigger, believed) in self.believed.iter().enumerate() {
                let (error, is_settled) = believed.errors[index];
                let off = error - truth[trigger];
                belief.off[trigger] += off.abs() * of_one;
                belief.bias[trigger] += off * of_one;
                if is_settled {
                    belief.settled_off[trigger] = belief.settled_off[trigger].max(off.abs());
                } else {
                    belief.open[trigger] += of_one;
                }
            }
        }
        belief
    }
}

fn unsettled<V: Planar>(dispatcher: &Dispatcher<V>) -> u64 {
    let standings = dispatcher.ledger(ENTITY).into_iter().flat_map(|ledger| ledger.standings());
    standings.map(|(_, standing)| u64::from(standing.unsettled)).sum()
}
