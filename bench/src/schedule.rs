//! What one trigger costs for each receiver, for every scheduler: the books are brought up to now, the scheduler
//! decides, and what is to leave is handed out. What every copy costs that then leaves (its departure and its receipt
//! are booked) is measured apart: how many there are is the scheduler's choice.

use std::collections::VecDeque;

use fairpath::ledger::CopyId;
use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, Generation, Life, ReceiverId};
use fairpath::random::Random;
use fairpath::schedule::{
    Broadcast, Departure, DeterministicBudget, Dispatcher, DispatcherConfig, ErrorIndex, ErrorIndexConfig,
    EveryNth, FixedProbability, ProbabilisticBudget, RelativeError, Scheduler, SchedulingOne, SchedulingTwo,
    Weighting,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::trigger::Reason;
use fairpath::vector::{Vec2, Vector};
use fairpath::{DrVector, State};

use crate::measure::{Contender, Table};

/// A scheduler's name, and how to make it for so many receivers.
type Entry = (&'static str, fn(usize) -> Box<dyn Scheduler<Vec2>>);

/// Every scheduler; budgets are a third of the receivers.
const SCHEDULERS: &[Entry] = &[
    ("broadcast", |_| Box::new(Broadcast)),
    ("every third", |_| Box::new(EveryNth::new(3))),
    ("probabilistic budget", |receivers| {
        Box::new(ProbabilisticBudget::new(receivers as f64 / 3.0, Weighting::ACCUMULATED))
    }),
    ("fixed probability", |_| Box::new(FixedProbability::new(1.0 / 3.0))),
    ("deterministic budget", |receivers| {
        Box::new(DeterministicBudget::new(receivers as f64 / 3.0, Weighting::ACCUMULATED))
    }),
    ("scheduling #1 (solves)", |_| Box::new(SchedulingOne::new())),
    ("scheduling #2 (solves)", |_| Box::new(SchedulingTwo::new())),
    ("relative error (solves)", |_| Box::new(RelativeError::new())),
    ("error-index", |receivers| Box::new(ErrorIndex::new(ErrorIndexConfig::new(receivers as f64 / 3.0)))),
];

const RECEIVERS: [usize; 4] = [10, 100, 1_000, 10_000];

/// How long from trigger to trigger: a busy tank.
const INTERVAL: Span = Span::from_millis(140);
/// After how many triggers receipts are back: the longest way there and back takes 800 ms.
const RECEIPTS_AFTER: usize = 6;

pub(crate) fn bench_linear() -> Table {
    bench(MotionKind::Linear, 200)
}

pub(crate) fn bench_circular() -> Table {
    bench(MotionKind::Circular, 1_000)
}

fn bench(kind: MotionKind, goal_ns: u32) -> Table {
    let mut contenders = Vec::new();
    for &(name, scheduler) in SCHEDULERS {
        for receivers in RECEIVERS {
            let mut game = Game::new(kind, receivers, scheduler(receivers));
            contenders.push(Contender::in_part(row(name, receivers), receivers, move |watch| {
                let departures = watch.time(|| game.trigger());
                game.send(departures);
                game.hear_receipts()
            }));
        }
    }
    for receivers in RECEIVERS {
        let mut game = Game::new(kind, receivers, Box::new(Broadcast));
        contenders.push(Contender::in_part(row("books of one copy", receivers), receivers, move |watch| {
            let departures = game.trigger();
            watch.time(|| {
                game.send(departures);
                game.hear_receipts()
            })
        }));
    }
    let mut table = Table::measure(&format!("One trigger, per receiver: {kind:?} DR vectors"), contenders)
        .note(format!("goal: below {goal_ns} ns, and below 2 from 100 to 10 000 receivers"));
    for &(name, _) in SCHEDULERS {
        let growth = table.ratio(&row(name, 10_000), &row(name, 100));
        table = table.note(format!("{name}: {growth:.2} from 100 to 10 000 receivers"));
    }
    table
}

fn row(name: &str, receivers: usize) -> String {
    format!("{name}, {receivers} receivers")
}

/// One tank and those who look at it.
struct Game {
    dispatcher: Dispatcher<Vec2>,
    random: Random,
    kind: MotionKind,
    vector: DrVector<Vec2>,
    delays: Vec<Span>,
    under_way: VecDeque<Vec<Copy>>,
}

struct Copy {
    receiver: ReceiverId,
    id: CopyId,
    received_at: SharedInstant,
}

impl Game {
    fn new(kind: MotionKind, receivers: usize, scheduler: Box<dyn Scheduler<Vec2>>) -> Self {
        let mut random = Random::from_seed(receivers as u64);
        let mut dispatcher = Dispatcher::new(DispatcherConfig::as_in_the_papers(), scheduler, random.fork(0));
        for receiver in 0..receivers {
            dispatcher.join(ReceiverId(receiver as u32), SharedInstant::ZERO);
        }
        let state = State::moving(Vec2::ZERO, Vec2::new(25.0, 0.0));
        let vector = DrVector {
            entity: EntityId(1),
            life: Life::default(),
            generation: Generation::default(),
            generated_at: SharedInstant::ZERO,
            motion: kind.from_state(&state),
            attitude: None,
        };
        let delays = (0..receivers).map(|_| Span::from_secs_f64(random.between(0.02, 0.4))).collect();
        let under_way = (0..RECEIPTS_AFTER).map(|_| Vec::new()).collect();
        Self { dispatcher, random, kind, vector, delays, under_way }
    }

    /// The next trigger, and what it makes leave.
    fn trigger(&mut self) -> Vec<Departure> {
        let now = self.vector.generated_at + INTERVAL;
        self.turn(now);
        self.dispatcher.on_generated(&self.vector, Reason::Distance, now);
        self.dispatcher.poll_departures(None, now)
    }

    fn send(&mut self, departures: Vec<Departure>) {
        let now = self.vector.generated_at;
        let mut copies = self.under_way.pop_front().unwrap_or_default();
        for departure in departures {
            let receiver = departure.claim.receiver;
            let delay = self.delays[receiver.0 as usize];
            if let Some(id) = self.dispatcher.on_departed(&departure.claim, now, 1.0) {
                copies.push(Copy { receiver, id, received_at: now + delay });
            }
        }
        self.under_way.push_back(copies);
    }

    /// The receipts that are back before the next trigger. Answers with how many there were.
    fn hear_receipts(&mut self) -> f64 {
        let count = self.under_way[0].len();
        let now = self.vector.generated_at;
        for copy in self.under_way[0].drain(..) {
            self.dispatcher.on_receipt(EntityId(1), copy.receiver, copy.id, copy.received_at, now);
            self.dispatcher.on_complete(copy.receiver, copy.received_at, now);
        }
        count as f64
    }

    /// Goes on from where it is, some other way.
    fn turn(&mut self, now: SharedInstant) {
        let heading = self.random.between(-3.0, 3.0);
        // A trigger fires because the truth is this far off.
        let off = Vec2::from_heading(self.random.between(-3.0, 3.0)) * 0.3;
        let state = State::moving(self.vector.position_at(now) + off, Vec2::from_heading(heading) * 25.0)
            .with_heading(heading, self.random.between(-0.8, 0.8));
        self.vector.generated_at = now;
        self.vector.generation = self.vector.generation.next();
        self.vector.motion = self.kind.from_state(&state);
    }
}
