//! Goal: whoever sleeps until the deadline misses nothing and is not woken for nothing. Method: a
//! run loop without ticks, that does something only when something arrives or a deadline has come.

use std::collections::VecDeque;

use fairpath::session::{Client, ConnectionId, Server, Token};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, State};

use super::arena::{BALL, client, server};

const WAY: Span = Span::from_millis(20);

enum Packet {
    Stream(Vec<u8>),
    Datagram(Vec<u8>),
}

/// One server, one client, a link that loses nothing, and no clock that ticks.
struct Pair {
    now: SharedInstant,
    server: Server<Vec2>,
    client: Client<Vec2>,
    id: ConnectionId,
    to_server: VecDeque<(SharedInstant, Packet)>,
    to_client: VecDeque<(SharedInstant, Packet)>,
    wakes: u32,
}

impl Pair {
    fn new() -> Self {
        let now = SharedInstant::from_millis(1_000);
        let (mut server, mut client) = (server(1), client(0));
        let id = server.handle_connected(Token([3; 16]), now).expect("room");
        client.handle_connected(local(now));
        Self { now, server, client, id, to_server: VecDeque::new(), to_client: VecDeque::new(), wakes: 0 }
    }

    fn run_until(&mut self, until: SharedInstant) {
        loop {
            self.pump();
            let next = [
                self.to_server.front().map(|(at, _)| *at),
                self.to_client.front().map(|(at, _)| *at),
                self.server.poll_deadline(self.now),
                self.client.poll_deadline(local(self.now)).map(|at| SharedInstant::ZERO + at.since_zero()),
            ];
            let next = next.into_iter().flatten().min().unwrap_or(until).max(self.now);
            if next > until {
                self.now = until;
                return;
            }
            self.wakes += 1;
            assert!(self.wakes < 100_000, "it spins at {:?}", self.now);
            self.now = next;
            self.deliver();
            self.server.handle_timeout(self.now);
            self.client.handle_timeout(local(self.now));
        }
    }

    fn pump(&mut self) {
        let (now, local) = (self.now, local(self.now));
        while let Some(bytes) = self.client.poll_stream(local) {
            self.to_server.push_back((now + WAY, Packet::Stream(bytes)));
        }
        while let Some(bytes) = self.client.poll_datagram(local, 1_150) {
            self.to_server.push_back((now + WAY, Packet::Datagram(bytes)));
        }
        while let Some(bytes) = self.server.poll_stream(self.id, now) {
            self.to_client.push_back((now + WAY, Packet::Stream(bytes)));
        }
        while let Some(bytes) = self.server.poll_datagram(self.id, now, 1_150) {
            self.to_client.push_back((now + WAY, Packet::Datagram(bytes)));
        }
    }

    fn deliver(&mut self) {
        while let Some((_, packet)) = self.to_server.pop_front_if(|(at, _)| *at <= self.now) {
            match packet {
                Packet::Stream(bytes) => self.server.handle_stream(self.id, &bytes, self.now),
                Packet::Datagram(bytes) => {
                    self.server.handle_datagram(self.id, &bytes, self.now);
                }
            }
        }
        while let Some((_, packet)) = self.to_client.pop_front_if(|(at, _)| *at <= self.now) {
            match packet {
                Packet::Stream(bytes) => self.client.handle_stream(&bytes, local(self.now)),
                Packet::Datagram(bytes) => self.client.handle_datagram(&bytes, local(self.now)),
            }
        }
    }
}

fn local(now: SharedInstant) -> LocalInstant {
    LocalInstant::ZERO + now.since_zero()
}

#[test]
fn an_idle_session_wakes_a_few_times_a_second() {
    let mut pair = Pair::new();
    pair.run_until(SharedInstant::from_millis(5_000));
    assert!(pair.client.is_connected());
    pair.wakes = 0;
    pair.run_until(SharedInstant::from_millis(15_000));
    assert!(pair.client.is_connected(), "and it stays connected");
    // One clock exchange a second: asked, arrived, answered.
    assert!(pair.wakes < 60, "{} times in ten seconds", pair.wakes);
}

#[test]
fn a_moving_object_is_told_without_any_tick() {
    let mut pair = Pair::new();
    pair.run_until(SharedInstant::from_millis(5_000));
    let ball: EntityId = pair.server.create(BALL, b"", pair.now).expect("room");
    pair.wakes = 0;
    for frame in 0..300 {
        let ahead = Vec2::from_heading(f64::from(frame) / 20.0);
        let state = State::moving(ahead * 20.0, ahead.perpendicular() * 60.0);
        pair.server.observe(ball, Observation::Moved(state), pair.now).expect("its own");
        pair.server.set_state(ball, 1, &[(frame / 10) as u8]).expect("its own");
        pair.run_until(pair.now + Span::from_micros(16_667));
    }
    pair.run_until(pair.now + Span::from_secs(2));
    assert_eq!(pair.client.state(ball, 1), Some(&[29][..]));
    let placed = pair.client.place(ball, local(pair.now)).expect("told");
    let held = pair.server.place(ball, pair.now).expect("its own");
    assert!(placed.position.distance(held.position) < 1e-9, "the newest has arrived");
    assert!(pair.wakes < 3_000, "{} times in seven seconds", pair.wakes);
}

#[test]
fn an_object_that_nobody_observes_wakes_nobody_all_the_time() {
    let mut pair = Pair::new();
    pair.run_until(SharedInstant::from_millis(5_000));
    pair.server.create(BALL, b"", pair.now).expect("room");
    pair.wakes = 0;
    pair.run_until(pair.now + Span::from_secs(10));
    assert!(pair.wakes < 400, "{} times in ten seconds", pair.wakes);
}
