//! The cost of one trigger per receiver, for every scheduler: the dispatcher brings its ledgers up
//! to now, the scheduler decides, and the dispatcher hands out the departures. The cost of a copy
//! that leaves (departure and receipt) is apart: the scheduler chooses how many.

use fairpath::motion::MotionKind;
use fairpath::schedule::{Broadcast, DispatcherConfig, Scheduler, SchedulerChoice};
use fairpath::vector::Vec2;

use crate::measure::{BenchTable, Contender};
use crate::workload::{LoadSize, Workload};

const RECEIVERS: [usize; 4] = [10, 100, 1_000, 10_000];

/// Triggers before the measurement: 4 s, five times as long as receipts take.
const WARM_UP: usize = 30;
/// The same in ticks of a server: 2 s.
const WARM_UP_TICKS: usize = 120;

/// Senders of many tanks: a match, and a large world of which each receiver sees a small part.
const SERVERS: [(&str, LoadSize); 2] = [
    ("64 tanks, 64 receivers", LoadSize { tanks: 64, receivers: 64, in_scope: 64 }),
    ("1000 tanks, 1000 receivers, 32 in scope", LoadSize { tanks: 1_000, receivers: 1_000, in_scope: 32 }),
];

pub(crate) fn bench_linear() -> BenchTable {
    bench(MotionKind::Linear, 200)
}

pub(crate) fn bench_circular() -> BenchTable {
    bench(MotionKind::Circular, 1_000)
}

fn bench(kind: MotionKind, goal_ns: u32) -> BenchTable {
    let mut contenders = Vec::new();
    for choice in SchedulerChoice::ALL {
        for receivers in RECEIVERS {
            let mut game = crowd(kind, receivers, build(choice, receivers));
            contenders.push(Contender::in_part(row(choice.name(), receivers), receivers, move |watch| {
                game.drive_on();
                let departures = watch.time(|| game.trigger());
                game.send(departures);
                game.hear_receipts()
            }));
        }
    }
    for receivers in RECEIVERS {
        let mut game = crowd(kind, receivers, Box::new(Broadcast));
        contenders.push(Contender::in_part(row("books of one copy", receivers), receivers, move |watch| {
            game.drive_on();
            let departures = game.trigger();
            watch.time(|| {
                game.send(departures);
                game.hear_receipts()
            })
        }));
    }
    let title = format!("One trigger, per receiver: {kind:?} DR vectors");
    let mut table = BenchTable::measure(&title, contenders)
        .note(format!("goal: below {goal_ns} ns, and below 2 from 100 to 10 000 receivers"));
    for name in SchedulerChoice::ALL.map(SchedulerChoice::name) {
        let growth = table.ratio(&row(name, 10_000), &row(name, 100));
        table = table.note(format!("{name}: {growth:.2} from 100 to 10 000 receivers"));
    }
    table
}

/// One tick of a server at 60 Hz, per pair of tank and receiver, with every live feature on: some
/// tanks turn, then all departures and the next deadline are polled. Copies are left out, as above.
pub(crate) fn bench_server() -> BenchTable {
    let mut contenders = Vec::new();
    for (name, size) in SERVERS {
        for choice in SchedulerChoice::ALL {
            let scheduler = build(choice, size.receivers.min(size.in_scope));
            let mut game = Workload::new(MotionKind::Linear, size, DispatcherConfig::default(), scheduler);
            for _ in 0..WARM_UP_TICKS {
                let departures = game.tick();
                game.send(departures);
                game.hear_receipts();
            }
            let row = format!("{choice}, {name}");
            contenders.push(Contender::in_part(row, size.pairs(), move |watch| {
                let departures = watch.time(|| game.tick());
                game.send(departures);
                game.hear_receipts()
            }));
        }
    }
    BenchTable::measure("One tick of a server, per pair of tank and receiver", contenders)
}

/// Creates a workload and lets it settle. In the first moments no receiver has a guess and triggers
/// are cheap; with ten thousand receivers all rounds would end there.
fn crowd(kind: MotionKind, receivers: usize, scheduler: Box<dyn Scheduler<Vec2>>) -> Workload {
    let mut game =
        Workload::new(kind, LoadSize::crowd(receivers), DispatcherConfig::as_in_the_papers(), scheduler);
    for _ in 0..WARM_UP {
        game.drive_on();
        let departures = game.trigger();
        game.send(departures);
        game.hear_receipts();
    }
    game
}

/// Builds a scheduler whose budget is a third of the receivers.
fn build(choice: SchedulerChoice, receivers: usize) -> Box<dyn Scheduler<Vec2>> {
    choice.build(receivers, receivers as f64 / 3.0)
}

fn row(name: &str, receivers: usize) -> String {
    format!("{name}, {receivers} receivers")
}
