//! Goal: a predictor that knows the keys knows the path. Method: bots play; from any tick on, keys
//! that stay as they are lead a prediction where the game itself leads the player, walls and all.

use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::ethereal::Map;
use fairpath_predict::{Body, InputScheme, Known, Linear, Order, Predictor};

use super::{bots, random_inputs};

const AHEAD: u32 = 60;

fn known<'a>(history: &'a [Body], inputs: &'a [Vec2]) -> Known<'a> {
    Known { history, inputs, ..Known::default() }
}

#[test]
fn kept_keys_lead_a_prediction_where_they_lead_the_player() {
    let mut game = bots(7).ethereal().clone();
    let mut random = Random::from_seed(7);
    let mut held = Vec::new();
    let (mut line_error, mut tries) = (0.0, 0);
    for _ in 0..60 {
        for _ in 0..10 {
            random_inputs(&game, &mut random, &mut held);
            held.iter_mut().for_each(|input| input.keys = input.keys.without_fire());
            game.step(&held);
        }
        let mut future = game.clone();
        for _ in 0..AHEAD {
            future.step(&held);
        }
        for (now, then) in game.players().iter().zip(future.players()) {
            let body = now.body();
            let history = [Body { position: body.position, velocity: body.velocity, ..Body::default() }];
            let inputs = [now.input().keys.direction(); 3];
            let known = known(&history, &inputs);
            let mut at = [Vec2::ZERO];
            for predictor in [
                &mut InputScheme { order: Order::InputPosition, game: Some(game.map().clone()) }
                    as &mut dyn Predictor,
                &mut InputScheme { order: Order::InputVelocity, game: Some(game.map().clone()) },
            ] {
                predictor.predict(0, &known, &[AHEAD], &mut at).expect("inputs are known");
                assert_eq!(at[0], then.body().position, "{} of {:?}", predictor.name(), now.id());
            }
            Linear.predict(0, &known, &[AHEAD], &mut at).expect("never misses anything");
            line_error += at[0].distance(then.body().position);
            tries += 1;
        }
    }
    assert!(line_error / f64::from(tries) > 50.0, "a line would not have known: {line_error} in {tries}");
}

#[test]
fn predictors_see_the_walls_that_players_meet() {
    let map = Map::crossing();
    let grid = map.to_grid();
    assert_eq!(grid.size(), map.size());
    let mut random = Random::from_seed(3);
    for _ in 0..2_000 {
        let place = Vec2::new(random.between(-3e3, 3e3), random.between(-2e3, 2e3));
        let is_wall = map.is_wall(map.cell_at(place));
        assert_eq!(grid.cell_at(place).is_none_or(|cell| grid.is_wall(cell)), is_wall, "{place:?}");
    }
}
