//! The game that the other programs get wrong.

use fairpath::prelude::*;
use fairpath_net::{Fingerprint, NetClient, NetServer};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Ship {
    name: String,
}
#[derive(Serialize, Deserialize)]
struct Chat(String);

fn game() -> Protocol<Vec2> {
    Protocol::new("asteroids", 1)
        .class::<Ship>("ship", Class::within(0.2))
        .call::<Chat>("chat", Delivery::ReliableOrdered)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = NetServer::builder(&game()).listen("0.0.0.0:7777")?;
    let pin: Fingerprint = server.fingerprint();
    let client = NetClient::join("192.0.2.7:7777", pin, &game())?;
    let state = State::moving(Vec2::ZERO, Vec2::ZERO);
    let ship = server.frame(|game| game.create(&Ship { name: "Anna".into() }, state, game.now()))?;
    server.frame(|game| game.observe(ship, state, game.now()))?;
    client.frame(|game| game.call_server(&Chat("hello".into())))?;
    Ok(())
}
