use fairpath_predict::{Known, Missing, Predictor};

use crate::play::{Play, TickRun};

/// One tick of one player's motion.
#[derive(Clone, Copy, Debug)]
pub struct WalkStep<'a> {
    /// Whose.
    pub subject: usize,
    /// In which of its runs.
    pub run: &'a TickRun,
    /// Which of the run's ticks.
    pub index: usize,
}

/// Walks a predictor through a match, tick by tick and at every tick player by player: it learns of
/// each player's tick, and is then handed to `at` together with what is known. Only ticks within
/// the recording are visited.
///
/// One predictor sees everybody, as on a player's own screen: what it learned from one helps with
/// the others. This is the one place where predictors and recordings meet, so it is the one place
/// that could look ahead.
pub fn walk(
    play: &Play,
    predictor: &mut dyn Predictor,
    mut at: impl FnMut(&mut dyn Predictor, &Known<'_>, WalkStep<'_>) -> Result<(), Missing>,
) -> Result<(), Missing> {
    let mut others = Vec::with_capacity(play.players.len());
    let mut paths: Vec<_> = play.players.iter().map(|player| player.runs.iter().peekable()).collect();
    let ends =
        play.players.iter().flat_map(|player| &player.runs).map(|run| run.first_tick + run.truth.len());
    for tick in 0..ends.max().unwrap_or(0) {
        for (subject, runs) in paths.iter_mut().enumerate() {
            while runs.next_if(|run| run.first_tick + run.truth.len() <= tick).is_some() {}
            let Some(&run) = runs.peek().filter(|run| run.first_tick <= tick) else { continue };
            let index = tick - run.first_tick;
            let known = play.look(subject, run, index, &mut others);
            predictor.learn(subject, &known);
            at(predictor, &known, WalkStep { subject, run, index })?;
        }
    }
    Ok(())
}
