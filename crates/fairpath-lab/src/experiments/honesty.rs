//! H: does it pay to lie to the sender? S1 warns that it might; the claims are ours.

use fairpath::schedule::{DispatcherConfig, Trust};
use fairpath::time::Span;

use crate::cells;
use crate::experiment::{CannotRun, Experiment, Progress, Settings};
use crate::fairness::exploration::notes;
use crate::fairness::{
    Arena, Contender, Factor, Jitter, Lie, Measure, Motion, Ratio, Receiver, Score, Trial, ratio,
};
use crate::figure::{Axis, Figure, Line, Plot};
use crate::judge;
use crate::outcome::{Claim, Column, Outcome, Rows};

pub(super) struct Honesty;

const CONTENDERS: [Contender; 3] = [
    Contender::Deterministic(Factor::Accumulated),
    Contender::Probabilistic(Factor::Accumulated),
    Contender::ERROR_INDEX,
];
const DELAYS_MS: [i64; 3] = [800, 500, 200];
/// None, and the most that the papers' test bed has: honest receivers behind it must not be taken for liars.
const JITTERS_MS: [i64; 2] = [0, 180];
/// How many tanks, each a game of its own with dice of its own, and how long they are watched. An effect of 5 % must
/// stand out from what the probabilistic budget's dice do by themselves.
const TANKS: u64 = 16;
const TANK_LENGTH: Span = Span::from_secs(180);
/// What the liar's link loses where it acknowledges what it never got; so does an honest receiver's that it is compared to.
const LOSS: f64 = 0.2;
const HELD_BACK_MS: [i64; 6] = [100, 250, 500, 1000, 1500, 2000];

/// What a liar may gain, and what it may cost anybody who is honest, as a part of their error.
const TOLERATED: f64 = 0.05;
/// What the safeguards may cost where everybody is honest, as a part of mean and spread.
const HONEST_COST_MAX: f64 = 0.02;

impl Experiment for Honesty {
    fn id(&self) -> &'static str {
        "H"
    }

    fn title(&self) -> &'static str {
        "Does it pay to lie to the sender?"
    }

    fn source(&self) -> &'static str {
        "S1's warning; the claims are ours"
    }

    fn about(&self) -> &'static str {
        "Schedulers favour whoever is badly off, and how badly off somebody is they know from receipts alone. One of three receivers 800, 500 \
         and 200 ms away lies, each in turn: it overstates its delay, reports receipts before they were sent, never reports, acknowledges what \
         it never got, or holds its receipts back. What that does to its own true error, and at worst to an honest receiver's, is compared \
         with the same game in which it is honest; with the sender's safeguards and without."
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let delays = settings.delays_or(&DELAYS_MS);
        if delays.len() < 2 {
            return Err(CannotRun {
                what: "one receiver alone has nobody to take anything from".into(),
                fix: "give two delays or more with --delays".into(),
            });
        }
        let jitters = match settings.jitter {
            Some(jitter) => vec![jitter],
            None => JITTERS_MS.map(Span::from_millis).to_vec(),
        };
        let motion = Motion::of(settings, TANKS, TANK_LENGTH)?;
        let cases = cases(&delays, &jitters);
        let trials: Vec<Trial> = cases.iter().map(|case| case.trial(&delays)).collect();
        let scores = Arena { motion: &motion, seed: settings.seed, progress }.play(&trials);
        let played = Played { cases, scores, delays, seed: settings.seed };
        let mut outcome = Outcome::new(played.rows());
        outcome.claims = played.claims();
        outcome.figures = jitters.iter().map(|jitter| played.gain_curve(*jitter)).collect();
        outcome.notes = notes(&motion);
        outcome.notes.extend(how_it_is_played());
        outcome.notes.push(played.caps());
        Ok(outcome)
    }
}

/// One game: somebody lies, or nobody.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Case {
    contender: Contender,
    jitter: Span,
    is_guarded: bool,
    /// The receiver that lies, or that is compared to the one that does.
    liar: usize,
    lie: Lie,
    /// What its link loses.
    loss: f64,
}

