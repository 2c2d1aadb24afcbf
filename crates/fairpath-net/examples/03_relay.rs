//! Step 3: a server that relays updates bit by bit, and refuses impossible ones.
//!
//! Two clients are 100 ms away from the server and need no connection to each other. The server
//! passes Ann's updates on with her own timestamps. So Bob, on the shared clock, places her ship
//! exactly where she says it is, although each update takes 200 ms to reach him. Then Bob claims an
//! impossible speed, and the server refuses it.
//!
//! `cargo run -p fairpath-net --features middleman --example 03_relay`

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use fairpath::prelude::*;
use fairpath::session::SpeedCheck;
use fairpath_net::middleman::{LinkConfig, Middleman, MiddlemanConfig};
use fairpath_net::{Identity, NetClient, NetServer};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Ship;

/// Ann flies back and forth at ten units per second, and turns every half second.
fn truth(now: SharedInstant) -> State<Vec2> {
    let secs = now.as_micros().rem_euclid(1_000_000) as f64 / 1e6;
    let speed = if secs < 0.5 { 10.0 } else { -10.0 };
    let x = if secs < 0.5 { 10.0 * secs } else { 10.0 - 10.0 * secs };
    State::moving(Vec2::new(x, 0.0), Vec2::new(speed, 0.0))
}

fn main() -> Result<(), Box<dyn Error>> {
    let game = Protocol::<Vec2>::new("relay", 1).class::<Ship>("ship", Class::within(0.1));
    let server = NetServer::builder(&game)
        .identity(Identity::local(&[])?)
        .interceptor(SpeedCheck { speed_max: 15.0 })
        .listen("127.0.0.1:0")?;
    let far = LinkConfig::default().delay(Span::from_millis(100));
    let between = MiddlemanConfig::between("127.0.0.1:0".parse()?, server.address());
    let middleman = Middleman::start(between.both_ways(far))?;

    let join = || NetClient::join(middleman.address(), server.fingerprint(), &game);
    let (ann, bob) = (join()?, join()?);
    let (mut anns, mut bobs) = (None::<EntityId>, None::<EntityId>);
    let mut relayed = 0;
    let mut newest = None;
    let mut is_refused = false;

    while !is_refused {
        // Ann observes her ship; an update leaves whenever she turns.
        ann.frame(|game| -> Result<(), Box<dyn Error>> {
            let Some(truth) = game.shared_now().map(truth) else { return Ok(()) };
            if let Some(ship) = anns {
                game.observe(ship, truth, game.now())?;
            } else if game.is_connected() {
                anns = Some(game.create(&Ship, truth, game.now())?);
            }
            Ok(())
        })?;
        bob.frame(|game| -> Result<(), Box<dyn Error>> {
            while let Some(event) = game.poll_event() {
                if let ClientEvent::Refused { refusal, .. } = event {
                    println!("the server refuses Bob's update: {refusal}");
                    is_refused = true;
                }
            }
            let (Some(ship), Some(shared)) = (anns, game.shared_now()) else { return Ok(()) };
            if let (Some(followed), Some(placed)) = (game.session().followed(ship).copied(), game.place(ship))
                && newest.replace(followed.generated_at) != Some(followed.generated_at)
            {
                let age = shared - followed.generated_at;
                let stated = followed.position_at(shared);
                println!(
                    "the update is {:.0} ms old, Bob places Ann at {:.2}, {:.2} from what she says",
                    age.as_millis_f64(),
                    placed.position.x,
                    (placed.position - stated).x.abs()
                );
                relayed += 1;
            }
            if relayed < 5 {
                return Ok(());
            }
            // Now Bob claims to fly at a thousand units per second.
            let fast = State::moving(Vec2::new(0.0, 50.0), Vec2::new(1000.0, 0.0));
            match bobs {
                Some(ship) => game.observe(ship, fast, game.now())?,
                None => bobs = Some(game.create(&Ship, fast, game.now())?),
            }
            Ok(())
        })?;
        sleep(Duration::from_millis(16));
    }
    let seen = bobs.and_then(|ship| ann.frame(|game| game.place(ship)));
    println!("the speed at which Ann sees Bob: {:?}", seen.map(|state| state.velocity.x));
    Ok(())
}
