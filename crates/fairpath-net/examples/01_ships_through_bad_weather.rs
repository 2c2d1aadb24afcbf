//! Step 1: two clients on a bad network, which delays packets by 60 ms and loses every fifth.
//!
//! Each client owns a ship, which it moves in fixed steps, and hails the owner of every ship that
//! it sees. A middleman between clients and server makes the network bad. The server refuses ships
//! that claim to be too fast. The next step plays without a server.
//!
//! `cargo run -p fairpath-net --features middleman --example 01_ships_through_bad_weather`

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use fairpath::prelude::*;
use fairpath::session::SpeedCheck;
use fairpath_net::middleman::{LinkConfig, Loss, Middleman, MiddlemanConfig};
use fairpath_net::{Identity, NetClient, NetServer};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Ship {
    name: String,
}
#[derive(Serialize, Deserialize)]
struct Hail(String);

fn game() -> Protocol<Vec2> {
    Protocol::new("bad-weather", 1)
        .class::<Ship>("ship", Class::within(0.1).circular())
        .call::<Hail>("hail", Delivery::Quickest)
}

struct Player {
    name: &'static str,
    steps: FixedSteps<LocalInstant>,
    heading: f64,
    ship: Option<EntityId>,
    is_hailed: bool,
}

impl Player {
    fn new(name: &'static str, heading: f64) -> Self {
        Self { name, steps: FixedSteps::hz(60), heading, ship: None, is_hailed: false }
    }

    fn frame(&mut self, game: &mut ClientFrame<'_, Vec2>) -> Result<(), Box<dyn Error>> {
        while let Some(event) = game.poll_event() {
            match event {
                ClientEvent::ObjectEntered { object, creation, .. } => {
                    if let Some(Ship { name }) = creation.get() {
                        // The server forwards the call to the client that owns the ship.
                        game.call_owner(object, &Hail(format!("ahoy, {name}")))?;
                    }
                }
                ClientEvent::Called { from, call, .. } => {
                    if let Some(Hail(text)) = call.get() {
                        println!("{} receives {text:?} from {from:?}", self.name);
                        self.is_hailed = true;
                    }
                }
                _ => {}
            }
        }
        // The game's own simulation: a circle of ten units at one radian per second.
        for tick in self.steps.until(game.now()) {
            self.heading += tick.secs();
            let ahead = Vec2::from_heading(self.heading);
            let state =
                State::moving(ahead.perpendicular() * -10.0, ahead * 10.0).with_heading(self.heading, 1.0);
            if let Some(ship) = self.ship {
                game.observe(ship, state, tick.at())?;
            } else if game.is_connected() {
                self.ship = Some(game.create(&Ship { name: self.name.into() }, state, tick.at())?);
            }
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let game = game();
    let server = NetServer::builder(&game)
        .identity(Identity::local(&[])?)
        .interceptor(SpeedCheck { speed_max: 15.0 })
        .listen("127.0.0.1:0")?;
    let weather = LinkConfig::default().delay(Span::from_millis(60)).loss(Loss::each(0.2));
    let between = MiddlemanConfig::between("127.0.0.1:0".parse()?, server.address());
    let middleman = Middleman::start(between.both_ways(weather))?;

    let join = || NetClient::join(middleman.address(), server.fingerprint(), &game);
    let mut players = [(Player::new("Ann", 0.0), join()?), (Player::new("Bob", 3.0), join()?)];
    while !players.iter().all(|(player, _)| player.is_hailed) {
        for (player, client) in &mut players {
            client.frame(|game| player.frame(game))?;
        }
        sleep(Duration::from_millis(16));
    }

    let [ann, bob] = &players;
    for ((player, client), (other, _)) in [(ann, bob), (bob, ann)] {
        let statistics = client.status().session;
        let placed = client.frame(|game| game.place(other.ship?));
        println!(
            "{}: sent {} bytes in {} datagrams, lost {:.0} % of the received ones, places {} at {:?}",
            player.name,
            statistics.bytes_sent,
            statistics.datagrams_sent,
            100.0 * statistics.loss_ratio(),
            other.name,
            placed.map(|state| state.position),
        );
    }
    Ok(())
}
