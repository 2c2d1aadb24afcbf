use fairpath::vector::{Vec3, Vector};

use super::error::RecordingError;
use super::stretch::Sample;
use super::table::Table;
use super::{RunKey, Tracks};

/// Two teams in the plane, in seconds and metres. Every entity has one life; the breaks cut it.
pub(super) fn read(mut table: Table<'_>, tracks: &mut Tracks<'_>) -> Result<(), RecordingError> {
    let [t, entity, team, x, y] = table.columns(["t", "entity", "team", "x", "y"])?;
    while let Some(row) = table.next_row()? {
        let sample = Sample {
            at: row.time_secs(t)?,
            position: Vec3::new(row.coordinate(x)?, row.coordinate(y)?, 0.0),
            velocity: Vec3::ZERO, // estimated once the run is complete
            facing: None,
        };
        let key = RunKey { team: row.count(team)?, life: 0 };
        tracks.push(row.number, row.name(entity)?, key, sample)?;
    }
    Ok(())
}
