//! Goal: a crowd that has lost its server comes back within seconds of its return, and without a
//! storm. Method: a thousand clients in virtual time, each with the real machine; a server whose
//! socket has a limited queue, which asks for proof with Retry, admits with the real limits, and
//! takes a millisecond for a handshake.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use super::*;
use crate::admissions::{Admissions, HandshakePlace, Limits, Verdict};

const CLIENTS: usize = 1_000;
/// Client packets of one handshake: the first, the one with the Retry token, and two that finish it
/// and greet.
const HANDSHAKE_PACKETS: u32 = 4;
/// Packets beyond these that each client may send.
const EXTRA_PACKETS_MAX: u32 = 10;
const BACK_WITHIN: Span = Span::from_secs(5);

/// Repeated first packets of QUIC: after a second, and then after twice the pause each.
const FIRST_PROBE_AFTER: Span = Span::from_secs(1);
/// Packets of each repetition.
const PROBES: u32 = 2;
/// Packets that the socket of a stopped server holds.
const SOCKET_PACKETS_MAX: usize = 900;
const RETRY_TAKES: Span = Span::from_micros(20);
const HANDSHAKE_TAKES: Span = Span::from_millis(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outage {
    lasts: Span,
    /// A stopped server keeps what fits into its socket, a dead one nothing.
    keeps_packets: bool,
    /// Packets lost each way, in a hundred.
    loss_percent: u64,
    /// Clients at each address.
    per_address: usize,
    /// The mutant: attempts that were given up answer, as QUIC does.
    answers_late: bool,
}

const STOPPED: Outage = Outage {
    lasts: Span::from_secs(10),
    keeps_packets: true,
    loss_percent: 0,
    per_address: 1,
    answers_late: false,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A client's machine or QUIC's timer.
    Wake(usize),
    ToServer(Packet),
    ToClient(Packet),
    /// The server takes the next packet.
    Serve,
    Return,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    client: usize,
    attempt: u32,
    content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Content {
    First { has_token: bool },
    Finish,
    Close,
    Retry,
    Handshake,
    Refused,
}

struct SimClient {
    machine: Reconnect,
    attempt: u32,
    has_token: bool,
    probe_at: Option<LocalInstant>,
    probe_pause: Span,
    sent: u32,
    sent_since_return: u32,
    back_at: Option<LocalInstant>,
}

struct Simulation {
    outage: Outage,
    now: LocalInstant,
    events: BinaryHeap<Reverse<(LocalInstant, u64, Event)>>,
    order: u64,
    random: Random,
    clients: Vec<SimClient>,
    begin: Instant,
    admissions: Admissions,
    inbox: VecDeque<Packet>,
    is_serving: bool,
    has_returned: bool,
    /// The handshake of each client that is in progress.
    handshakes: Vec<Option<SimHandshake>>,
    retries: u32,
}

struct SimHandshake {
    attempt: u32,
    place: HandshakePlace,
    since: LocalInstant,
}

#[derive(Debug)]
struct Outcome {
    sent_max: u32,
    since_return_max: u32,
    slowest: Span,
    missing: usize,
    retries: u32,
}

impl Simulation {
    fn run(outage: Outage, seed: u64) -> Outcome {
        let mut random = Random::from_seed(seed);
        let zero = LocalInstant::ZERO;
        let pauses =
            Pauses::new(Duration::from_secs(5), Duration::from_millis(250), crate::client::RETRY_AFTER_MAX);
        let client = |which: usize, random: &mut Random| {
            let mut machine = Reconnect::new(pauses, random.fork(which as u64), zero);
            machine.on_connected(zero + -Span::from_secs(100));
            SimClient {
                machine,
                attempt: 0,
                has_token: false,
                probe_at: None,
                probe_pause: FIRST_PROBE_AFTER,
                sent: 0,
                sent_since_return: 0,
                back_at: None,
            }
        };
        let clients = (0..CLIENTS).map(|which| client(which, &mut random)).collect();
        let limits = Limits {
            per_address_max: (2 * outage.per_address).max(64),
            per_address_burst: (4 * outage.per_address as u32).max(128),
            ..Limits::default()
        };
        let mut simulation = Self {
            outage,
            now: zero,
            events: BinaryHeap::new(),
            order: 0,
            random,
            clients,
            begin: Instant::now(),
            admissions: Admissions::new(limits),
            inbox: VecDeque::new(),
            is_serving: false,
            has_returned: false,
            handshakes: (0..CLIENTS).map(|_| None).collect(),
            retries: 0,
        };
        simulation.play();
        let back = simulation.clients.iter().map(|client| client.back_at);
        let returned = zero + outage.lasts;
        Outcome {
            sent_max: simulation.clients.iter().map(|client| client.sent).max().unwrap_or_default(),
            since_return_max: simulation
                .clients
                .iter()
                .map(|it| it.sent_since_return)
                .max()
                .unwrap_or_default(),
            slowest: back.clone().flatten().map(|at| at - returned).max().unwrap_or(Span::ZERO),
            missing: back.filter(Option::is_none).count(),
            retries: simulation.retries,
        }
    }

    fn play(&mut self) {
        let end = LocalInstant::ZERO + self.outage.lasts + Span::from_secs(30);
        self.at(LocalInstant::ZERO + self.outage.lasts, Event::Return);
        for which in 0..CLIENTS {
            // A session notices silence after 4 s, and the last datagrams came within 50 ms.
            let noticed = LocalInstant::ZERO + Span::from_secs_f64(self.random.between(4.0, 4.05));
            self.clients[which].machine.on_problem(ConnectionProblem::Lost, noticed);
            self.wake_later(which);
        }
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > end {
                return;
            }
            self.now = at;
            match event {
                Event::Wake(which) => self.wake(which),
                Event::ToServer(packet) => self.arrive(packet),
                Event::ToClient(packet) => self.read(packet),
                Event::Serve => self.serve(),
                Event::Return => {
                    self.has_returned = true;
                    self.serve_later(Span::ZERO);
                }
            }
        }
    }

    fn at(&mut self, at: LocalInstant, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    // ── clients

    fn wake_later(&mut self, which: usize) {
        let client = &self.clients[which];
        let next = [client.machine.poll_deadline(), client.probe_at].into_iter().flatten().min();
        if let Some(at) = next {
            self.at(at.max(self.now), Event::Wake(which));
        }
    }

    fn wake(&mut self, which: usize) {
        match self.clients[which].machine.poll(self.now) {
            Some(Step::Connect) => {
                let client = &mut self.clients[which];
                (client.attempt, client.has_token) = (client.attempt + 1, false);
                self.send_first(which);
            }
            Some(Step::GiveUp) => self.clients[which].probe_at = None,
            None => {}
        }
        if self.clients[which].probe_at.is_some_and(|at| at <= self.now) {
            let client = &mut self.clients[which];
            client.probe_pause = client.probe_pause + client.probe_pause;
            client.probe_at = Some(self.now + client.probe_pause);
            let content = Content::First { has_token: client.has_token };
            (0..PROBES).for_each(|_| self.send(which, content));
        }
        self.wake_later(which);
    }

    /// Sends the first packet of an attempt, or the first with its token.
    fn send_first(&mut self, which: usize) {
        let client = &mut self.clients[which];
        client.probe_pause = FIRST_PROBE_AFTER;
        client.probe_at = Some(self.now + FIRST_PROBE_AFTER);
        let content = Content::First { has_token: client.has_token };
        self.send(which, content);
    }

    fn send(&mut self, which: usize, content: Content) {
        let attempt = self.clients[which].attempt;
        self.send_of(Packet { client: which, attempt, content });
    }

    fn send_of(&mut self, packet: Packet) {
        let client = &mut self.clients[packet.client];
        client.sent += 1;
        client.sent_since_return += u32::from(self.has_returned);
        self.carry(packet, Event::ToServer);
    }

    fn carry(&mut self, packet: Packet, event: impl FnOnce(Packet) -> Event) {
        if self.random.below(100) >= self.outage.loss_percent {
            let delay = Span::from_secs_f64(self.random.between(0.01, 0.06));
            self.at(self.now + delay, event(packet));
        }
    }

    fn read(&mut self, packet: Packet) {
        let client = &mut self.clients[packet.client];
        let is_current = packet.attempt == client.attempt;
        if is_current && packet.content == Content::Refused {
            (client.probe_at, client.back_at) = (None, None);
            client.machine.on_problem(ConnectionProblem::LimitReached, self.now);
            return self.wake_later(packet.client);
        }
        if !is_current || client.probe_at.is_none() {
            if self.outage.answers_late && client.back_at.is_none() {
                self.send_of(Packet { content: Content::Close, ..packet });
            }
            return;
        }
        client.machine.on_answered();
        match packet.content {
            Content::Retry if !client.has_token => {
                client.has_token = true;
                self.send_first(packet.client);
            }
            Content::Handshake => {
                client.machine.on_connected(self.now);
                (client.probe_at, client.back_at) = (None, Some(self.now));
                (0..2).for_each(|_| self.send(packet.client, Content::Finish));
            }
            _ => {}
        }
        self.wake_later(packet.client);
    }

    // ── the server

    fn arrive(&mut self, packet: Packet) {
        let is_there = self.has_returned || self.outage.keeps_packets;
        if is_there && self.inbox.len() < SOCKET_PACKETS_MAX {
            self.inbox.push_back(packet);
        }
        if self.has_returned && !self.is_serving {
            self.serve_later(Span::ZERO);
        }
    }

    fn serve_later(&mut self, after: Span) {
        self.is_serving = true;
        self.at(self.now + after, Event::Serve);
    }

    fn serve(&mut self) {
        self.is_serving = false;
        let Some(packet) = self.inbox.pop_front() else { return };
        let takes = self.handle(packet);
        self.serve_later(takes);
    }

    fn address(&self, client: usize) -> IpAddr {
        let nth = u32::try_from(client / self.outage.per_address).expect("few");
        IpAddr::V4(Ipv4Addr::from_bits(0x0A00_0000 + nth))
    }

    /// A server waits 5 s for a greeting.
    fn end_late_handshakes(&mut self) {
        let now = self.now;
        for client in 0..CLIENTS {
            let is_late = |it: &mut SimHandshake| now - it.since >= Span::from_secs(5);
            if let Some(handshake) = self.handshakes[client].take_if(is_late) {
                let address = self.address(client);
                self.admissions.on_handshake_over(address, &handshake.place, true);
                self.admissions.on_gone(address);
            }
        }
    }

    /// Handles a packet. Returns how long it took.
    fn handle(&mut self, packet: Packet) -> Span {
        let address = self.address(packet.client);
        let now = self.begin + Duration::from_micros((self.now - LocalInstant::ZERO).as_micros() as u64);
        self.end_late_handshakes();
        let known = self.handshakes[packet.client].as_ref();
        let is_known = known.is_some_and(|handshake| handshake.attempt == packet.attempt);
        let (content, takes) = match packet.content {
            Content::Finish => {
                let Some(handshake) = self.handshakes[packet.client].take_if(|_| is_known) else {
                    return RETRY_TAKES;
                };
                self.admissions.on_handshake_over(address, &handshake.place, false);
                if !handshake.place.is_lost() {
                    return RETRY_TAKES;
                }
                self.admissions.on_gone(address);
                (Content::Refused, RETRY_TAKES)
            }
            // The answer was lost.
            Content::First { has_token: true } if is_known => (Content::Handshake, RETRY_TAKES),
            Content::First { has_token } => match self.admissions.admit(address, has_token, now) {
                Verdict::Retry => {
                    self.retries += 1;
                    (Content::Retry, RETRY_TAKES)
                }
                Verdict::Ignore => return RETRY_TAKES,
                Verdict::Refuse => (Content::Refused, RETRY_TAKES),
                Verdict::Accept(place) => {
                    let attempt = packet.attempt;
                    self.handshakes[packet.client] = Some(SimHandshake { attempt, place, since: self.now });
                    (Content::Handshake, HANDSHAKE_TAKES)
                }
            },
            // A close has no token, so it is a first packet to the server.
            Content::Close => match self.admissions.admit(address, false, now) {
                Verdict::Retry => {
                    self.retries += 1;
                    (Content::Retry, RETRY_TAKES)
                }
                _ => return RETRY_TAKES,
            },
            Content::Retry | Content::Handshake | Content::Refused => return RETRY_TAKES,
        };
        self.carry(Packet { content, ..packet }, Event::ToClient);
        takes
    }
}

fn assert_calm(outage: Outage, seeds: std::ops::Range<u64>) -> Vec<Outcome> {
    let calm = |seed| {
        let outcome = Simulation::run(outage, seed);
        println!("{outage:?}, seed {seed}: {outcome:?}");
        assert_eq!(outcome.missing, 0, "seed {seed}");
        assert!(outcome.retries <= 4 * CLIENTS as u32, "seed {seed}: {outcome:?}");
        assert!(outcome.slowest <= BACK_WITHIN, "seed {seed}: {outcome:?}");
        assert!(
            outcome.since_return_max <= HANDSHAKE_PACKETS + EXTRA_PACKETS_MAX,
            "seed {seed}: {outcome:?}"
        );
        outcome
    };
    seeds.map(calm).collect()
}

/// 48 clients and a server that was stopped for 10 s: 22 026 Retries and 50 000 packets in 1.5 s.
#[test]
fn a_thousand_clients_of_a_stopped_server_are_back_within_five_seconds() {
    for outcome in assert_calm(STOPPED, 0..8) {
        assert!(outcome.sent_max <= HANDSHAKE_PACKETS + EXTRA_PACKETS_MAX, "from its stop on: {outcome:?}");
    }
}

#[test]
fn so_are_those_of_a_server_that_was_dead_for_a_minute_or_ten() {
    for secs in [10, 60, 600] {
        let outage = Outage { lasts: Span::from_secs(secs), keeps_packets: false, ..STOPPED };
        assert_calm(outage, 0..4);
    }
}

#[test]
fn so_are_those_behind_four_routers() {
    assert_calm(Outage { per_address: 250, ..STOPPED }, 0..4);
}

#[test]
fn loss_costs_repetitions_and_nobody_stays_out() {
    for seed in 0..4 {
        let outcome = Simulation::run(Outage { loss_percent: 5, ..STOPPED }, seed);
        println!("5 % loss, seed {seed}: {outcome:?}");
        assert_eq!(outcome.missing, 0);
        assert!(outcome.since_return_max <= HANDSHAKE_PACKETS + 3 * EXTRA_PACKETS_MAX, "{outcome:?}");
    }
}

/// The simulation shows the storm when attempts that were given up answer.
#[test]
fn attempts_that_answer_late_make_a_storm() {
    let outcome = Simulation::run(Outage { answers_late: true, ..STOPPED }, 0);
    println!("attempts that answer: {outcome:?}");
    assert!(outcome.since_return_max > HANDSHAKE_PACKETS + EXTRA_PACKETS_MAX, "{outcome:?}");
    assert!(outcome.retries > 10 * CLIENTS as u32, "{outcome:?}");
}

// ── the machine

fn machine() -> Reconnect {
    let pauses = Pauses::new(Duration::from_secs(5), Duration::from_millis(250), Duration::from_secs(2));
    Reconnect::new(pauses, Random::from_seed(7), LocalInstant::ZERO)
}

fn at(millis: i64) -> LocalInstant {
    LocalInstant::ZERO + Span::from_millis(millis)
}

#[test]
fn an_attempt_has_longer_once_it_is_answered() {
    let mut silent = machine();
    assert_eq!((silent.poll(at(0)), silent.poll(at(0))), (Some(Step::Connect), None));
    assert_eq!(silent.poll_deadline(), Some(at(2_500)));
    assert_eq!((silent.poll(at(2_500)), silent.failed()), (Some(Step::GiveUp), 1));
    let mut slow = machine();
    slow.poll(at(0));
    slow.on_answered();
    assert_eq!((slow.poll(at(4_999)), slow.poll(at(5_000))), (None, Some(Step::GiveUp)));
}

#[test]
fn pauses_grow_are_random_and_begin_anew_after_a_connection_that_lasted() {
    let (mut machine, mut now) = (machine(), at(0));
    let mut pauses = Vec::new();
    for _ in 0..8 {
        assert_eq!(machine.poll(now), Some(Step::Connect));
        machine.on_problem(ConnectionProblem::NoAnswer, now);
        let until = machine.poll_deadline().expect("it tries again");
        pauses.push((until - now).as_secs_f64());
        now = until;
    }
    for (nth, pause) in pauses.iter().enumerate() {
        let longest = (0.25 * f64::from(1 << nth)).min(2.0);
        assert!((0.5 * longest..=longest).contains(pause), "{pauses:?}");
    }
    machine.poll(now);
    machine.on_connected(now);
    assert_eq!(machine.poll_deadline(), None);
    machine.on_problem(ConnectionProblem::Lost, now + Span::from_secs(1));
    assert_eq!(machine.failed(), 9, "a short connection is a failed attempt");
    let now = machine.poll_deadline().expect("it tries again");
    machine.poll(now);
    machine.on_connected(now);
    machine.on_problem(ConnectionProblem::Lost, now + Span::from_secs(6));
    assert_eq!(machine.failed(), 0);
}

#[test]
fn a_final_problem_ends_the_attempts() {
    let mut machine = machine();
    machine.poll(at(0));
    machine.on_problem(ConnectionProblem::Refused(fairpath::session::CloseReason::NotAdmitted), at(1));
    assert_eq!((machine.poll_deadline(), machine.poll(at(1_000_000))), (None, None));
}
