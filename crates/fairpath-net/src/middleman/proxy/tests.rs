//! Goal: the middleman decides as the simulator does, and its memory is bounded. Method: the proxy
//! alone in virtual time, without sockets and clock.

use fairpath::time::Span;
use fairpath_sim::Loss;

use super::*;

const UP: Direction = Direction::Up;

fn proxy(link: LinkConfig, bounds: Bounds) -> Proxy {
    let nowhere: SocketAddr = "127.0.0.1:9".parse().unwrap();
    Proxy::new(&MiddlemanConfig::between(nowhere, nowhere).both_ways(link).seed(7).bounds(bounds))
}

fn address(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

fn at(millis: i64) -> SharedInstant {
    SharedInstant::from_millis(millis)
}

/// Everything that leaves by `now`, as (client, first byte, milliseconds it took).
fn leave(proxy: &mut Proxy, now: SharedInstant) -> Vec<(u32, u8, i64)> {
    let mut left = Vec::new();
    while let Some(due) = proxy.poll_deadline().filter(|due| *due <= now) {
        let packet = proxy.poll_packet(due).expect("one is due");
        proxy.on_left(&packet, due, true);
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
    let mut proxy = proxy(link.clone(), Bounds::default());
    for nth in 1..=2 {
        let client = proxy.admit(at(0), address(nth));
        let mut simulated = LinkModel::new(link.clone(), link_random(7, client, UP));
        let mut expected = Vec::new();
        for index in 0..200u8 {
            let now = at(i64::from(nth) * 10_000 + i64::from(index) * 16);
            expected.extend(simulated.send(now, 1).arrivals().map(|arrives| (arrives, index)));
            proxy.handle_packet(now, client, UP, &[index]);
        }
        expected.sort_by_key(|(arrives, _)| *arrives);
        let mut left = Vec::new();
        while let Some(due) = proxy.poll_deadline() {
            let packet = proxy.poll_packet(due).expect("one is due");
            proxy.on_left(&packet, due, true);
            left.push((due, packet.bytes[0]));
        }
        assert_eq!(left, expected);
        let statistics = proxy.statistics(at(99_999)).clients.pop().expect("there is a client");
        assert_eq!(&statistics.up.link, simulated.statistics());
        assert_eq!(statistics.up.measured.max(), simulated.statistics().delays.max(), "copies do not count");
        assert_eq!(statistics.up.late.max(), Some(Span::ZERO));
    }
}

#[test]
fn waiting_packets_and_bytes_are_bounded() {
    let link = LinkConfig::default().delay(Span::from_millis(100)).duplicate_ratio(1.0);
    let bounds = Bounds { waiting_packets_max: 6, waiting_bytes_max: 100, ..Bounds::default() };
    let mut proxy = proxy(link, bounds);
    let client = proxy.admit(at(0), address(1));
    for _ in 0..10 {
        proxy.handle_packet(at(0), client, UP, &[1]);
    }
    let up = proxy.statistics(at(0)).clients[0].up.clone();
    assert_eq!((up.waiting, up.overflowed, up.link.lost.queue_full), (6, 7, 7), "three and their copies");
    assert_eq!(leave(&mut proxy, at(100)).len(), 6);
    for _ in 0..3 {
        proxy.handle_packet(at(200), client, UP, &[2; 30]);
    }
    let up = proxy.statistics(at(200)).clients[0].up.clone();
    assert_eq!((up.waiting, up.overflowed), (2, 9), "two more of 30 bytes are more than 100");
}

#[test]
fn a_full_middleman_refuses_newcomers_and_forgets_idle_clients() {
    let bounds = Bounds { clients_max: 2, idle_after: Span::from_secs(10), ..Bounds::default() };
    let mut proxy = proxy(LinkConfig::default().delay(Span::from_secs(5)), bounds);
    let first = proxy.admit(at(0), address(1));
    let second = proxy.admit(at(0), address(2));
    assert!(!proxy.has_room());
    proxy.handle_packet(at(6_000), second, UP, &[0]);
    assert_eq!(proxy.forget_idle(at(9_999)), Vec::<u32>::new());
    assert_eq!(proxy.forget_idle(at(10_000)), [first]);
    assert_eq!((proxy.client_at(address(1)), proxy.has_room()), (None, true));
    assert_eq!(proxy.forget_idle(at(20_000)), Vec::<u32>::new(), "its packet is still on its way");
    leave(&mut proxy, at(20_000));
    assert_eq!(proxy.forget_idle(at(20_000)), [second]);
    let again = proxy.admit(at(21_000), address(1));
    assert_eq!(again, 3, "a forgotten client is new");
    let listed: Vec<_> = proxy.statistics(at(21_000)).clients.iter().map(|c| (c.nth, c.is_gone)).collect();
    assert_eq!(listed, [(1, true), (2, true), (3, false)]);
}

#[test]
fn the_list_of_forgotten_clients_is_bounded() {
    let bounds = Bounds { idle_after: Span::from_secs(1), ..Bounds::default() };
    let mut proxy = proxy(LinkConfig::default(), bounds);
    for round in 0..FORGOTTEN_CLIENTS_MAX as i64 + 10 {
        proxy.admit(at(round * 1000), address(1));
        proxy.forget_idle(at((round + 1) * 1000));
    }
    let statistics = proxy.statistics(at(0));
    assert_eq!((statistics.clients.len(), statistics.clients_unlisted), (FORGOTTEN_CLIENTS_MAX, 10));
}

#[test]
fn a_change_reaches_current_and_later_clients_but_not_packets_in_flight() {
    let mut proxy = proxy(LinkConfig::default().delay(Span::from_millis(10)), Bounds::default());
    let first = proxy.admit(at(0), address(1));
    proxy.handle_packet(at(0), first, UP, &[0]);
    let slow = |link: &mut LinkConfig| link.delay = Span::from_millis(300);
    assert_eq!(proxy.change(ClientSelector::All, Directions::Both, slow), Ok(1));
    assert_eq!(
        proxy.change(ClientSelector::Nth(3), Directions::Up, |link| link.loss = Loss::each(1.0)),
        Ok(0)
    );
    let second = proxy.admit(at(0), address(2));
    let third = proxy.admit(at(0), address(3));
    for client in [first, second, third] {
        proxy.handle_packet(at(1), client, UP, &[1]);
    }
    assert_eq!(leave(&mut proxy, at(1_000)), [(first, 0, 10), (first, 1, 300), (second, 1, 300)]);
    let refused =
        proxy.change(ClientSelector::All, Directions::Both, |link| link.delay = Span::from_secs(-1));
    assert!(refused.is_err());
    proxy.handle_packet(at(2_000), first, UP, &[2]);
    assert_eq!(leave(&mut proxy, at(3_000)), [(first, 2, 300)], "a bad change changes nothing");
}

#[test]
fn a_clock_read_twice_does_not_run_backwards() {
    let mut proxy = proxy(LinkConfig::default(), Bounds::default());
    let client = proxy.admit(at(5), address(1));
    proxy.handle_packet(at(6), client, UP, &[0]);
    proxy.handle_packet(at(5), client, UP, &[1]);
    assert_eq!(leave(&mut proxy, at(10)).len(), 2);
}
