//! State groups, calls of two delivery classes, and a ball that changes owners.
//!
//! `cargo run -p fairpath-sim --example 03_state_and_calls`

use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{
    Class, ClassId, Client, ClientConfig, ClientEvent, Delivery, Party, Server, ServerConfig,
};
use fairpath::{Observation, Span, State, Trigger, Vec2, Vector};
use fairpath_sim::{LinkConfig, Loss, SessionWorld};

const TANK: ClassId = ClassId(1);
const BALL: ClassId = ClassId(2);
const AMMO: u8 = 0;
const FIRE: u32 = 1;
const CHAT: u32 = 2;

pub(crate) fn main() {
    let classes = || {
        let ball = Class::new(Trigger::within(0.1)).claimable().outlives_owner();
        [(TANK, Class::new(Trigger::within(0.3)).at_most(1)), (BALL, ball)]
    };
    let server = Server::new(ServerConfig::new(classes(), 1), Box::new(Broadcast), Random::from_seed(1));
    let client = |seed| Client::new(ClientConfig::new(classes()), Random::from_seed(seed));
    let link = LinkConfig::default().delay(Span::from_millis(50)).loss(Loss::each(0.2));
    let mut world: SessionWorld<Vec2> = SessionWorld::new(3, link, server, vec![client(2), client(3)]);
    world.connect_all();

    let (anna, now) = world.client_now(0);
    let parked = State::moving(Vec2::new(-5.0, 0.0), Vec2::ZERO);
    let tank = anna.create_at(TANK, b"Anna", Some(parked), now, now).expect("connected");
    // Sent when it changes, and only its newest value, until every viewer has it.
    for ammo in (0..=30u8).rev() {
        world.client(0).set_state(tank, AMMO, &[ammo]).expect("her own");
        world.run_for(Span::from_millis(30), |_, _| {});
    }
    // Repeated in every packet until the receiver confirms it.
    world.client(0).call_viewers(tank, FIRE, b"bang", Delivery::Quickest).expect("her own");
    // Exactly once and in order, across lost connections.
    world.client(0).call_server(CHAT, b"good game", Delivery::ReliableOrdered).expect("room");
    let ball = world.server.create(BALL, b"", world.now()).expect("room");
    let now = world.now();
    let rest = Observation::Moved(State::moving(Vec2::new(3.0, 4.0), Vec2::ZERO));
    world.server.observe(ball, rest, now).expect("its own");
    world.run_for(Span::from_secs(2), |_, _| {});
    // Both clients claim the ball. One gets it, and the other is refused.
    world.client(0).claim(ball).expect("seen");
    world.client(1).claim(ball).expect("seen");
    world.run_for(Span::from_secs(2), |_, _| {});

    while let Some(event) = world.client(1).poll_event() {
        match event {
            ClientEvent::StateChanged { .. } => {}
            ClientEvent::Called { call, .. } => {
                println!("Bert hears {}", String::from_utf8_lossy(call.bytes()))
            }
            other => println!("Bert: {other:?}"),
        }
    }
    println!("Bert sees {:?} rounds left", world.client(1).state(tank, AMMO));
    assert_eq!(world.client(1).state(tank, AMMO), Some(&[0][..]));
    let owner = world.server.owner(ball).expect("it exists");
    println!("the ball is with {owner:?}");
    assert!(matches!(owner, Party::Client(_)));
    assert_eq!(world.client(0).owner(ball), world.client(1).owner(ball));
}
