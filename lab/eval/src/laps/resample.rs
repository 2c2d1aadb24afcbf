use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath_predict::{Body, LapPart, TICK_RATE};

use crate::play::{ACCELERATION_WINDOW, TICK_PHASE};
use crate::recording::{RecordedLap, VELOCITY_WINDOW};

/// A lap at 60 ticks a second.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedLap {
    pub name: String,
    /// Its parts: one run, unless the recording has gaps.
    pub runs: Vec<LapRun>,
}

/// A part of a lap without a gap, tick by tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LapRun {
    /// What was known at each tick, from samples at or before it.
    pub known: Vec<Body>,
    /// Where the car really was, interpolated linearly between samples.
    pub places: Vec<Vec2>,
}

/// Longest gap that is joined. 250 ms bridges two lost fixes of a 10 Hz receiver, not a tunnel.
const GAP_MAX: Span = Span::from_millis(250);

impl TimedLap {
    /// Resamples a recorded lap causally, as [`Play`](crate::play) does.
    ///
    /// With `rate_max`, in samples a second, only that many samples are *known*; where the car
    /// really was still comes from all. GNSS receivers often measure at most 10 times a second, and
    /// the samples between are the receiver's own extrapolation.
    pub fn new(lap: &RecordedLap, rate_max: Option<f64>) -> Self {
        let samples = &lap.samples;
        let mut runs = Vec::new();
        let mut first = 0;
        for end in 1..=samples.len() {
            let is_cut = samples.get(end).is_none_or(|next| next.0 - samples[end - 1].0 > GAP_MAX);
            if is_cut {
                runs.extend(LapRun::new(&samples[first..end], rate_max));
                first = end;
            }
        }
        Self { name: lap.name.clone(), runs }
    }

    /// Returns the runs in the form that a trend line takes.
    pub fn parts(&self) -> Vec<LapPart<'_>> {
        self.runs.iter().map(|run| LapPart { known: &run.known, places: &run.places }).collect()
    }

    pub fn ticks(&self) -> usize {
        self.runs.iter().map(|run| run.places.len()).sum()
    }
}

type Sample = (SharedInstant, Vec2);

#[derive(Clone, Copy)]
struct Fix {
    at: SharedInstant,
    body: Body,
}

impl LapRun {
    /// Returns `None` if the samples are too few to estimate a velocity.
    fn new(samples: &[Sample], rate_max: Option<f64>) -> Option<Self> {
        let fixes = fixes(&thinned(samples, rate_max));
        let [_, second, ..] = *fixes.as_slice() else { return None };
        let begin = second.at + TICK_PHASE;
        let end = samples[samples.len() - 1].0;
        let mut run = Self::default();
        let (mut newest, mut sample) = (1, 0);
        for tick in 0.. {
            let at = begin + TICK_RATE.begin(tick);
            if at > end {
                break;
            }
            while fixes.get(newest + 1).is_some_and(|next| next.at <= at) {
                newest += 1;
            }
            while samples[sample + 1].0 < at {
                sample += 1;
            }
            let Fix { at: fixed_at, body } = fixes[newest];
            let position = body.position + body.velocity * (at - fixed_at).as_secs_f64();
            run.known.push(Body { position, ..body });
            run.places.push(between(samples[sample], samples[sample + 1], at));
        }
        (!run.places.is_empty()).then_some(run)
    }
}

/// Returns the newest sample at each period of a clock with at most this rate.
fn thinned(samples: &[Sample], rate_max: Option<f64>) -> Vec<Sample> {
    let Some(beat) = rate_max.map(|rate| Span::from_secs_f64(1.0 / rate)) else { return samples.to_vec() };
    let mut kept: Vec<Sample> = Vec::new();
    let mut due = samples[0].0;
    for (index, sample) in samples.iter().enumerate() {
        let is_last_before_beat = samples.get(index + 1).is_none_or(|next| next.0 > due);
        if is_last_before_beat {
            kept.push(*sample);
            while due < samples.get(index + 1).map_or(due, |next| next.0) {
                due += beat;
            }
        }
    }
    kept
}

fn between(one: Sample, other: Sample, at: SharedInstant) -> Vec2 {
    let share = (at - one.0).as_secs_f64() / (other.0 - one.0).as_secs_f64();
    one.1 + (other.1 - one.1) * share
}

/// Returns all samples but the first with velocity and acceleration from earlier samples.
fn fixes(samples: &[Sample]) -> Vec<Fix> {
    let mut fixes: Vec<Fix> = Vec::new();
    let (mut slow, mut fast) = (0, 0);
    for (index, (at, position)) in samples.iter().enumerate().skip(1) {
        while fast + 1 < index && *at - samples[fast + 1].0 >= VELOCITY_WINDOW {
            fast += 1;
        }
        let secs = (*at - samples[fast].0).as_secs_f64();
        let velocity = (*position - samples[fast].1) * (1.0 / secs);
        while slow + 1 < fixes.len() && *at - fixes[slow + 1].at >= ACCELERATION_WINDOW {
            slow += 1;
        }
        let acceleration = fixes.get(slow).map_or(Vec2::ZERO, |before| {
            (velocity - before.body.velocity) * (1.0 / (*at - before.at).as_secs_f64())
        });
        fixes.push(Fix { at: *at, body: Body { position: *position, velocity, acceleration } });
    }
    fixes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lap(samples: impl IntoIterator<Item = (i64, f64)>) -> RecordedLap {
        let samples =
            samples.into_iter().map(|(micros, x)| (SharedInstant::from_micros(micros), Vec2::new(x, 0.0)));
        RecordedLap { name: "1".into(), samples: samples.collect() }
    }

    #[test]
    fn a_gap_cuts_a_lap_and_a_hiccup_does_not() {
        let times = [0, 100, 200, 440, 500, 600, 900, 1000, 1100, 1200];
        let timed = TimedLap::new(&lap(times.map(|millis| (millis * 1000, millis as f64))), None);
        assert_eq!(timed.runs.len(), 2);
        // From the third sample on: the first has no velocity, the second no acceleration.
        assert_eq!(timed.runs[0].places.len(), 24);
    }

    #[test]
    fn what_is_known_was_known_by_then() {
        let path = |changed_from: i64| {
            lap((0..200).map(|tick| {
                let micros = tick * 1_000_000 / 60;
                let x = (tick * tick) as f64;
                (micros, if micros >= changed_from { -x } else { x })
            }))
        };
        let (one, other) = (TimedLap::new(&path(i64::MAX), None), TimedLap::new(&path(2_000_000), None));
        let same = one.runs[0].known.iter().zip(&other.runs[0].known).take_while(|(a, b)| a == b).count();
        // The third sample is the first tick; the sample at 2 s is number 120.
        assert_eq!(same, 118);
    }

    #[test]
    fn fewer_fixes_make_the_known_coarse_and_leave_the_truth_alone() {
        let lap = lap((0..600).map(|tick| (tick * 1_000_000 / 60, (tick * tick) as f64)));
        let (fine, coarse) = (TimedLap::new(&lap, None), TimedLap::new(&lap, Some(10.0)));
        let velocities = |timed: &TimedLap| {
            let mut all: Vec<u64> =
                timed.runs[0].known.iter().map(|body| body.velocity.x.to_bits()).collect();
            all.dedup();
            all.len()
        };
        assert!(velocities(&fine) > 550 && velocities(&coarse) < 105);
        assert_eq!(fine.runs[0].places.last(), coarse.runs[0].places.last());
    }
}
