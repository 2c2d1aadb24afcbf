//! Goal: shots hit what they should, when they should: local lag, time warp, walls, reach. Method:
//! two players in a hall, one of them a target on rails.

use fairpath::number::EntityId;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::ethereal::{Ethereal, EtherealConfig, Event, Ground, Input, Keys, Map, ShotEnd};
use fairpath_laws::{law, proptest::prelude::*};

use super::on_map;

/// Red to the left of blue, 512 pixels apart; the shooter is player 0, the target player 1.
const RANGE: [&str; 7] =
    [".........", ".........", ".........", "..r...b..", ".........", ".........", "........."];
const SHOOTER: EntityId = EntityId(0);
const TARGET: EntityId = EntityId(1);

fn fired(game: &Ethereal) -> Option<(u64, ShotEnd)> {
    game.events().iter().find_map(|event| match event {
        Event::Fired { player, judged_tick, end, .. } if *player == SHOOTER => Some((*judged_tick, *end)),
        _ => None,
    })
}

fn position(game: &Ethereal, id: EntityId) -> Vec2 {
    game.player(id).expect("plays").body().position
}

#[test]
fn a_shot_leaves_as_late_as_the_rules_say() {
    for lag in [0, 3, 9] {
        let map = Map::from_rows(RANGE).expect("sound");
        let config = EtherealConfig {
            players: [1, 1],
            ground: Ground::Given(map),
            fire_lag_ticks: lag,
            ..EtherealConfig::default()
        };
        let mut game = Ethereal::new(config, 1).expect("sound rules");
        let aim = position(&game, TARGET);
        let mut waited = 0;
        // One tap of the button.
        game.step(&[Input::new(Keys::FIRE, aim)]);
        while fired(&game).is_none() {
            game.step(&[Input::IDLE]);
            waited += 1;
        }
        assert_eq!(waited, lag);
        assert_eq!(fired(&game).map(|shot| shot.1), Some(ShotEnd::Player(TARGET)));
        assert_eq!(game.players()[1].health(), 93);
        assert_eq!(game.players()[0].ammo(), 79);
    }
}

#[test]
fn the_button_held_fires_once_per_reload_until_nothing_is_left() {
    let mut game = on_map(&RANGE, [1, 0]);
    let mut shots = 0;
    for _ in 0..12 * 100 {
        game.step(&[Input::new(Keys::FIRE, Vec2::new(0.0, -300.0))]);
        shots += u32::from(fired(&game).is_some());
    }
    assert_eq!(shots, game.config().ammo_max);
    assert_eq!(game.players()[0].ammo(), 0);
}

/// The target runs; the shooter sees it late and aims at what it sees. Judged then it is a hit,
/// judged now a miss.
#[test]
fn time_warp_judges_what_the_shooter_saw() {
    for (seen_ticks_ago, hits) in [(0u8, false), (12, true)] {
        let mut game = on_map(&RANGE, [1, 1]);
        let run = Input::new(Keys::UP, Vec2::ZERO);
        let mut places = vec![position(&game, TARGET)];
        for _ in 0..30 {
            game.step(&[Input::IDLE, run]);
            places.push(position(&game, TARGET));
        }
        // What a screen twelve ticks behind will show when the shot leaves, three ticks from now.
        let aim = places[places.len() - 1 - 12 + 3];
        let keys = Input { keys: Keys::FIRE, aim, seen_ticks_ago };
        let mut end = None;
        for input in [keys, Input::IDLE, Input::IDLE, Input::IDLE] {
            game.step(&[input, run]);
            end = end.or_else(|| fired(&game));
        }
        let (judged_tick, end) = end.expect("it fired");
        assert_eq!(judged_tick, 33 - u64::from(seen_ticks_ago));
        assert_eq!(end == ShotEnd::Player(TARGET), hits, "seen {seen_ticks_ago} ticks ago");
    }
}

#[test]
fn nobody_is_judged_further_back_than_allowed() {
    let mut game = on_map(&RANGE, [1, 1]);
    for _ in 0..100 {
        game.step(&[Input::IDLE, Input::IDLE]);
    }
    let keys = Input { keys: Keys::FIRE, aim: Vec2::ZERO, seen_ticks_ago: 255 };
    let mut judged = None;
    for _ in 0..4 {
        game.step(&[keys]);
        judged = judged.or_else(|| fired(&game));
    }
    assert_eq!(judged.map(|shot| shot.0), Some(103 - u64::from(game.config().rewind_ticks_max)));
}

