//! Compares the logs of the processes: how far off was each receiver?

use fairpath_sim::trace::{FollowedRow, StateKind, StateRow};

use super::{CaseLogs, ClockAccuracy, LiveCase, ProcessLog};

/// The measurements of a case, while every receiver saw the tank.
#[derive(Clone, Debug)]
pub(super) struct CaseMeasurements {
    /// In the order of the case's paths.
    pub(super) receivers: Vec<ReceiverErrors>,
    pub(super) owner_clock: ClockAccuracy,
    /// How many DR vectors the owner exported from beginning to end.
    pub(super) triggers: u64,
    pub(super) speed_max: f64,
    pub(super) secs: f64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ReceiverErrors {
    /// When, since the owner began to drive.
    pub(super) secs: Vec<f64>,
    /// How far from the truth the tank was placed.
    pub(super) errors: Vec<f64>,
    /// How far from what the owner had told.
    pub(super) export_errors: Vec<f64>,
    /// The same, while it reckons by the owner's newest DR vector.
    pub(super) after: Vec<f64>,
    pub(super) clock: ClockAccuracy,
    pub(super) vectors: u64,
    /// Frames at which the truth is not known.
    pub(super) unmeasured: u64,
}

/// The truth is not guessed across longer gaps: six frames.
pub(super) const GAP_US_MAX: i64 = 100_000;
/// From the first sight to the first measurement: by then the first DR vectors are old.
const SETTLED_AFTER_US: i64 = 3_000_000;

/// Measures a case. `None` if there is no time at which every receiver saw the tank.
pub(super) fn measure(case: &LiveCase, logs: &CaseLogs) -> Option<CaseMeasurements> {
    let tank = logs.owner.states.iter().find(|row| row.kind == StateKind::Truth)?.entity;
    let truth = LoggedPath::of(&logs.owner, StateKind::Truth, tank);
    let exported = LoggedPath::of(&logs.owner, StateKind::Exported, tank);
    let told = FollowedVectors::of(&logs.owner, tank);
    let views: Vec<LoggedPath<'_>> =
        logs.receivers.iter().map(|log| LoggedPath::of(log, StateKind::Placed, tank)).collect();
    let first = views.iter().map(LoggedPath::begin).collect::<Option<Vec<_>>>()?.into_iter().max()?;
    let last = views.iter().map(LoggedPath::end).collect::<Option<Vec<_>>>()?.into_iter().min()?;
    let during = first + SETTLED_AFTER_US..last.min(truth.end()?);
    if during.is_empty() || views.len() != case.paths.len() {
        return None;
    }
    let see = |(log, view): (&ProcessLog, &LoggedPath<'_>)| {
        let mut seen = ReceiverErrors { clock: log.clock, vectors: log.vectors, ..ReceiverErrors::default() };
        let follows = FollowedVectors::of(log, tank);
        for row in view.rows.iter().filter(|row| during.contains(&row.t_us)) {
            let (Some(real), Some(export)) = (truth.at(row.t_us), exported.at(row.t_us)) else {
                seen.unmeasured += 1;
                continue;
            };
            let export_error = distance((row.x, row.y), export);
            seen.secs.push((row.t_us - truth.rows[0].t_us) as f64 * 1e-6);
            seen.errors.push(distance((row.x, row.y), real));
            seen.export_errors.push(export_error);
            if follows.newest_at(row.t_us) == told.newest_at(row.t_us) {
                seen.after.push(export_error);
            }
        }
        seen
    };
    let speeds = truth.rows.iter().filter(|row| during.contains(&row.t_us)).map(|row| row.vx.hypot(row.vy));
    Some(CaseMeasurements {
        receivers: logs.receivers.iter().zip(&views).map(see).collect(),
        owner_clock: logs.owner.clock,
        triggers: told.rows.len() as u64,
        speed_max: speeds.fold(0.0, f64::max),
        secs: (during.end - during.start) as f64 * 1e-6,
    })
}

struct LoggedPath<'a> {
    rows: Vec<&'a StateRow>,
}

impl<'a> LoggedPath<'a> {
    fn of(log: &'a ProcessLog, kind: StateKind, entity: u32) -> Self {
        let is_of = |row: &&StateRow| row.kind == kind && row.entity == entity;
        Self { rows: log.states.iter().filter(is_of).collect() }
    }

    fn begin(&self) -> Option<i64> {
        self.rows.first().map(|row| row.t_us)
    }

    fn end(&self) -> Option<i64> {
        self.rows.last().map(|row| row.t_us)
    }

    /// Where it was, between the looks before and after. Nothing where these are too far apart.
    fn at(&self, t_us: i64) -> Option<(f64, f64)> {
        let next = self.rows.partition_point(|row| row.t_us <= t_us);
        let (before, after) = (self.rows[..next].last()?, self.rows.get(next)?);
        let gap_us = after.t_us - before.t_us;
        if gap_us > GAP_US_MAX || after.is_break {
            return None;
        }
        let secs = (t_us - before.t_us) as f64 * 1e-6;
        Some(match before.kind {
            // What was told may change from one look to the next; until then it goes on as it was.
            StateKind::Exported => (before.x + before.vx * secs, before.y + before.vy * secs),
            _ => {
                let part = (t_us - before.t_us) as f64 / gap_us as f64;
                (before.x + (after.x - before.x) * part, before.y + (after.y - before.y) * part)
            }
        })
    }
}

