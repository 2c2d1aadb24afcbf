//! Sizes: the bytes of a DR vector, alone and with the headers around it.

use super::{Header, Nonce, Precision, encode_updates};
use crate::dr_vector::DrVector;
use crate::motion::MotionKind;
use crate::number::{EntityId, Generation, Life, PacketNumber};
use crate::random::Random;
use crate::state::State;
use crate::time::{SharedInstant, Span, TickRate};
use crate::vector::Vec2;

/// Bytes of an IPv4 header without options (RFC 791).
pub const IPV4_BYTES: usize = 20;

/// Bytes of an IPv6 header without extensions (RFC 8200).
pub const IPV6_BYTES: usize = 40;

/// Bytes of a UDP header (RFC 768).
pub const UDP_BYTES: usize = 8;

/// Bytes that QUIC adds to one datagram: a short header of 1 byte, a connection id of 8 (quinn's
/// default; the peer chooses 0 to 20) and a packet number of 2 (1 to 4 are possible) (RFC 9000,
/// 17.3); a DATAGRAM frame's type and length, 1 and 2 bytes (RFC 9221); and the authentication tag
/// of 16 (RFC 9001, 5.3).
pub const QUIC_BYTES: usize = 1 + 8 + 2 + 1 + 2 + 16;

/// Bytes of the largest message that passes every path that QUIC works on, without path discovery:
/// 1200 bytes of UDP payload (RFC 9000, 14), minus QUIC's own.
pub const DATAGRAM_BYTES_MAX: usize = 1200 - QUIC_BYTES;

/// Returns the size on the line of a message of `datagram_bytes`, over QUIC, UDP and IPv4.
pub const fn with_quic_udp_ip(datagram_bytes: usize) -> usize {
    datagram_bytes + QUIC_BYTES + UDP_BYTES + IPV4_BYTES
}

/// The measured size of one scene, over many random draws.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeRow {
    /// Description of the scene.
    pub scene: &'static str,
    /// DR vectors in one datagram.
    pub vectors: usize,
    /// Mean size of a datagram.
    pub datagram_bytes_mean: f64,
    /// Size of the largest datagram.
    pub datagram_bytes_max: usize,
}

impl SizeRow {
    /// Returns the mean bytes of one DR vector, with its share of the datagram's header.
    pub fn bytes_per_vector(&self) -> f64 {
        self.datagram_bytes_mean / self.vectors as f64
    }

    /// Returns the bytes of one DR vector in the largest datagram, with its share of the header.
    pub fn bytes_per_vector_max(&self) -> f64 {
        self.datagram_bytes_max as f64 / self.vectors as f64
    }

    /// Returns the mean bytes of one DR vector, with its share of the QUIC, UDP and IPv4 headers.
    pub fn bytes_per_vector_on_the_line(&self) -> f64 {
        (self.datagram_bytes_mean + with_quic_udp_ip(0) as f64) / self.vectors as f64
    }
}

/// Measures the sizes of linear and circular DR vectors in the plane, from cheap scenes to
/// expensive ones.
///
/// All values of a scene are drawn uniformly: positions from the whole world, velocities up to the
/// limit, ids from all entities, all generations and lives. Values in real games are more alike,
/// and cheaper.
pub fn size_table(precision: &Precision) -> Vec<SizeRow> {
    SCENES.iter().map(|scene| scene.measured(precision)).collect()
}

struct Scene {
    name: &'static str,
    kind: MotionKind,
    vectors: usize,
    entities: u64,
    times: Times,
    lives: u64,
    confirms: bool,
}

#[derive(Clone, Copy)]
enum Times {
    /// Generated in the tick in which they are sent.
    OneTick,
    /// Generated in any of the last three ticks of 60 per second: a datagram every 33 ms.
    ThreeTicks,
    /// Generated at any millisecond of the last 33.
    AnyMillisecond,
}

const PLAIN: Scene = Scene {
    name: "linear, 16 of 64 entities, one tick",
    kind: MotionKind::Linear,
    vectors: 16,
    entities: 64,
    times: Times::OneTick,
    lives: 1,
    confirms: false,
};

const SCENES: &[Scene] = &[
    Scene { name: "linear, alone", vectors: 1, ..PLAIN },
    PLAIN,
    Scene { name: "the same, with a confirmation", confirms: true, ..PLAIN },
    Scene { name: "the same, confirmed, after respawns", confirms: true, lives: 4, ..PLAIN },
    Scene { name: "linear, 16 of 64, three ticks", times: Times::ThreeTicks, ..PLAIN },
    Scene { name: "linear, 16 of 64, any of 33 ms", times: Times::AnyMillisecond, ..PLAIN },
    Scene { name: "linear, 16 of 16, any of 33 ms", entities: 16, times: Times::AnyMillisecond, ..PLAIN },
    Scene { name: "linear, 16 of 1000, one tick", entities: 1000, ..PLAIN },
    Scene { name: "linear, 16 of 1000, three ticks", entities: 1000, times: Times::ThreeTicks, ..PLAIN },
    Scene { name: "linear, 16 of 1000, any of 33 ms", entities: 1000, times: Times::AnyMillisecond, ..PLAIN },
    Scene {
        name: "linear, 32 of 1000, any of 33 ms",
        vectors: 32,
        entities: 1000,
        times: Times::AnyMillisecond,
        ..PLAIN
    },
    Scene { name: "linear, 64 of 64, one tick", vectors: 64, ..PLAIN },
    Scene { name: "circular, alone", kind: MotionKind::Circular, vectors: 1, ..PLAIN },
    Scene { name: "circular, 16 of 64, one tick", kind: MotionKind::Circular, ..PLAIN },
];

