//! A server and three clients, each with a ship, over bad links: sessions in virtual time.
//!
//! `cargo run -p fairpath-sim --example 02_server_and_clients`

use fairpath::prelude::*;
use fairpath::random::Random;
use fairpath::schedule::{ErrorIndex, ErrorIndexConfig};
use fairpath::session::{Client, ClientConfig, Server, ServerConfig};
use fairpath_sim::{LinkConfig, SessionWorld};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Ship {
    name: String,
}

fn truth(which: usize, now: SharedInstant) -> State<Vec2> {
    let angle = 0.5 * now.as_secs_f64() + which as f64;
    State::moving(Vec2::from_heading(angle) * 40.0, Vec2::from_heading(angle).perpendicular() * 20.0)
}

pub(crate) fn main() {
    let game = Protocol::<Vec2>::new("ships", 1).class::<Ship>("ship", Class::within(0.3));
    // Any scheduler of `fairpath::schedule` spreads the updates: this one makes errors small and alike.
    // Its budget is in DR vectors per trigger: 1 is a copy for one of the two other clients.
    let scheduler = Box::new(ErrorIndex::new(ErrorIndexConfig::new(1.0)));
    let server = Server::new(ServerConfig::new(game.clone(), 1), scheduler, Random::from_seed(1));
    let client = |seed| Client::new(ClientConfig::new(game.clone()), Random::from_seed(seed));
    let mut world =
        SessionWorld::new(7, LinkConfig::wifi_bad(), server, vec![client(2), client(3), client(4)]);
    world.connect_all();

    // Every client creates a ship …
    let begin = world.now();
    let ships: Vec<EntityId> = (0..3)
        .map(|index| {
            let ship = Ship { name: format!("ship {index}") };
            let mut game = world.client_frame(index);
            game.create(&ship, truth(index, begin), game.now()).expect("connected")
        })
        .collect();
    // … observes it every frame, and places the ship of another client.
    let (mut error, mut looks) = ([0.0; 3], 0.0);
    world.run_for(Span::from_secs(30), |world, now| {
        for (index, ship) in ships.iter().enumerate() {
            let mut game = world.client_frame(index);
            game.observe(*ship, truth(index, now), game.now()).expect("the client owns it");
        }
        for (viewer, error) in error.iter_mut().enumerate() {
            let other = (viewer + 1) % 3;
            if let Some(placed) = world.client_frame(viewer).place(ships[other]) {
                *error += placed.position.distance(truth(other, now).position);
            }
        }
        looks += 1.0;
    });
    for (index, error) in error.iter().enumerate() {
        let client = world.client(index).id().expect("connected");
        let statistics = world.server.statistics(client).expect("a session");
        println!(
            "client {index}: mean error {:.2}, round trip {:.0} ms, loss {:.0} %, {} updates in {} bytes",
            error / looks,
            statistics.round_trip.unwrap_or_default().as_millis_f64(),
            100.0 * statistics.loss_ratio(),
            statistics.vectors_sent,
            statistics.bytes_sent,
        );
        assert!(error / looks < 4.0);
    }
}
