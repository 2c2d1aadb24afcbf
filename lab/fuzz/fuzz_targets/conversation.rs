#![no_main]

//! A server and two clients play over transports that lose, repeat, reorder, keep and replay
//! datagrams, and break and reconnect. As long as no byte is changed, no peer is accused. After a
//! changed byte, the end that reads it may close, and nothing worse.

use std::collections::VecDeque;

use fairpath::random::Random;
use fairpath::schedule::{DeterministicBudget, Weighting};
use fairpath::session::{
    ClassId, Client, ClientConfig, CloseReason, ConnectionId, Party, Server, ServerConfig, Token,
};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_fuzz::play::{host, play};
use fairpath_fuzz::speech::{self, EPOCH};
use fairpath_fuzz::{Entropy, client_keeps_its_bounds, game, server_keeps_its_bounds, take_events};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut source = Entropy(bytes);
    let mut conversation = Conversation::new(source.take(1));
    while !source.is_empty() {
        conversation.step(&mut source);
    }
});

/// The datagrams that are kept to be sent again.
const KEPT_MAX: usize = 32;

/// One direction of a transport.
#[derive(Default)]
struct Direction {
    stream: VecDeque<Vec<u8>>,
    unordered: VecDeque<Vec<u8>>,
    datagrams: VecDeque<Vec<u8>>,
    kept: VecDeque<Vec<u8>>,
}

struct FuzzClient {
    client: Client<Vec2>,
    id: Option<ConnectionId>,
    up: Direction,
    down: Direction,
    /// No byte on this transport was changed.
    is_intact: bool,
    /// No byte was changed in this session, nor before it on its first transport: what a peer
    /// accepted outlives transports.
    is_sound: bool,
    shown: Option<SharedInstant>,
}

struct Conversation {
    server: Server<Vec2>,
    seats: [FuzzClient; 2],
    now: SharedInstant,
    tokens: u8,
}

impl Conversation {
    fn new(how: u64) -> Self {
        let server = Server::new(
            ServerConfig::new(game(), EPOCH),
            Box::new(DeterministicBudget::new(0.5 + how as f64 / 128.0, Weighting::THIRDS)),
            Random::from_seed(how),
        );
        let seat = |seed| FuzzClient {
            client: Client::new(ClientConfig::new(game()), Random::from_seed(seed)),
            id: None,
            up: Direction::default(),
            down: Direction::default(),
            is_intact: true,
            is_sound: true,
            shown: None,
        };
        let mut conversation =
            Self { server, seats: [seat(2), seat(3)], now: SharedInstant::from_millis(9_000), tokens: 0 };
        conversation.connect(0);
        conversation.connect(1);
        for _ in 0..4 {
            conversation.pass(10);
            conversation.deliver_all(0);
            conversation.deliver_all(1);
        }
        conversation
    }

    fn step(&mut self, source: &mut Entropy<'_>) {
        let choice = source.take(1);
        let index = (choice >> 7) as usize;
        match choice % 16 {
            0..=2 => self.act_as_client(index, source),
            3 if source.below(2) == 0 => host(self.server.frame(self.now), source),
            3 => {
                let now = self.local();
                play(self.seats[index].client.frame(now), source);
            }
            4 | 5 => self.act_as_server(source),
            6..=8 => {
                self.pass(source.take(1) as i64);
                self.deliver_all(0);
                self.deliver_all(1);
            }
            9 => self.pass(10 * source.take(1) as i64),
            10 | 11 => self.deliver_all(index),
            12 | 13 => self.disturb(index, source),
            14 => self.corrupt(index, source),
            _ if source.below(2) == 0 => self.connect(index),
            _ => self.cut(index),
        }
        for index in 0..self.seats.len() {
            self.drain(index);
            let now = self.local();
            let seat = &mut self.seats[index];
            client_keeps_its_bounds(&mut seat.client, now, &mut seat.shown);
        }
        server_keeps_its_bounds(&self.server, self.now);
    }