#[test]
fn judging_the_past_is_bounded_and_has_no_effect() {
    let mut game = on_map(&RANGE, [1, 1]);
    for _ in 0..200 {
        game.step(&[Input::IDLE, Input::new(Keys::DOWN, Vec2::ZERO)]);
    }
    let digest = game.digest();
    let here = position(&game, SHOOTER);
    let there = position(&game, TARGET);
    assert_eq!(game.judge(SHOOTER, here, there, 200).1, ShotEnd::Player(TARGET));
    assert_eq!(game.judge(SHOOTER, here, there, 200), game.judge(SHOOTER, here, there, u64::MAX));
    assert_eq!(game.judge(SHOOTER, here, there, 0), game.judge(SHOOTER, here, there, 200 - 63));
    assert_eq!(game.judge(SHOOTER, here, here, 200).1, ShotEnd::Nothing, "nowhere to aim");
    assert_eq!(game.digest(), digest);
}

#[test]
fn walls_and_distance_protect_and_friends_do_not_block() {
    let game = on_map(&["....", "r#b.", "...."], [1, 1]);
    let (from, to) = (position(&game, SHOOTER), position(&game, TARGET));
    assert_eq!(game.judge(SHOOTER, from, to, 0).1, ShotEnd::Wall);

    let game = on_map(&["r.......b"], [2, 1]);
    let (from, to) = (position(&game, SHOOTER), position(&game, EntityId(2)));
    assert_eq!(game.judge(SHOOTER, from, to, 0).1, ShotEnd::Nothing, "out of reach");
    let near = to - (to - from).normalize_or_zero() * 500.0;
    assert_eq!(game.judge(SHOOTER, near, to, 0).1, ShotEnd::Player(EntityId(2)));
}

#[test]
fn two_can_kill_each_other() {
    let mut game = on_map(&RANGE, [1, 1]);
    let aims = [position(&game, TARGET), position(&game, SHOOTER)];
    let inputs = aims.map(|aim| Input::new(Keys::FIRE, aim));
    let mut deaths = 0;
    for _ in 0..12 * 16 {
        game.step(&inputs);
        let died = game.events().iter().filter(|event| matches!(event, Event::Died { .. })).count();
        assert!(died == 0 || died == 2, "both or none");
        deaths += died;
        if deaths > 0 {
            break;
        }
    }
    assert_eq!(deaths, 2);
    assert!(game.players().iter().all(|player| !player.is_alive() && player.kills() == 1));
}

/// The judge, against one that samples the way in steps of a pixel.
#[test]
fn a_shot_ends_where_a_slow_walk_along_it_would() {
    let game = on_map(&["....#....", "..#......", "..r...b..", "....#..#.", "........."], [1, 1]);
    let (from, target) = (position(&game, SHOOTER), position(&game, TARGET));
    law!(-3.2..3.2f64, |heading| {
        let unit = Vec2::from_heading(heading);
        let (to, end) = game.judge(SHOOTER, from, from + unit, 0);
        let reach = game.config().shot_range;
        let meets = |share: f64| {
            let point = from + unit * (reach * share);
            let is_wall = game.map().is_wall(game.map().cell_at(point));
            (is_wall || point.distance(target) < 30.0).then_some((reach * share, is_wall))
        };
        let walked = (0..=6_400).find_map(|step| meets(f64::from(step) / 6_400.0));
        let length = to.distance(from);
        match (end, walked) {
            (ShotEnd::Nothing, None) => prop_assert!((length - reach).abs() < 1e-9),
            (ShotEnd::Wall, Some((walked, true))) => prop_assert!((length - walked).abs() < 0.2),
            (ShotEnd::Player(_), Some((walked, false))) => prop_assert!((length - walked).abs() < 2.0),
            // A graze that the walk steps over.
            (ShotEnd::Player(_), _) => {
                let aside = (target - from).cross_length(unit);
                prop_assert!(aside > 29.9, "a clear hit was walked past");
            }
            (end, walked) => prop_assert!(false, "{end:?} but walked {walked:?}"),
        }
        Ok(())
    });
}
