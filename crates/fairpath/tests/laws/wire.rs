//! Goal: what is decoded is what was meant, and no bytes hurt. Method: messages full of ordinary,
//! outlandish and extreme numbers, the same messages damaged, and bytes that were never a message.

use std::f64::consts::TAU;

use fairpath::motion::{Circular, Dis, Hermite, Linear, Motion, Quadratic, Static, dis};
use fairpath::number::{EntityId, Generation, Life, PacketNumber, WirePacketNumber};
use fairpath::rotation::Quat;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Planar, Vec2, Vec3, Vector};
use fairpath::wire::{
    DecodeError, EncodeError, Feedback, Header, Kind, Nonce, Precision, PrecisionSettings, Receipt, StaleSet,
    UpdatesBody, decode_feedback, decode_updates, encode_feedback, encode_updates, pack_feedback,
    pack_updates,
};
use fairpath::{Attitude, DrVector};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;
use fairpath_laws::proptest::{collection, num, option, sample};

#[test]
fn what_is_decoded_is_what_the_sender_predicts_from() {
    law!((precision(), batch::<Vec2>()), |(precision, batch)| decodes_as_predicted(&precision, batch));
    law!((precision(), batch::<Vec3>()), |(precision, batch)| decodes_as_predicted(&precision, batch));
}

fn decodes_as_predicted<V: Planar>(precision: &Precision, batch: Batch<V>) -> Result<(), TestCaseError> {
    let bytes = batch.encoded(precision);
    let decoded = decode_updates::<V>(precision, batch.near, &bytes);
    let decoded = decoded.map_err(|error| TestCaseError::fail(format!("{error}")))?;
    prop_assert_eq!(decoded.header, batch.header);
    let mut expected: Vec<_> = batch.vectors.iter().map(|vector| precision.as_decoded(vector)).collect();
    expected.sort_by_key(|vector| vector.entity);
    prop_assert_eq!(decoded.vectors, expected);
    Ok(())
}

#[test]
fn any_header_fits_any_body_of_its_instant() {
    law!((precision(), batch::<Vec2>(), batch::<Vec2>()), |(precision, one, other)| {
        joins_with(&precision, one, &other.header)
    });
    law!((precision(), batch::<Vec3>(), batch::<Vec3>()), |(precision, one, other)| {
        joins_with(&precision, one, &other.header)
    });
}

/// The body of a batch, encoded once, makes the same message with this header as encoding it whole.
fn joins_with<V: Planar>(
    precision: &Precision,
    mut batch: Batch<V>,
    header: &Header,
) -> Result<(), TestCaseError> {
    batch.vectors.sort_by_key(|vector| vector.entity);
    let mut body = UpdatesBody::default();
    body.encode(precision, batch.header.sent_at, &batch.vectors).expect("a sound batch");
    batch.header = Header { sent_at: batch.header.sent_at, ..*header };
    let mut joined = vec![7];
    body.write::<V>(&batch.header, &mut joined);
    prop_assert_eq!(joined.len() - 1, body.bytes_with(&batch.header));
    prop_assert_eq!(&joined[1..], &batch.encoded(precision));
    Ok(())
}

#[test]
fn decoding_twice_changes_nothing_more() {
    law!((precision(), vector::<Vec2>()), |(precision, vector)| is_decoded_once(&precision, &vector));
    law!((precision(), vector::<Vec3>()), |(precision, vector)| is_decoded_once(&precision, &vector));
}

fn is_decoded_once<V: Planar>(precision: &Precision, vector: &DrVector<V>) -> Result<(), TestCaseError> {
    let once = precision.as_decoded(vector);
    prop_assert_eq!(precision.as_decoded(&once), once);
    Ok(())
}

#[test]
fn decoded_numbers_are_within_the_stated_precision() {
    law!((precision(), vector::<Vec2>()), |(precision, vector)| is_precise(&precision, &vector));
    law!((precision(), vector::<Vec3>()), |(precision, vector)| is_precise(&precision, &vector));
}

