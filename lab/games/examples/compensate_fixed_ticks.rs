//! The client plays ahead of its server, tick for tick, and what it first predicts is what the
//! server will have. Inputs are sent again until they are acknowledged; the server's queue pads
//! what comes too late all the same. Prints which share that is, on links from good to bad, and how
//! long the lead is.
//!
//! `cargo run --release -p fairpath-games --example compensate_fixed_ticks`

use std::collections::BTreeMap;

use fairpath::random::Random;
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath_compensate::{
    ENTRIES_DEFAULT, Epoch, FixedTicks, InputQueue, Lead, Margin, Metronome, Padding, Snapshot,
};
use fairpath_games::jet_car::{Input, JetCarConfig, JetCarScene, TICK_RATE};
use fairpath_sim::{Link, LinkConfig, Loss};

/// How many unacknowledged inputs each packet carries.
const REDUNDANCY: usize = 16;
const TICKS: i64 = 3_000;

fn main() {
    println!("one way ± jitter   lost   too late   exact first predictions   mean lead");
    for (delay, jitter, loss) in
        [(20, 0, 0.0), (50, 10, 0.02), (100, 20, 0.1), (200, 50, 0.2), (400, 100, 0.3)]
    {
        let link = LinkConfig::default()
            .delay(Span::from_millis(delay))
            .jitter_uniform(Span::from_millis(jitter))
            .loss(Loss::each(loss));
        let outcome = play(&link);
        println!(
            "{delay:4} ± {jitter:3} ms       {:3.0} %   {:6.2} %   {:8.1} %                 {:5.0} ms",
            100.0 * loss,
            100.0 * outcome.late,
            100.0 * outcome.exact,
            10.0 * outcome.lead_ticks
        );
        assert!(outcome.late < 0.05 && outcome.exact > 0.5);
    }
}

struct Outcome {
    late: f64,
    exact: f64,
    lead_ticks: f64,
}

/// What a server sends: its state, and how early the client's inputs come.
type Answer = (Snapshot<JetCarScene>, Option<Margin>);

fn play(link: &LinkConfig) -> Outcome {
    let rules = JetCarConfig { secs: 3_600, ..JetCarConfig::default() };
    let dice = Random::from_seed(1);
    let mut up: Link<Vec<(u64, Input)>> = Link::new(link.clone(), dice.fork(0));
    let mut down: Link<Answer> = Link::new(link.clone(), dice.fork(1));
    let mut hands = dice.fork(2);
    let mut input = Input::IDLE;

    let mut state = JetCarScene::new(&rules);
    let mut queue = InputQueue::new(0, Padding::new(Input::IDLE));
    let start = Snapshot { epoch: Epoch(1), tick: 0, state: state.clone() };
    let mut client = FixedTicks::<JetCarConfig>::new(start, ENTRIES_DEFAULT);
    let mut metronome = Metronome::new(TICK_RATE);
    let mut lead = Lead::default();

    let mut first = BTreeMap::new();
    let mut truth = BTreeMap::new();
    let mut lead_ticks = 0.0;
    for tick in 0..TICKS {
        let now = SharedInstant::ZERO + TICK_RATE.begin(tick);

        // The client: hear the server, play what is due, send all that is not acknowledged.
        while let Some(arrival) = down.poll(now) {
            let (snapshot, margin) = arrival.payload;
            client.accept(&rules, snapshot);
            if let Some(margin) = margin {
                metronome.nudge(lead.report(margin.tick, margin.ticks, client.tick()));
            }
        }
        for _ in 0..metronome.poll(LocalInstant::from_micros(now.as_micros())) {
            if hands.chance(0.05) {
                input = Input::new(hands.between(-1.0, 1.0), hands.between(-1.0, 1.0));
            }
            client.advance(&rules, input);
            first.insert(client.tick(), client.predicted().clone());
            up.send(now, 0, client.unacknowledged(REDUNDANCY).map(|(tick, input)| (tick, *input)).collect());
        }
        lead_ticks += client.tick() as f64 - tick as f64;

        // The server: hear the client, play one tick with what is there, answer.
        while let Some(arrival) = up.poll(now) {
            for (tick, input) in arrival.payload {
                queue.receive(tick, input);
            }
        }
        let played = queue.play();
        state.step(&rules, played.input, 1);
        truth.insert(played.tick + 1, state.clone());
        let snapshot = Snapshot { epoch: Epoch(1), tick: played.tick + 1, state: state.clone() };
        down.send(now, 0, (snapshot, queue.take_margin()));
    }
    let exact = truth.iter().filter(|(tick, state)| first.get(tick) == Some(state)).count();
    Outcome {
        late: queue.padded_count() as f64 / TICKS as f64,
        exact: exact as f64 / TICKS as f64,
        lead_ticks: lead_ticks / TICKS as f64,
    }
}

#[test]
fn it_runs_as_written() {
    main();
}
