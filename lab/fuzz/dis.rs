//! DIS: any datagram of a network, and any file.

use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{Client, Server};
use fairpath::{LocalInstant, Span, Vec3};
use fairpath_dis::pdu::{EntityState, EntityStateUpdate, Pdu};
use fairpath_dis::stamp::{Instants, StampClock};
use fairpath_dis::{Event, Exchange, Fineness, Gateway, GatewayConfig, Monitor, Passing, Shot, capture, relay};
use fairpath_sim::{LinkConfig, SessionWorld};

fn at(us: i64) -> Instants {
    Instants { local: LocalInstant::from_micros(us), unix_us: us }
}

/// Any bytes are read or refused, as datagram, as file and as event. What is read can be written,
/// and is read again as the same.
pub fn pdus_are_read_or_refused(bytes: &[u8]) {
    let frame = Exchange::default().frame();
    let mut clock = StampClock::default();
    let mut monitor = Monitor::new(GatewayConfig::default());
    for (count, pdu) in (0..).zip(Pdu::split(bytes)) {
        let Ok(pdu) = pdu else { break };
        let _ = clock.place(pdu.stamp(), at(1_000_000 * count));
        let _ = pdu.body();
        let _ = EntityStateUpdate::read(pdu);
        let _ = Shot::read(&Event(pdu.bytes().to_vec()), &frame);
        let Ok(state) = EntityState::read(pdu, Default::default()) else { continue };
        let written = state.write(pdu.exercise(), pdu.stamp());
        let again = Pdu::split(&written).next().expect("one").expect("a header of ours");
        let again = EntityState::read(again, Default::default()).expect("a body of ours");
        assert_eq!((again.id, &again.look), (state.id, &state.look));
        assert_eq!(again.motion.position, state.motion.position);
        assert_eq!(again.motion.velocity, state.motion.velocity);
        assert!(again.motion.orientation.angle_to(state.motion.orientation) < 1e-3);
    }
    monitor.handle_datagram(bytes, at(0));
    monitor.handle_datagram(bytes, at(2_000_000));
    for entity in monitor.report(LocalInstant::from_micros(9_000_000)).entities {
        assert!(entity.error_max >= 0.0, "{entity:?}");
    }
    let _ = capture::read(bytes);
}

/// Two gateways of a session hear any datagrams, the second also what the first one says. No panic,
/// no more objects than entities, every object at a finite place.
pub fn gateways_survive(bytes: &[u8]) {
    let Some((settings, mut rest)) = bytes.split_first() else { return };
    let fineness = if settings & 1 == 0 { Fineness::Exact } else { Fineness::Compact };
    let passing = if settings & 2 == 0 { Passing::OneToOne } else { Passing::Triggered };
    let exchange = Exchange { fineness, ..Exchange::default() };
    let config = exchange.server_config(exchange.protocol(), 1);
    let server = Server::new(config, Box::new(Broadcast), Random::from_seed(1));
    let client = |seed| Client::new(exchange.client_config(exchange.protocol()), Random::from_seed(seed));
    let link = LinkConfig::default().delay(Span::from_millis(5));
    let mut world: SessionWorld<Vec3> = SessionWorld::new(1, link, server, vec![client(2), client(3)]);
    world.connect_all();
    let gateway = || Gateway::new(GatewayConfig { passing, entities_max: 8, ..GatewayConfig::default() }, &exchange);
    let mut gateways = [gateway(), gateway()];
    // A length of two bytes, then a datagram; a length of zero lets two seconds pass.
    for _ in 0..64 {
        let Some((length, after)) = rest.split_first_chunk::<2>() else { break };
        let length = usize::from(u16::from_le_bytes(*length)) % 512;
        let datagram = &after[..length.min(after.len())];
        rest = &after[datagram.len()..];
        let wait = if length == 0 { Span::from_secs(2) } else { Span::from_millis(20) };
        world.run_for(wait, |_, _| {});
        let mut said = Vec::new();
        for (index, gateway) in gateways.iter_mut().enumerate() {
            let unix_us = world.now().as_micros();
            let local = world.client_now(index).1;
            let (mut game, now) = (world.client_frame(index), Instants { local, unix_us });
            if index == 0 {
                gateway.handle_datagram(datagram, now, &mut game);
            }
            for bytes in said.drain(..) {
                let bytes: Vec<u8> = bytes;
                gateway.handle_datagram(&bytes, now, &mut game);
            }
            gateway.handle_frame(now, &mut game);
            said.extend(std::iter::from_fn(|| gateway.poll_datagram()));
        }
        let mut server = world.server_frame();
        while let Some(event) = server.poll_event() {
            relay(&event, &mut server);
        }
        assert!(server.objects().len() <= 16);
        for object in server.objects() {
            assert!(server.place(object).is_none_or(|state| state.is_finite()));
        }
    }
}
