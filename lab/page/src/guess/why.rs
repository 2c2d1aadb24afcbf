//! Explains why a prediction failed: what it assumed, what really happened, and how the two differ.

use fairpath::rotation::wrap_angle;
use fairpath::vector::{Vec2, Vector};
use fairpath_eval::play::TickRun;
use fairpath_predict::{PlayPatterns, Reason, TICK_SECS};

use super::roster::{COUNT, ROSTER};
use super::walker::run_at;
use super::{Guess, HORIZONS};

/// The smallest turn that a viewer would notice.
const TURN_MIN: f64 = std::f64::consts::FRAC_PI_6;
/// Below this share of its speed a player has stopped; above the next it has sped up.
const STOPPED_SHARE: f64 = 0.3;
const SPED_UP_SHARE: f64 = 1.5;
/// Ticks over which a course is measured: a tenth of a second.
const COURSE_TICKS: usize = 6;

/// Returns a few lines, each a heading, a tab, and a sentence. The first has no heading.
pub(super) fn why(guess: &mut Guess) -> String {
    let (player, focus) = (guess.chosen(), guess.focus);
    let (now, ticks) = (guess.now, HORIZONS[guess.horizon]);
    let name = guess.name_of(player);
    let predictor = ROSTER[focus].name;
    if !guess.walker.is_asked(focus) {
        return format!("\t{predictor} is not selected: tick it in the table.");
    }
    if let Some(missing) = guess.walker.missing(focus) {
        return format!(
            "\t{predictor} cannot answer: it {missing}, and this recording does not contain that."
        );
    }
    if run_at(&guess.play, player, now).is_none() {
        return format!("\t{name} is not on the field at this moment.");
    }
    let Some(answer) = guess.walker.answer(&guess.play, now, player, focus) else {
        return format!("\t{predictor} is still learning from the ticks before this one.");
    };
    let reason = guess.walker.reason(&guess.play, now, player, focus, ticks);
    let Some((run, index)) = run_at(&guess.play, player, now) else { return String::new() };
    let view =
        PredictionView { unit: &guess.play.unit.to_string(), run, index, secs: f64::from(ticks) * TICK_SECS };
    let expected = answer[guess.horizon];
    let mut lines = vec![
        format!("\t{}", view.verdict(predictor, &name, expected, ticks, guess.stage.hit_radius())),
        format!("It went by\t{}", view.went_by(&reason, expected)),
        format!("What happened\t{}", view.what_happened(ticks)),
    ];
    if let Some(there) = view.there(ticks) {
        lines.push(format!("The difference\t{}", view.difference(expected, there)));
    }
    if let Some(secs) = through_a_wall(guess, view.here(), &answer) {
        lines.push(format!("Walls\tIts path leads into a wall {secs:.1} s ahead."));
    }
    if let Some(there) = view.there(ticks) {
        lines.extend(best_here(guess, player, there).map(|best| format!("Best here\t{best}")));
    }
    lines.join("\n")
}

/// One player at one tick.
struct PredictionView<'a> {
    unit: &'a str,
    run: &'a TickRun,
    index: usize,
    /// The horizon.
    secs: f64,
}

