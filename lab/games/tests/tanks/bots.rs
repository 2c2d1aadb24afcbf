//! Goal: bots play, and drive like players. Method: whole matches of bots over several seeds.

use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::tanks::{Bot, Driver, Event, Input, Match, TICK_RATE, TanksConfig, Team, Temperament};

use super::{assert_sound, bots};

/// What a match of bots looked like from outside.
#[derive(Default)]
struct Watched {
    alive_ticks: u32,
    moving_ticks: u32,
    full_speed_ticks: u32,
    reverse_ticks: u32,
    straight_ticks: u32,
    changes: u32,
    shots: u32,
    kills: u32,
    captures: u32,
}

fn watch(seed: u64, ticks: u32) -> Watched {
    let mut game = bots(seed);
    let mut watched = Watched::default();
    let mut before = vec![(Input::IDLE, 0); game.tanks().tanks().len()];
    for _ in 0..ticks {
        game.step();
        assert_sound(game.tanks());
        for (tank, before) in game.tanks().tanks().iter().zip(&mut before) {
            if !tank.is_alive() {
                continue;
            }
            let state = tank.state();
            watched.alive_ticks += 1;
            watched.moving_ticks += u32::from(state.velocity.length() > 0.5);
            watched.full_speed_ticks += u32::from(state.signed_speed() > 24.5);
            watched.reverse_ticks += u32::from(state.signed_speed() < -0.1);
            watched.straight_ticks += u32::from(state.spin.abs() < 0.02);
            let hands = Input { fire: false, ..tank.input() };
            watched.changes += u32::from(*before != (hands, tank.life()));
            *before = (hands, tank.life());
        }
        for event in game.tanks().events() {
            watched.shots += u32::from(matches!(event, Event::Fired { .. }));
            watched.kills += u32::from(matches!(event, Event::Killed { .. }));
        }
    }
    watched.captures = Team::BOTH.map(|team| game.tanks().score(team).captures).iter().sum();
    watched
}

#[test]
fn bots_drive_shoot_and_score() {
    let mut captures = 0;
    for seed in 0..6 {
        let watched = watch(seed, 60 * 120);
        let share = |ticks: u32| f64::from(ticks) / f64::from(watched.alive_ticks);
        assert!(share(watched.moving_ticks) >= 0.9, "seed {seed}: moving {}", share(watched.moving_ticks));
        // The real recording: 0.56 at full speed, 0.26 in reverse, 0.30 straight.
        let full_speed = share(watched.full_speed_ticks);
        assert!((0.4..0.85).contains(&full_speed), "seed {seed}: at full speed {full_speed}");
        let reverse = share(watched.reverse_ticks);
        assert!((0.05..0.4).contains(&reverse), "seed {seed}: in reverse {reverse}");
        let straight = share(watched.straight_ticks);
        assert!((0.1..0.5).contains(&straight), "seed {seed}: straight {straight}");
        let changes_per_sec = 60.0 * share(watched.changes);
        assert!((1.5..8.0).contains(&changes_per_sec), "seed {seed}: {changes_per_sec} changes per second");
        assert!(watched.shots >= 20, "seed {seed}: {} shots", watched.shots);
        assert!(watched.kills >= 4, "seed {seed}: {} kills", watched.kills);
        captures += watched.captures;
    }
    assert!(captures >= 1, "a bot captures a flag at least once in twelve minutes");
}

#[test]
fn no_bot_stays_in_one_place() {
    for seed in 0..4 {
        let mut game = bots(seed);
        // Where each tank has been since it last got 20 units away from there.
        let mut anchor = vec![(Vec2::ZERO, 0u32); 10];
        for _ in 0..60 * 120 {
            game.step();
            for (tank, (place, since)) in game.tanks().tanks().iter().zip(&mut anchor) {
                if !tank.is_alive() || tank.state().position.distance(*place) > 20.0 {
                    (*place, *since) = (tank.state().position, 0);
                }
                *since += 1;
                assert!(*since < 60 * 40, "seed {seed}: {:?} has been at {place:?} for 40 s", tank.id());
            }
        }
    }
}

#[test]
fn all_temperaments_are_at_the_table_and_have_their_own_dice() {
    let mut game = bots(2);
    let mut seen = Vec::new();
    for driver in game.drivers() {
        let Driver::Bot(bot) = driver else { panic!("a match of bots") };
        seen.push(bot.temperament());
    }
    assert!(Temperament::ALL.iter().all(|each| seen.contains(each)));
    for _ in 0..120 {
        game.step();
    }
    let inputs = game.inputs();
    assert!((1..inputs.len()).any(|number| inputs[number] != inputs[0]));
}

/// Goal: bots aim at what they are shown. Method: a red bot is shown its foe 60 units away from
/// where it is; its shots must go by the shown place, not the true one.
#[test]
fn a_bot_aims_at_what_it_is_shown() {
    let offset = Vec2::new(0.0, 60.0);
    let mut by_shown = Vec::new();
    for seed in 0..20 {
        let config = TanksConfig { tanks: [1, 1], ..TanksConfig::lone_tank() };
        let mut game = Match::new(config, seed, |_, id, dice| match id {
            EntityId(0) => Driver::Bot(Bot::new(Temperament::Hunter, dice)),
            _ => Driver::Hands(Input::IDLE),
        })
        .expect("sound rules");
        for _ in 0..60 * 30 {
            game.step_showing(|view| {
                for foe in &mut view.tanks {
                    foe.state.position += offset;
                }
            });
            let Some(shot) = game.tanks().shots().iter().find(|shot| shot.is_new()) else { continue };
            let truth = game.tanks().tanks()[1].state().position;
            let passes = |point: Vec2| {
                let way = point - shot.state().position;
                way.cross_length(shot.state().velocity.normalize_or_zero())
            };
            by_shown.push((passes(truth + offset), passes(truth)));
        }
    }
    assert!(by_shown.len() >= 20, "only {} shots", by_shown.len());
    let near_shown = by_shown.iter().filter(|(shown, truth)| shown < truth).count();
    assert!(near_shown * 10 >= by_shown.len() * 9, "{near_shown} of {}", by_shown.len());
}

#[test]
fn hands_are_still_between_looks() {
    let mut game = bots(5);
    let mut looks = 0;
    let mut last = SharedInstant::ZERO;
    for _ in 0..600 {
        let before = game.inputs()[0];
        let mut looked = false;
        game.step_showing(|view| looked |= view.me == EntityId(0));
        if looked {
            looks += 1;
            last = game.tanks().now();
        } else {
            let now = game.inputs()[0];
            assert_eq!(now.throttle, before.throttle, "no look, no change");
            assert!(now.turn == before.turn || now.turn == 0.0, "a key is let go, at most");
            assert!(!now.fire, "the trigger is pressed while looking");
        }
    }
    assert!((40..200).contains(&looks), "{looks} looks in ten seconds");
    assert!((game.tanks().now() - last).as_secs_f64() < 60.0 * TICK_RATE.step_secs());
}
