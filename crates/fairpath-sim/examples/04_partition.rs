//! A partition of half a minute, and one that is longer than a session lasts.
//!
//! `cargo run -p fairpath-sim --example 04_partition`

use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{
    Class, ClassId, Client, ClientConfig, ClientEvent, Delivery, Server, ServerConfig, ServerEvent,
};
use fairpath::{Span, Trigger, Vec2};
use fairpath_sim::{Fault, LinkConfig, PeerId, SessionWorld};

pub(crate) fn main() {
    let classes = || [(ClassId(1), Class::new(Trigger::within(0.3)))];
    let server = Server::new(ServerConfig::new(classes(), 1), Box::new(Broadcast), Random::from_seed(1));
    let client = Client::new(ClientConfig::new(classes()), Random::from_seed(2));
    let link = LinkConfig::default().delay(Span::from_millis(40));
    let mut world: SessionWorld<Vec2> = SessionWorld::new(5, link, server, vec![client]);
    world.connect_all();

    let mut method = 0;
    for secs in [30, 80] {
        world.network.inject(Fault::Isolate(PeerId(1)));
        world.run_for(Span::from_secs(secs), |world, now| {
            // A call once a second. The client keeps it, and sends it again once the link is back.
            if now.as_micros() % 1_000_000 < 16_666 {
                let said = world.client(0).call_server(method, b"", Delivery::ReliableOrdered);
                method += u32::from(said.is_ok());
            }
        });
        world.network.inject(Fault::Rejoin(PeerId(1)));
        world.run_for(Span::from_secs(10), |_, _| {});
        let called = |event: &ServerEvent| matches!(event, ServerEvent::Called { .. });
        let heard = std::iter::from_fn(|| world.server.poll_event()).filter(called).count();
        println!("after a partition of {secs} s the server has received {heard} calls");
        while let Some(event) = world.client(0).poll_event() {
            match event {
                ClientEvent::SessionLost { undelivered } => {
                    println!("  session lost: {} calls were not delivered", undelivered.len());
                    assert!(secs > 60 && heard == 0);
                }
                other => println!("  {other:?}"),
            }
        }
        assert_eq!(heard > 20, secs < 60, "a session survives a minute");
    }
}
