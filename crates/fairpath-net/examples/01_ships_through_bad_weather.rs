//! Step 1: two clients on a bad network, which delays packets by 60 ms and loses every fifth.
//!
//! Each client owns a ship, and hails the owner of every ship that it sees. A middleman between
//! clients and server makes the network bad. The server refuses ships that claim to be too fast.
//! The next step plays without a server.
//!
//! `cargo run -p fairpath-net --features middleman --example 01_ships_through_bad_weather`

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use fairpath::motion::MotionKind;
use fairpath::schedule::Broadcast;
use fairpath::session::{
    Class, ClassId, Client, ClientConfig, ClientEvent, Delivery, Server, ServerConfig, SpeedCheck,
};
use fairpath::time::Span;
use fairpath::vector::Vec2;
use fairpath::{EntityId, Observation, State, Trigger};
use fairpath_net::middleman::{LinkConfig, Loss, Middleman, MiddlemanConfig};
use fairpath_net::{Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, Trust};

const SHIP: ClassId = ClassId(0);
const HAIL: u32 = 1;

/// A ship that flies circles of ten units, twenty units from the origin.
fn truth(side: f64, secs: f64) -> State<Vec2> {
    let ahead = Vec2::from_heading(secs);
    let position = Vec2::new(20.0 * side, 0.0) + ahead * 10.0;
    State::moving(position, ahead.perpendicular() * 10.0)
        .with_heading(secs + std::f64::consts::FRAC_PI_2, 1.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let classes = [(SHIP, Class::new(Trigger::within(0.1)).with_model(MotionKind::Circular))];
    let session = ServerConfig::new(classes.clone(), fairpath_net::new_epoch());
    let session = Server::<Vec2>::new(session, Box::new(Broadcast), fairpath_net::unguessable_random())
        .with_interceptor(SpeedCheck { speed_max: 15.0 });
    let any_port = "127.0.0.1:0".parse()?;
    let server = NetServer::bind(NetServerConfig::new(any_port, Identity::local(&[])?), session)?;

    let weather = LinkConfig::default().delay(Span::from_millis(60)).loss(Loss::each(0.2));
    let middleman =
        Middleman::start(MiddlemanConfig::between(any_port, server.address()).both_ways(weather))?;

    let join = || {
        let session =
            Client::<Vec2>::new(ClientConfig::new(classes.clone()), fairpath_net::unguessable_random());
        let config = NetClientConfig::new(Trust::Pinned(vec![server.fingerprint()]));
        NetClient::connect(middleman.address(), config, session)
    };
    let clients = [(-1.0, join()?), (1.0, join()?)];
    let mut ships: [Option<EntityId>; 2] = [None, None];
    let mut hailed = [false; 2];

    while hailed != [true, true] {
        for (index, (side, client)) in clients.iter().enumerate() {
            client.with_session(|session, now| -> Result<(), Box<dyn Error>> {
                while let Some(event) = session.poll_event() {
                    match event {
                        ClientEvent::Connected(_) => ships[index] = Some(session.create(SHIP, b"", now)?),
                        // The server forwards the call to the client that owns the ship.
                        ClientEvent::ObjectEntered { object, .. } => {
                            session.call_owner(object, HAIL, b"ahoy", Delivery::Quickest)?;
                        }
                        ClientEvent::Called { from, call, .. } => {
                            println!(
                                "client {index} receives {:?} from {from:?}",
                                String::from_utf8_lossy(call.bytes())
                            );
                            hailed[index] = true;
                        }
                        _ => {}
                    }
                }
                if let (Some(ship), Some(clock)) = (ships[index], session.clock_now(now)) {
                    let secs = (clock.shared.as_micros() % 1_000_000_000) as f64 / 1e6;
                    session.observe(ship, Observation::Moved(truth(*side, secs)), now)?;
                }
                Ok(())
            })?;
        }
        sleep(Duration::from_millis(16));
    }

    for (index, (_, client)) in clients.iter().enumerate() {
        let statistics = client.status().session;
        let other = ships[1 - index].expect("they have hailed each other");
        let placed = client.with_session(|session, now| session.place(other, now));
        println!(
            "client {index}: sent {} bytes in {} datagrams, lost {:.0} % of the received ones, places the other ship at {:?}",
            statistics.bytes_sent,
            statistics.datagrams_sent,
            100.0 * statistics.loss_ratio(),
            placed.map(|state| state.position),
        );
    }
    Ok(())
}