/// Datagrams drawn of each scene.
const DRAWS: usize = 256;

impl Scene {
    fn measured(&self, precision: &Precision) -> SizeRow {
        let mut random = Random::from_seed(1);
        let sizes: Vec<usize> = (0..DRAWS).map(|_| self.drawn_size(precision, &mut random)).collect();
        SizeRow {
            scene: self.name,
            vectors: self.vectors,
            datagram_bytes_mean: sizes.iter().sum::<usize>() as f64 / DRAWS as f64,
            datagram_bytes_max: sizes.iter().copied().max().unwrap_or_default(),
        }
    }

    fn drawn_size(&self, precision: &Precision, random: &mut Random) -> usize {
        let tick = random.below(1_000_000) as i64;
        // Sent within a millisecond of the tick's end.
        let sent_at = at_tick(tick) + Span::from_micros(random.below(1_000) as i64);
        let header = Header {
            packet: PacketNumber(random.bits()).on_wire(),
            sent_at,
            nonce: Nonce::draw(random),
            confirmed: self.confirms.then(|| PacketNumber(random.bits()).on_wire()),
        };
        let vectors: Vec<_> =
            self.drawn_ids(random).into_iter().map(|id| self.drawn(precision, id, tick, random)).collect();
        let mut datagram = Vec::new();
        encode_updates(precision, &header, &vectors, &mut datagram).expect("a scene can be sent");
        datagram.len()
    }

    /// Returns the ids of random, different entities.
    fn drawn_ids(&self, random: &mut Random) -> Vec<u32> {
        let mut ids: Vec<u32> = (0..self.entities as u32).collect();
        for at in 0..self.vectors {
            let other = at + random.below(self.entities - at as u64) as usize;
            ids.swap(at, other);
        }
        ids.truncate(self.vectors);
        ids
    }

    fn drawn(&self, precision: &Precision, id: u32, tick: i64, random: &mut Random) -> DrVector<Vec2> {
        let settings = precision.settings();
        let (low, high) = (settings.world_min, settings.world_max);
        let position = Vec2::new(random.between(low.x, high.x), random.between(low.y, high.y));
        let limit = settings.velocity_limit;
        let velocity = Vec2::new(random.between(-limit, limit), random.between(-limit, limit));
        let turn_rate = random.between(-settings.turn_rate_limit, settings.turn_rate_limit);
        let mut state = State::moving(position, velocity);
        state.spin = turn_rate;
        let generated_at = match self.times {
            Times::OneTick => at_tick(tick),
            Times::ThreeTicks => at_tick(tick - random.below(3) as i64),
            Times::AnyMillisecond => at_tick(tick) - Span::from_millis(random.below(34) as i64),
        };
        DrVector {
            entity: EntityId(id),
            life: Life::new(random.below(self.lives) as u8),
            generation: Generation(random.bits() as u8),
            generated_at,
            motion: self.kind.from_state(&state),
            attitude: None,
        }
    }
}

fn at_tick(tick: i64) -> SharedInstant {
    SharedInstant::ZERO + TickRate::hz(60).begin(tick)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes per DR vector, header included, in the largest datagram of each scene.
    fn bytes_max(scene: &str) -> f64 {
        let table = size_table(&Precision::default());
        let row = table.iter().find(|row| row.scene == scene).expect("a scene of the table");
        row.bytes_per_vector_max()
    }

    #[test]
    fn sixteen_linear_vectors_take_at_most_ten_bytes_each() {
        for scene in [
            "linear, 16 of 64 entities, one tick",
            "the same, with a confirmation",
            "the same, confirmed, after respawns",
            "linear, 16 of 64, three ticks",
            "linear, 16 of 16, any of 33 ms",
        ] {
            assert!(bytes_max(scene) <= 10.0, "{scene}: {}", bytes_max(scene));
        }
    }

    #[test]
    fn unfriendly_ids_and_times_cost_less_than_a_byte_more() {
        for row in size_table(&Precision::default()) {
            if row.vectors >= 16 && row.scene.starts_with("linear") {
                assert!(row.bytes_per_vector_max() < 11.0, "{row:?}");
            }
        }
    }
}
