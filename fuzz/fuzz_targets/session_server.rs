#![no_main]

//! A client that sends anything, after a sound greeting or without one: the server closes, refuses or believes it, and
//! goes on answering.

use fairpath::Trigger;
use fairpath::clock::Request;
use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::message::{Hello, Message, SESSION_VERSION};
use fairpath::session::{Class, ClassId, Server, ServerConfig, Token};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::wire::Precision;
use fairpath_fuzz::Source;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let classes = [(ClassId(1), Class::new(Trigger::within(0.3)).claimable())];
    let mut server: Server<Vec2> =
        Server::new(ServerConfig::new(classes, 1), Box::new(Broadcast), Random::from_seed(1));
    let mut now = SharedInstant::ZERO;
    let id = server.handle_connected(Token([1; 16]), now).expect("room for one");
    let mut source = Source(bytes);
    if source.take(1) % 4 != 0 {
        let mut greeting = Vec::new();
        Message::Hello(Hello {
            version: SESSION_VERSION,
            dimensions: 2,
            fingerprint: Precision::default().fingerprint(),
            authentication: Vec::new(),
            clock: Request { id: 0 },
            resume: None,
        })
        .frame(&mut greeting);
        server.handle_stream(id, &greeting, now);
    }
    while !source.is_empty() {
        let (room, length) = (source.take(1), source.take(1) as usize);
        let (said, rest) = source.0.split_at(length.min(source.0.len()));
        source.0 = rest;
        match room % 4 {
            0 => server.handle_stream(id, said, now),
            1 => server.handle_message(id, said, now),
            2 => server.handle_datagram(id, said, now),
            _ => now += Span::from_millis(length as i64),
        }
        server.handle_timeout(now);
        while server.poll_stream(id, now).is_some() {}
        while server.poll_message(id).is_some() {}
        while server.poll_datagram(id, now, 1_150).is_some() {}
        while server.poll_close().is_some() {}
        while server.poll_event().is_some() {}
    }
});
