//! Step 0: a server, a client and one ship.
//!
//! The server moves the ship and prints its true position. The client prints where it places it.
//! The next step adds a second player and a bad network.
//!
//! `cargo run -p fairpath-net --example 00_hello`

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use fairpath::schedule::Broadcast;
use fairpath::session::{Class, ClassId, Client, ClientConfig, Server, ServerConfig};
use fairpath::vector::Vec2;
use fairpath::{Observation, State, Trigger};
use fairpath_net::{Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, Trust};

const SHIP: ClassId = ClassId(0);

fn main() -> Result<(), Box<dyn Error>> {
    // Both sides know the classes of entities, and how far a client may be off: 0.1 units.
    let classes = [(SHIP, Class::new(Trigger::within(0.1)))];

    let session = ServerConfig::new(classes.clone(), fairpath_net::new_epoch());
    let session = Server::<Vec2>::new(session, Box::new(Broadcast), fairpath_net::unguessable_random());
    let config = NetServerConfig::new("127.0.0.1:0".parse()?, Identity::local(&[])?);
    let server = NetServer::bind(config, session)?;

    let session = Client::<Vec2>::new(ClientConfig::new(classes), fairpath_net::unguessable_random());
    let config = NetClientConfig::new(Trust::Pinned(vec![server.fingerprint()]));
    let client = NetClient::connect(server.address(), config, session)?;

    let ship = server.with_session(|session, now| session.create(SHIP, b"Nautilus", now))?;
    let mut seen = 0;
    for frame in 0.. {
        let x = 0.05 * f64::from(frame);
        let truth = State::moving(Vec2::new(x, 0.0), Vec2::new(3.0, 0.0));
        server.with_session(|session, now| session.observe(ship, Observation::Moved(truth), now))?;
        if let Some(placed) = client.with_session(|session, now| session.place(ship, now)) {
            println!("the ship is at {x:.2}, the client places it at {:.2}", placed.position.x);
            seen += 1;
        }
        if seen == 10 {
            break;
        }
        sleep(Duration::from_millis(16));
    }
    client.leave(Duration::from_secs(1));
    Ok(())
}