fn is_precise<V: Planar>(precision: &Precision, vector: &DrVector<V>) -> Result<(), TestCaseError> {
    let decoded = precision.as_decoded(vector);
    let settings = precision.settings();
    let time_error = (decoded.generated_at - vector.generated_at).abs();
    prop_assert!(time_error.as_micros() * 2 <= settings.time_step.as_micros());
    let (meant, found) = (quantities(vector, settings), quantities(&decoded, settings));
    prop_assert_eq!(meant.len(), found.len());
    for (meant, found) in meant.into_iter().zip(found) {
        let Quantity { value, step } = meant;
        let off = (value - found.value).abs();
        let exact = off == 0.0;
        let rounded = off <= step * 0.5 * (1.0 + 1e-9) && value.abs() < step * f64::from(1 << 23);
        prop_assert!(exact || rounded, "{} became {}, at steps of {}", value, found.value, step);
    }
    let angle_step = TAU / f64::from(settings.angle_steps);
    for (meant, found) in headings(vector).iter().zip(headings(&decoded)) {
        prop_assert!(Vec2::angle_between(*meant, found) <= 0.5 * angle_step * (1.0 + 1e-9));
    }
    for (meant, found) in orientations(vector).iter().zip(orientations(&decoded)) {
        prop_assert!(meant.angle_to(found) <= angle_step, "off by {}", meant.angle_to(found));
    }
    Ok(())
}

#[test]
fn a_message_is_never_larger_than_its_budget_and_never_smaller_than_it_could_be() {
    law!((precision(), batch::<Vec2>(), 0..700usize), |(precision, batch, bytes_max)| {
        let mut bytes = Vec::new();
        let count = pack_updates(&precision, &batch.header, &batch.vectors, bytes_max, &mut bytes)
            .expect("a sound batch");
        prop_assert!(bytes.len() <= bytes_max);
        let first = |count| Batch { vectors: batch.vectors[..count].to_vec(), ..batch.clone() };
        if count == 0 {
            prop_assert!(bytes.is_empty());
        } else {
            prop_assert_eq!(&bytes, &first(count).encoded(&precision));
        }
        if count < batch.vectors.len() {
            prop_assert!(first(count + 1).encoded(&precision).len() > bytes_max);
        }
        Ok(())
    });
    law!((feedback(), 0..400usize), |(all, bytes_max)| {
        let nonce = |receipt: &Receipt| Nonce(receipt.packet.0.wrapping_mul(40_503) as u8);
        let proven: Vec<_> = all.receipts.iter().map(|receipt| (*receipt, nonce(receipt))).collect();
        let mut bytes = Vec::new();
        let count = pack_feedback(&all.header, all.is_complete, &proven, bytes_max, &mut bytes)
            .expect("sound receipts");
        prop_assert!(bytes.len() <= bytes_max);
        let first = |count: usize| Feedback {
            header: Header { nonce: Nonce::of_all(all.receipts[..count].iter().map(nonce)), ..all.header },
            is_complete: all.is_complete && count == all.receipts.len(),
            receipts: all.receipts[..count].to_vec(),
        };
        prop_assert!(count == all.receipts.len() || encoded_feedback(&first(count + 1)).len() > bytes_max);
        if count > 0 {
            prop_assert_eq!(
                bytes,
                encoded_feedback(&first(count)),
                "proven, and complete only if all are in"
            );
        }
        Ok(())
    });
}

#[test]
fn the_size_of_one_vector_is_known_before_it_is_sent() {
    law!((precision(), vector::<Vec2>()), |(precision, vector)| {
        let alone = Batch::of(vec![vector]).encoded(&precision).len() * 8;
        let of_header = Batch::<Vec2>::of(vec![]).encoded(&precision).len() * 8;
        let bits = precision.bits_of(&vector);
        prop_assert!(of_header + bits <= alone + 7, "{} of {}", bits, alone);
        Ok(())
    });
}

