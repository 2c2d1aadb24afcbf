use fairpath_predict::{Known, Missing, Predictor};

use crate::play::{Play, TickRun};

#[derive(Clone, Copy, Debug)]
pub struct WalkStep<'a> {
    /// Index of the player.
    pub subject: usize,
    pub run: &'a TickRun,
    /// Index of the tick in the run.
    pub index: usize,
}

/// Runs a predictor through a match, tick by tick and player by player: it learns each player's
/// tick and is then passed to `at` with what is known. Visits only ticks within the recording.
///
/// One predictor sees all players, as on a player's screen. Predictors and recordings meet only
/// here, so only here could a predictor be shown the future: that of the other players if the play
/// [replays them](Play::replays_others), that of the subject never.
pub fn walk(
    play: &Play,
    predictor: &mut dyn Predictor,
    mut at: impl FnMut(&mut dyn Predictor, &Known<'_>, WalkStep<'_>) -> Result<(), Missing>,
) -> Result<(), Missing> {
    let mut others = Vec::with_capacity(play.players.len());
    let mut ahead = Vec::new();
    let mut paths: Vec<_> = play.players.iter().map(|player| player.runs.iter().peekable()).collect();
    let ends =
        play.players.iter().flat_map(|player| &player.runs).map(|run| run.first_tick + run.truth.len());
    let end = ends.max().unwrap_or(0);
    let mut tick = 0;
    while tick < end {
        let mut is_empty = true;
        for (subject, runs) in paths.iter_mut().enumerate() {
            while runs.next_if(|run| run.first_tick + run.truth.len() <= tick).is_some() {}
            let Some(&run) = runs.peek().filter(|run| run.first_tick <= tick) else { continue };
            is_empty = false;
            let index = tick - run.first_tick;
            play.look_ahead(subject, run, index, &mut ahead);
            let known = Known { replayed: &ahead, ..play.look(subject, run, index, &mut others) };
            predictor.learn(subject, &known);
            at(predictor, &known, WalkStep { subject, run, index })?;
        }
        tick += 1;
        if is_empty {
            // A recording may pause for a year: skip to where the next player appears.
            let next = paths.iter_mut().filter_map(|runs| runs.peek().map(|run| run.first_tick)).min();
            tick = next.unwrap_or(end).max(tick);
        }
    }
    Ok(())
}