impl PredictionView<'_> {
    fn here(&self) -> Vec2 {
        self.run.truth[self.index]
    }

    /// Returns the true position this many ticks later, if the player was still present.
    fn there(&self, ticks: u32) -> Option<Vec2> {
        self.run.truth.get(self.index + ticks as usize).copied()
    }

    fn length(&self, length: f64) -> String {
        let decimals = if length.abs() < 10.0 { 1 } else { 0 };
        format!("{length:.decimals$} {}", self.unit)
    }

    fn verdict(&self, predictor: &str, name: &str, expected: Vec2, ticks: u32, hit_radius: f64) -> String {
        let secs = self.secs;
        let Some(there) = self.there(ticks) else {
            return format!(
                "{predictor} about {name}, {secs:.1} s ahead: not judged, because {name} left before."
            );
        };
        let error = expected.distance(there);
        let verdict = if error <= hit_radius { "a hit" } else { "a miss" };
        let (error, radius) = (self.length(error), self.length(hit_radius));
        format!(
            "{predictor} about {name}, {secs:.1} s ahead: {verdict}, off by {error} (a hit is within {radius})."
        )
    }

    fn went_by(&self, reason: &Reason, expected: Vec2) -> String {
        let speed = |velocity: Vec2| format!("{}/s", self.length(velocity.length()));
        match reason {
            Reason::Velocity(velocity) => {
                format!("The velocity of this moment, {}, kept to the end.", speed(*velocity))
            }
            Reason::Acceleration { velocity, acceleration } => {
                let (ahead, left) = along(*velocity, *acceleration);
                format!(
                    "{} now, and a change of {}/s² ahead and {}/s² to the {}, both kept to the end: {} by then.",
                    speed(*velocity),
                    self.length(ahead),
                    self.length(left.abs()),
                    side(left),
                    speed(*velocity + *acceleration * self.secs)
                )
            }
            Reason::Fading { velocity, secs } => format!(
                "{} that fade: 37 % are left after {secs} s, and it never comes farther than {}.",
                speed(*velocity),
                self.length(velocity.length() * secs)
            ),
            Reason::Pressing { now, then } => {
                let pressed = |input: &Vec2| match input.length() {
                    0.0 => "none".into(),
                    length => format!("{:.0} % towards {}", 100.0 * length, compass(*input)),
                };
                format!("Input {} now and {} at the end.", pressed(now), pressed(then))
            }
            Reason::Interests { velocity, pull, straight_ticks } => {
                let (ahead, left) = along(*velocity, *pull);
                format!(
                    "{} all the way, straight for {:.1} s and then bent by the players around: they pull {:.2} {} and {:.2} to the {} (a friend close by pulls with 1).",
                    speed(*velocity),
                    f64::from(*straight_ticks) * TICK_SECS,
                    ahead.abs(),
                    if ahead < 0.0 { "back" } else { "ahead" },
                    left.abs(),
                    side(left)
                )
            }
            Reason::Patterns(seen) => self.went_by_patterns(seen),
            Reason::Regression { lessons } => format!(
                "The velocities of the last second, weighed as {lessons} earlier moments of this match have taught it."
            ),
            Reason::Experts { leader, expected } => self.went_by_experts(*leader, expected),
            _ => self.went_by_some_expert(expected),
        }
    }

    fn went_by_patterns(&self, seen: &PlayPatterns) -> String {
        let many = |count: u32, one: &str, more: &str| match count {
            0 => format!("no {more}"),
            1 => format!("one {one}"),
            count => format!("{count} {more}"),
        };
        let in_sight = format!(
            "{} and {} in sight",
            many(seen.friends, "friend", "friends"),
            many(seen.enemies, "enemy", "enemies")
        );
        let to_friends = self.length(seen.to_friends.length());
        let what = match (seen.is_battle, seen.friends) {
            (true, _) => format!(
                "the nearest enemy is {} away: a battle, {:.1} of strength against {:.1}, so it takes its place {} {}, half of it following friends",
                self.length(seen.nearest_enemy),
                seen.ours,
                seen.theirs,
                self.length(seen.to_battle_place.length()),
                compass(seen.to_battle_place)
            ),
            (false, 0) => "no friend to follow: it keeps its course".into(),
            (false, _) => format!(
                "no battle: it goes the way its friends go, and to the middle of them, {to_friends} {}",
                compass(seen.to_friends)
            ),
        };
        format!(
            "{in_sight}; {what}. That makes {}/s {}, which has taken over after {:.1} s.",
            self.length(seen.wanted.length()),
            compass(seen.wanted),
            f64::from(seen.transition_ticks) * TICK_SECS
        )
    }

    fn went_by_experts(&self, leader: usize, expected: &[f64; 5]) -> String {
        let others = (0..EXPERTS.len()).filter(|expert| *expert != leader);
        let cost = |expert: usize| format!("{} {}", EXPERTS[expert], short(expected[expert]));
        let others: Vec<String> = others.map(cost).collect();
        format!(
            "Of its five guesses it followed {}: in situations like this one it expects that to cost least, {}, against {}.",
            EXPERTS[leader],
            short(expected[leader]),
            others.join(", ")
        )
    }

    /// What it had learned is not stored, but its position tells which simple guess it followed.
    fn went_by_some_expert(&self, expected: Vec2) -> String {
        let (way, velocity) = (expected - self.here(), self.run.bodies[self.index].velocity);
        let fading = |secs: f64| secs * (1.0 - libm::exp(-self.secs / secs));
        let simple = [self.secs, fading(1.0), fading(0.3), 0.0];
        let near = |secs: &f64| way.distance(velocity * *secs) <= 1e-3 * way.length().max(1e-3);
        let guess = simple.iter().position(near).map_or(EXPERTS[0], |place| EXPERTS[place + 1]);
        format!("{guess}, by what it had learned up to this moment; play on from here to see the numbers.")
    }

    /// Returns what the player did from this tick on.
    fn what_happened(&self, ticks: u32) -> String {
        let path = &self.run.truth[self.index..];
        let path = &path[..path.len().min(ticks as usize + 1)];
        let secs = |ticks: usize| ticks as f64 * TICK_SECS;
        if path.len() <= ticks as usize {
            return format!("It left the field {:.1} s later.", secs(path.len()));
        }
        let course = |at: usize| path[at + COURSE_TICKS] - path[at];
        let per_sec = 1.0 / secs(COURSE_TICKS);
        let (first, last) = (course(0), course(path.len() - 1 - COURSE_TICKS));
        let speeds = format!(
            "from {}/s to {}/s",
            self.length(first.length() * per_sec),
            self.length(last.length() * per_sec)
        );
        let is_still = |way: Vec2| way.length() * per_sec < 1e-3;
        let mut first_turn = 0.0;
        let event = (1..path.len() - COURSE_TICKS).find_map(|at| {
            let then = course(at);
            let turn = wrap_angle(then.heading() - first.heading());
            let what = if is_still(first) {
                (!is_still(then)).then(|| "It stood still, and set off".to_owned())
            } else if then.length() < STOPPED_SHARE * first.length() {
                Some("It stopped".to_owned())
            } else if turn.abs() > TURN_MIN {
                first_turn = turn;
                Some(format!("It turned to the {}", side(turn)))
            } else if then.length() > SPED_UP_SHARE * first.length() {
                Some("It sped up".to_owned())
            } else {
                None
            };
            what.map(|what| format!("{what} after {:.1} s", secs(at)))
        });
        let event = event.unwrap_or_else(|| {
            if is_still(first) { "It stood still".into() } else { "It kept its course".into() }
        });
        if is_still(first) || is_still(last) {
            return format!("{event} ({speeds}).");
        }
        let turned = wrap_angle(last.heading() - first.heading()).to_degrees();
        if turned.abs() < 1.0 {
            return format!("{event}: {speeds}, and goes the same way in the end.");
        }
        if first_turn * turned < 0.0 {
            let (back, way) = (turned.abs(), side(turned));
            return format!(
                "{event}, then back: {speeds}, and ends {back:.0}° to the {way} of its first course."
            );
        }
        format!("{event}: {speeds}, and {:.0}° to the {} in all.", turned.abs(), side(turned))
    }

    /// Splits the error: error² = (difference of path lengths)² + (rest, by the paths' angle)².
    fn difference(&self, expected: Vec2, there: Vec2) -> String {
        let (guessed, came) = (expected - self.here(), there - self.here());
        let error_squared = expected.distance(there).max(1e-12) * expected.distance(there).max(1e-12);
        let longer = guessed.length() - came.length();
        let by_speed = 100.0 * longer * longer / error_squared;
        let angle = wrap_angle(guessed.heading() - came.heading()).to_degrees();
        let way = format!(
            "It expected a way of {}, and it was {}",
            self.length(guessed.length()),
            self.length(came.length())
        );
        if expected.distance(there) < 1e-6 {
            return format!("{way}: none.");
        }
        format!(
            "{way}: {} too {}, and {:.0}° too far to the {}. Of the squared error {:.0} % are speed and {:.0} % direction.",
            self.length(longer.abs()),
            if longer > 0.0 { "far" } else { "short" },
            angle.abs(),
            side(angle),
            by_speed.min(100.0),
            (100.0 - by_speed).max(0.0)
        )
    }
}