#[test]
fn receipts_arrive_as_they_were_sent() {
    law!(feedback(), |feedback| {
        let bytes = encoded_feedback(&feedback);
        let newest = feedback.receipts.last().map_or(PacketNumber(7), |receipt| receipt.packet);
        for newest_sent in
            [newest, PacketNumber(newest.0 + 30_000), PacketNumber(newest.0.saturating_sub(30_000))]
        {
            let decoded = decode_feedback(feedback.header.sent_at, newest_sent, &bytes);
            prop_assert_eq!(decoded.as_ref(), Ok(&feedback));
        }
        Ok(())
    });
}

#[test]
fn whatever_decodes_has_one_spelling_only() {
    law!((precision(), batch::<Vec2>(), damage()), |(precision, batch, damage)| {
        updates_are_canonical::<Vec2>(&precision, &damage.done_to(batch.encoded(&precision)))
    });
    law!((precision(), batch::<Vec3>(), damage()), |(precision, batch, damage)| {
        updates_are_canonical::<Vec3>(&precision, &damage.done_to(batch.encoded(&precision)))
    });
    law!((feedback(), damage()), |(feedback, damage)| {
        feedback_is_canonical(&damage.done_to(encoded_feedback(&feedback)))
    });
}

#[test]
fn any_bytes_are_decoded_or_refused() {
    law!((precision(), any_message()), |(precision, bytes)| {
        updates_are_canonical::<Vec2>(&precision, &bytes)?;
        updates_are_canonical::<Vec3>(&precision, &bytes)?;
        feedback_is_canonical(&bytes)
    });
}

fn updates_are_canonical<V: Planar>(precision: &Precision, bytes: &[u8]) -> Result<(), TestCaseError> {
    let near = SharedInstant::from_millis(77);
    if let Ok(decoded) = decode_updates::<V>(precision, near, bytes) {
        prop_assert!(decoded.vectors.capacity() <= bytes.len(), "allocates as much as it was sent");
        let mut again = Vec::new();
        encode_updates(precision, &decoded.header, &decoded.vectors, &mut again).expect("what was decoded");
        prop_assert_eq!(again, bytes);
    }
    Ok(())
}

fn feedback_is_canonical(bytes: &[u8]) -> Result<(), TestCaseError> {
    if let Ok(decoded) = decode_feedback(SharedInstant::ZERO, PacketNumber(40_000), bytes) {
        prop_assert!(decoded.receipts.capacity() <= bytes.len() * 8, "allocates as much as it was sent");
        prop_assert_eq!(encoded_feedback(&decoded), bytes);
    }
    Ok(())
}

#[test]
fn what_is_not_finite_is_refused_and_leaves_no_trace() {
    let precision = Precision::default();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let motions = [
            Motion::Linear(Linear { position: Vec3::new(0.0, bad, 0.0), velocity: Vec3::ZERO }),
            Motion::Static(Static { position: Vec3::ZERO, orientation: Quat { w: bad, v: Vec3::ZERO } }),
            Motion::Hermite(Hermite {
                start: Vec3::ZERO,
                start_velocity: Vec3::ZERO,
                end: Vec3::ZERO,
                end_velocity: Vec3::ZERO,
                secs: bad.abs(),
            }),
        ];
        for motion in motions {
            let vector = DrVector { motion, ..plain::<Vec3>() };
            let mut bytes = vec![1, 2, 3];
            let refused = encode_updates(
                &precision,
                &Header::default(),
                &[plain(), DrVector { entity: EntityId(9), ..vector }],
                &mut bytes,
            );
            assert_eq!(refused, Err(EncodeError::NonFinite(EntityId(9))));
            assert_eq!(bytes, [1, 2, 3]);
            assert_eq!(precision.bits_of(&vector), 0);
        }
    }
}

