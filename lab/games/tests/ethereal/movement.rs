//! Goal: keys move players as the rules say, and walls stop them. Method: single players, then
//! any input.

use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::ethereal::{
    ACCELERATION, Body, Ethereal, EtherealConfig, Ground, Input, Keys, Map, PLAYER_RADIUS, TICK_RATE,
    TOP_SPEED,
};
use fairpath_laws::{law, proptest::prelude::*};

use super::{assert_sound, on_map, random_inputs};

const HALL: [&str; 5] = [".........", ".........", "r...b....", ".........", "........."];

#[test]
fn top_speed_takes_a_tenth_of_a_second_in_every_direction() {
    let map = Map::from_rows(HALL).expect("sound");
    for keys in Keys::WAYS {
        let mut body = Body::at(Vec2::ZERO);
        for _ in 0..5 {
            body = body.step(keys, &map);
            assert!(body.velocity.length() < TOP_SPEED - 1.0);
        }
        body = body.step(keys, &map);
        assert!((body.velocity.length() - TOP_SPEED).abs() < 1e-9, "{keys:?}");
        assert!(body.velocity.normalize_or_zero().distance(keys.direction()) < 1e-9);
        for _ in 0..6 {
            body = body.step(Keys::NONE, &map);
        }
        assert!(body.velocity.length() < 1e-9, "and as long to stand still");
    }
}

#[test]
fn velocity_is_the_slope_of_position_away_from_walls() {
    let map = Map::from_rows(HALL).expect("sound");
    law!(prop::collection::vec(0u8..32, 1..20), |keys| {
        let mut body = Body::at(Vec2::ZERO);
        for bits in keys {
            let next = body.step(Keys::from_bits(bits), &map);
            let slope = (next.position - body.position) * (1.0 / TICK_RATE.step_secs());
            prop_assert!(slope.distance(next.velocity) < 1e-9);
            let change = next.velocity.distance(body.velocity);
            prop_assert!(change <= ACCELERATION * TICK_RATE.step_secs() + 1e-9);
            body = next;
        }
        Ok(())
    });
}

#[test]
fn wherever_a_body_is_put_it_stays_a_body() {
    let map = Map::crossing();
    let anything = || prop_oneof![any::<f64>(), -4e3..4e3f64].prop_filter("finite", |x| x.is_finite());
    law!(((anything(), anything()), (anything(), anything()), 0u8..32), |(place, speed, bits)| {
        let (position, velocity) = (Vec2::new(place.0, place.1), Vec2::new(speed.0, speed.1));
        let next = Body { position, velocity }.step(Keys::from_bits(bits), &map);
        prop_assert!(next.position.is_finite() && next.velocity.length() <= TOP_SPEED * (1.0 + 1e-12));
        prop_assert!(next.position.distance(position) < 10.0 || !position.length().is_finite());
        let _ = (map.cell_at(position), map.is_clear(position), map.first_wall(position, velocity));
        Ok(())
    });
}

#[test]
fn who_runs_along_a_wall_slides() {
    let mut game = on_map(&["r..#b", ".....", "....."], [1, 0]);
    for _ in 0..120 {
        game.step(&[Input::new(Keys::UP | Keys::RIGHT, Vec2::ZERO)]);
        assert_sound(&game);
    }
    // The wall is the fourth of five cells: it begins at x = 64.
    let body = game.players()[0].body();
    let top = game.map().bounds().low.y;
    assert_eq!(body.position, Vec2::new(64.0 - PLAYER_RADIUS, top + PLAYER_RADIUS));
    assert_eq!(body.velocity, Vec2::ZERO);
}

#[test]
fn anybodys_hands_keep_the_rules() {
    law!((any::<u64>(), any::<bool>()), |(seed, is_generated)| {
        let ground = if is_generated { Ground::Generated } else { Ground::Crossing };
        let config = EtherealConfig { ground, ..EtherealConfig::default() };
        let mut game = Ethereal::new(config, seed).expect("sound rules");
        let (mut random, mut inputs) = (Random::from_seed(seed), Vec::new());
        for _ in 0..200 {
            random_inputs(&game, &mut random, &mut inputs);
            game.step(&inputs);
            assert_sound(&game);
        }
        Ok(())
    });
}

/// A predictor that knows the keys needs nothing else: players do not collide.
#[test]
fn the_game_moves_players_as_the_body_alone_says() {
    let mut game = super::bots(9);
    for _ in 0..1_200 {
        let before: Vec<_> = game.ethereal().frames().collect();
        game.step();
        for (player, before) in game.ethereal().players().iter().zip(&before) {
            let stays = before.is_alive && player.is_alive() && before.life == player.life();
            let body = Body { position: before.position, velocity: before.velocity };
            if stays {
                assert_eq!(player.body(), body.step(player.input().keys, game.ethereal().map()));
            }
        }
    }
}

#[test]
fn players_report_moving_and_jumping() {
    let mut game = on_map(&HALL, [1, 0]);
    let jumped =
        |game: &Ethereal| matches!(game.players()[0].observation(), Some(fairpath::Observation::Jumped(_)));
    assert!(jumped(&game), "born");
    game.step(&[Input::new(Keys::RIGHT, Vec2::ZERO)]);
    assert!(!jumped(&game));
    let row = game.frames().next().expect("one player").to_row(game.now());
    assert_eq!((row.t_us, row.vx, row.is_break), (16_666, 60.0, false));
}
