//! What the papers' fairness experiments share: receivers, jitters, table and figures.

use fairpath::time::Span;

use super::exploration::{TANK_LENGTH, cells, columns, notes};
use super::figures::{over_time, per_receiver};
use super::{Arena, Jitter, LabScheduler, Measure, Model, Motion, Receiver, Score, Trial, ratio};
use crate::experiment::{CannotRun, Progress, Settings};
use crate::figure::Figure;
use crate::judge::{Judgement, Verdict};
use crate::outcome::{Cell, Claim, Column, Outcome, Rows};
use crate::show;

/// One-way delays in the papers' test bed: the farthest first.
const DELAYS_MS: [i64; 3] = [800, 500, 200];
/// Tanks, each a game of its own. 30: a ratio of means is then sure to 2 or 3 %, so that few
/// verdicts hang on the seed; with 10 it was twice that.
const TANKS: u64 = 30;
/// None, "moderate" and "high" delay variance in the papers' test bed.
pub(crate) const JITTERS_MS: [i64; 3] = [0, 100, 180];

pub(crate) struct Bench<'a> {
    pub(crate) motion: Motion,
    pub(crate) delays: Vec<Span>,
    settings: &'a Settings,
    progress: &'a dyn Progress,
}

/// Schedulers under one jitter. Claims are judged with linear DR vectors and uniform jitter.
pub(crate) struct Case {
    pub(crate) jitter: Span,
    pub(crate) judged: Scores,
    /// With normal jitter; nothing where there is none.
    pub(crate) normal: Option<Scores>,
    pub(crate) circular: Scores,
}

pub(crate) struct Scores {
    schedulers: Vec<LabScheduler>,
    scores: Vec<Score>,
    jitter: Jitter,
    model: Model,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(settings: &'a Settings, progress: &'a dyn Progress) -> Result<Self, CannotRun> {
        let delays = settings.delays_or(&DELAYS_MS);
        if delays.len() < 2 {
            return Err(CannotRun {
                what: "one receiver alone is always treated fairly".into(),
                fix: "give two delays or more with --delays".into(),
            });
        }
        let motion = Motion::of(settings, TANKS, TANK_LENGTH)?;
        Ok(Self { motion, delays, settings, progress })
    }

    pub(crate) fn jitters(&self, usual_ms: &[i64]) -> Vec<Span> {
        match self.settings.jitter {
            Some(jitter) => vec![jitter],
            None => usual_ms.iter().copied().map(Span::from_millis).collect(),
        }
    }

    /// Plays schedulers under every jitter, and each with the variants that stand beside it.
    pub(crate) fn cases(&self, jitters: &[Span], schedulers: &[LabScheduler]) -> Vec<Case> {
        let mut circumstances = Vec::new();
        for &jitter in jitters {
            circumstances.push((Jitter::Uniform(jitter), Model::Linear));
            circumstances.push((Jitter::Normal(jitter), Model::Linear));
            circumstances.push((Jitter::Uniform(jitter), Model::Circular));
        }
        let trials: Vec<Trial> = circumstances
            .iter()
            .flat_map(|(jitter, model)| {
                let receivers = Receiver::all_at(&self.delays, *jitter);
                schedulers.iter().map(move |scheduler| {
                    Trial::new(*scheduler, receivers.clone()).label(scheduler.label()).model(*model)
                })
            })
            .collect();
        let mut scores = self.play(&trials).into_iter();
        let mut next = |(jitter, model): (Jitter, Model)| Scores {
            schedulers: schedulers.to_vec(),
            scores: scores.by_ref().take(schedulers.len()).collect(),
            jitter,
            model,
        };
        let mut circumstances = circumstances.into_iter();
        let mut next = || next(circumstances.next().expect("three for every jitter"));
        let case = |jitter: &Span| {
            let (judged, normal, circular) = (next(), next(), next());
            Case { jitter: *jitter, judged, normal: Some(normal).filter(|_| *jitter > Span::ZERO), circular }
        };
        jitters.iter().map(case).collect()
    }

    pub(crate) fn play(&self, trials: &[Trial]) -> Vec<Score> {
        Arena { motion: &self.motion, seed: self.settings.seed, progress: self.progress }.play(trials)
    }

    /// The table of some cases, with ratios to `reference`.
    pub(crate) fn outcome(&self, cases: &[Case], reference: LabScheduler) -> Outcome {
        let mut rows = Rows::new([circumstances_columns(), columns(&self.motion.unit)].concat());
        for scores in cases.iter().flat_map(Case::all) {
            let reference = scores.of(reference);
            for score in &scores.scores {
                let circumstances = scores.cells(&score.label);
                rows.push([circumstances, cells(score, reference, self.settings.seed)].concat());
            }
        }
        let mut outcome = Outcome::new(rows);
        outcome.notes = notes(&self.motion);
        outcome.notes.push(format!(
            "Claims are judged with linear DR vectors and, where delays vary, uniform jitter. A normal one with the same number as its \
             standard deviation, and circular DR vectors, stand beside it. Ratios are to {}.",
            reference.label()
        ));
        outcome
    }