#[test]
fn what_a_message_cannot_carry_is_a_typed_error() {
    let precision = Precision::default();
    let encode =
        |vectors: &[DrVector<Vec2>]| encode_updates(&precision, &Header::default(), vectors, &mut Vec::new());
    assert_eq!(encode(&[plain(), plain()]), Err(EncodeError::DuplicateEntity(EntityId(0))));
    assert_eq!(encode(&vec![plain(); 256]), Err(EncodeError::TooMany(256)));
    let eternal = DrVector { generated_at: SharedInstant::from_micros(i64::MAX), ..plain() };
    assert_eq!(encode(&[eternal]), Err(EncodeError::OutOfRange));
    let older = DrVector { entity: EntityId(1), generated_at: SharedInstant::from_secs_f64(-5e6), ..plain() };
    assert_eq!(encode(&[plain(), older]), Err(EncodeError::OutOfRange), "58 days apart");
}

#[test]
fn a_message_of_another_kind_is_told_from_a_broken_one() {
    let precision = Precision::default();
    let bytes = Batch::of(vec![plain::<Vec2>()]).encoded(&precision);
    let near = SharedInstant::ZERO;
    assert_eq!(Kind::of(&bytes), Ok(Kind::Updates2d));
    assert_eq!(decode_updates::<Vec3>(&precision, near, &bytes), Err(DecodeError::WrongDimensions));
    assert_eq!(decode_feedback(near, PacketNumber(0), &bytes), Err(DecodeError::WrongKind));
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(decode_updates::<Vec2>(&precision, near, &longer), Err(DecodeError::TrailingBytes));
    for end in 0..bytes.len() {
        let refused = decode_updates::<Vec2>(&precision, near, &bytes[..end]);
        assert_eq!(refused, Err(DecodeError::Truncated), "cut after {end} bytes");
    }
}

/// What a message is made of.
#[derive(Clone, Debug)]
struct Batch<V: Planar> {
    header: Header,
    vectors: Vec<DrVector<V>>,
    /// An instant that the receiver knows.
    near: SharedInstant,
}

impl<V: Planar> Batch<V> {
    fn of(vectors: Vec<DrVector<V>>) -> Self {
        let sent_at = vectors.first().map_or(SharedInstant::ZERO, |vector| vector.generated_at);
        Self { header: Header { sent_at, ..Header::default() }, vectors, near: sent_at }
    }

    fn encoded(&self, precision: &Precision) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_updates(precision, &self.header, &self.vectors, &mut bytes).expect("a sound batch");
        bytes
    }
}

fn encoded_feedback(feedback: &Feedback) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_feedback(feedback, &mut bytes).expect("sound receipts");
    bytes
}

/// Half of the time the default, else anything that is allowed; except for time steps so fine that
/// the oldest DR vectors drawn here, a day old, would be too many of them ago.
fn precision() -> impl Strategy<Value = Precision> {
    let step = || prop_oneof![Just(0.01), Just(0.125), 0.001..3.0f64];
    let limit = || prop_oneof![Just(0.0), 0.5..900.0f64];
    let corner = || (limit(), limit(), limit()).prop_map(|(x, y, z)| Vec3::new(x, y, z));
    let angles = prop_oneof![Just(4096u32), (4..600_000u32).prop_map(|half| half.min(1 << 19) * 2)];
    let any = (
        (step(), step(), step(), step()),
        (limit(), limit(), limit()),
        (corner(), corner()),
        angles,
        50..1_000_001i64,
    );
    let any = any.prop_map(|(steps, limits, corners, angle_steps, micros)| PrecisionSettings {
        position_step: steps.0,
        velocity_step: steps.1,
        acceleration_step: steps.2,
        turn_rate_step: steps.3,
        velocity_limit: limits.0,
        acceleration_limit: limits.1,
        turn_rate_limit: limits.2,
        world_min: corners.0 * -1.0,
        world_max: corners.1,
        angle_steps,
        time_step: Span::from_micros(micros),
    });
    prop_oneof![Just(PrecisionSettings::default()), any]
        .prop_map(|settings| Precision::new(settings).expect("sound settings"))
}

