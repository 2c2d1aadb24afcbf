//! Goal: the game works over a bad network. Method: play it in virtual time, with two clients that
//! have a ping of 200 ms and lose 5 % of all packets.

use fairpath::prelude::*;
use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{Client, ClientConfig, Server, ServerConfig};
use fairpath_sim::{LinkConfig, Loss, SessionWorld};
use fairpath_template::{ClientGame, Score, ServerGame, Ship, protocol};

#[test]
fn two_clients_race_for_coins_and_agree_on_the_score() {
    let link = LinkConfig::default().delay(Span::from_millis(100)).loss(Loss::each(0.05));
    let server = Server::new(ServerConfig::new(protocol(), 1), Box::new(Broadcast), Random::from_seed(1));
    let client = |seed| Client::new(ClientConfig::new(protocol()), Random::from_seed(seed));
    let mut world = SessionWorld::new(7, link, server, vec![client(2), client(3)]);
    let mut referee = ServerGame::default();
    let mut players =
        [("Anna", -10.0), ("Bob", 10.0)].map(|(name, x)| ClientGame::new(name, Vec2::new(x, 0.0)));
    let mut errors = Vec::new();
    world.run_for(Span::from_secs(30), |world, _| {
        referee.frame(&mut world.server_frame()).expect("the server's frame");
        for (index, player) in players.iter_mut().enumerate() {
            player.frame(&mut world.client_frame(index)).expect("the client's frame");
        }
        // Where Anna sees Bob's ship, against where it is.
        let seen = players[0].ships(&mut world.client_frame(0));
        let bob = seen.into_iter().find(|(name, ..)| name == "Bob");
        errors.extend(bob.map(|(.., state)| state.position.distance(players[1].own_ship().position)));
    });

    let ships = world.server_frame().objects_of::<Ship>();
    assert_eq!(ships.len(), 2);
    let scores: Vec<Option<Score>> = ships.iter().map(|ship| world.server_frame().get(*ship)).collect();
    let total: u32 = scores.iter().flatten().map(|score| score.0).sum();
    assert!(total >= 5, "{total} coins in 30 s");
    // The last coin may be on its way: wait without playing on.
    world.run_for(Span::from_secs(2), |_, _| {});
    for index in 0..2 {
        let known: Vec<Option<Score>> =
            ships.iter().map(|ship| world.client_frame(index).get(*ship)).collect();
        assert_eq!(known, scores, "client {index}");
    }

    errors.sort_by(f64::total_cmp);
    let p95 = errors[errors.len() * 95 / 100];
    println!("{total} coins; 95 % of the time Bob's ship is drawn within {p95:.2} units");
    assert!(p95 < 1.5, "{p95}: a ship flies 2 units in 200 ms");
}