    fn local(&self) -> LocalInstant {
        // The clients' clocks have another zero.
        LocalInstant::ZERO + (self.now.since_zero() - Span::from_secs(5))
    }

    fn connect(&mut self, index: usize) {
        let now = self.local();
        self.cut(index);
        let seat = &mut self.seats[index];
        seat.id = self.server.handle_connected(Token([self.tokens; 16]), self.now);
        self.tokens = self.tokens.wrapping_add(1);
        seat.is_intact = true;
        if seat.id.is_some() {
            seat.client.handle_connected(now);
        }
    }

    fn cut(&mut self, index: usize) {
        let now = self.local();
        let seat = &mut self.seats[index];
        (seat.up, seat.down) = (Direction::default(), Direction::default());
        if let Some(id) = seat.id.take() {
            self.server.handle_disconnected(id, None, self.now);
            seat.client.handle_disconnected(None, now);
        }
    }

    fn pass(&mut self, millis: i64) {
        self.now += Span::from_millis(millis);
    }

    /// Delivers everything that is under way, in order.
    fn deliver_all(&mut self, index: usize) {
        self.drain(index);
        let now = self.local();
        let seat = &mut self.seats[index];
        let Some(id) = seat.id else { return };
        seat.up.stream.drain(..).for_each(|bytes| self.server.handle_stream(id, &bytes, self.now));
        seat.up.unordered.drain(..).for_each(|bytes| self.server.handle_unordered(id, &bytes, self.now));
        for bytes in seat.up.datagrams.drain(..) {
            self.server.handle_datagram(id, &bytes, self.now);
        }
        seat.down.stream.drain(..).for_each(|bytes| seat.client.handle_stream(&bytes, now));
        seat.down.unordered.drain(..).for_each(|bytes| seat.client.handle_unordered(&bytes, now));
        seat.down.datagrams.drain(..).for_each(|bytes| seat.client.handle_datagram(&bytes, now));
        self.drain(index);
    }

    /// Does what networks do to datagrams and to unordered messages.
    fn disturb(&mut self, index: usize, source: &mut Entropy<'_>) {
        self.drain(index);
        let seat = &mut self.seats[index];
        let direction = if source.below(2) == 0 { &mut seat.up } else { &mut seat.down };
        match source.below(6) {
            0 => drop(direction.datagrams.pop_front()),
            1 => direction.datagrams.clear(),
            2 => direction.datagrams.make_contiguous().reverse(),
            3 => direction.unordered.make_contiguous().reverse(),
            // A replay attack: a few recorded packets, from long ago.
            4 => direction.datagrams.extend(direction.kept.iter().cloned()),
            _ => {
                let at = source.take(1) as usize % direction.kept.len().max(1);
                direction.datagrams.extend(direction.kept.get(at).cloned());
            }
        }
    }

    fn corrupt(&mut self, index: usize, source: &mut Entropy<'_>) {
        self.drain(index);
        let seat = &mut self.seats[index];
        let direction = if source.below(2) == 0 { &mut seat.up } else { &mut seat.down };
        let queue = match source.below(4) {
            0 => &mut direction.stream,
            1 => &mut direction.unordered,
            _ => &mut direction.datagrams,
        };
        if let Some(bytes) = queue.pop_back() {
            queue.push_back(speech::mutated(source, bytes));
            (seat.is_intact, seat.is_sound) = (false, false);
        }
    }