/// All lies there are, with what the liar's link loses, from those that can be contradicted to those that cannot.
fn lies() -> Vec<(Lie, f64)> {
    let lossless = [
        Lie::Overstates(2.0),
        Lie::Overstates(5.0),
        Lie::Overstates(10.0),
        Lie::BeforeSent(Span::from_millis(500)),
    ];
    let hidden = [Lie::Overstates(1.2), Lie::Silent];
    let held_back = HELD_BACK_MS.map(|held_ms| Lie::HoldsBack(Span::from_millis(held_ms)));
    let mut lies: Vec<(Lie, f64)> = lossless.into_iter().map(|lie| (lie, 0.0)).collect();
    lies.push((Lie::Guesses, LOSS));
    lies.extend(hidden.into_iter().chain(held_back).map(|lie| (lie, 0.0)));
    lies
}

/// Whether a sender that looks can tell. Who overstates by a fifth passes for somebody behind a lopsided link.
fn can_be_contradicted(lie: Lie) -> bool {
    match lie {
        Lie::Overstates(times) => times > 1.0 + Trust::default().asymmetry,
        Lie::BeforeSent(_) | Lie::Guesses => true,
        Lie::Honest | Lie::Silent | Lie::HoldsBack(_) => false,
    }
}

fn cases(delays: &[Span], jitters: &[Span]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &jitter in jitters {
        for contender in CONTENDERS {
            for is_guarded in [false, true] {
                let honest = Case { contender, jitter, is_guarded, liar: 0, lie: Lie::Honest, loss: 0.0 };
                cases.push(honest);
                for liar in 0..delays.len() {
                    cases.push(Case { liar, loss: LOSS, ..honest });
                    cases.extend(lies().into_iter().map(|(lie, loss)| Case { liar, lie, loss, ..honest }));
                }
            }
        }
    }
    cases
}

impl Case {
    /// The same game, but nobody lies.
    fn honest(self) -> Self {
        let honest = Self { lie: Lie::Honest, ..self };
        if self.loss > 0.0 { honest } else { Self { liar: 0, ..honest } }
    }

    fn trial(&self, delays: &[Span]) -> Trial {
        let mut receivers = Receiver::all_at(delays, Jitter::Uniform(self.jitter));
        let liar = receivers[self.liar].clone().lying(self.lie);
        receivers[self.liar] = if self.loss > 0.0 { liar.losing(self.loss) } else { liar };
        Trial::new(self.contender, receivers).dispatcher(self.dispatcher())
    }

    fn dispatcher(&self) -> DispatcherConfig {
        let papers = DispatcherConfig::as_in_the_papers();
        if self.is_guarded {
            DispatcherConfig { trust: Some(Trust::default()), ..papers }
        } else {
            // Whatever is reported counts; what lies ahead counts as now, and what was before departure as departure.
            DispatcherConfig { trust: None, clock_error_max: Span::from_secs(3600), ..papers }
        }
    }

    fn safeguards(&self) -> &'static str {
        if self.is_guarded { "with" } else { "without" }
    }
}

/// What a lie did: each as a part of the error in the game where everybody is honest.
#[derive(Clone, Copy, Debug)]
struct Effect {
    /// What the liar gained; below zero it lost.
    gain: f64,
    /// What it cost the honest receiver that it cost most; below zero all of them gained.
    harm: f64,
}

struct Played {
    cases: Vec<Case>,
    scores: Vec<Score>,
    delays: Vec<Span>,
    seed: u64,
}

impl Played {
    fn score(&self, case: Case) -> &Score {
        let position = self.cases.iter().position(|other| *other == case);
        &self.scores[position.expect("whatever is compared was played")]
    }

    fn effect(&self, case: Case) -> Effect {
        let (lied, honest) = (self.score(case).receivers(), self.score(case.honest()).receivers());
        let change = |receiver: usize| lied[receiver] / honest[receiver] - 1.0;
        let others = (0..self.delays.len()).filter(|receiver| *receiver != case.liar);
        Effect { gain: -change(case.liar), harm: others.map(change).fold(f64::NEG_INFINITY, f64::max) }
    }

