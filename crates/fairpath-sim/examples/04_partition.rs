//! A partition of half a minute, and one that is longer than a session lasts.
//!
//! `cargo run -p fairpath-sim --example 04_partition`

use fairpath::prelude::*;
use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{Client, ClientConfig, Server, ServerConfig};
use fairpath_sim::{Fault, LinkConfig, PeerId, SessionWorld};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Report {
    number: u32,
}

pub(crate) fn main() {
    let game = Protocol::<Vec2>::new("reports", 1).call::<Report>("report", Delivery::ReliableOrdered);
    let config = ServerConfig::new(game.clone(), 1);
    let server = Server::new(config, Box::new(Broadcast), Random::from_seed(1));
    let client = Client::new(ClientConfig::new(game), Random::from_seed(2));
    let link = LinkConfig::default().delay(Span::from_millis(40));
    let mut world = SessionWorld::new(5, link, server, vec![client]);
    world.connect_all();

    let mut number = 0;
    for secs in [30, 80] {
        world.network.inject(Fault::Isolate(PeerId(1)));
        world.run_for(Span::from_secs(secs), |world, now| {
            // A call once a second. The client keeps it, and sends it again once the link is back.
            if now.as_micros() % 1_000_000 < 16_666 {
                let said = world.client_frame(0).call_server(&Report { number });
                number += u32::from(said.is_ok());
            }
        });
        world.network.inject(Fault::Rejoin(PeerId(1)));
        world.run_for(Span::from_secs(10), |_, _| {});
        let events = std::iter::from_fn(|| world.server.poll_event());
        let heard: Vec<u32> = events
            .filter_map(|event| match event {
                ServerEvent::Called { call, .. } => call.get::<Report>().map(|report| report.number),
                _ => None,
            })
            .collect();
        println!("after a partition of {secs} s the server has received {} calls", heard.len());
        assert!(heard.is_sorted(), "in order");
        while let Some(event) = world.client(0).poll_event() {
            match event {
                ClientEvent::SessionLost { undelivered } => {
                    println!("  session lost: {} calls were not delivered", undelivered.len());
                    assert!(secs > 60 && heard.is_empty());
                }
                other => println!("  {other:?}"),
            }
        }
        assert_eq!(heard.len() > 20, secs < 60, "a session survives a minute");
    }
}
