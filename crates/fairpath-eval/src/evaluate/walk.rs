use fairpath::predict::{Known, Missing, Predictor};

use crate::play::{Play, Run};

/// Walks a predictor through everything one player did, tick by tick: it learns of each tick, and is then handed to
/// `at` together with what is known, the run and the tick's index in it. Only ticks within the recording are visited.
///
/// This is the one place where predictors and recordings meet, so it is the one place that could look ahead.
pub fn walk(
    play: &Play,
    subject: usize,
    predictor: &mut dyn Predictor,
    mut at: impl FnMut(&mut dyn Predictor, &Known<'_>, &Run, usize) -> Result<(), Missing>,
) -> Result<(), Missing> {
    let mut others = Vec::with_capacity(play.players.len());
    for run in &play.players[subject].runs {
        for index in 0..run.truth.len() {
            let known = play.look(subject, run, index, &mut others);
            predictor.learn(subject, &known);
            at(predictor, &known, run, index)?;
        }
    }
    Ok(())
}