/// Numbers in the world, around it, far from it, and anything at all that is finite.
fn number() -> impl Strategy<Value = f64> {
    let finite =
        num::f64::NORMAL | num::f64::SUBNORMAL | num::f64::ZERO | num::f64::POSITIVE | num::f64::NEGATIVE;
    prop_oneof![8 => -40.0..40.0f64, 2 => -600.0..600.0f64, 1 => Just(0.0), 1 => -1e6..1e6f64, 1 => finite]
}

fn vector3() -> impl Strategy<Value = Vec3> {
    (number(), number(), number()).prop_map(|(x, y, z)| Vec3::new(x, y, z))
}

/// Any orientation, with the awkward ones: ties between the components of the quaternion.
fn orientation() -> impl Strategy<Value = Quat> {
    let component = || prop_oneof![4 => -1.0..1.0f64, 1 => Just(0.5), 1 => Just(-0.5), 1 => Just(0.0)];
    (component(), component(), component(), component())
        .prop_map(|(w, x, y, z)| Quat { w, v: Vec3::new(x, y, z) }.normalized())
}

fn motion<V: Planar>() -> impl Strategy<Value = Motion<V>> {
    let parts = (collection::vec(vector3(), 4), collection::vec(number(), 5), orientation());
    (0..6, sample::select(&dis::Model::ALL[..]), parts).prop_map(
        |(model, dis_model, (vectors, numbers, orientation))| {
            let [position, velocity, acceleration, end] = std::array::from_fn(|at| V::from_3d(vectors[at]));
            match model {
                0 => Motion::Static(Static { position, orientation: V::from_quat(orientation) }),
                1 => Motion::Linear(Linear { position, velocity }),
                2 => Motion::Quadratic(Quadratic { position, velocity, acceleration }),
                3 => Motion::Circular(Circular {
                    position,
                    heading: numbers[0],
                    speed: numbers[1],
                    turn_rate: numbers[2],
                    climb_rate: numbers[3],
                    climb_acceleration: numbers[4],
                }),
                4 => Motion::Hermite(Hermite {
                    start: position,
                    start_velocity: velocity,
                    end,
                    end_velocity: acceleration,
                    secs: numbers[0].abs(),
                }),
                _ => Motion::Dis(Dis {
                    model: dis_model,
                    position: vectors[0],
                    velocity: vectors[1],
                    acceleration: if numbers[0] < 0.0 { Vec3::ZERO } else { vectors[2] },
                    orientation,
                    angular_velocity: if numbers[1] < 0.0 { Vec3::ZERO } else { vectors[3] },
                }),
            }
        },
    )
}

/// A DR vector of entity 0 from about time zero.
fn vector<V: Planar>() -> impl Strategy<Value = DrVector<V>> {
    let attitude = option::weighted(0.3, (orientation(), vector3()));
    let time = prop_oneof![4 => Just(0), 4 => 0..40i64, 1 => 0..5_000i64, 1 => -10..100_000_000i64];
    let parent = option::weighted(0.1, prop_oneof![3 => 0..9u32, 1 => any::<u32>()]);
    (motion(), attitude, time, any::<u8>(), prop_oneof![Just(0), any::<u8>()], parent).prop_map(
        |(motion, attitude, millis_ago, generation, life, parent)| DrVector {
            parent: parent.map(EntityId),
            motion,
            attitude: attitude.map(|(orientation, spin)| Attitude {
                orientation: V::from_quat(orientation),
                spin: V::spin_from_3d(spin),
            }),
            generated_at: SharedInstant::from_micros(-millis_ago * 1_003),
            generation: Generation(generation),
            life: Life::new(life),
            ..plain()
        },
    )
}

