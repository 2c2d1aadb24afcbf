use std::path::Path;

use fairpath_eval::budget::Budget;
use fairpath_eval::live::{self, path_of_run, path_of_stretch};
use fairpath_eval::play::{EtherealError, Play, Player, WorldError, read_world};
use fairpath_eval::recording::Recording;
use fairpath_games::ethereal::{self, XML_BYTES_MAX};
use fairpath_predict::Grid;

use crate::files::{
    ContentKind, OpenError, Unpacked, file_name, read, recording_from, recording_from_segments,
};
use crate::segments;

#[derive(Clone, Debug)]
pub struct Watched {
    /// The file's name without its folder.
    pub file: String,
    /// Every player at every tick.
    pub play: Play,
    /// For each player of the play the paths it took, sample by sample, as its owner knew them.
    pub paths: Vec<Vec<live::Path>>,
}

#[derive(Clone, Debug)]
pub enum World {
    Grid(Grid),
    Map(ethereal::Map),
}

/// Opens a match in any format. `world` is used where the match does not know its own.
pub fn open(path: &Path, world: Option<&World>) -> Result<Watched, OpenError> {
    let budget = Budget::default();
    let recorded = match segments::folder_beside(path) {
        Some(folder) => recording_from_segments(path, &folder, &budget)?,
        None => {
            let input = Unpacked::open(path)?;
            if input.kind() == ContentKind::Xml {
                return open_ethereal(path, &input.into_memory(XML_BYTES_MAX as u64)?, world, &budget);
            }
            recording_from(path, input, &budget)?
        }
    };
    Play::check(&recorded.recording, &budget)
        .map_err(|error| OpenError::NotPlayable { path: path.into(), error })?;
    let mut play = Play::from_recording(&recorded.recording);
    play.world = match world {
        None => None,
        Some(World::Grid(grid)) => Some(grid.clone()),
        Some(World::Map(map)) => Some(map.to_grid()),
    };
    let paths = paths_of(&recorded.recording, &play);
    Ok(Watched { file: recorded.file, play, paths })
}

fn open_ethereal(
    path: &Path,
    bytes: &[u8],
    world: Option<&World>,
    budget: &Budget,
) -> Result<Watched, OpenError> {
    // What is read from the text takes at most three times its length, beside the text itself.
    budget.hold(4 * bytes.len() as u64).map_err(|over| OpenError::OverBudget { path: path.into(), over })?;
    let recording = ethereal::Recording::from_xml(bytes)
        .map_err(|error| OpenError::BadXml { path: path.into(), error })?;
    let map = match world {
        Some(World::Map(map)) => Some(map),
        _ => None,
    };
    Play::check_ethereal(&recording, budget).map_err(|error| cannot_see(path, error))?;
    let play = Play::from_ethereal(&recording, map).map_err(|error| cannot_see(path, error))?;
    let paths =
        play.players.iter().map(|player| player.runs.iter().filter_map(path_of_run).collect()).collect();
    Ok(Watched { file: file_name(path), play, paths })
}

fn cannot_see(path: &Path, error: EtherealError) -> OpenError {
    OpenError::Ethereal { path: path.into(), error }
}

/// For each player of the play the paths of its stretches. Both are in the order of the entities.
fn paths_of(recording: &Recording, play: &Play) -> Vec<Vec<live::Path>> {
    let mut entities = recording.stretches.chunk_by(|one, next| one.entity == next.entity);
    let mut of_player = |player: &Player| {
        let own = entities.find(|own| recording.entities[own[0].entity].name == player.name);
        own.into_iter().flatten().filter_map(path_of_stretch).collect()
    };
    play.players.iter().map(&mut of_player).collect()
}

/// Opens a world: a grid of walls, see [`read_world`], or a map in Ethereal's letters.
pub fn open_world(path: &Path) -> Result<World, OpenError> {
    let bad = |error| OpenError::World { path: path.into(), error };
    let bytes = read(path)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| bad(WorldError::Scale))?;
    let rows = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    match ethereal::Map::from_rows(rows) {
        Ok(map) => Ok(World::Map(map)),
        Err(_) => read_world(text).map(World::Grid).map_err(bad),
    }
}