    /// The paper's three figures for one case: mean, spread, and every receiver.
    pub(crate) fn figures(&self, id: &str, case: &Case, shown: &[LabScheduler]) -> Vec<Figure> {
        let scores: Vec<&Score> = shown.iter().map(|scheduler| case.judged.of(*scheduler)).collect();
        let names: Vec<String> =
            self.delays.iter().map(|delay| format!("{} ms", delay.as_millis_f64())).collect();
        let title = format!("Jitter {}", case.judged.jitter.shown());
        let id = format!("{id}-{}", case.jitter.as_millis_f64());
        let mut figures = Vec::from(over_time(&id, &title, &scores, &self.motion.unit));
        figures.extend(per_receiver(&id, &title, &scores, &names, &self.motion.unit));
        figures
    }
}

fn circumstances_columns() -> Vec<Column> {
    vec![
        Column::text("jitter", "jitter"),
        Column::text("model", "DR vectors"),
        Column::text("scheduler", "scheduler"),
    ]
}

impl Case {
    fn all(&self) -> impl Iterator<Item = &Scores> {
        [Some(&self.judged), self.normal.as_ref(), Some(&self.circular)].into_iter().flatten()
    }

    /// What is judged and, by name, what stands beside it.
    fn variants(&self) -> impl Iterator<Item = (String, &Scores)> {
        let normal = self
            .normal
            .as_ref()
            .map(|scores| (format!("with normal jitter ({})", scores.jitter.shown()), scores));
        normal.into_iter().chain([("with circular DR vectors".into(), &self.circular)])
    }

    /// A claim about this case; its remark has the variants and, if it did not hold, `why`.
    pub(crate) fn claim(
        &self,
        id: &str,
        text: &str,
        why: &str,
        judge: impl Fn(&Scores) -> Judgement,
    ) -> Claim {
        let judgement = judge(&self.judged);
        let beside = |(name, scores): (String, &Scores)| {
            let judgement = judge(scores);
            let measured =
                judgement.measured.map_or_else(String::new, |measured| format!(" ({})", show(measured)));
            format!("{name}: {}{measured}", judgement.verdict.as_str())
        };
        let mut remarks: Vec<String> = self.variants().map(beside).collect();
        if judgement.verdict == Verdict::NotHeld && !why.is_empty() {
            remarks.insert(0, why.into());
        }
        Claim::new(id, text, judgement).remark(remarks.join("; "))
    }

    /// The same about a measure of `one` as a ratio to `other`, with its interval in the remark.
    pub(crate) fn claim_of_ratio(
        &self,
        id: &str,
        text: &str,
        why: &str,
        (measure, one, other): (Measure, LabScheduler, LabScheduler),
        judge: impl Fn(f64) -> Judgement,
    ) -> Claim {
        // Any seed will do: it only picks which pairs are drawn.
        let of = |scores: &Scores| ratio(scores.of(one), scores.of(other), measure, 1);
        let claim = self.claim(id, text, why, |scores| judge(of(scores).value));
        let interval = of(&self.judged).interval;
        let interval = interval.map(|(low, high)| format!("95 %: {} to {}", show(low), show(high)));
        let remarks: Vec<String> = interval.into_iter().chain(claim.remark.clone()).collect();
        claim.remark(remarks.join("; "))
    }

    /// At the end of claim ids: `-100`.
    pub(crate) fn suffix(&self) -> String {
        format!("-{}", self.jitter.as_millis_f64())
    }

    /// At the beginning of claims: `with jitter ±100 ms`.
    pub(crate) fn shown(&self) -> String {
        match self.jitter {
            Span::ZERO => "without jitter".into(),
            _ => format!("with jitter {}", self.judged.jitter.shown()),
        }
    }
}

impl Scores {
    pub(crate) fn of(&self, scheduler: LabScheduler) -> &Score {
        let position = self.schedulers.iter().position(|other| *other == scheduler);
        &self.scores[position.expect("every judged scheduler has played")]
    }

    fn cells(&self, label: &str) -> Vec<Cell> {
        crate::cells![self.jitter.shown(), self.model.name(), label]
    }

    pub(crate) fn ratio(&self, of: fn(&Score) -> f64, one: LabScheduler, other: LabScheduler) -> f64 {
        of(self.of(one)) / of(self.of(other))
    }

    pub(crate) fn receivers(&self, one: LabScheduler, other: LabScheduler) -> Vec<(f64, f64)> {
        self.of(one).receivers().into_iter().zip(self.of(other).receivers()).collect()
    }

    /// Two schedulers' ratio of errors of the receiver with the largest error under `reference`.
    pub(crate) fn farthest(&self, reference: LabScheduler, one: LabScheduler, other: LabScheduler) -> f64 {
        let errors = self.of(reference).receivers();
        let farthest = (0..errors.len()).max_by(|one, other| errors[*one].total_cmp(&errors[*other]));
        let farthest = farthest.unwrap_or(0);
        self.of(one).receivers()[farthest] / self.of(other).receivers()[farthest]
    }
}