fn plain<V: Planar>() -> DrVector<V> {
    DrVector {
        entity: EntityId(0),
        life: Life::default(),
        generation: Generation(0),
        generated_at: SharedInstant::ZERO,
        motion: Motion::Linear(Linear { position: V::ZERO, velocity: V::ZERO }),
        attitude: None,
        parent: None,
    }
}

fn batch<V: Planar>() -> impl Strategy<Value = Batch<V>> {
    let ids = prop_oneof![
        collection::btree_set(0..64u32, 0..40),
        collection::btree_set(0..1000u32, 0..40),
        collection::btree_set(any::<u32>(), 0..40),
        (0..30u32, 0..40u32).prop_map(|(first, count)| (first..first + count).collect()),
    ];
    let minutes_off = -2..=2i64;
    (ids.prop_shuffled(), collection::vec(vector::<V>(), 40), header(), minutes_off).prop_map(
        |(ids, vectors, header, minutes_off)| {
            let since_zero = header.sent_at.since_zero();
            let near = header.sent_at + Span::from_secs(minutes_off * 60);
            let placed = ids.into_iter().zip(vectors).map(|(id, vector)| DrVector {
                entity: EntityId(id),
                generated_at: vector.generated_at + since_zero,
                ..vector
            });
            Batch { header, vectors: placed.collect(), near }
        },
    )
}

/// Ids come in any order.
trait Shuffled: Strategy<Value = std::collections::BTreeSet<u32>> + Sized {
    fn prop_shuffled(self) -> impl Strategy<Value = Vec<u32>> {
        self.prop_map(|ids| ids.into_iter().collect::<Vec<_>>()).prop_shuffle()
    }
}

impl<S: Strategy<Value = std::collections::BTreeSet<u32>>> Shuffled for S {}

fn header() -> impl Strategy<Value = Header> {
    let sent_at = prop_oneof![-1_000_000..100_000_000i64, -(1i64 << 59)..1i64 << 59];
    (any::<u16>(), sent_at, any::<u8>(), option::of(any::<u16>())).prop_map(
        |(packet, sent_at, nonce, confirmed)| Header {
            packet: WirePacketNumber(packet),
            sent_at: SharedInstant::from_micros(sent_at),
            nonce: Nonce(nonce),
            confirmed: confirmed.map(WirePacketNumber),
        },
    )
}

/// From a steady link to one that reorders, with clocks that agree or do not.
fn feedback() -> impl Strategy<Value = Feedback> {
    let gap = prop_oneof![6 => Just(1u64), 2 => 1..4u64, 1 => 1..200u64];
    let jitter = prop_oneof![Just(0i64), 0..3_000i64, -90_000..90_000i64];
    let stale = prop_oneof![
        6 => Just(StaleSet::NONE),
        1 => collection::vec(0..255usize, 1..5).prop_map(StaleSet::from_iter),
    ];
    let one = (gap, jitter, stale);
    let delay = prop_oneof![0..300_000i64, -20_000_000_000..20_000_000_000i64];
    (header(), any::<bool>(), collection::vec(one, 0..60), 40_000..1_000_000u64, delay).prop_map(
        |(header, is_complete, ones, first_packet, delay)| {
            let mut packet = first_packet;
            let received = |(gap, jitter, stale)| {
                packet += gap;
                let sent = (packet - first_packet) as i64 * 16_667;
                Receipt {
                    packet: PacketNumber(packet),
                    received_at: header.sent_at + Span::from_micros(sent + jitter - 1_000_000),
                    delay: Span::from_micros(delay + jitter),
                    stale,
                }
            };
            Feedback { header, is_complete, receipts: ones.into_iter().map(received).collect() }
        },
    )
}

/// What a bad link or a bad person does to a message.
#[derive(Clone, Debug)]
struct Damage {
    flips: Vec<sample::Index>,
    cut: Option<sample::Index>,
    tail: Vec<u8>,
}

