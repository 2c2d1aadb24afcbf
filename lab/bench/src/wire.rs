//! The codec: time and bytes of a datagram of 16 linear DR vectors.

use fairpath::DrVector;
use fairpath::State;
use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, Generation, Life};
use fairpath::random::Random;
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;
use fairpath::wire::{Header, Precision, decode_updates, encode_updates};

use crate::measure::{BenchTable, Contender};
use crate::sizes::size_table;

const VECTORS: usize = 16;

pub(crate) fn bench() -> BenchTable {
    let precision = Precision::default();
    let now = SharedInstant::from_millis(60_000);
    let header = Header { sent_at: now, ..Header::default() };
    let vectors = vectors(now);
    let mut datagram = Vec::new();
    encode_updates(&precision, &header, &vectors, &mut datagram).expect("finite numbers encode");
    let (mut raw, mut packed) = (Vec::new(), Vec::new());
    let mut table = BenchTable::measure(
        "Codec: a datagram of 16 linear DR vectors in the plane",
        vec![
            Contender::new("writing the same numbers as raw f64", VECTORS, || {
                raw.clear();
                for vector in &vectors {
                    write_raw(vector, &mut raw);
                }
                raw.len() as f64
            }),
            Contender::new("Precision::as_decoded (an owner's work per DR vector)", VECTORS, || {
                vectors.iter().map(|vector| precision.as_decoded(vector).generated_at.as_secs_f64()).sum()
            }),
            Contender::new("encode_updates", VECTORS, || {
                packed.clear();
                encode_updates(&precision, &header, &vectors, &mut packed).expect("finite numbers encode");
                packed.len() as f64
            }),
            Contender::new("decode_updates", VECTORS, || {
                let updates =
                    decode_updates::<Vec2>(&precision, now, &datagram).expect("what was encoded decodes");
                updates.vectors.len() as f64
            }),
        ],
    );
    table =
        table.note("bytes per DR vector with its share of the header; on the line adds QUIC, UDP and IPv4:");
    for row in size_table(&precision) {
        table = table.note(format!(
            "  {:<46} {:>6.2} (worst {:>5.2}), on the line {:>6.2}",
            row.batch, row.bytes_mean, row.bytes_max, row.bytes_on_the_line
        ));
    }
    table
}

fn vectors(now: SharedInstant) -> Vec<DrVector<Vec2>> {
    let mut random = Random::from_seed(2);
    (0..VECTORS as u32)
        .map(|index| {
            let mut draw = |limit: f64| random.between(-limit, limit);
            let state = State::moving(Vec2::new(draw(500.0), draw(500.0)), Vec2::new(draw(40.0), draw(40.0)));
            DrVector {
                entity: EntityId(index * 4),
                life: Life::default(),
                generation: Generation(index as u8),
                generated_at: now,
                motion: MotionKind::Linear.from_state(&state),
                attitude: None,
                parent: None,
            }
        })
        .collect()
}

fn write_raw(vector: &DrVector<Vec2>, out: &mut Vec<u8>) {
    let start = vector.motion.state_at(0.0);
    out.extend(vector.entity.0.to_le_bytes());
    out.extend(vector.generated_at.as_micros().to_le_bytes());
    for number in [start.position.x, start.position.y, start.velocity.x, start.velocity.y] {
        out.extend(number.to_le_bytes());
    }
}
