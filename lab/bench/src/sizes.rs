//! Sizes of DR vectors on the wire, measured over random batches.

use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, Generation, Life, PacketNumber};
use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::vector::Vec2;
use fairpath::wire::cost::with_quic_udp_ip;
use fairpath::wire::{Header, Nonce, Precision, encode_updates};
use fairpath::{DrVector, State};

use self::Times::{AnyMillisecond, OneTick, ThreeTicks};

/// The measured bytes of one DR vector in a batch, with its share of the header.
#[derive(Debug)]
pub(crate) struct SizeRow {
    pub(crate) batch: &'static str,
    pub(crate) bytes_mean: f64,
    /// In the largest datagram.
    pub(crate) bytes_max: f64,
    /// The mean with the headers of QUIC, UDP and IPv4.
    pub(crate) bytes_on_the_line: f64,
}

/// Measures linear and circular DR vectors in the plane, from cheap batches to expensive ones.
///
/// All values of a batch are drawn uniformly: positions from the whole world, velocities up to the
/// limit, ids from all entities, all generations and lives. Real games are cheaper.
pub(crate) fn size_table(precision: &Precision) -> Vec<SizeRow> {
    BATCHES.iter().map(|batch| batch.measured(precision)).collect()
}

struct Batch {
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

const PLAIN: Batch = Batch {
    name: "linear, 16 of 64 entities, one tick",
    kind: MotionKind::Linear,
    vectors: 16,
    entities: 64,
    times: OneTick,
    lives: 1,
    confirms: false,
};

const BATCHES: &[Batch] = &[
    Batch { name: "linear, alone", vectors: 1, ..PLAIN },
    PLAIN,
    Batch { name: "the same, with a confirmation", confirms: true, ..PLAIN },
    Batch { name: "the same, confirmed, after respawns", confirms: true, lives: 4, ..PLAIN },
    Batch { name: "linear, 16 of 64, three ticks", times: ThreeTicks, ..PLAIN },
    Batch { name: "linear, 16 of 64, any of 33 ms", times: AnyMillisecond, ..PLAIN },
    Batch { name: "linear, 16 of 16, any of 33 ms", entities: 16, times: AnyMillisecond, ..PLAIN },
    Batch { name: "linear, 16 of 1000, one tick", entities: 1000, ..PLAIN },
    Batch { name: "linear, 16 of 1000, three ticks", entities: 1000, times: ThreeTicks, ..PLAIN },
    Batch { name: "linear, 16 of 1000, any of 33 ms", entities: 1000, times: AnyMillisecond, ..PLAIN },
    Batch {
        name: "linear, 32 of 1000, any of 33 ms",
        vectors: 32,
        entities: 1000,
        times: AnyMillisecond,
        ..PLAIN
    },
    Batch { name: "linear, 64 of 64, one tick", vectors: 64, ..PLAIN },
    Batch { name: "circular, alone", kind: MotionKind::Circular, vectors: 1, ..PLAIN },
    Batch { name: "circular, 16 of 64, one tick", kind: MotionKind::Circular, ..PLAIN },
];

const DRAWS: usize = 256;

impl Batch {
    fn measured(&self, precision: &Precision) -> SizeRow {
        let mut random = Random::from_seed(1);
        let sizes: Vec<usize> = (0..DRAWS).map(|_| self.drawn_size(precision, &mut random)).collect();
        let vectors = self.vectors as f64;
        let mean = sizes.iter().sum::<usize>() as f64 / DRAWS as f64;
        SizeRow {
            batch: self.name,
            bytes_mean: mean / vectors,
            bytes_max: sizes.iter().copied().max().unwrap_or_default() as f64 / vectors,
            bytes_on_the_line: (mean + with_quic_udp_ip(0) as f64) / vectors,
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
        encode_updates(precision, &header, &vectors, &mut datagram).expect("a batch can be sent");
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
        let spin = random.between(-settings.turn_rate_limit, settings.turn_rate_limit);
        let state = State { spin, ..State::moving(position, velocity) };
        let generated_at = match self.times {
            OneTick => at_tick(tick),
            ThreeTicks => at_tick(tick - random.below(3) as i64),
            AnyMillisecond => at_tick(tick) - Span::from_millis(random.below(34) as i64),
        };
        DrVector {
            entity: EntityId(id),
            life: Life::new(random.below(self.lives) as u8),
            generation: Generation(random.bits() as u8),
            generated_at,
            motion: self.kind.from_state(&state),
            attitude: None,
            parent: None,
        }
    }
}

fn at_tick(tick: i64) -> SharedInstant {
    SharedInstant::ZERO + TickRate::hz(60).begin(tick)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_linear_vectors_take_at_most_ten_bytes_each() {
        let table = size_table(&Precision::default());
        for batch in [
            "linear, 16 of 64 entities, one tick",
            "the same, with a confirmation",
            "the same, confirmed, after respawns",
            "linear, 16 of 64, three ticks",
            "linear, 16 of 16, any of 33 ms",
        ] {
            let row = table.iter().find(|row| row.batch == batch).expect("a batch of the table");
            assert!(row.bytes_max <= 10.0, "{row:?}");
        }
    }

    #[test]
    fn expensive_ids_and_times_cost_less_than_a_byte_more() {
        for row in size_table(&Precision::default()) {
            if row.batch.starts_with("linear") && row.batch != "linear, alone" {
                assert!(row.bytes_max < 11.0, "{row:?}");
            }
        }
    }
}
