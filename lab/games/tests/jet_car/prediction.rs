//! Goal: scene and inputs determine the future, except for the server's random events. Method:
//! play the scene beside the game, from random moments, with random hands.

use fairpath::random::Random;
use fairpath_games::jet_car::{Event, Input, JetCarConfig};
use fairpath_laws::{law, proptest::prelude::*};

use super::{game, random_input};

#[test]
fn all_that_is_on_the_field_is_known_to_the_bit_while_no_gust_begins() {
    let compared = std::cell::Cell::new(0);
    law!((any::<u64>(), 0u32..1_000, 1u32..200), |(seed, from, ticks)| {
        let config = JetCarConfig::windy();
        let mut server = game(config, seed);
        let mut random = Random::from_seed(seed);
        let mut held = Input::IDLE;
        for _ in 0..from {
            server.step(random_input(&mut random, &mut held), 1);
        }
        let mut client = server.scene().clone();
        let known = client.obstructions.iter().map(|one| one.number).max().unwrap_or(0);
        let mut has_news = false;
        let mut gust = client.gust;
        for _ in 0..ticks {
            let input = random_input(&mut random, &mut held);
            server.step(input, 1);
            client.step(&config, input, 1);
            if let Some(left) = &mut gust {
                left.ticks_left -= 1;
            }
            gust = gust.filter(|gust| gust.ticks_left > 0);
            if server.scene().gust != gust {
                return Ok(());
            }
            prop_assert_eq!(client.car, server.scene().car);
            compared.set(compared.get() + 1);
            // What is met as it appears is never on the field at the end of a tick.
            let met = |event: &Event| matches!(event, Event::Hit { number, .. } if *number > known);
            has_news |= server.scene().obstructions.iter().any(|one| one.number > known);
            has_news |= server.events().iter().any(met);
            let known_of_them = server.scene().obstructions.iter().filter(|one| one.number <= known).copied();
            prop_assert_eq!(&client.obstructions, &known_of_them.collect::<Vec<_>>());
            if !has_news {
                prop_assert_eq!(&client, server.scene());
            }
        }
        Ok(())
    });
    assert!(compared.get() > 1_000, "only {} ticks were compared", compared.get());
}

#[test]
fn many_ticks_at_once_are_those_ticks_one_by_one() {
    let config = JetCarConfig::windy();
    let (mut at_once, mut one_by_one) = (game(config, 9), game(config, 9));
    for number in 1..60 {
        let input = Input::new(f64::from(number % 3 - 1), f64::from(number % 5 - 2) / 2.0);
        at_once.step(input, 17);
        for _ in 0..17 {
            one_by_one.step(input, 1);
        }
        assert_eq!(at_once.digest(), one_by_one.digest());
    }
}