    fn lying(&self) -> impl Iterator<Item = (Case, Effect)> + '_ {
        let lying = self.cases.iter().filter(|case| case.lie != Lie::Honest);
        lying.map(|case| (*case, self.effect(*case)))
    }

    /// What the safeguards cost at worst where nobody lies and nothing is lost.
    fn honest_cost(&self, contender: Contender, measure: Measure) -> (Case, Ratio) {
        let honest = self.cases.iter().filter(|case| {
            case.contender == contender && case.lie == Lie::Honest && case.is_guarded && case.loss == 0.0
        });
        honest
            .map(|case| {
                let without = self.score(Case { is_guarded: false, ..*case });
                (*case, ratio(self.score(*case), without, measure, self.seed))
            })
            .max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value))
            .expect("everybody was honest once")
    }

    fn rows(&self) -> Rows {
        let percent = |key: &str, label: &str| Column::number(key, label, "%").decimals(1);
        let mut rows = Rows::new(vec![
            Column::text("scheduler", "scheduler"),
            Column::text("jitter", "jitter"),
            Column::text("lie", "the liar"),
            Column::number("liar_ms", "is away", "ms"),
            Column::text("safeguards", "safeguards"),
            percent("gain_percent", "its gain"),
            percent("harm_percent", "worst harm to an honest one"),
            Column::number("liar_share", "its share of the DR vectors", "").decimals(3),
        ]);
        for (case, effect) in self.lying() {
            rows.push(cells![
                case.contender.label(),
                Jitter::Uniform(case.jitter).shown(),
                case.lie.shown(),
                self.delays[case.liar].as_millis_f64(),
                case.safeguards(),
                100.0 * effect.gain,
                100.0 * effect.harm,
                self.score(case).shares()[case.liar],
            ]);
        }
        rows
    }

    fn claims(&self) -> Vec<Claim> {
        let lying = CONTENDERS.into_iter().flat_map(|contender| self.claims_of(contender));
        let honest = CONTENDERS.into_iter().flat_map(|contender| {
            [("mean", "mean error", Measure::Mean), ("spread", "spread", Measure::Spread)]
                .map(|(id, what, measure)| self.claim_of_cost(contender, id, what, measure))
        });
        lying.chain(honest).collect()
    }

    fn claim_of_cost(&self, contender: Contender, id: &str, what: &str, measure: Measure) -> Claim {
        let (case, cost) = self.honest_cost(contender, measure);
        let interval = cost.interval.map_or_else(String::new, |(low, high)| {
            format!("95 % interval {:.1} to {:.1} %, ", 100.0 * (low - 1.0), 100.0 * (high - 1.0))
        });
        Claim::new(
            format!("H.honest-{id}-{}", contender.name()),
            format!(
                "{}: where everybody is honest, the safeguards raise the {what} by at most 2 %",
                contender.label()
            ),
            judge::at_most(cost.value - 1.0, HONEST_COST_MAX),
        )
        .unit("of it without them")
        .remark(format!("{interval}with jitter {}", Jitter::Uniform(case.jitter).shown()))
    }

    fn claims_of(&self, contender: Contender) -> [Claim; 2] {
        let worst = |is_guarded: bool, of: fn(&Effect) -> f64| {
            let judged = self.lying().filter(|(case, _)| {
                case.contender == contender && case.is_guarded == is_guarded && can_be_contradicted(case.lie)
            });
            judged.max_by(|(_, one), (_, other)| of(one).total_cmp(&of(other))).expect("many were played")
        };
        let claim = |what: &str, text: &str, of: fn(&Effect) -> f64| {
            let (guarded, unguarded) = (worst(true, of), worst(false, of));
            let text = format!("{}: {text}", contender.label());
            Claim::new(
                format!("H.{what}-{}", contender.name()),
                text,
                judge::at_most(of(&guarded.1), TOLERATED),
            )
            .unit("of the error when honest")
            .remark(format!(
                "the most by {}; without safeguards {:.1} %, by {}",
                self.shown(guarded.0),
                100.0 * of(&unguarded.1),
                self.shown(unguarded.0)
            ))
        };
        [
            claim("gain", "a liar that the sender can contradict gains at most 5 %", |effect| effect.gain),
            claim("harm", "and costs nobody who is honest more than 5 %", |effect| effect.harm),
        ]
    }

    fn shown(&self, case: Case) -> String {
        format!(
            "the one {} ms away that {} (jitter {})",
            self.delays[case.liar].as_millis_f64(),
            case.lie.shown(),
            Jitter::Uniform(case.jitter).shown()
        )
    }

    /// What can be had at most by those whom nobody can contradict.
    fn caps(&self) -> String {
        let most = |contender: Contender, is_guarded: bool, is_meant: fn(Lie) -> bool| {
            let meant = self.lying().filter(|(case, _)| {
                case.contender == contender && case.is_guarded == is_guarded && is_meant(case.lie)
            });
            let worst = meant.fold((f64::NEG_INFINITY, f64::NEG_INFINITY), |(gain, harm), (_, effect)| {
                (effect.gain.max(gain), effect.harm.max(harm))
            });
            format!("{:.1} % ({:.1} %)", 100.0 * worst.0, 100.0 * worst.1)
        };
        let of = |contender: Contender| {
            let holds_back: fn(Lie) -> bool = |lie| matches!(lie, Lie::HoldsBack(_));
            let silent: fn(Lie) -> bool = |lie| lie == Lie::Silent;
            let lopsided: fn(Lie) -> bool =
                |lie| matches!(lie, Lie::Overstates(_)) && !can_be_contradicted(lie);
            format!(
                "{}: {} by holding receipts back, without safeguards {}; {} by never reporting; {} by overstating no more than a lopsided \
                 link would",
                contender.label(),
                most(contender, true, holds_back),
                most(contender, false, holds_back),
                most(contender, true, silent),
                most(contender, true, lopsided),
            )
        };
        format!(
            "What nobody can contradict gains at most, and in brackets costs an honest receiver at most. {}.",
            CONTENDERS.map(of).join(". ")
        )
    }

    /// What holding receipts back gains whoever gains most by it, and what it costs whom it costs most.
    fn gain_curve(&self, jitter: Span) -> Figure {
        let line = |contender: Contender, is_guarded: bool, of: fn(&Effect) -> f64| {
            let at = |held_ms: i64| {
                let lie = Lie::HoldsBack(Span::from_millis(held_ms));
                let cases = (0..self.delays.len()).map(|liar| Case {
                    contender,
                    jitter,
                    is_guarded,
                    liar,
                    lie,
                    loss: 0.0,
                });
                cases.map(|case| 100.0 * of(&self.effect(case))).fold(f64::NEG_INFINITY, f64::max)
            };
            let points = HELD_BACK_MS.map(|held_ms| (held_ms as f64, at(held_ms)));
            [(0.0, 0.0)].into_iter().chain(points).collect::<Vec<_>>()
        };
        let lines = CONTENDERS.into_iter().flat_map(|contender| {
            let name = contender.name();
            [
                Line::new(format!("{name}: gain"), line(contender, true, |effect| effect.gain)),
                Line::new(
                    format!("{name}: gain, no safeguards"),
                    line(contender, false, |effect| effect.gain),
                ),
                Line::new(format!("{name}: harm"), line(contender, true, |effect| effect.harm)),
            ]
        });
        let shown = Jitter::Uniform(jitter).shown();
        Figure::new(
            format!("h-held-back-{}", jitter.as_millis_f64()),
            format!("What holding receipts back gains, jitter {shown}"),
            Axis::new("receipts are held back for", "ms"),
            Axis::new("change of the error", "%"),
            Plot::Lines(lines.collect()),
        )
        .caption(
            "Gain: of the liar that gains most by it, wherever it is. Harm: of the honest receiver that it costs most. A sender cannot tell \
             this liar from somebody farther away. Where the lines with and without safeguards coincide, the cap on accounts takes nothing \
             from it.",
        )
    }
}

fn how_it_is_played() -> [String; 2] {
    [
        "Gain and harm are changes of true accumulated errors, as an observer sees them who knows every arrival, against the same game with the \
         same dice in which everybody is honest. One that overstates reports at once; one that holds back says that it arrived later by half \
         of that, as somebody farther away would. Who acknowledges unseen says that every copy arrived the instant it was sent, and a fifth \
         of what is sent to it is lost, as it is when it is honest."
            .into(),
        format!(
            "With safeguards: an arrival before departure or after now is refused; one later than the receipt's own way back allows is cut to \
             that, with {:.0} % for lopsided links; who says such things again and again is asked no more, and half of each round trip \
             counts as its delay; and nobody's account counts for more than {} times the others' mean. Without: everything counts, what \
             lies ahead as now.",
            100.0 * Trust::default().asymmetry,
            Trust::default().account_cap
        ),
    ]
}
