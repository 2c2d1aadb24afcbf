use fairpath::rotation::wrap_angle;
use fairpath::vector::Vec3;

use super::error::RecordingError;
use super::stretch::{Facing, Sample};
use super::table::Table;
use super::{RunKey, Tracks};

/// BZFlag's dense path: times in ms, everything else in game units, radians and seconds.
pub(super) fn read(mut table: Table<'_>, tracks: &mut Tracks<'_>) -> Result<(), RecordingError> {
    let [t, player, team, life, forced] = table.columns(["t_ms", "player", "team", "life", "forced"])?;
    let [x, y, z, vx, vy, vz] = table.columns(["x", "y", "z", "vx", "vy", "vz"])?;
    let [azimuth, angvel] = table.columns(["azimuth", "angvel"])?;
    while let Some(row) = table.next_row()? {
        if row.count::<u8>(forced)? != 0 {
            continue;
        }
        let sample = Sample {
            at: row.time_millis(t)?,
            position: Vec3::new(row.coordinate(x)?, row.coordinate(y)?, row.coordinate(z)?),
            velocity: Vec3::new(row.coordinate(vx)?, row.coordinate(vy)?, row.coordinate(vz)?),
            facing: Some(Facing {
                heading: wrap_angle(row.coordinate(azimuth)?),
                turn_rate: row.coordinate(angvel)?,
            }),
        };
        let key = RunKey { team: row.count(team)?, life: row.count(life)? };
        tracks.push(row.number, row.name(player)?, key, sample)?;
    }
    Ok(())
}
