#![no_main]

use fairpath::number::{EntityId, Generation, Life, WirePacketNumber};
use fairpath::time::SharedInstant;
use fairpath::vector::{Planar, Vec2, Vec3};
use fairpath::wire::{Header, Nonce, Precision, VECTORS_MAX};
use fairpath::{Attitude, DrVector};
use fairpath_fuzz::speech::{motion, orientation, vector};
use fairpath_fuzz::{Entropy, decodes_as_predicted};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut source = Entropy(bytes);
    if source.take(1) % 2 == 0 { run::<Vec2>(source) } else { run::<Vec3>(source) }
});

fn run<V: Planar>(mut source: Entropy<'_>) {
    let header = Header {
        packet: WirePacketNumber(source.take(2) as u16),
        sent_at: SharedInstant::from_micros(source.take(8) as i64),
        nonce: Nonce(source.take(1) as u8),
        confirmed: (source.take(1) > 127).then(|| WirePacketNumber(source.take(2) as u16)),
    };
    let mut vectors: Vec<DrVector<V>> = Vec::new();
    while !source.is_empty() && vectors.len() <= VECTORS_MAX {
        let width = 1 + source.take(1) as usize % 4;
        let ago = source.take(width) as i64;
        vectors.push(DrVector {
            entity: EntityId(source.take(width) as u32),
            life: Life::new(source.take(1) as u8),
            generation: Generation(source.take(1) as u8),
            generated_at: SharedInstant::from_micros(header.sent_at.as_micros().wrapping_sub(ago)),
            motion: motion(&mut source),
            attitude: (source.take(1) > 127).then(|| Attitude {
                orientation: V::from_quat(orientation(&mut source)),
                spin: V::spin_from_3d(vector(&mut source)),
            }),
            parent: (source.take(1) > 191).then(|| EntityId(source.take(width) as u32)),
        });
    }
    decodes_as_predicted(&Precision::default(), &header, &vectors);
}