    /// Moves outgoing bytes to the transports, and checks the reasons of closes.
    fn drain(&mut self, index: usize) {
        let now = self.local();
        self.server.handle_timeout(self.now);
        let seat = &mut self.seats[index];
        seat.client.handle_timeout(now);
        if let Some(id) = seat.id {
            seat.down.stream.extend(std::iter::from_fn(|| self.server.poll_stream(id, self.now)));
            seat.down.unordered.extend(std::iter::from_fn(|| self.server.poll_unordered(id)));
            seat.down.send(std::iter::from_fn(|| self.server.poll_datagram(id, self.now, 1_150)));
        }
        seat.up.stream.extend(std::iter::from_fn(|| seat.client.poll_stream(now)));
        seat.up.unordered.extend(std::iter::from_fn(|| seat.client.poll_unordered()));
        seat.up.send(std::iter::from_fn(|| seat.client.poll_datagram(now, 1_150)));
        if take_events(&mut seat.client, &mut seat.shown) {
            seat.is_sound = seat.is_intact;
        }
        while self.server.poll_event().is_some() {}
        if let Some(reason) = seat.client.poll_close() {
            assert!(!seat.is_sound || is_no_accusation(reason), "the client closes: {reason:?}");
            self.cut(index);
        }
        while let Some((id, reason)) = self.server.poll_close() {
            let Some(seat) = self.seats.iter_mut().find(|seat| seat.id == Some(id)) else { continue };
            assert!(!seat.is_sound || is_no_accusation(reason), "the server closes: {reason:?}");
            seat.id = None;
            (seat.up, seat.down) = (Direction::default(), Direction::default());
            seat.client.handle_disconnected(Some(reason), now);
        }
    }

    fn act_as_client(&mut self, index: usize, source: &mut Entropy<'_>) {
        let now = self.local();
        let client = &mut self.seats[index].client;
        let object = source.entity();
        match source.below(11) {
            0 => drop(client.create(ClassId(source.below(4) as u32), &source.bytes(), now)),
            1 => drop(client.destroy(object)),
            2..=4 => {
                let all: Vec<_> = client.objects().collect();
                for object in all {
                    let _ = client.observe(object, source.observation(), now);
                }
            }
            5 => drop(client.set_state(object, source.below(40) as u8, &source.bytes())),
            6 => drop(client.claim(object)),
            7 => drop(client.release(object)),
            8 => drop(client.call_server(source.below(4) as u32, &source.bytes(), source.delivery())),
            9 => drop(client.attach(object, (source.below(4) > 0).then(|| source.entity()))),
            _ if source.below(16) == 0 => client.leave(now),
            _ => drop(client.call_owner(object, 2, &source.bytes(), source.delivery())),
        }
    }

    fn act_as_server(&mut self, source: &mut Entropy<'_>) {
        let (server, now) = (&mut self.server, self.now);
        let object = source.entity();
        let client = server.clients().nth(source.below(2) as usize);
        match source.below(9) {
            0 => drop(server.create(ClassId(source.below(4) as u32), &source.bytes(), now)),
            1 => drop(server.destroy(object)),
            8 => drop(server.attach(object, (source.below(4) > 0).then(|| source.entity()))),
            2 | 3 => {
                let all: Vec<_> = server.objects().collect();
                for object in all {
                    let _ = server.observe(object, source.observation(), now);
                }
            }
            4 => drop(server.set_state(object, source.below(40) as u8, &source.bytes())),
            5 => drop(server.give(object, client.map_or(Party::Server, Party::Client), now)),
            6 => {
                if let Some(client) = client {
                    let _ = server.call_client(client, 1, &source.bytes(), source.delivery());
                }
            }
            _ => drop(server.call_viewers(object, 2, &source.bytes(), source.delivery())),
        }
    }
}

impl Direction {
    fn send(&mut self, datagrams: impl Iterator<Item = Vec<u8>>) {
        for datagram in datagrams {
            self.kept.push_back(datagram.clone());
            self.datagrams.push_back(datagram);
            if self.kept.len() > KEPT_MAX {
                self.kept.pop_front();
            }
        }
    }
}

/// Returns whether an honest peer on a bad network may be closed for this reason.
fn is_no_accusation(reason: CloseReason) -> bool {
    !matches!(
        reason,
        CloseReason::Malformed
            | CloseReason::OutOfPlace
            | CloseReason::WrongVersion
            | CloseReason::WrongDimensions
            | CloseReason::WrongPrecision
            | CloseReason::WrongGame
            | CloseReason::WrongGameVersion
            | CloseReason::WrongProtocol
            | CloseReason::TooFast
    )
}
