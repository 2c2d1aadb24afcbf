//! From what passed the taps to how far off tanks were shown.

use fairpath::vector::Vector as _;
use fairpath_bzflag::End;
use fairpath_bzflag::update::PlayerUpdate;

use crate::tap::{Passed, Said};

/// Gravity of the servers that [`programs`](crate::programs) start.
const GRAVITY: f64 = -9.8;
/// Time between two samples, in seconds: a player's screen shows a few frames in that time.
const SAMPLE: f64 = 0.05;
/// A tank that was silent for longer than this had left, in seconds. Living ones send each second.
const SILENCE: f64 = 1.5;

/// A tank's path as one party knows it: states, each with the instant it holds from.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// Ordered by time.
    states: Vec<(f64, PlayerUpdate)>,
    /// When the tank was destroyed, ordered.
    deaths: Vec<f64>,
}

impl Path {
    /// Returns the truth about the client's own tank: what it sent, at the instants of its stamps.
    ///
    /// The stamps count from an instant that no message names: the quickest message gives it.
    pub fn told(player: u8, passed: &[Passed]) -> Self {
        let told = || updates(passed, End::Client, player);
        let offset = told().map(|(at, update)| at - f64::from(update.stamp)).fold(f64::INFINITY, f64::min);
        let states = told().map(|(_, update)| (f64::from(update.stamp) + offset, update.clone()));
        let deaths = passed.iter().filter(|it| it.from == End::Client && it.said == Said::Killed(None));
        Self { states: states.collect(), deaths: deaths.map(|it| it.at).collect() }
    }

    /// Returns what the client shows of another tank: what it was sent and does not ignore.
    pub fn shown(player: u8, passed: &[Passed]) -> Self {
        let mut states: Vec<(f64, PlayerUpdate)> = Vec::new();
        for (at, update) in updates(passed, End::Server, player) {
            if states.last().is_none_or(|(_, last)| update.order > last.order) {
                states.push((at, update.clone()));
            }
        }
        Self { states, deaths: Vec::new() }
    }

    /// Returns how many states there are between two instants.
    pub fn count_between(&self, from: f64, to: f64) -> usize {
        self.states.iter().filter(|(at, _)| (from..to).contains(at)).count()
    }

    /// The state that holds at `t`, and since when.
    fn at(&self, t: f64) -> Option<(f64, &PlayerUpdate)> {
        let place = self.states.partition_point(|(at, _)| *at <= t).checked_sub(1)?;
        self.states.get(place).map(|(at, update)| (*at, update))
    }

    /// The tank's life at `t`, by the number of deaths before; `None` if it does not live then.
    fn life_at(&self, t: f64) -> Option<usize> {
        let deaths = self.deaths.partition_point(|death| *death <= t);
        let (since, update) = self.at(t)?;
        let is_since_death = deaths.checked_sub(1).is_none_or(|last| since > self.deaths[last]);
        (update.is_alive() && is_since_death && t - since <= SILENCE).then_some(deaths)
    }
}

fn updates(passed: &[Passed], from: End, player: u8) -> impl Iterator<Item = (f64, &PlayerUpdate)> {
    passed.iter().filter(move |it| it.from == from).filter_map(move |it| match &it.said {
        Said::Update(update) if update.player == player => Some((it.at, update)),
        _ => None,
    })
}

/// How far from the truth a tank was shown to one receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShownError {
    /// The distances' sum, in units.
    pub sum: f64,
    /// How many distances.
    pub samples: usize,
}

impl ShownError {
    /// Returns the mean distance, in units.
    pub fn mean(&self) -> f64 {
        self.sum / self.samples as f64
    }

    /// Adds another tank's or run's distances.
    pub fn add(&mut self, other: Self) {
        self.sum += other.sum;
        self.samples += other.samples;
    }
}

/// Compares a tank's truth with what a receiver shows, between two instants.
///
/// `delay` is the time that a message takes from the owner to the receiver, in seconds, as the
/// middlemen were told: it decides which life of the tank a state belongs to. Instants at which the
/// tank does not live, or at which the receiver has no state of that life, do not count.
pub fn compare(truth: &Path, shown: &Path, delay: f64, from: f64, to: f64) -> ShownError {
    let mut error = ShownError::default();
    for step in 0..((to - from) / SAMPLE) as usize {
        let t = from + step as f64 * SAMPLE;
        let (Some(life), Some((told_at, told)), Some((shown_at, showing))) =
            (truth.life_at(t), truth.at(t), shown.at(t))
        else {
            continue;
        };
        if truth.life_at(shown_at - delay) != Some(life) || !showing.is_alive() {
            continue;
        }
        let real = told.after(t - told_at, GRAVITY).position;
        let placed = showing.after(t - shown_at, GRAVITY).position;
        error.add(ShownError { sum: real.distance(placed), samples: 1 });
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath::vector::Vec3;

    fn update(stamp: f32, order: i32, x: f64, speed: f64) -> PlayerUpdate {
        PlayerUpdate {
            is_small: true,
            stamp,
            player: 3,
            order,
            status: 1,
            position: Vec3::new(x, 0.0, 0.0),
            velocity: Vec3::new(speed, 0.0, 0.0),
            azimuth: 0.0,
            turn_rate: 0.0,
            tail: Vec::new(),
        }
    }

    fn passed(at: f64, from: End, update: PlayerUpdate) -> Passed {
        Passed { at, from, said: Said::Update(update) }
    }

    /// A tank drives at 10 units/s and tells each second; messages take half a second.
    #[test]
    fn a_late_update_is_off_by_the_way_driven_meanwhile() {
        let told = |n: i32| update(n as f32, n, 10.0 * f64::from(n), 10.0);
        let sent: Vec<Passed> = (0..20).map(|n| passed(7.0 + f64::from(n), End::Client, told(n))).collect();
        let received = |n: i32, secs: f64| {
            passed(7.5 + f64::from(n), End::Server, PlayerUpdate { order: n, ..told(n).after(secs, GRAVITY) })
        };
        let late: Vec<Passed> = (0..20).map(|n| received(n, 0.0)).collect();
        let restated: Vec<Passed> = (0..20).map(|n| received(n, 0.5)).collect();
        let truth = Path::told(3, &sent);
        let error = |log: &[Passed]| compare(&truth, &Path::shown(3, log), 0.5, 10.0, 20.0).mean();
        assert!((error(&late) - 5.0).abs() < 1e-9, "{}", error(&late));
        assert!(error(&restated) < 1e-9, "{}", error(&restated));
    }

    #[test]
    fn nothing_is_compared_across_a_death() {
        let mut sent: Vec<Passed> =
            (0..10).map(|n| passed(f64::from(n), End::Client, update(n as f32, n, 0.0, 0.0))).collect();
        sent.push(Passed { at: 9.5, from: End::Client, said: Said::Killed(None) });
        sent.extend((15..20).map(|n| passed(f64::from(n), End::Client, update(n as f32, n, 300.0, 0.0))));
        let received: Vec<Passed> = sent
            .iter()
            .filter(|it| matches!(it.said, Said::Update(_)))
            .map(|it| Passed { at: it.at + 0.8, from: End::Server, ..it.clone() })
            .collect();
        let error = compare(&Path::told(3, &sent), &Path::shown(3, &received), 0.8, 0.0, 20.0);
        assert!(error.samples > 200 && error.sum == 0.0, "{error:?}");
    }
}
