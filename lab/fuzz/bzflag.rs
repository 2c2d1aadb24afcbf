//! BZFlag's proxy between clients and a server that send anything.

use std::collections::BTreeMap;

use fairpath::schedule::SchedulerChoice;
use fairpath::time::{SharedInstant, Span};
use fairpath_bzflag::message::{Code, Message};
use fairpath_bzflag::update::PlayerUpdate;
use fairpath_bzflag::{Channel, ClientId, End, Proxy, ProxyConfig};

/// The codes that the proxy looks at. Random ones would rarely be among them.
const CODES: [Code; 12] = [
    Code::PLAYER_UPDATE_SMALL,
    Code::PLAYER_UPDATE,
    Code::LAG_PING,
    Code::ALIVE,
    Code::KILLED,
    Code::ADD_PLAYER,
    Code::REMOVE_PLAYER,
    Code::SET_VARIABLE,
    Code::ENTER,
    Code::SHOT_BEGIN,
    Code::UDP_LINK_REQUEST,
    Code::CHAT,
];
const CLIENTS: u32 = 3;

/// Plays the bytes as messages and raw bytes of three clients and their server. Nothing panics,
/// every number that is sent is finite, and a client never gets an order that it would ignore.
pub fn any_bytes_pass_or_are_dropped(bytes: &[u8]) {
    let (first, mut bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let scheduler = SchedulerChoice::ALL[usize::from(*first) % SchedulerChoice::ALL.len()];
    let mut proxy = Proxy::new(ProxyConfig { scheduler, records: true, ..ProxyConfig::default() });
    let mut now = SharedInstant::ZERO;
    let mut orders = BTreeMap::new();
    for client in 0..CLIENTS {
        proxy.handle_connected(ClientId(client));
        proxy.handle_stream(ClientId(client), End::Client, b"BZFLAG\r\n\r\n", now);
        let greeting = [b"BZFS0221".as_slice(), &[client as u8]].concat();
        proxy.handle_stream(ClientId(client), End::Server, &greeting, now);
    }
    while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
        let [who, what, wait, length] = *head;
        let (payload, rest) = rest.split_at(usize::from(length % 64).min(rest.len()));
        bytes = rest;
        now += Span::from_millis(i64::from(wait) * 4);
        let client = ClientId(u32::from(who & 3));
        let from = if who & 4 == 0 { End::Client } else { End::Server };
        let mut sent = payload.to_vec();
        if usize::from(what) < 200 {
            sent.clear();
            Message { code: CODES[usize::from(what) % CODES.len()], payload }.write(&mut sent);
        }
        match (who & 8, what) {
            (_, 255) => {
                proxy.handle_closed(client);
                orders.retain(|(to, _), _| *to != client);
            }
            (_, 254) => proxy.handle_connected(client),
            (0, _) => proxy.handle_datagram(client, from, &sent, now),
            _ => proxy.handle_stream(client, from, &sent, now),
        }
        proxy.handle_timeout(now);
        while let Some(transmit) = proxy.poll_transmit() {
            match (transmit.to, transmit.channel) {
                (End::Client, Channel::Datagram) => check(&mut orders, transmit.client, &transmit.bytes),
                // Players may be added anew in it.
                (End::Client, Channel::Stream) => orders.retain(|(to, _), _| *to != transmit.client),
                (End::Server, _) => {}
            }
        }
        while proxy.poll_record().is_some() {}
        assert!(proxy.players(now).len() <= 4);
    }
}

/// Checks what a client is sent in a datagram. Messages that the proxy does not understand pass as
/// they are, and are not its own.
fn check(orders: &mut BTreeMap<(ClientId, u8), i32>, client: ClientId, datagram: &[u8]) {
    for message in Message::split_all(datagram).unwrap_or_default() {
        if message.code == Code::ADD_PLAYER {
            orders.retain(|(to, _), _| *to != client);
        }
        let Some(update) = PlayerUpdate::decode(&message) else { continue };
        let numbers = [update.position.x, update.velocity.x, update.azimuth];
        assert!(numbers.iter().all(|number| number.is_finite()), "{update:?}");
        let last = orders.insert((client, update.player), update.order);
        assert!(last.is_none_or(|last| update.order > last || last == i32::MAX), "{last:?} {update:?}");
    }
}
