use std::path::Path;

use fairpath_eval::live::{self, path_of_run, path_of_stretch};
use fairpath_eval::play::{EtherealError, Play, WorldError, read_world};
use fairpath_eval::recording::Recording;
use fairpath_games::ethereal;
use fairpath_predict::Grid;

use crate::files::{OpenError, file_name, read, recording_from};

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
    let bytes = read(path)?;
    if bytes.trim_ascii_start().starts_with(b"<") {
        return open_ethereal(path, &bytes, world);
    }
    let recorded = recording_from(path, bytes)?;
    let mut play = Play::from_recording(&recorded.recording);
    play.world = match world {
        None => None,
        Some(World::Grid(grid)) => Some(grid.clone()),
        Some(World::Map(map)) => Some(map.to_grid()),
    };
    let paths = play.players.iter().map(|player| paths_of(&recorded.recording, &player.name)).collect();
    Ok(Watched { file: recorded.file, play, paths })
}

fn open_ethereal(path: &Path, bytes: &[u8], world: Option<&World>) -> Result<Watched, OpenError> {
    let recording = ethereal::Recording::from_xml(bytes)
        .map_err(|error| OpenError::BadXml { path: path.into(), error })?;
    let map = match world {
        Some(World::Map(map)) => Some(map),
        _ => None,
    };
    let play = Play::from_ethereal(&recording, map).map_err(|error| cannot_see(path, error))?;
    let paths =
        play.players.iter().map(|player| player.runs.iter().filter_map(path_of_run).collect()).collect();
    Ok(Watched { file: file_name(path), play, paths })
}

fn cannot_see(path: &Path, error: EtherealError) -> OpenError {
    OpenError::Ethereal { path: path.into(), error }
}

fn paths_of(recording: &Recording, player: &str) -> Vec<live::Path> {
    let own = recording.players().filter(|stretch| recording.entities[stretch.entity].name == player);
    own.filter_map(path_of_stretch).collect()
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