/// The guesses, in the order of [`Reason::Experts`].
const EXPERTS: [&str; 5] =
    ["the regression on the past", "the straight line", "fading in 1 s", "fading in 0.3 s", "standing still"];

/// Returns when a prediction first crosses a wall.
fn through_a_wall(guess: &Guess, here: Vec2, answer: &[Vec2]) -> Option<f64> {
    let world = guess.play.world.as_ref()?;
    let upto = &answer[..=guess.horizon];
    let starts = std::iter::once(here).chain(upto.iter().copied());
    let blocked = starts.zip(upto).position(|(from, to)| !world.is_clear_line(from, *to))?;
    Some(f64::from(HORIZONS[blocked]) * TICK_SECS)
}

/// Returns the selected predictor that came nearest.
fn best_here(guess: &mut Guess, player: usize, there: Vec2) -> Option<String> {
    let errors = (0..COUNT).filter_map(|predictor| {
        let answer = guess.walker.answer(&guess.play, guess.now, player, predictor)?;
        Some((ROSTER[predictor], answer[guess.horizon].distance(there)))
    });
    let (best, error) = errors.min_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(format!("{} ({}), off by {} {}.", best.name, best.words, short(error), guess.play.unit))
}

/// Returns the parts of a vector along another one and to its left.
fn along(direction: Vec2, vector: Vec2) -> (f64, f64) {
    let ahead = direction.normalize_or_zero();
    if ahead == Vec2::ZERO {
        return (vector.length(), 0.0);
    }
    (ahead.dot(vector), ahead.x * vector.y - ahead.y * vector.x)
}

