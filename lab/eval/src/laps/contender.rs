use std::sync::Arc;

use fairpath::DrVector;
use fairpath::MotionKind;
use fairpath::State;
use fairpath::number::{EntityId, Generation, Life};
use fairpath::time::SharedInstant;
use fairpath::vector::{Vec2, Vector};
use fairpath_predict::live::Context;
use fairpath_predict::{
    Adaptive, Known, Linear, Missing, Objective, Predictor, SpeedRule, TangentPredictor, Tdm, TrendLine,
    TrendLinePredictor,
};

use super::{SUBJECT, TimedLap, known_at};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// Keeps the velocity.
    Linear,
    /// Keeps the acceleration.
    Tdm,
    /// One straight step along the line's tangent, with the speed recursion printed in Jawad 2017.
    TangentPrinted,
    /// The same with the plain differences in the code of Jawad 2017.
    TangentCoded,
    /// Both with a sample every 0.2 s, as in Jawad 2017, instead of every tick.
    TangentPrintedSampled,
    TangentCodedSampled,
    /// Ours: continues along the line.
    TrendLine,
    /// The same from a single DR vector with a velocity, as it is placed over a network.
    Live,
    /// Has no line, but learns from the same laps.
    Adaptive,
}

impl Contender {
    /// All of them. The first two are the baselines.
    pub const ALL: [Self; 9] = [
        Self::Linear,
        Self::Tdm,
        Self::TangentPrinted,
        Self::TangentCoded,
        Self::TangentPrintedSampled,
        Self::TangentCodedSampled,
        Self::TrendLine,
        Self::Live,
        Self::Adaptive,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Tdm => "TDM",
            Self::TangentPrinted => "Jawad 2017 as printed",
            Self::TangentCoded => "Jawad 2017 as coded",
            Self::TangentPrintedSampled => "Jawad 2017 as printed, every 0.2 s",
            Self::TangentCodedSampled => "Jawad 2017 as coded, every 0.2 s",
            Self::TrendLine => "trend line",
            Self::Live => "trend line, live",
            Self::Adaptive => "adaptive",
        }
    }

    /// Creates the predictor, taught by these laps. `line` must be built from the same laps.
    pub fn taught(self, line: &Arc<TrendLine>, laps: &[&TimedLap]) -> Box<dyn Predictor> {
        match self {
            Self::Linear => Box::new(Linear),
            Self::Tdm => Box::new(Tdm),
            Self::TangentPrinted => Box::new(tangent(line, SpeedRule::Recursion, 1)),
            Self::TangentCoded => Box::new(tangent(line, SpeedRule::Differences, 1)),
            Self::TangentPrintedSampled => Box::new(tangent(line, SpeedRule::Recursion, SAMPLE_TICKS)),
            Self::TangentCodedSampled => Box::new(tangent(line, SpeedRule::Differences, SAMPLE_TICKS)),
            Self::TrendLine => Box::new(TrendLinePredictor::new(Arc::clone(line))),
            Self::Live => Box::new(LiveLine { line: Arc::clone(line), path: Vec::new() }),
            Self::Adaptive => Box::new(adaptive(laps)),
        }
    }
}

const SAMPLE_TICKS: u32 = TangentPredictor::PAPER_SAMPLE_TICKS;

fn tangent(line: &Arc<TrendLine>, rule: SpeedRule, sample_ticks: u32) -> TangentPredictor {
    TangentPredictor::new(Arc::clone(line), rule).sampled_every(sample_ticks)
}

fn adaptive(laps: &[&TimedLap]) -> Adaptive {
    let runs = || laps.iter().flat_map(|lap| &lap.runs);
    let speeds = runs().flat_map(|run| &run.known).map(|body| body.velocity.length());
    let mut adaptive = Adaptive::new(speeds.fold(0.0, f64::max), Objective::Mean);
    for run in runs() {
        for tick in 0..run.known.len() {
            adaptive.learn(SUBJECT, &known_at(run, tick));
        }
    }
    adaptive
}

/// Places a DR vector by the line, and knows nothing else.
#[derive(Debug)]
struct LiveLine {
    line: Arc<TrendLine>,
    path: Vec<Vec2>,
}

impl Predictor for LiveLine {
    fn name(&self) -> &str {
        Contender::Live.name()
    }

    fn predict(
        &mut self,
        _subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let body = known.newest();
        let vector = DrVector {
            entity: EntityId(0),
            life: Life::default(),
            generation: Generation::default(),
            generated_at: SharedInstant::ZERO,
            motion: MotionKind::Linear.from_state(&State::moving(body.position, body.velocity)),
            attitude: None,
            parent: None,
        };
        self.path.clear();
        self.path.push(body.position);
        self.line.lengthen(&vector, &mut self.path, 1 + ticks.last().map_or(0, |last| *last as usize));
        for (ticks, position) in ticks.iter().zip(positions) {
            *position = self.path[*ticks as usize];
        }
        Ok(())
    }
}
