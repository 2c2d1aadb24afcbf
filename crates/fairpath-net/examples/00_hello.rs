//! Step 0: a server, a client and one ship.
//!
//! The server moves the ship and prints its true position. The client prints where it draws it.
//! The next step adds a second player and a bad network.
//!
//! `cargo run -p fairpath-net --example 00_hello`

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use fairpath::prelude::*;
use fairpath_net::{Identity, NetClient, NetServer};
use serde::{Deserialize, Serialize};

/// What every client learns about a ship when it appears.
#[derive(Serialize, Deserialize)]
struct Ship {
    name: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    // Both ends share this description. A ship is sent again when receivers are wrong by 0.1 units.
    let game = Protocol::<Vec2>::new("hello", 1).class::<Ship>("ship", Class::within(0.1));
    // A certificate for this run only. Without it the server stores one, and keeps its fingerprint.
    let server = NetServer::builder(&game).identity(Identity::local(&[])?).listen("127.0.0.1:0")?;
    let client = NetClient::join(server.address(), server.fingerprint(), &game)?;

    let (start, velocity) = (server.now(), Vec2::new(3.0, 0.0));
    let truth = |now: SharedInstant| State::moving(velocity * (now - start).as_secs_f64(), velocity);
    let nautilus = Ship { name: "Nautilus".into() };
    let ship = server.frame(|game| game.create(&nautilus, truth(start), start))?;
    let mut drawn_count = 0;
    while drawn_count < 10 {
        server.frame(|game| game.observe(ship, truth(game.now()), game.now()))?;
        let seen = client.frame(|game| Some((game.creation::<Ship>(ship)?.name, game.draw(ship)?)));
        if let Some((name, drawn)) = seen {
            let x = truth(server.now()).position.x;
            println!("{name} is at {x:.2}, the client draws it at {:.2}", drawn.position.x);
            drawn_count += 1;
        }
        sleep(Duration::from_millis(16));
    }
    client.leave(Duration::from_secs(1));
    Ok(())
}