fn side(left: f64) -> &'static str {
    if left > 0.0 { "left" } else { "right" }
}

/// Returns the direction as seen on the page.
fn compass(vector: Vec2) -> &'static str {
    const NAMES: [&str; 8] =
        ["right", "up and right", "up", "up and left", "left", "down and left", "down", "down and right"];
    let eighth = std::f64::consts::FRAC_PI_4;
    let turns = (vector.heading() / eighth).round() as i32;
    NAMES[turns.rem_euclid(8) as usize]
}

fn short(number: f64) -> String {
    if number.abs() < 10.0 { format!("{number:.2}") } else { format!("{number:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath_predict::Body;

    fn view(truth: Vec<Vec2>) -> (TickRun, usize) {
        let bodies = vec![Body { velocity: Vec2::new(10.0, 0.0), ..Body::default() }; truth.len()];
        (TickRun { truth, bodies, ..TickRun::default() }, 0)
    }

    #[test]
    fn the_parts_of_an_error_make_up_all_of_it() {
        let (run, index) = view(vec![Vec2::ZERO; 4]);
        let view = PredictionView { unit: "m", run: &run, index, secs: 0.3 };
        // Twice as far, straight on: all of it speed. As far, at right angles: all of it direction.
        let speed = view.difference(Vec2::new(20.0, 0.0), Vec2::new(10.0, 0.0));
        assert!(speed.contains("100 % are speed") && speed.contains("10 m too far"), "{speed}");
        let direction = view.difference(Vec2::new(0.0, 10.0), Vec2::new(10.0, 0.0));
        assert!(direction.contains("100 % direction") && direction.contains("90° too far to the left"));
        // 3² of 3² + 4·8·5·sin²: half of it each where the chord is 3 as well.
        let half = 3.0 / (2.0 * 40f64.sqrt());
        let angle = 2.0 * libm::asin(half);
        let both = view.difference(Vec2::from_heading(angle) * 8.0, Vec2::new(5.0, 0.0));
        assert!(both.contains("50 % are speed and 50 % direction"), "{both}");
    }

    #[test]
    fn what_happened_is_what_happened() {
        let along = |way: &dyn Fn(f64) -> Vec2| {
            let (run, index) = view((0..100).map(|tick| way(f64::from(tick))).collect());
            PredictionView { unit: "m", run: &run, index, secs: 1.2 }.what_happened(72)
        };
        assert!(along(&|tick| Vec2::new(tick, 0.0)).starts_with("It kept its course"));
        assert!(along(&|_| Vec2::ZERO).starts_with("It stood still ("));
        assert!(along(&|tick| Vec2::new(tick.min(42.0), 0.0)).starts_with("It stopped after 0.7 s"));
        let corner = |tick: f64| Vec2::new(tick.min(40.0), (tick - 40.0).max(0.0));
        assert!(along(&corner).starts_with("It turned to the left after 0.6 s"), "{}", along(&corner));
        // Left first and right in the end: the sentence says that it came back.
        let zigzag = |tick: f64| match tick {
            ..=40.0 => Vec2::new(tick, 0.0),
            ..=60.0 => Vec2::new(40.0, tick - 40.0),
            _ => Vec2::new(40.0, 20.0 - (tick - 60.0)),
        };
        let words = along(&zigzag);
        assert!(words.starts_with("It turned to the left after 0.6 s, then back: "), "{words}");
        assert!(words.ends_with("and ends 90° to the right of its first course."), "{words}");
        let set_off = |tick: f64| Vec2::new((tick - 30.0).max(0.0), 0.0);
        assert!(along(&set_off).starts_with("It stood still, and set off after 0.4 s"));
    }

    #[test]
    fn every_predictor_says_what_it_went_by() {
        let mut scene = Guess::new(2);
        scene.ask((1 << COUNT) - 1);
        scene.go_to(700);
        crate::scene::finish_thinking(&mut scene);
        let mut told = Vec::new();
        for focus in 0..COUNT {
            scene.focus = focus;
            let words = why(&mut scene);
            assert!(words.contains("It went by\t") && words.contains("What happened\t"), "{words}");
            assert!(!words.contains("NaN") && !words.contains("inf"), "{words}");
            told.push(words);
        }
        assert!(told[4].contains("in sight") && told[16].contains("five guesses"), "{told:#?}");
        // At ticks before the last walked one, a learning predictor still names the guess.
        scene.go_to(300);
        crate::scene::finish_thinking(&mut scene);
        scene.focus = 16;
        assert!(why(&mut scene).contains("had learned"));
    }
}
