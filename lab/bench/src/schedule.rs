//! The cost of one trigger per receiver, for every scheduler: the dispatcher brings its ledgers up
//! to now, the scheduler decides, and the dispatcher hands out the departures. The cost of a copy
//! that leaves (its departure and its receipt are booked) is measured apart, because the scheduler
//! chooses how many leave.

use fairpath::motion::MotionKind;
use fairpath::schedule::{Broadcast, DispatcherConfig, Scheduler, SchedulerChoice};
use fairpath::vector::Vec2;

use crate::game::{Game, Size};
use crate::measure::{Contender, Table};

const RECEIVERS: [usize; 4] = [10, 100, 1_000, 10_000];

/// How many triggers there are before the stopwatch: 4 s, five times as long as receipts take.
const WARM_UP: usize = 30;
/// The same in ticks of a server: 2 s.
const WARM_UP_TICKS: usize = 120;

/// Senders of many tanks: a match, and a large world of which everybody sees a small part.
const SERVERS: [(&str, Size); 2] = [
    ("64 tanks, 64 receivers", Size { tanks: 64, receivers: 64, in_scope: 64 }),
    ("1000 tanks, 1000 receivers, 32 in scope", Size { tanks: 1_000, receivers: 1_000, in_scope: 32 }),
];

pub(crate) fn bench_linear() -> Table {
    bench(MotionKind::Linear, 200)
}

pub(crate) fn bench_circular() -> Table {
    bench(MotionKind::Circular, 1_000)
}

fn bench(kind: MotionKind, goal_ns: u32) -> Table {
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
    let mut table = Table::measure(&format!("One trigger, per receiver: {kind:?} DR vectors"), contenders)
        .note(format!("goal: below {goal_ns} ns, and below 2 from 100 to 10 000 receivers"));
    for name in SchedulerChoice::ALL.map(SchedulerChoice::name) {
        let growth = table.ratio(&row(name, 10_000), &row(name, 100));
        table = table.note(format!("{name}: {growth:.2} from 100 to 10 000 receivers"));
    }
    table
}

/// One tick of a server at 60 Hz, per pair of tank and receiver, with everything on that live use
/// has: some tanks turn, then every receiver's departures are asked for, and the next deadline. As
/// above, without what copies cost.
pub(crate) fn bench_server() -> Table {
    let mut contenders = Vec::new();
    for (name, size) in SERVERS {
        for choice in SchedulerChoice::ALL {
            let scheduler = build(choice, size.receivers.min(size.in_scope));
            let mut game = Game::new(MotionKind::Linear, size, DispatcherConfig::default(), scheduler);
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
    Table::measure("One tick of a server, per pair of tank and receiver", contenders)
}

/// A game that has been going on for a while: in its first moments nobody believes anything and
/// triggers are cheap, and with ten thousand receivers that is where all rounds would end.
fn crowd(kind: MotionKind, receivers: usize, scheduler: Box<dyn Scheduler<Vec2>>) -> Game {
    let mut game = Game::new(kind, Size::crowd(receivers), DispatcherConfig::as_in_the_papers(), scheduler);
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
