use std::collections::BTreeMap;

use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;

use super::error::{Problem, RecordingError};
use super::table::Table;
use super::{ENTITIES_MAX, Source, Stream, entity_bytes};
use crate::budget::Budget;

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
    let mut bytes = source.bytes;
    read_laps_from(Stream { name: source.name, input: &mut bytes }, &Budget::default())
}

/// Reads laps as their text arrives.
pub fn read_laps_from<'a>(
    stream: Stream<'a>,
    budget: &'a Budget,
) -> Result<Vec<RecordedLap>, RecordingError> {
    let file = stream.name;
    let mut table = Table::open(stream, budget)?;
    let [lap, t, x, y] = table.columns(["lap", "t", "x", "y"])?;
    let mut laps: Vec<RecordedLap> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    while let Some(row) = table.next_row()? {
        let name = row.name(lap)?;
        let at = row.time_secs(t)?;
        let place = Vec2::new(row.coordinate(x)?, row.coordinate(y)?);
        let wrong = |problem| RecordingError::at(file, row.number, problem);
        let hold = |bytes| budget.hold(bytes).map_err(|over| wrong(Problem::OverBudget(over)));
        let known = match index.get(name) {
            Some(known) => *known,
            None if laps.len() >= ENTITIES_MAX => return Err(wrong(Problem::TooManyEntities)),
            None => {
                hold(entity_bytes(name))?;
                index.insert(name.into(), laps.len());
                laps.push(RecordedLap { name: name.into(), samples: Vec::new() });
                laps.len() - 1
            }
        };
        match laps[known].samples.last() {
            Some((last, _)) if at < *last => {
                return Err(wrong(Problem::TimeRunsBackwards { entity: name.into(), back: *last - at }));
            }
            Some((last, _)) if at == *last => {}
            _ => {
                hold(LAP_SAMPLE_BYTES)?;
                laps[known].samples.push((at, place));
            }
        }
    }
    if laps.is_empty() {
        return Err(RecordingError::of_file(file, Problem::NoRows));
    }
    Ok(laps)
}

/// A sample, in an array that doubles when it is full.
const LAP_SAMPLE_BYTES: u64 = 3 * size_of::<(SharedInstant, Vec2)>() as u64;
