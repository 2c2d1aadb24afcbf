//! Why predictions failed, in words, from what happened afterwards.

use fairpath::vector::{Vec2, Vector};

use super::{Guess, HORIZONS, SHOWN, run_at};

/// A turn of this much is one that somebody would notice.
const TURN_MIN: f64 = std::f64::consts::FRAC_PI_6;
/// Below this share of its speed a player has stopped.
const STOPPED_SHARE: f64 = 0.3;
/// Over how many ticks a course is measured: a tenth of a second.
const COURSE_TICKS: usize = 6;

/// One line for what the player that is looked at did, then one for each predictor.
pub(super) fn why(guess: &Guess) -> String {
    let chosen = guess.chosen.min(guess.play.players.len().saturating_sub(1));
    let Some((run, index)) = run_at(&guess.play, chosen, guess.now) else {
        return "This player is not on the field at this moment.".into();
    };
    let horizon = HORIZONS[guess.horizon] as usize;
    let path = &run.truth[index..run.truth.len().min(index + horizon + 1)];
    let mut lines = vec![what_happened(path, horizon)];
    let end = path[path.len() - 1];
    for (number, name) in SHOWN.iter().enumerate() {
        let Some(answer) = guess.walker.answer(guess.now, chosen, number) else { continue };
        if path.len() <= horizon {
            break;
        }
        let error = answer[guess.horizon].distance(end);
        let verdict = if error <= guess.stage.hit_radius() { "a hit" } else { "missed" };
        let wall = guess.play.world.as_ref().is_some_and(|world| {
            let places = std::iter::once(path[0]).chain(answer[..=guess.horizon].iter().copied());
            let places: Vec<Vec2> = places.collect();
            places.windows(2).any(|two| !world.is_clear_line(two[0], two[1]))
        });
        let through = if wall { "; its path leads through a wall" } else { "" };
        let short = shortfall(path[0], end, answer[guess.horizon]);
        lines.push(format!("{name}: {verdict}, off by {error:.1}{short}{through}"));
    }
    lines.join("\n")
}

/// What the player did from now on.
fn what_happened(path: &[Vec2], horizon: usize) -> String {
    let secs = |ticks: usize| ticks as f64 / 60.0;
    if path.len() <= horizon {
        return format!("It left the field {:.1} s later: nobody is asked about that.", secs(path.len()));
    }
    if path.len() <= 2 * COURSE_TICKS {
        return "It has hardly begun to move.".into();
    }
    let course = |at: usize| path[at + COURSE_TICKS] - path[at];
    let first = course(0);
    let is_still = first.length() < 1e-6;
    for at in 1..path.len() - COURSE_TICKS {
        let then = course(at);
        if is_still && then.length() > 1e-6 {
            return format!("It stood still, and set off {:.1} s later.", secs(at));
        }
        if !is_still && then.length() < STOPPED_SHARE * first.length() {
            return format!("It stopped {:.1} s later.", secs(at));
        }
        let turn = fairpath::rotation::wrap_angle(then.heading() - first.heading());
        if !is_still && turn.abs() > TURN_MIN {
            let side = if turn > 0.0 { "left" } else { "right" };
            return format!("It turned to the {side} {:.1} s later.", secs(at));
        }
    }
    if is_still { "It stood still.".into() } else { "It kept its course.".into() }
}

/// Whether a prediction went too far or not far enough.
fn shortfall(from: Vec2, there: Vec2, expected: Vec2) -> &'static str {
    let (went, guessed) = (from.distance(there), from.distance(expected));
    if guessed > 1.3 * went && guessed > 1e-6 {
        "; it expected a longer way"
    } else if went > 1.3 * guessed && went > 1e-6 {
        "; it expected a shorter way"
    } else {
        ""
    }
}
