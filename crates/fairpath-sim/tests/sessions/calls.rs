//! Goal: calls go where they should, as their delivery class promises. Method: everybody calls
//! everybody over a link that loses three packets in ten.

use fairpath::session::limits::OUTBOX_BYTES_MAX;
use fairpath::session::{CallError, ClientEvent, Delivery, Party, Refusal, ServerEvent, Target};
use fairpath::time::Span;
use fairpath_sim::{Fault, LinkConfig, Loss, PeerId};

use super::arena::{client_events, fly, idle, launch, server_events, world};

const EVERY_CLASS: [Delivery; 5] = [
    Delivery::ReliableOrdered,
    Delivery::ReliableUnordered,
    Delivery::Unreliable,
    Delivery::Newest,
    Delivery::Quickest,
];

fn lossy() -> LinkConfig {
    LinkConfig::default().delay(Span::from_millis(40)).loss(Loss::each(0.3)).duplicate_ratio(0.2)
}

fn methods(events: &[ClientEvent]) -> Vec<u32> {
    let method = |event: &ClientEvent| match event {
        ClientEvent::Called { method, .. } => Some(*method),
        _ => None,
    };
    events.iter().filter_map(method).collect()
}

#[test]
fn each_delivery_class_keeps_its_promise() {
    for delivery in EVERY_CLASS {
        let mut world = world(1, lossy(), 1);
        world.connect_all();
        let client = world.client(0).id().expect("connected");
        client_events(&mut world, 0);
        let mut heard = Vec::new();
        for number in 0..60u32 {
            // Newest-state calls replace each other by method: all the same one, told apart by
            // their bytes.
            let method = if delivery == Delivery::Newest { 1 } else { number };
            world.server.call_client(client, method, &number.to_le_bytes(), delivery).expect("room");
            world.run_for(Span::from_millis(100), idle);
            heard.extend(client_events(&mut world, 0));
        }
        world.run_for(Span::from_secs(3), idle);
        heard.extend(client_events(&mut world, 0));
        let numbers: Vec<u32> = heard
            .iter()
            .filter_map(|event| match event {
                ClientEvent::Called { call, .. } => Some(u32::from_le_bytes(call.bytes().try_into().ok()?)),
                _ => None,
            })
            .collect();
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), numbers.len(), "{delivery:?}: none comes twice");
        let all: Vec<u32> = (0..60).collect();
        match delivery {
            Delivery::ReliableOrdered => assert_eq!(numbers, all),
            Delivery::ReliableUnordered | Delivery::Quickest => assert_eq!(sorted, all, "{delivery:?}"),
            Delivery::Unreliable => assert!((20..60).contains(&numbers.len()), "some are lost: {numbers:?}"),
            Delivery::Newest => {
                assert_eq!(numbers, sorted, "never an older one after a newer one");
                assert_eq!(numbers.last(), Some(&59));
            }
        }
    }
}

#[test]
fn quickest_is_quicker_than_ordered_on_a_bad_link() {
    let mut delays = Vec::new();
    for delivery in [Delivery::Quickest, Delivery::ReliableOrdered] {
        let mut world = world(2, lossy(), 1);
        world.connect_all();
        let client = world.client(0).id().expect("connected");
        let mut total = Span::ZERO;
        for number in 0..40 {
            let called_at = world.now();
            world.server.call_client(client, number, b"", delivery).expect("room");
            let mut heard_at = None;
            world.run_for(Span::from_secs(2), |world, now| {
                let heard = methods(&client_events(world, 0)).contains(&number);
                heard_at = heard_at.or_else(|| heard.then_some(now));
            });
            total += heard_at.expect("it arrives") - called_at;
        }
        delays.push(total.as_millis_f64() / 40.0);
    }
    assert!(delays[0] < 80.0 && 1.5 * delays[0] < delays[1], "{delays:?} ms");
}

