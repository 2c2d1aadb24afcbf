use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;

use super::Source;
use super::error::{Problem, RecordingError};
use super::table::Table;

/// A recorded lap: positions in the plane, in order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedLap {
    pub name: String,
    /// Time and position, on the lap's own clock.
    pub samples: Vec<(SharedInstant, Vec2)>,
}

/// Reads laps from the columns `lap,t,x,y` in seconds and metres; further columns are ignored.
///
/// A lap is all rows with the same name, in any place. A row that repeats its lap's previous time
/// is skipped. Time that runs backwards is an error.
pub fn read_laps(source: Source<'_>) -> Result<Vec<RecordedLap>, RecordingError> {
    let mut table = Table::open(source)?;
    let [lap, t, x, y] = table.columns(["lap", "t", "x", "y"])?;
    let mut laps: Vec<RecordedLap> = Vec::new();
    while let Some(row) = table.next_row()? {
        let name = row.name(lap)?;
        let at = row.time_secs(t)?;
        let place = Vec2::new(row.coordinate(x)?, row.coordinate(y)?);
        // Laps usually follow one another, so it is nearly always the last.
        let index = laps.iter().rposition(|lap| lap.name == name).unwrap_or_else(|| {
            laps.push(RecordedLap { name: name.into(), samples: Vec::new() });
            laps.len() - 1
        });
        match laps[index].samples.last() {
            Some((last, _)) if at < *last => {
                let problem = Problem::TimeRunsBackwards { entity: name.into(), back: *last - at };
                return Err(RecordingError::at(source.name, row.number, problem));
            }
            Some((last, _)) if at == *last => {}
            _ => laps[index].samples.push((at, place)),
        }
    }
    if laps.is_empty() {
        return Err(RecordingError::of_file(source.name, Problem::NoRows));
    }
    Ok(laps)
}
