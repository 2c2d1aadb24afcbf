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

use fairpath::schedule::Broadcast;
use fairpath::session::{
    Class, ClassId, Client, ClientConfig, ClientEvent, Server, ServerConfig, SpeedCheck,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::{EntityId, Observation, State, Trigger};
use fairpath_net::middleman::{LinkConfig, Middleman, MiddlemanConfig};
use fairpath_net::{Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, Trust};

const SHIP: ClassId = ClassId(0);

/// Ann flies back and forth at ten units per second, and turns every half second.
fn truth(now: SharedInstant) -> State<Vec2> {
    let secs = now.as_micros().rem_euclid(1_000_000) as f64 / 1e6;
    let speed = if secs < 0.5 { 10.0 } else { -10.0 };
    let x = if secs < 0.5 { 10.0 * secs } else { 10.0 - 10.0 * secs };
    State::moving(Vec2::new(x, 0.0), Vec2::new(speed, 0.0))
}

fn main() -> Result<(), Box<dyn Error>> {
    let classes = [(SHIP, Class::new(Trigger::within(0.1)))];
    let session = ServerConfig::new(classes.clone(), fairpath_net::new_epoch());
    let session = Server::<Vec2>::new(session, Box::new(Broadcast), fairpath_net::unguessable_random())
        .with_interceptor(SpeedCheck { speed_max: 15.0 });
    let any_port = "127.0.0.1:0".parse()?;
    let server = NetServer::bind(NetServerConfig::new(any_port, Identity::local(&[])?), session)?;
    let far = LinkConfig::default().delay(Span::from_millis(100));
    let middleman = Middleman::start(MiddlemanConfig::between(any_port, server.address()).both_ways(far))?;

    let join = || {
        let session =
            Client::<Vec2>::new(ClientConfig::new(classes.clone()), fairpath_net::unguessable_random());
        let config = NetClientConfig::new(Trust::Pinned(vec![server.fingerprint()]));
        NetClient::connect(middleman.address(), config, session)
    };
    let (ann, bob) = (join()?, join()?);
    let (mut anns, mut bobs) = (None::<EntityId>, None::<EntityId>);
    let mut relayed = 0;
    let mut newest = None;
    let mut is_refused = false;

    while !is_refused {
        // Ann observes her ship; an update leaves whenever she turns.
        ann.with_session(|session, now| -> Result<(), Box<dyn Error>> {
            if anns.is_none() && session.is_connected() {
                anns = Some(session.create(SHIP, b"Ann", now)?);
            }
            if let (Some(ship), Some(clock)) = (anns, session.clock_now(now)) {
                let truth = truth(clock.shared);
                session.observe(ship, Observation::Moved(truth), now)?;
            }
            Ok(())
        })?;
        bob.with_session(|session, now| -> Result<(), Box<dyn Error>> {
            while let Some(event) = session.poll_event() {
                if let ClientEvent::Refused { refusal, .. } = event {
                    println!("the server refuses Bob's update: {refusal}");
                    is_refused = true;
                }
            }
            let (Some(ship), Some(clock)) = (anns, session.clock_now(now)) else { return Ok(()) };
            if let (Some(followed), Some(placed)) =
                (session.followed(ship).copied(), session.place(ship, now))
                && newest.replace(followed.generated_at) != Some(followed.generated_at)
            {
                let age = clock.shared - followed.generated_at;
                let stated = followed.position_at(clock.shared);
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
            if bobs.is_none() {
                bobs = Some(session.create(SHIP, b"Bob", now)?);
            }
            let truth = State::moving(Vec2::new(0.0, 50.0), Vec2::new(1000.0, 0.0));
            session.observe(bobs.expect("just made"), Observation::Moved(truth), now)?;
            Ok(())
        })?;
        sleep(Duration::from_millis(16));
    }
    let seen = bobs.and_then(|ship| ann.with_session(|session, now| session.place(ship, now)));
    println!("the speed at which Ann sees Bob: {:?}", seen.map(|state| state.velocity.x));
    Ok(())
}
