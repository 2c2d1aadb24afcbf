//! From what processes wrote down to how far off they were.

use fairpath_sim::trace::{FollowedRow, StateKind, StateRow};

use super::{ClockSeen, Diary, Played, Scene};

/// What a scene came to, while everybody saw the tank.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// In the order of the scene's ways.
    pub(super) receivers: Vec<Seen>,
    pub(super) owner_clock: ClockSeen,
    /// How many DR vectors the owner exported from beginning to end.
    pub(super) triggers: u64,
    /// The tank's greatest speed meanwhile.
    pub(super) speed_max: f64,
    pub(super) secs: f64,
}

/// What one receiver saw, frame by frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// When, since the owner began to drive.
    pub(super) secs: Vec<f64>,
    /// How far from the truth the tank was placed.
    pub(super) errors: Vec<f64>,
    /// How far from what the owner had told.
    pub(super) export_errors: Vec<f64>,
    /// The same, while it reckons by the owner's newest DR vector.
    pub(super) after: Vec<f64>,
    pub(super) clock: ClockSeen,
    pub(super) vectors: u64,
    /// Frames at which the truth is not known.
    pub(super) unmeasured: u64,
}

/// The truth is not guessed across longer gaps: six frames.
pub(super) const GAP_US_MAX: i64 = 100_000;
/// From the first sight to the first measurement: by then the first DR vectors are old.
const SETTLED_AFTER_US: i64 = 3_000_000;

/// Measures a scene; nothing if there is no time at which everybody saw the tank.
pub(super) fn measure(scene: &Scene, played: &Played) -> Option<Measured> {
    let tank = played.owner.states.iter().find(|row| row.kind == StateKind::Truth)?.entity;
    let truth = Trail::of(&played.owner, StateKind::Truth, tank);
    let exported = Trail::of(&played.owner, StateKind::Exported, tank);
    let told = News::of(&played.owner, tank);
    let views: Vec<Trail<'_>> =
        played.receivers.iter().map(|diary| Trail::of(diary, StateKind::Placed, tank)).collect();
    let first = views.iter().map(Trail::begin).collect::<Option<Vec<_>>>()?.into_iter().max()?;
    let last = views.iter().map(Trail::end).collect::<Option<Vec<_>>>()?.into_iter().min()?;
    let during = first + SETTLED_AFTER_US..last.min(truth.end()?);
    if during.is_empty() || views.len() != scene.ways.len() {
        return None;
    }
    let see = |(diary, view): (&Diary, &Trail<'_>)| {
        let mut seen = Seen { clock: diary.clock, vectors: diary.vectors, ..Seen::default() };
        let follows = News::of(diary, tank);
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
    Some(Measured {
        receivers: played.receivers.iter().zip(&views).map(see).collect(),
        owner_clock: played.owner.clock,
        triggers: told.rows.len() as u64,
        speed_max: speeds.fold(0.0, f64::max),
        secs: (during.end - during.start) as f64 * 1e-6,
    })
}

/// Where something was, as often as somebody looked.
struct Trail<'a> {
    rows: Vec<&'a StateRow>,
}

impl<'a> Trail<'a> {
    fn of(diary: &'a Diary, kind: StateKind, entity: u32) -> Self {
        let is_of = |row: &&StateRow| row.kind == kind && row.entity == entity;
        Self { rows: diary.states.iter().filter(is_of).collect() }
    }

    fn begin(&self) -> Option<i64> {
        self.rows.first().map(|row| row.t_us)
    }

    fn end(&self) -> Option<i64> {
        self.rows.last().map(|row| row.t_us)
    }

    /// Where it was: on from the look before, towards the look after. Nothing where these are too
    /// far apart.
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

/// Which DR vector somebody reckoned by.
struct News<'a> {
    rows: Vec<&'a FollowedRow>,
}

impl<'a> News<'a> {
    fn of(diary: &'a Diary, entity: u32) -> Self {
        Self { rows: diary.followed.iter().filter(|row| row.entity == entity).collect() }
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
    use crate::experiments::x9::Ways;
    use crate::fairness::{Contender, mean};

    const SPEED: f64 = 10.0;
    const FRAME_US: i64 = 16_000;

    /// A tank that drives along +x at [`SPEED`], seen by somebody who takes it to be `behind_us`
    /// behind.
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

    fn scene(receivers: usize) -> Scene {
        Scene {
            name: "test",
            placement: Placement::Global,
            scheduler: Contender::Broadcast,
            is_bare: false,
            ways: vec![Ways { up: Span::ZERO, down: Span::ZERO }; receivers],
            jitter: Span::ZERO,
            length: Span::from_secs(16),
            seed: 1,
        }
    }

    fn played(behind_us: i64) -> Played {
        let mut states = looks(0, StateKind::Truth, 0);
        states.extend(looks(0, StateKind::Exported, 0));
        states.sort_by_key(|row| row.t_us);
        let owner = Diary { states, followed: news(0, None), ..Diary::default() };
        let states = looks(5_000, StateKind::Placed, behind_us);
        let receiver = Diary { states, followed: news(300_000, Some(1)), vectors: 16, ..Diary::default() };
        Played { owner, receivers: vec![receiver] }
    }

    #[test]
    fn who_is_behind_by_a_time_is_off_by_that_much_of_the_way() {
        let measured = measure(&scene(1), &played(50_000)).expect("everybody saw the tank");
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
        let mut played = played(0);
        played.owner.states.retain(|row| !(8_000_000..8_500_000).contains(&row.t_us));
        let measured = measure(&scene(1), &played).expect("everybody saw the tank");
        let seen = &measured.receivers[0];
        assert!((30..=33).contains(&seen.unmeasured), "half a second of frames: {}", seen.unmeasured);
        assert!(mean(&seen.errors) < 1e-9);
    }

    #[test]
    fn who_saw_nothing_makes_a_scene_worthless() {
        let mut blind = played(0);
        blind.receivers[0].states.clear();
        assert!(measure(&scene(1), &blind).is_none());
        assert!(measure(&scene(2), &played(0)).is_none(), "one of two is missing");
    }
}
