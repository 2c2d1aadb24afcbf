//! Goal: no bytes make the proxy panic, and its motion obeys its laws. Method: random ones.

use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec3, Vector as _};
use fairpath_bzflag::message::Message;
use fairpath_bzflag::update::PlayerUpdate;
use fairpath_bzflag::{ClientId, End, Proxy, ProxyConfig};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;

fn updates() -> impl Strategy<Value = PlayerUpdate> {
    let states = prop::sample::select(vec![1_u16, 1 | 1 << 6, 1 | 1 << 1, 0, 1 | 1 << 8]);
    let places = prop::array::uniform3(-600.0..600.0_f64);
    let speeds = prop::array::uniform3(-100.0..100.0_f64);
    (any::<bool>(), states, places, speeds, -3.1..3.1_f64, -2.0..2.0_f64).prop_map(
        |(is_small, status, [x, y, z], [vx, vy, vz], azimuth, turn_rate)| PlayerUpdate {
            is_small,
            stamp: 10.0,
            player: 1,
            order: 5,
            status,
            position: Vec3::new(x, y, z.abs()),
            velocity: Vec3::new(vx, vy, if status & 1 << 6 == 0 { 0.0 } else { vz }),
            azimuth,
            turn_rate,
            tail: if status & 1 << 8 == 0 { Vec::new() } else { vec![1, 2, 3, 4] },
        },
    )
}

#[test]
fn a_restated_update_leads_to_the_same_places() {
    law!((updates(), 0.0..1.0_f64, 0.0..1.0_f64), |(update, ahead, later)| {
        // Driven along the heading, as tanks are: a slipping one is followed along another arc.
        let speed = update.velocity.length();
        let (sin, cos) = libm::sincos(update.azimuth);
        let velocity = Vec3::new(cos * speed, sin * speed, update.velocity.z);
        let update = PlayerUpdate { velocity, ..update };
        let (restated, once) = (update.after(ahead, -9.8), update.after(ahead + later, -9.8));
        let lands = once.status != update.status;
        let off = restated.after(later, -9.8).position.distance(once.position);
        prop_assert!(lands || off < 1e-6, "{restated:?} {once:?}");
        Ok(())
    });
}

#[test]
fn what_is_encoded_decodes_to_within_a_step() {
    law!(updates(), |update| {
        let mut bytes = Vec::new();
        update.encode(&mut bytes);
        let (message, rest) = Message::split_first(&bytes).unwrap();
        let decoded = PlayerUpdate::decode(&message).unwrap();
        prop_assert!(rest.is_empty());
        prop_assert!(decoded.position.distance(update.position) < 0.02, "{decoded:?}");
        prop_assert!(decoded.velocity.distance(update.velocity) < 0.01, "{decoded:?}");
        prop_assert_eq!((decoded.order, decoded.status), (update.order, update.status));
        prop_assert_eq!(decoded.tail, update.tail);
        Ok(())
    });
}

#[test]
fn no_bytes_make_the_proxy_panic() {
    let chunk = (0..3_u32, any::<bool>(), any::<bool>(), prop::collection::vec(any::<u8>(), 0..60));
    law!(prop::collection::vec(chunk, 0..60), |chunks| {
        let mut proxy = Proxy::new(ProxyConfig { records: true, ..ProxyConfig::default() });
        let mut now = SharedInstant::ZERO;
        for client in 0..3 {
            proxy.handle_connected(ClientId(client));
            proxy.handle_stream(ClientId(client), End::Client, b"BZFLAG\r\n\r\n", now);
            let greeting = [b"BZFS0221".as_slice(), &[client as u8]].concat();
            proxy.handle_stream(ClientId(client), End::Server, &greeting, now);
        }
        for (client, is_client, is_stream, bytes) in chunks {
            now += Span::from_millis(37);
            let from = if is_client { End::Client } else { End::Server };
            if is_stream {
                proxy.handle_stream(ClientId(client), from, &bytes, now);
            } else {
                proxy.handle_datagram(ClientId(client), from, &bytes, now);
            }
            proxy.handle_timeout(now);
            while proxy.poll_transmit().is_some() {}
        }
        Ok(())
    });
}
