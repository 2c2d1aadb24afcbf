//! Step 2: three peers without a server.
//!
//! Each peer owns a ship and tells the others directly. A lobby introduces them and is not needed
//! after that. The first peer prints where it places the ships of the others. The next step returns
//! to a server, as a relay and a judge.
//!
//! `cargo run -p fairpath-net --features peer --example 02_peer_to_peer`

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use fairpath::prelude::*;
use fairpath::schedule::Broadcast;
use fairpath_net::lobby::{Announcement, LobbyAddress, LobbyConfig, LobbyServer};
use fairpath_net::{Identity, NetPeer, NetPeerConfig, PeerEvent, Trust};
use serde::{Deserialize, Serialize};

const NAMES: [&str; 3] = ["Ann", "Bob", "Cid"];

#[derive(Serialize, Deserialize)]
struct Ship {
    name: String,
}

/// Every ship flies a circle, by its owner's clock.
fn truth(which: usize, now: SharedInstant) -> State<Vec2> {
    let secs = (now.as_micros() % 1_000_000_000) as f64 / 1e6;
    let ahead = Vec2::from_heading(secs);
    State::moving(Vec2::new(30.0 * which as f64, 0.0) + ahead * 10.0, ahead.perpendicular() * 10.0)
        .with_heading(secs + std::f64::consts::FRAC_PI_2, 1.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let any_port = "127.0.0.1:0".parse()?;
    let lobby = LobbyServer::bind(LobbyConfig::new(any_port, Identity::local(&[])?))?;
    let lobby_address = LobbyAddress::new(lobby.address(), Trust::Pinned(vec![lobby.fingerprint()]));

    let game = Protocol::<Vec2>::new("ships", 1).class::<Ship>("ship", Class::within(0.1).circular());
    let mut peers = Vec::new();
    for (which, name) in NAMES.into_iter().enumerate() {
        let config = NetPeerConfig::new(any_port, Identity::local(&[])?, game.clone());
        let peer = NetPeer::bind(config, Box::new(Broadcast))?;
        let ship = Ship { name: name.into() };
        let ship = peer.frame(|game| game.create(&ship, truth(which, game.now()), game.now()))?;
        peer.join(lobby_address.clone(), Announcement::new("ships", name).with_attribute("room", "blue"))?;
        peers.push((peer, ship));
    }

    let mut connections = 0;
    let mut samples = [0; NAMES.len()];
    while samples[1..].iter().any(|seen| *seen < 4) {
        for (which, (peer, ship)) in peers.iter().enumerate() {
            // The peer's own objects are in its own session, as on a server …
            peer.frame(|game| game.observe(*ship, truth(which, game.now()), game.now()))?;
            while let Some(event) = peer.poll_event() {
                if let PeerEvent::Connected(other) = event {
                    connections += 1;
                    println!("{} is connected to {:.8}…", NAMES[which], other.to_string());
                }
            }
        }
        // … and the objects of another peer are in the session with it, as on a client.
        if connections == NAMES.len() * (NAMES.len() - 1) {
            let (ann, _) = &peers[0];
            for (which, (owner, ship)) in peers.iter().enumerate().skip(1) {
                let seen = ann.view(owner.fingerprint(), |session, now| {
                    let mut game = session.frame(now);
                    let truth = truth(which, game.shared_now()?);
                    Some((game.creation::<Ship>(*ship)?, game.place(*ship)?.position, truth.position))
                });
                if let Some(Some((Ship { name }, placed, truth))) = seen {
                    samples[which] += 1;
                    let error = placed.distance(truth);
                    println!("Ann places {name} at ({:.2}, {:.2}), {error:.3} off", placed.x, placed.y);
                }
            }
        }
        sleep(Duration::from_millis(16));
    }
    println!(
        "the lobby introduced {} pairs and relayed {}",
        lobby.statistics().introductions,
        lobby.statistics().relays
    );
    Ok(())
}
