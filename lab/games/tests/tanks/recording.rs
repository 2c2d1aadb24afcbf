//! Goal: a match that was written down is the match that was played. Method: record bots and random
//! hands, read the tables back from text, and play their inputs again.

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath_games::shared::{InputLog, NotReplayable, state_rows};
use fairpath_games::tanks::{Driver, Ground, HALF_SIDE, Input, Match, Tanks, TanksConfig};
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_sim::trace::{InputRow, LengthUnit, Metadata, StateKind, StateRow, Trace};

use super::{bots, random_inputs};

/// The trace after a round trip through text.
fn by_text(trace: &Trace) -> Trace {
    let text = |table: Result<String, _>| table.expect("everything is finite").into_bytes();
    Trace {
        metadata: Metadata::from_csv(&text(trace.metadata.to_csv())).expect("written by us"),
        states: StateRow::from_csv(&text(StateRow::to_csv(&trace.states))).expect("written by us"),
        inputs: InputRow::from_csv(&text(InputRow::to_csv(&trace.inputs))).expect("written by us"),
        ..Trace::default()
    }
}

/// Plays the recorded inputs from the recorded seed: every tick must be as it was recorded.
fn assert_replays(config: TanksConfig, trace: &Trace) {
    let log = InputLog::<Tanks>::from_trace(config, trace).expect("recorded from the start");
    let mut replay = log.replay().expect("sound rules");
    let mut states: Vec<StateRow> = state_rows(replay.game()).collect();
    while replay.step() {
        states.extend(state_rows(replay.game()));
    }
    // As text, because equality takes −0 for 0.
    assert_eq!(StateRow::to_csv(&states), StateRow::to_csv(&trace.states));
}

#[test]
fn the_recorded_inputs_give_the_recorded_states_bit_for_bit() {
    let mut game = bots(5);
    let trace = by_text(&game.record(900));
    assert_replays(TanksConfig::default(), &trace);
    assert!(trace.states.iter().any(|row| row.life > 0 && row.is_break), "a tank respawned");
    assert!(trace.inputs.iter().any(|row| row.buttons == 1), "a tank fired");
    let log = InputLog::<Tanks>::from_trace(TanksConfig::default(), &trace).expect("recorded from the start");
    assert_eq!(log.replay().expect("sound rules").finish().digest(), game.tanks().digest());
}

#[test]
fn the_log_from_a_trace_is_the_log() {
    let mut game = bots(3).with_log();
    let trace = game.record(300);
    assert_eq!(
        InputLog::from_trace(TanksConfig::default(), &trace).as_ref(),
        Ok(game.log().expect("asked for"))
    );
    for tank in 0..10 {
        let sequences = trace.inputs.iter().filter(|row| row.player == tank).map(|row| row.sequence);
        assert!(sequences.eq(0..trace.inputs.iter().filter(|row| row.player == tank).count() as u64));
    }
}

#[test]
fn any_hands_are_recorded_and_replay() {
    law!((any::<u64>(), 1u64..200), |(seed, ticks)| {
        let ground = Ground::Generated { boxes: 4 };
        let config = TanksConfig { tanks: [2, 1], ground, ..TanksConfig::default() };
        let mut game = Match::new(config.clone(), seed, |_, _, _| Driver::Hands(Input::IDLE)).expect("sound");
        let mut recorder = game.recorder();
        let (mut random, mut inputs) = (Random::from_seed(seed), Vec::new());
        for _ in 0..ticks {
            random_inputs(3, &mut random, &mut inputs);
            for (tank, input) in (0..).map(EntityId).zip(&inputs) {
                game.seat(tank, Driver::Hands(*input));
            }
            game.step();
            recorder.record(game.tanks(), game.inputs());
        }
        assert_replays(config, &by_text(&recorder.finish()));
        Ok(())
    });
}

#[test]
fn the_metadata_says_what_a_reader_needs() {
    let mut game = bots(9);
    let trace = game.record(600);
    let about = &trace.metadata;
    assert_eq!(about.title, "tanks: 5 against 5 on up to 24 boxes");
    assert_eq!((about.seed, about.tick_rate_hz, about.players), (9, Some(60), Some(10)));
    assert_eq!(about.length_unit, LengthUnit::GameUnits);
    assert_eq!((about.x_min, about.y_max, about.z_max), (-HALF_SIDE, HALF_SIDE, 0.0));
    assert!(trace.states.iter().all(|row| row.kind == StateKind::Truth && row.viewer.is_none()));
    let tanks = game.tanks().tanks().len() as u32;
    assert!(trace.states.iter().any(|row| row.entity >= tanks), "there are shots, and they are no players");
}

#[test]
fn what_cannot_be_replayed_says_why() {
    let mut game = bots(1);
    game.step();
    let late = game.record(10);
    let config = TanksConfig::default;
    let log = |trace: &Trace| InputLog::<Tanks>::from_trace(config(), trace);
    assert_eq!(log(&late), Err(NotReplayable::BeginsLate { t_us: 16_666 }));
    assert_eq!(late.inputs.first().map(|row| row.t_us), Some(16_666), "it knows when it began");
    let mut crooked = bots(1).record(10);
    crooked.inputs[0].t_us = 5;
    assert_eq!(log(&crooked), Err(NotReplayable::OffTick { t_us: 5 }));
}