#[test]
fn calls_on_objects_reach_the_owner_or_all_who_see_it() {
    for delivery in
        [Delivery::ReliableOrdered, Delivery::ReliableUnordered, Delivery::Quickest, Delivery::Newest]
    {
        let mut world = world(4, lossy(), 3);
        let ships = launch(&mut world);
        world.run_for(Span::from_secs(2), |world, now| fly(world, &ships, now));
        for index in 0..3 {
            client_events(&mut world, index);
        }
        server_events(&mut world);
        world.client(1).call_owner(ships[0], 1, b"hit", delivery).expect("seen");
        world.client(0).call_viewers(ships[0], 2, b"boom", delivery).expect("its own");
        world.server.call_owner(ships[0], 3, b"heal", delivery).expect("room");
        assert_eq!(world.server.call_viewers(ships[0], 4, b"flash", delivery), Ok(vec![]));
        assert!(world.client(1).call_viewers(ships[0], 5, b"", delivery).is_err(), "only for its owner");
        world.run_for(Span::from_secs(3), |world, now| fly(world, &ships, now));

        let callers = [1, 2].map(|index| Party::Client(world.client(index - 1).id().expect("connected")));
        let called = |from, target, method, bytes: &[u8]| ClientEvent::Called {
            from,
            target,
            method,
            call: bytes.to_vec().into(),
        };
        let (owner, viewers) = (Target::Owner(ships[0]), Target::Viewers(ships[0]));
        let at_owner = client_events(&mut world, 0);
        assert!(at_owner.contains(&called(callers[1], owner, 1, b"hit")), "{delivery:?} {at_owner:?}");
        assert!(at_owner.contains(&called(Party::Server, owner, 3, b"heal")));
        assert_eq!(methods(&at_owner).len(), 2, "nobody calls it back: {at_owner:?}");
        for index in [1, 2] {
            let events = client_events(&mut world, index);
            assert!(events.contains(&called(callers[0], viewers, 2, b"boom")), "{delivery:?} {events:?}");
            assert!(events.contains(&called(Party::Server, viewers, 4, b"flash")));
            assert_eq!(methods(&events).len(), 2);
        }
        let at_server = server_events(&mut world);
        let boom = |event: &ServerEvent| matches!(event, ServerEvent::Called { method: 2, .. });
        assert!(at_server.iter().any(boom), "the server sees all there is");
    }
}

#[test]
fn a_call_on_what_is_gone_is_refused() {
    let mut world = world(6, LinkConfig::default().delay(Span::from_millis(80)), 2);
    let ships = launch(&mut world);
    world.run_for(Span::from_secs(1), |world, now| fly(world, &ships, now));
    world.server.destroy(ships[0]).expect("it exists");
    world.client(1).call_owner(ships[0], 1, b"", Delivery::ReliableOrdered).expect("it does not know yet");
    world.run_for(Span::from_secs(1), idle);
    let refused = ClientEvent::Refused { object: ships[0], refusal: Refusal::UnknownObject };
    assert!(client_events(&mut world, 1).contains(&refused));
}

#[test]
fn a_full_outbox_says_so_and_keeps_what_it_took() {
    let mut world = world(8, LinkConfig::default().delay(Span::from_millis(40)), 1);
    world.connect_all();
    let client = world.client(0).id().expect("connected");
    client_events(&mut world, 0);
    world.network.inject(Fault::Isolate(PeerId(1)));
    let mut taken = 0;
    let refused = loop {
        match world.server.call_client(client, taken, &[7; 1_000], Delivery::ReliableOrdered) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refused, CallError::Full);
    assert!((200..OUTBOX_BYTES_MAX as u32 / 1_000).contains(&taken), "{taken} of a kilobyte each");
    world.run_for(Span::from_secs(20), idle);
    world.network.inject(Fault::Rejoin(PeerId(1)));
    world.run_for(Span::from_secs(10), idle);
    assert_eq!(methods(&client_events(&mut world, 0)), (0..taken).collect::<Vec<_>>());
}
