//! Typed states of the owner and of the server, calls of two delivery classes, and a ball that
//! changes owners.
//!
//! `cargo run -p fairpath-sim --example 03_state_and_calls`

use fairpath::prelude::*;
use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{Client, ClientConfig, ObjectError, Server, ServerConfig};
use fairpath_sim::{LinkConfig, Loss, SessionWorld};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Tank {
    name: String,
}
#[derive(Serialize, Deserialize)]
struct Ball;
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Ammo(u8);
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Score(u32);
#[derive(Serialize, Deserialize)]
struct Fire;
#[derive(Serialize, Deserialize)]
struct Chat(String);

fn game() -> Protocol<Vec2> {
    // The owner of a tank counts its ammunition, the server its score.
    let tank = Class::within(0.3).at_most(1).state::<Ammo>("ammo").server_state::<Score>("score");
    Protocol::new("tanks", 1)
        .class::<Tank>("tank", tank)
        .class::<Ball>("ball", Class::within(0.1).claimable().outlives_owner())
        // Repeated in every packet until the receiver confirms it.
        .call::<Fire>("fire", Delivery::Quickest)
        // Exactly once and in order, across lost connections.
        .call::<Chat>("chat", Delivery::ReliableOrdered)
}

pub(crate) fn main() {
    let server = Server::new(ServerConfig::new(game(), 1), Box::new(Broadcast), Random::from_seed(1));
    let client = |seed| Client::new(ClientConfig::new(game()), Random::from_seed(seed));
    let link = LinkConfig::default().delay(Span::from_millis(50)).loss(Loss::each(0.2));
    let mut world = SessionWorld::new(3, link, server, vec![client(2), client(3)]);
    world.connect_all();

    let mut anna = world.client_frame(0);
    let parked = State::moving(Vec2::new(-5.0, 0.0), Vec2::ZERO);
    let tank = anna.create(&Tank { name: "Anna".into() }, parked, anna.now()).expect("connected");
    // Sent when it changes, and only its newest value, until every viewer has it.
    for ammo in (0..=30u8).rev() {
        world.client_frame(0).set(tank, &Ammo(ammo)).expect("her own");
        world.run_for(Span::from_millis(30), |_, _| {});
    }
    world.client_frame(0).call_viewers(tank, &Fire).expect("her own");
    world.client_frame(0).call_server(&Chat("good game".into())).expect("room");
    let boast = world.client_frame(0).set(tank, &Score(99));
    assert_eq!(boast, Err(ObjectError::NotYourGroup(tank, 1)), "the server counts");

    let mut referee = world.server_frame();
    referee.set(tank, &Score(1)).expect("the server's state");
    let rest = State::moving(Vec2::new(3.0, 4.0), Vec2::ZERO);
    let ball = referee.create(&Ball, rest, referee.now()).expect("room");
    world.run_for(Span::from_secs(2), |_, _| {});
    // Both clients claim the ball. One gets it, and the other is refused.
    world.client_frame(0).claim(ball).expect("seen");
    world.client_frame(1).claim(ball).expect("seen");
    world.run_for(Span::from_secs(2), |_, _| {});

    let mut bert = world.client_frame(1);
    while let Some(event) = bert.poll_event() {
        match event {
            ClientEvent::ObjectEntered { object, owner, creation, .. } => match creation.get() {
                Some(Tank { name }) => println!("Bert: the tank of {name} enters, owned by {owner:?}"),
                None => println!("Bert: {object:?} enters, owned by {owner:?}"),
            },
            ClientEvent::StateChanged { value, .. } => {
                if let Some(Score(points)) = value.get() {
                    println!("Bert: Anna has {points} points");
                }
            }
            ClientEvent::Called { call, .. } if call.is::<Fire>() => println!("Bert hears a shot"),
            other => println!("Bert: {other:?}"),
        }
    }
    println!("Bert sees {:?} and {:?}", bert.get::<Ammo>(tank), bert.get::<Score>(tank));
    assert_eq!((bert.get(tank), bert.get(tank)), (Some(Ammo(0)), Some(Score(1))));
    let chats = std::iter::from_fn(|| world.server.poll_event()).filter_map(|event| match event {
        ServerEvent::Called { call, .. } => call.get::<Chat>(),
        _ => None,
    });
    chats.for_each(|Chat(text)| println!("the server reads {text:?}"));
    let owner = world.server.owner(ball).expect("it exists");
    println!("the ball is with {owner:?}");
    assert!(matches!(owner, Party::Client(_)));
    assert_eq!(world.client(0).owner(ball), world.client(1).owner(ball));
}
