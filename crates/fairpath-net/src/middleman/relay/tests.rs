//! Goal: the middleman decides as the simulator does, and everything it holds has an end. Method:
//! no sockets and no clock, the relay alone in virtual time.

use fairpath::time::Span;
use fairpath_sim::Loss;

use super::*;

const UP: Direction = Direction::Up;

fn relay(link: LinkConfig, bounds: Bounds) -> Relay {
    let nowhere: SocketAddr = "127.0.0.1:9".parse().unwrap();
    Relay::new(&MiddlemanConfig::between(nowhere, nowhere).both_ways(link).seed(7).bounds(bounds))
}

fn address(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

fn at(millis: i64) -> SharedInstant {
    SharedInstant::from_millis(millis)
}

/// Everything that leaves by `now`, as (client, first byte, milliseconds it took).
fn leave(relay: &mut Relay, now: SharedInstant) -> Vec<(u32, u8, i64)> {
    let mut left = Vec::new();
    while let Some(due) = relay.poll_deadline().filter(|due| *due <= now) {
        let packet = relay.poll_packet(due).expect("one is due");
        relay.on_left(&packet, due, true);
        left.push((packet.client, packet.bytes[0], (due - packet.received_at).as_micros() / 1000));
    }
    left
}

#[test]
fn it_decides_as_the_simulator_does() {
    let link = LinkConfig::default()
        .delay(Span::from_millis(40))
        .jitter_normal(Span::from_millis(15))
        .loss(Loss::bursts(0.2, 3.0))
        .duplicate_ratio(0.2)
        .reorder(0.1, Span::from_millis(50));
    let mut relay = relay(link.clone(), Bounds::default());
    for nth in 1..=2 {
        let client = relay.admit(at(0), address(nth));
        let mut simulated = LinkModel::new(link.clone(), dice(7, client, UP));
        let mut expected = Vec::new();
        for index in 0..200u8 {
            let now = at(i64::from(nth) * 10_000 + i64::from(index) * 16);
            expected.extend(simulated.send(now, 1).arrivals().map(|arrives| (arrives, index)));
            relay.handle_packet(now, client, UP, &[index]);
        }
        expected.sort_by_key(|(arrives, _)| *arrives);
        let mut left = Vec::new();
        while let Some(due) = relay.poll_deadline() {
            let packet = relay.poll_packet(due).expect("one is due");
            relay.on_left(&packet, due, true);
            left.push((due, packet.bytes[0]));
        }
        assert_eq!(left, expected);
        let statistics = relay.statistics(at(99_999)).clients.pop().expect("there is a client");
        assert_eq!(&statistics.up.link, simulated.statistics());
        assert_eq!(statistics.up.measured.max(), simulated.statistics().delays.max(), "copies do not count");
        assert_eq!(statistics.up.late.max(), Some(Span::ZERO));
    }
}

#[test]
fn what_waits_has_an_end_in_packets_and_in_bytes() {
    let link = LinkConfig::default().delay(Span::from_millis(100)).duplicate_ratio(1.0);
    let bounds = Bounds { waiting_packets_max: 6, waiting_bytes_max: 100, ..Bounds::default() };
    let mut relay = relay(link, bounds);
    let client = relay.admit(at(0), address(1));
    for _ in 0..10 {
        relay.handle_packet(at(0), client, UP, &[1]);
    }
    let up = relay.statistics(at(0)).clients[0].up.clone();
    assert_eq!((up.waiting, up.overflowed, up.link.lost.queue_full), (6, 7, 7), "three and their copies");
    assert_eq!(leave(&mut relay, at(100)).len(), 6);
    for _ in 0..3 {
        relay.handle_packet(at(200), client, UP, &[2; 30]);
    }
    let up = relay.statistics(at(200)).clients[0].up.clone();
    assert_eq!((up.waiting, up.overflowed), (2, 9), "two more of 30 bytes are more than 100");
}

#[test]
fn strangers_are_refused_when_it_is_full_and_the_idle_make_room() {
    let bounds = Bounds { clients_max: 2, idle_after: Span::from_secs(10), ..Bounds::default() };
    let mut relay = relay(LinkConfig::default().delay(Span::from_secs(5)), bounds);
    let first = relay.admit(at(0), address(1));
    let second = relay.admit(at(0), address(2));
    assert!(!relay.has_room());
    relay.handle_packet(at(6_000), second, UP, &[0]);
    assert_eq!(relay.forget_idle(at(9_999)), Vec::<u32>::new());
    assert_eq!(relay.forget_idle(at(10_000)), [first]);
    assert_eq!((relay.client_at(address(1)), relay.has_room()), (None, true));
    assert_eq!(relay.forget_idle(at(20_000)), Vec::<u32>::new(), "its packet is still on its way");
    leave(&mut relay, at(20_000));
    assert_eq!(relay.forget_idle(at(20_000)), [second]);
    let again = relay.admit(at(21_000), address(1));
    assert_eq!(again, 3, "who was forgotten is new");
    let listed: Vec<_> = relay.statistics(at(21_000)).clients.iter().map(|c| (c.nth, c.is_gone)).collect();
    assert_eq!(listed, [(1, true), (2, true), (3, false)]);
}

#[test]
fn the_list_of_those_who_went_has_an_end() {
    let bounds = Bounds { idle_after: Span::from_secs(1), ..Bounds::default() };
    let mut relay = relay(LinkConfig::default(), bounds);
    for round in 0..GONE_MAX as i64 + 10 {
        relay.admit(at(round * 1000), address(1));
        relay.forget_idle(at((round + 1) * 1000));
    }
    let statistics = relay.statistics(at(0));
    assert_eq!((statistics.clients.len(), statistics.clients_unlisted), (GONE_MAX, 10));
}

#[test]
fn a_change_reaches_who_is_there_and_who_comes_but_not_what_is_on_its_way() {
    let mut relay = relay(LinkConfig::default().delay(Span::from_millis(10)), Bounds::default());
    let first = relay.admit(at(0), address(1));
    relay.handle_packet(at(0), first, UP, &[0]);
    let slow = |link: &mut LinkConfig| link.delay = Span::from_millis(300);
    assert_eq!(relay.change(ClientSelector::Everyone, Directions::Both, slow), Ok(1));
    assert_eq!(
        relay.change(ClientSelector::Nth(3), Directions::Up, |link| link.loss = Loss::each(1.0)),
        Ok(0)
    );
    let second = relay.admit(at(0), address(2));
    let third = relay.admit(at(0), address(3));
    for client in [first, second, third] {
        relay.handle_packet(at(1), client, UP, &[1]);
    }
    assert_eq!(leave(&mut relay, at(1_000)), [(first, 0, 10), (first, 1, 300), (second, 1, 300)]);
    let refused =
        relay.change(ClientSelector::Everyone, Directions::Both, |link| link.delay = Span::from_secs(-1));
    assert!(refused.is_err());
    relay.handle_packet(at(2_000), first, UP, &[2]);
    assert_eq!(leave(&mut relay, at(3_000)), [(first, 2, 300)], "a bad change changes nothing");
}

#[test]
fn a_clock_read_twice_does_not_run_backwards() {
    let mut relay = relay(LinkConfig::default(), Bounds::default());
    let client = relay.admit(at(5), address(1));
    relay.handle_packet(at(6), client, UP, &[0]);
    relay.handle_packet(at(5), client, UP, &[1]);
    assert_eq!(leave(&mut relay, at(10)).len(), 2);
}