impl Damage {
    fn done_to(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for flip in &self.flips {
            let bit = flip.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        if let Some(cut) = &self.cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        bytes.extend_from_slice(&self.tail);
        bytes
    }
}

fn damage() -> impl Strategy<Value = Damage> {
    let flips = collection::vec(any::<sample::Index>(), 0..4);
    let cut = option::weighted(0.2, any::<sample::Index>());
    let tail = prop_oneof![4 => Just(vec![]), 1 => collection::vec(any::<u8>(), 1..9)];
    (flips, cut, tail).prop_map(|(flips, cut, tail)| Damage { flips, cut, tail })
}

/// Bytes whose first one is right more often than chance would have it.
fn any_message() -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![Just(0x40), Just(0x44), Just(0x48), Just(0x4A), any::<u8>()];
    let rest = prop_oneof![
        collection::vec(any::<u8>(), 0..200),
        collection::vec(prop_oneof![Just(0), Just(0xFF), any::<u8>()], 0..200),
    ];
    (first, rest).prop_map(|(first, rest)| [vec![first], rest].concat())
}

/// A number, and what it may be rounded to.
#[derive(Clone, Copy)]
struct Quantity {
    value: f64,
    step: f64,
}

fn quantities<V: Planar>(vector: &DrVector<V>, settings: &PrecisionSettings) -> Vec<Quantity> {
    let mut all = Vec::new();
    let mut add = |step: f64, vector: Vec3| {
        all.extend((0..3).map(|axis| Quantity { value: vector.component(axis), step }));
    };
    let s = settings;
    let (position, velocity, acceleration, turn_rate) =
        (s.position_step, s.velocity_step, s.acceleration_step, s.turn_rate_step);
    match &vector.motion {
        Motion::Static(it) => add(position, it.position.to_3d()),
        Motion::Linear(it) => {
            add(position, it.position.to_3d());
            add(velocity, it.velocity.to_3d());
        }
        Motion::Quadratic(it) => {
            add(position, it.position.to_3d());
            add(velocity, it.velocity.to_3d());
            add(acceleration, it.acceleration.to_3d());
        }
        Motion::Circular(it) => {
            let of_space = if V::DIMENSIONS == 2 { 0.0 } else { 1.0 };
            add(position, it.position.to_3d());
            add(velocity, Vec3::new(it.speed, it.climb_rate * of_space, 0.0));
            add(turn_rate, Vec3::new(it.turn_rate, 0.0, 0.0));
            add(acceleration, Vec3::new(it.climb_acceleration * of_space, 0.0, 0.0));
        }
        Motion::Hermite(it) => {
            add(position, it.start.to_3d());
            add(velocity, it.start_velocity.to_3d());
            add(position, it.end.to_3d());
            add(velocity, it.end_velocity.to_3d());
            // A curve lasts at least a step.
            let step = s.time_step.as_secs_f64();
            add(step, Vec3::new(it.secs.max(step), 0.0, 0.0));
        }
        Motion::Dis(it) => {
            add(position, it.position);
            add(velocity, it.velocity);
            add(acceleration, it.acceleration);
            add(turn_rate, it.angular_velocity);
        }
    }
    if let Some(attitude) = vector.attitude {
        add(turn_rate, V::spin_to_3d(attitude.spin));
    }
    all
}

/// Headings of ordinary size: of an angle of many turns little is left to be precise about.
fn headings<V: Planar>(vector: &DrVector<V>) -> Vec<f64> {
    match &vector.motion {
        Motion::Circular(it) if it.heading.abs() < 1e3 => vec![it.heading],
        _ => vec![],
    }
}

fn orientations<V: Planar>(vector: &DrVector<V>) -> Vec<Quat> {
    let of_motion = match &vector.motion {
        Motion::Static(it) => Some(V::to_quat(it.orientation)),
        Motion::Dis(it) => Some(it.orientation),
        _ => None,
    };
    of_motion.into_iter().chain(vector.attitude.map(|attitude| V::to_quat(attitude.orientation))).collect()
}
