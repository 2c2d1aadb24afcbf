#![no_main]

//! A server sends anything: mostly messages that decode and are out of place, late or
//! contradictory. The client plays meanwhile: it closes or accepts, its clock never runs backwards,
//! and it keeps its bounds.

use fairpath::clock::Request;
use fairpath::number::EntityId;
use fairpath::place::Placement;
use fairpath::random::Random;
use fairpath::session::message::{Message, Outcome, Welcome};
use fairpath::session::{ClassId, Client, ClientConfig, ClientId, CloseReason, Settings, Token};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_fuzz::play::play;
use fairpath_fuzz::speech::{self, EPOCH};
use fairpath_fuzz::{Entropy, client_keeps_its_bounds, game, take_events};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut source = Entropy(bytes);
    let mut harness = ClientHarness::new(source.take(1));
    while !source.is_empty() {
        harness.step(&mut source);
    }
});

struct ClientHarness {
    client: Client<Vec2>,
    packet: u64,
    now: LocalInstant,
    /// Shared minus local time, as the server sends it.
    ahead: Span,
    shown: Option<SharedInstant>,
}

impl ClientHarness {
    fn new(how: u64) -> Self {
        let client = Client::new(ClientConfig::new(game()), Random::from_seed(1));
        let now = LocalInstant::from_millis(1_000);
        let mut harness =
            Self { client, packet: 0, now, ahead: Span::from_secs(how as i64 % 8), shown: None };
        harness.client.handle_connected(now);
        harness.drain();
        if how & 8 == 0 {
            harness.now += Span::from_millis(20);
            let shared = harness.shared();
            let placement = [Placement::Local, Placement::Global, Placement::Hop][how as usize / 16 % 3];
            harness.say(&Message::Welcome(Welcome {
                client: ClientId(0),
                token: Token([0; 16]),
                epoch: EPOCH,
                placement,
                settings: Settings { horizon: Span::from_secs(3), classes: Vec::new() },
                clock: Request { id: 0 }.answer(shared, shared),
                outcome: Outcome::New(1, 32),
            }));
        }
        harness
    }

    fn shared(&self) -> SharedInstant {
        SharedInstant::ZERO + self.now.since_zero() + self.ahead
    }

    fn say(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        message.frame(&mut bytes);
        self.client.handle_stream(&bytes, self.now);
    }

    fn step(&mut self, source: &mut Entropy<'_>) {
        let choice = source.take(1);
        let shared = self.shared();
        match choice % 16 {
            0..=3 => self.say(&speech::message(source, shared)),
            4..=7 => self.carry(source, shared),
            8 => self.reconnect(source, shared),
            9 | 10 => self.now += Span::from_millis(source.take(1) as i64),
            11 => self.now += Span::from_millis(20 * source.take(1) as i64),
            12 => play(self.client.frame(self.now), source),
            _ => self.act(source),
        }
        self.drain();
        client_keeps_its_bounds(&mut self.client, self.now, &mut self.shown);
    }

    fn carry(&mut self, source: &mut Entropy<'_>, shared: SharedInstant) {
        match source.below(8) {
            0..=4 => {
                let bytes = speech::datagram(source, &mut self.packet, shared);
                self.client.handle_datagram(&bytes, self.now);
            }
            5 => {
                let bytes = speech::datagram(source, &mut self.packet, shared);
                self.client.handle_datagram(&speech::mutated(source, bytes), self.now);
            }
            6 => {
                let bytes = speech::unordered(source);
                self.client.handle_unordered(&bytes, self.now);
            }
            _ => {
                let mut bytes = Vec::new();
                speech::message(source, shared).frame(&mut bytes);
                self.client.handle_stream(&speech::mutated(source, bytes), self.now);
            }
        }
    }

    fn reconnect(&mut self, source: &mut Entropy<'_>, shared: SharedInstant) {
        if source.below(2) == 0 {
            let reason = CloseReason::from_code(source.take(1) as u8);
            self.client.handle_disconnected(reason, self.now);
        }
        self.client.handle_connected(self.now);
        self.drain();
        self.now += Span::from_millis(source.below(100) as i64);
        self.say(&speech::welcome(source, shared));
    }

    /// What the player does. Errors are valid results.
    fn act(&mut self, source: &mut Entropy<'_>) {
        let (client, now) = (&mut self.client, self.now);
        let object: EntityId = source.entity();
        match source.below(11) {
            0 => drop(client.create(ClassId(source.below(4) as u32), &source.bytes(), now)),
            1 => drop(client.destroy(object)),
            2 | 3 => drop(client.observe(object, source.observation(), now)),
            4 => drop(client.set_state(object, source.below(40) as u8, &source.bytes())),
            5 => drop(client.claim(object)),
            6 => drop(client.release(object)),
            7 => drop(client.call_server(1, &source.bytes(), source.delivery())),
            8 => drop(client.call_owner(object, 2, &source.bytes(), source.delivery())),
            9 => drop(client.attach(object, (source.below(4) > 0).then(|| source.entity()))),
            _ if source.below(8) == 0 => client.leave(now),
            _ => drop(client.call_viewers(object, 3, &source.bytes(), source.delivery())),
        }
    }

    fn drain(&mut self) {
        let (client, now) = (&mut self.client, self.now);
        client.handle_timeout(now);
        while client.poll_stream(now).is_some() {}
        while client.poll_unordered().is_some() {}
        while client.poll_datagram(now, 1_150).is_some() {}
        let _ = take_events(client, &mut self.shown);
        let _ = (client.poll_close(), client.poll_deadline(now));
    }
}
