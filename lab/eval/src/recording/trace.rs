use fairpath::rotation::Quat;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec3;
use fairpath_sim::trace::StateRow;

use super::error::{Problem, RecordingError};
use super::stretch::{Facing, Sample};
use super::table::{COORDINATE_MAX, TIME_SECS_MAX, Table};
use super::{RunKey, Tracks};

/// The states of a trace as text: times in µs, everything else in the trace's own unit and seconds.
pub(super) fn read(mut table: Table<'_>, tracks: &mut Tracks<'_>) -> Result<(), RecordingError> {
    let [t, entity, life, kind, is_break] = table.columns(["t_us", "entity", "life", "kind", "break"])?;
    let [x, y, z, vx, vy, vz] = table.columns(["x", "y", "z", "vx", "vy", "vz"])?;
    let [qw, qx, qy, qz] = table.columns(["qw", "qx", "qy", "qz"])?;
    let viewer = if table.has("viewer") { Some(table.columns(["viewer"])?[0]) } else { None };
    while let Some(row) = table.next_row()? {
        let state = StateRow {
            t_us: row.count(t)?,
            entity: row.count(entity)?,
            life: row.count(life)?,
            kind: row.state_kind(kind)?,
            viewer: viewer.and_then(|column| row.count(column).ok()),
            x: row.number(x)?,
            y: row.number(y)?,
            z: row.number(z)?,
            vx: row.number(vx)?,
            vy: row.number(vy)?,
            vz: row.number(vz)?,
            qw: row.number(qw)?,
            qx: row.number(qx)?,
            qy: row.number(qy)?,
            qz: row.number(qz)?,
            is_break: row.count::<u8>(is_break)? != 0,
        };
        push(row.number, &state, tracks)?;
    }
    Ok(())
}

/// Takes rows in memory, of which the first has the number `first`.
pub(super) fn take(first: usize, states: &[StateRow], tracks: &mut Tracks<'_>) -> Result<(), RecordingError> {
    (first..).zip(states).try_for_each(|(number, state)| push(number, state, tracks))
}

fn push(number: usize, state: &StateRow, tracks: &mut Tracks<'_>) -> Result<(), RecordingError> {
    if state.kind != tracks.kind || !tracks.is_of_viewer(state.viewer) {
        return Ok(());
    }
    check(state)
        .map_err(|(column, problem)| RecordingError::at(tracks.file, number, problem).in_column(column))?;
    let name = state.entity.to_string();
    if state.is_break {
        tracks.cut(&name);
    }
    tracks.push(number, &name, RunKey { team: 0, life: state.life.into() }, sample(state))
}

/// Checks every number: memory and Parquet can contain any, and so can text.
fn check(state: &StateRow) -> Result<(), (&'static str, Problem)> {
    const TIME_MAX: Span = Span::from_secs(TIME_SECS_MAX as i64);
    if (state.at() - SharedInstant::ZERO).abs() > TIME_MAX {
        return Err(("t_us", Problem::TooLate(format!("{} µs", state.t_us))));
    }
    let numbers = [
        ("x", state.x),
        ("y", state.y),
        ("z", state.z),
        ("vx", state.vx),
        ("vy", state.vy),
        ("vz", state.vz),
        ("qw", state.qw),
        ("qx", state.qx),
        ("qy", state.qy),
        ("qz", state.qz),
    ];
    for (column, number) in numbers {
        if !number.is_finite() {
            return Err((column, Problem::NotFinite(format!("{number:?}"))));
        }
        if number.abs() > COORDINATE_MAX {
            return Err((column, Problem::TooFar(format!("{number:?}"))));
        }
    }
    Ok(())
}

fn sample(state: &StateRow) -> Sample {
    Sample {
        at: state.at(),
        position: Vec3::new(state.x, state.y, state.z),
        velocity: Vec3::new(state.vx, state.vy, state.vz),
        facing: facing(Quat { w: state.qw, v: Vec3::new(state.qx, state.qy, state.qz) }),
    }
}

/// Returns the heading, without a turn rate yet. All zeros mean no orientation.
fn facing(orientation: Quat) -> Option<Facing> {
    let is_known = orientation.w != 0.0 || orientation.v != Vec3::new(0.0, 0.0, 0.0);
    is_known.then(|| Facing { heading: orientation.normalized().heading(), turn_rate: 0.0 })
}
