#![no_main]

//! Two clients send anything: mostly messages that decode and are out of place, late, or another
//! client's. The server has objects and calls of its own: it closes, refuses or accepts, goes on
//! answering, and keeps its bounds.

use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::message::Message;
use fairpath::session::{
    ClientId, CloseReason, ConnectionId, Party, Server, ServerConfig, SpeedCheck, Token, Within,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_fuzz::play::host;
use fairpath_fuzz::speech::{self, EPOCH};
use fairpath_fuzz::{Entropy, game, server_keeps_its_bounds};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut source = Entropy(bytes);
    let mut harness = ServerHarness::new(source.take(1));
    while !source.is_empty() {
        harness.step(&mut source);
    }
});

struct ServerHarness {
    server: Server<Vec2>,
    connections: [Option<ConnectionId>; 2],
    packets: [u64; 2],
    tokens: u8,
    now: SharedInstant,
}

impl ServerHarness {
    fn new(how: u64) -> Self {
        let config = ServerConfig { clients_max: 3, ..ServerConfig::new(game(), EPOCH) };
        let mut server = Server::new(config, Box::new(Broadcast), Random::from_seed(1));
        if how & 1 == 1 {
            server = server.with_interceptor(SpeedCheck { speed_max: 1_000.0 });
        }
        if how & 2 == 2 {
            server = server.with_scope(Within { enter: 1_000.0, leave: 2_000.0 });
        }
        let mut harness = Self {
            server,
            connections: [None; 2],
            packets: [0; 2],
            tokens: 0,
            now: SharedInstant::from_millis(7_000),
        };
        if how & 4 == 0 {
            harness.connect(0, &speech::hello(&mut Entropy(&[1, 1, 1, 1])));
            harness.connect(1, &speech::hello(&mut Entropy(&[1, 1, 1, 1])));
        }
        harness
    }

    fn connect(&mut self, index: usize, greeting: &Message) {
        self.connections[index] = self.server.handle_connected(Token([self.tokens; 16]), self.now);
        self.tokens = self.tokens.wrapping_add(1);
        self.packets[index] = 0;
        self.say(index, greeting);
    }

    fn say(&mut self, index: usize, message: &Message) {
        let mut bytes = Vec::new();
        message.frame(&mut bytes);
        if let Some(id) = self.connections[index] {
            self.server.handle_stream(id, &bytes, self.now);
        }
    }

    fn step(&mut self, source: &mut Entropy<'_>) {
        let choice = source.take(1);
        let index = (choice >> 7) as usize;
        match choice % 16 {
            0..=3 => self.say(index, &speech::message(source, self.now)),
            4..=7 => self.carry(index, source),
            8 => self.reconnect(index, source),
            9 | 10 => self.now += Span::from_millis(source.take(1) as i64),
            11 => self.now += Span::from_millis(20 * source.take(1) as i64),
            12 => host(self.server.frame(self.now), source),
            _ => self.act(source),
        }
        self.drain();
        server_keeps_its_bounds(&self.server, self.now);
    }

    /// Delivers bytes that are not on the stream, or not valid.
    fn carry(&mut self, index: usize, source: &mut Entropy<'_>) {
        let Some(id) = self.connections[index] else { return };
        match source.below(8) {
            0..=3 => {
                let bytes = speech::datagram(source, &mut self.packets[index], self.now);
                self.server.handle_datagram(id, &bytes, self.now);
            }
            4 => {
                let bytes = speech::datagram(source, &mut self.packets[index], self.now);
                self.server.handle_datagram(id, &speech::mutated(source, bytes), self.now);
            }
            5 => {
                let bytes = speech::unordered(source);
                self.server.handle_unordered(id, &bytes, self.now);
            }
            6 => {
                let mut bytes = Vec::new();
                speech::message(source, self.now).frame(&mut bytes);
                self.server.handle_stream(id, &speech::mutated(source, bytes), self.now);
            }
            _ => self.server.handle_round_trip(id, Span::from_millis(source.take(1) as i64 - 8)),
        }
    }

    fn reconnect(&mut self, index: usize, source: &mut Entropy<'_>) {
        if let Some(id) = self.connections[index]
            && source.below(2) == 0
        {
            let reason = (source.below(4) == 0).then_some(CloseReason::Finished);
            self.server.handle_disconnected(id, reason, self.now);
        }
        self.connect(index, &speech::hello(source));
    }

    /// What the application does. Errors are valid results.
    fn act(&mut self, source: &mut Entropy<'_>) {
        let (server, now) = (&mut self.server, self.now);
        let class = fairpath::session::ClassId(source.below(4) as u32);
        let object = source.entity();
        let client = ClientId(source.below(4) as u32);
        match source.below(11) {
            0 => drop(server.create(class, &source.bytes(), now)),
            1 => drop(server.destroy(object)),
            2 | 3 => drop(server.observe(object, source.observation(), now)),
            4 => drop(server.set_state(object, source.below(40) as u8, &source.bytes())),
            5 => drop(server.give(object, Party::Client(client), now)),
            6 => drop(server.call_client(client, 1, &source.bytes(), source.delivery())),
            7 => drop(server.call_viewers(object, 2, &source.bytes(), source.delivery())),
            8 => drop(server.call_owner(object, 3, &source.bytes(), source.delivery())),
            9 => drop(server.attach(object, (source.below(4) > 0).then(|| source.entity()))),
            _ if source.below(8) == 0 => server.dismiss(client, now),
            _ => drop(server.give(object, Party::Server, now)),
        }
    }

    fn drain(&mut self) {
        let (server, now) = (&mut self.server, self.now);
        server.handle_timeout(now);
        for id in self.connections.into_iter().flatten() {
            while server.poll_stream(id, now).is_some() {}
            while server.poll_unordered(id).is_some() {}
            while server.poll_datagram(id, now, 1_150).is_some() {}
        }
        while let Some((id, _)) = server.poll_close() {
            self.connections.iter_mut().filter(|it| **it == Some(id)).for_each(|it| *it = None);
        }
        while server.poll_event().is_some() {}
    }
}
