//! What is written comes back bit for bit, and what is broken is named by row and column.

use fairpath::DrVector;
use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Vec3;
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_sim::csv::CsvProblem;
use fairpath_sim::trace::{
    FollowedRow, InputRow, LengthUnit, Metadata, ModelKind, ReceiptKind, ReceiptRow, SendRow, StateKind,
    StateRow, Trace, VectorRow,
};

/// Any finite number, by its bits: huge, tiny, subnormal, −0.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |number| number.is_finite()),
        -1e3..1e3f64,
        Just(-0.0),
    ]
}

fn state() -> impl Strategy<Value = StateRow> {
    let kinds = [StateKind::Truth, StateKind::Exported, StateKind::Placed, StateKind::Drawn];
    let head = (any::<i64>(), any::<u32>(), any::<u16>(), prop::sample::select(kinds.to_vec()));
    (head, any::<Option<u32>>(), prop::array::uniform10(number()), any::<bool>()).prop_map(
        |((t_us, entity, life, kind), viewer, [x, y, z, vx, vy, vz, qw, qx, qy, qz], is_break)| StateRow {
            t_us,
            entity,
            life,
            kind,
            viewer,
            x,
            y,
            z,
            vx,
            vy,
            vz,
            qw,
            qx,
            qy,
            qz,
            is_break,
        },
    )
}

fn send() -> impl Strategy<Value = SendRow> {
    (any::<[i64; 2]>(), any::<[u32; 4]>(), any::<u16>(), any::<[u64; 2]>()).prop_map(
        |([t_us, generated_us], [sender, receiver, entity, bytes], life, [generation, packet])| SendRow {
            t_us,
            sender,
            receiver,
            entity,
            life,
            generation,
            generated_us,
            packet,
            bytes,
        },
    )
}

fn receipt() -> impl Strategy<Value = ReceiptRow> {
    let kinds = [ReceiptKind::Used, ReceiptKind::Stale, ReceiptKind::Duplicate];
    (send(), prop::sample::select(kinds.to_vec()), any::<Option<i64>>()).prop_map(|(send, kind, known_us)| {
        ReceiptRow {
            t_us: send.t_us,
            receiver: send.receiver,
            sender: send.sender,
            entity: send.entity,
            life: send.life,
            generation: send.generation,
            sent_us: send.generated_us,
            packet: send.packet,
            kind,
            known_us,
        }
    })
}

fn followed() -> impl Strategy<Value = FollowedRow> {
    (any::<[i64; 2]>(), any::<Option<u32>>(), any::<u32>(), any::<u16>()).prop_map(
        |([t_us, generated_us], viewer, entity, life)| FollowedRow {
            t_us,
            viewer,
            entity,
            life,
            generated_us,
        },
    )
}

fn vector() -> impl Strategy<Value = VectorRow> {
    let models = [ModelKind::Static, ModelKind::Linear, ModelKind::Quadratic, ModelKind::Circular];
    let numbers = (prop::array::uniform9(number()), prop::array::uniform5(number()));
    let names = (any::<[i64; 2]>(), any::<u32>(), any::<[u16; 2]>());
    (names, prop::sample::select(models.to_vec()), numbers).prop_map(
        |(([t_us, generated_us], entity, [life, generation]), model, (plain, circle))| {
            let [x, y, z, vx, vy, vz, ax, ay, az] = plain;
            let [heading, speed, turn_rate, climb_rate, climb_acceleration] = circle;
            VectorRow {
                t_us,
                entity,
                life,
                generation,
                generated_us,
                model,
                x,
                y,
                z,
                vx,
                vy,
                vz,
                ax,
                ay,
                az,
                heading,
                speed,
                turn_rate,
                climb_rate,
                climb_acceleration,
            }
        },
    )
}

fn input() -> impl Strategy<Value = InputRow> {
    (any::<i64>(), any::<[u32; 3]>(), any::<u64>(), prop::array::uniform4(number())).prop_map(
        |(t_us, [player, entity, buttons], sequence, [axis_0, axis_1, axis_2, axis_3])| InputRow {
            t_us,
            player,
            entity,
            sequence,
            buttons,
            axis_0,
            axis_1,
            axis_2,
            axis_3,
        },
    )
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let units = [LengthUnit::Metres, LengthUnit::GameUnits, LengthUnit::Pixels];
    let head = ("[a-zü]([a-z ]{0,10}[0-9])?", prop::sample::select(units.to_vec()));
    let counts = (any::<Option<u32>>(), any::<Option<u32>>());
    (head, counts, any::<u64>(), prop::array::uniform6(number())).prop_map(
        |((title, length_unit), (tick_rate_hz, players), seed, world)| {
            let [x_min, y_min, z_min, x_max, y_max, z_max] = world;
            Metadata {
                title,
                length_unit,
                tick_rate_hz,
                seed,
                players,
                x_min,
                y_min,
                z_min,
                x_max,
                y_max,
                z_max,
                ..Metadata::default()
            }
        },
    )
}

fn trace() -> impl Strategy<Value = Trace> {
    let tables = (
        prop::collection::vec(state(), 0..8),
        prop::collection::vec(send(), 0..8),
        prop::collection::vec(receipt(), 0..8),
        prop::collection::vec(followed(), 0..8),
        prop::collection::vec(vector(), 0..8),
        prop::collection::vec(input(), 0..8),
    );
    (metadata(), tables).prop_map(|(metadata, (states, sends, receipts, followed, vectors, inputs))| Trace {
        metadata,
        states,
        sends,
        receipts,
        followed,
        vectors,
        inputs,
    })
}