struct FollowedVectors<'a> {
    rows: Vec<&'a FollowedRow>,
}

impl<'a> FollowedVectors<'a> {
    fn of(log: &'a ProcessLog, entity: u32) -> Self {
        Self { rows: log.followed.iter().filter(|row| row.entity == entity).collect() }
    }

    /// When that which is reckoned by at some instant was generated.
    fn newest_at(&self, t_us: i64) -> Option<i64> {
        let next = self.rows.partition_point(|row| row.t_us <= t_us);
        self.rows[..next].last().map(|row| row.generated_us)
    }
}

fn distance(one: (f64, f64), other: (f64, f64)) -> f64 {
    (one.0 - other.0).hypot(one.1 - other.1)
}

#[cfg(test)]
mod tests {
    use fairpath::place::Placement;
    use fairpath::time::Span;

    use super::*;
    use crate::experiments::accuracy::live_objects::PathDelays;
    use crate::fairness::{LabScheduler, mean};

    const SPEED: f64 = 10.0;
    const FRAME_US: i64 = 16_000;

    /// A tank along +x at [`SPEED`], placed by a receiver that is `behind_us` behind.
    fn state(t_us: i64, kind: StateKind, behind_us: i64) -> StateRow {
        let x = SPEED * (t_us - behind_us) as f64 * 1e-6;
        StateRow { t_us, entity: 7, kind, x, vx: SPEED, ..StateRow::default() }
    }

    fn looks(phase_us: i64, kind: StateKind, behind_us: i64) -> Vec<StateRow> {
        (0..1000).map(|frame| state(phase_us + frame * FRAME_US, kind, behind_us)).collect()
    }

    /// A DR vector each second, known `delay_us` later.
    fn news(delay_us: i64, viewer: Option<u32>) -> Vec<FollowedRow> {
        let row = |second: i64| {
            let generated_us = second * 1_000_000;
            FollowedRow { t_us: generated_us + delay_us, viewer, entity: 7, life: 0, generated_us }
        };
        (0..16).map(row).collect()
    }

    fn case(receivers: usize) -> LiveCase {
        LiveCase {
            name: "test",
            placement: Placement::Global,
            scheduler: LabScheduler::BROADCAST,
            is_bare: false,
            paths: vec![PathDelays { up: Span::ZERO, down: Span::ZERO }; receivers],
            jitter: Span::ZERO,
            length: Span::from_secs(16),
            seed: 1,
        }
    }

    fn played(behind_us: i64) -> CaseLogs {
        let mut states = looks(0, StateKind::Truth, 0);
        states.extend(looks(0, StateKind::Exported, 0));
        states.sort_by_key(|row| row.t_us);
        let owner = ProcessLog { states, followed: news(0, None), ..ProcessLog::default() };
        let states = looks(5_000, StateKind::Placed, behind_us);
        let receiver =
            ProcessLog { states, followed: news(300_000, Some(1)), vectors: 16, ..ProcessLog::default() };
        CaseLogs { owner, receivers: vec![receiver] }
    }

    #[test]
    fn a_receiver_behind_by_a_time_is_off_by_the_distance_driven_in_it() {
        let measured = measure(&case(1), &played(50_000)).expect("every receiver saw the tank");
        let seen = &measured.receivers[0];
        assert!((mean(&seen.errors) - 0.5).abs() < 1e-9 && (mean(&seen.export_errors) - 0.5).abs() < 1e-9);
        assert!((measured.speed_max - SPEED).abs() < 1e-9);
        assert_eq!((measured.triggers, seen.vectors, seen.unmeasured), (16, 16, 0));
        // Of each second the first 0.3 s pass before the news is there.
        let share = seen.after.len() as f64 / seen.errors.len() as f64;
        assert!((share - 0.7).abs() < 0.02, "{share}");
    }

    #[test]
    fn the_truth_is_not_guessed_across_a_gap() {
        let mut logs = played(0);
        logs.owner.states.retain(|row| !(8_000_000..8_500_000).contains(&row.t_us));
        let measured = measure(&case(1), &logs).expect("every receiver saw the tank");
        let seen = &measured.receivers[0];
        assert!((30..=33).contains(&seen.unmeasured), "half a second of frames: {}", seen.unmeasured);
        assert!(mean(&seen.errors) < 1e-9);
    }

    #[test]
    fn a_receiver_that_saw_nothing_makes_a_case_unmeasurable() {
        let mut blind = played(0);
        blind.receivers[0].states.clear();
        assert!(measure(&case(1), &blind).is_none());
        assert!(measure(&case(2), &played(0)).is_none(), "one of two is missing");
    }
}