/// By its text and back.
fn rewritten(trace: &Trace) -> Trace {
    let metadata = trace.metadata.to_csv().unwrap();
    let states = StateRow::to_csv(&trace.states).unwrap();
    let sends = SendRow::to_csv(&trace.sends).unwrap();
    let receipts = ReceiptRow::to_csv(&trace.receipts).unwrap();
    let followed = FollowedRow::to_csv(&trace.followed).unwrap();
    let vectors = VectorRow::to_csv(&trace.vectors).unwrap();
    let inputs = InputRow::to_csv(&trace.inputs).unwrap();
    Trace {
        metadata: Metadata::from_csv(metadata.as_bytes()).unwrap(),
        states: StateRow::from_csv(states.as_bytes()).unwrap(),
        sends: SendRow::from_csv(sends.as_bytes()).unwrap(),
        receipts: ReceiptRow::from_csv(receipts.as_bytes()).unwrap(),
        followed: FollowedRow::from_csv(followed.as_bytes()).unwrap(),
        vectors: VectorRow::from_csv(vectors.as_bytes()).unwrap(),
        inputs: InputRow::from_csv(inputs.as_bytes()).unwrap(),
    }
}

#[test]
fn text_keeps_every_bit() {
    law!(trace(), |trace| {
        let back = rewritten(&trace);
        // Equality takes −0 for 0: the texts must be the same too.
        prop_assert_eq!(StateRow::to_csv(&back.states), StateRow::to_csv(&trace.states));
        prop_assert_eq!(InputRow::to_csv(&back.inputs), InputRow::to_csv(&trace.inputs));
        prop_assert_eq!(back.digest(), trace.digest());
        prop_assert_eq!(back, trace);
        Ok(())
    });
}

#[test]
fn the_digest_sees_every_number() {
    law!((trace(), any::<prop::sample::Index>(), 0usize..6), |(trace, index, table)| {
        let mut other = trace.clone();
        match table {
            0 if !trace.states.is_empty() => other.states[index.index(trace.states.len())].vz += 1.0,
            1 if !trace.sends.is_empty() => other.sends[index.index(trace.sends.len())].packet ^= 1,
            2 if !trace.receipts.is_empty() => {
                other.receipts.pop();
            }
            3 if !trace.followed.is_empty() => {
                other.followed[index.index(trace.followed.len())].generated_us ^= 1;
            }
            4 if !trace.vectors.is_empty() => {
                other.vectors[index.index(trace.vectors.len())].turn_rate += 1.0;
            }
            _ => other.metadata.seed ^= 1,
        }
        prop_assert_eq!(other.digest() == trace.digest(), other == trace);
        Ok(())
    });
}

#[test]
fn a_vector_comes_back_bit_for_bit_from_its_row() {
    law!(vector(), |row| {
        let vector = row.vector::<Vec3>();
        let again = VectorRow::new(SharedInstant::from_micros(row.t_us), &vector).map(|again| again.vector());
        // A static body may face in a way that a heading does not hold.
        prop_assert!(again == Some(vector) || row.model == ModelKind::Static && again.is_none());
        let attached = DrVector { parent: Some(EntityId(1)), ..vector };
        prop_assert_eq!(VectorRow::new(SharedInstant::ZERO, &attached), None);
        Ok(())
    });
}

#[test]
fn a_broken_cell_is_named() {
    let cell = (any::<prop::sample::Index>(), 0..StateRow::COLUMNS.len());
    law!((prop::collection::vec(state(), 1..8), cell), |(rows, (row, column))| {
        let row = row.index(rows.len());
        let text = StateRow::to_csv(&rows).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut cells: Vec<&str> = lines[row + 1].split(',').collect();
        cells[column] = "NaN";
        lines[row + 1] = cells.join(",");
        let error = StateRow::from_csv(lines.join("\n").as_bytes()).unwrap_err();
        prop_assert_eq!((error.row, error.column), (row as u64 + 2, Some(StateRow::COLUMNS[column])));
        let is_number = (5..15).contains(&column);
        prop_assert_eq!(error.problem == CsvProblem::NotFinite, is_number);
        Ok(())
    });
}

#[test]
fn what_is_not_finite_is_not_written() {
    law!((prop::collection::vec(state(), 1..8), any::<prop::sample::Index>()), |(mut rows, index)| {
        let row = index.index(rows.len());
        rows[row].vy = f64::NAN;
        let error = StateRow::to_csv(&rows).unwrap_err();
        prop_assert_eq!(error.to_string(), format!("row {}, column vy: not finite", row + 2));
        Ok(())
    });
}

#[test]
fn no_bytes_make_it_panic() {
    let almost = prop::collection::vec(prop::sample::select(&b"0123456789.,-eNa\n\r truth\xff"[..]), 0..120)
        .prop_map(|bytes| [StateRow::COLUMNS.join(",").as_bytes(), b"\n", &bytes].concat());
    law!(prop_oneof![almost, prop::collection::vec(any::<u8>(), 0..120)], |bytes| {
        let _ = StateRow::from_csv(&bytes);
        let _ = SendRow::from_csv(&bytes);
        let _ = ReceiptRow::from_csv(&bytes);
        let _ = InputRow::from_csv(&bytes);
        let _ = Metadata::from_csv(&bytes);
        Ok(())
    });
}
