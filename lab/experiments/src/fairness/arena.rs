use fairpath::random::Random;
use fairpath::schedule::DispatcherConfig;
use fairpath::time::Span;
use fairpath::trigger::Trigger;
use fairpath::vector::Planar;

use super::lab_scheduler::LabScheduler;
use super::motion::{Model, Motion, Truths};
use super::receiver::Receiver;
use super::run::{FairnessRun, Setup, run};
use super::score::{Game, Score};
use crate::experiment::{Progress, map_in_order};
use crate::truth::Truth;

/// One scheduler under one set of circumstances.
#[derive(Clone, Debug)]
pub struct Trial {
    pub label: String,
    pub scheduler: LabScheduler,
    pub receivers: Vec<Receiver>,
    /// DR vectors per trigger, on average, for schedulers that have a budget.
    pub budget: f64,
    /// The owner generates a DR vector when receivers are off by more than this length.
    pub threshold: f64,
    /// How long the owner is silent at most.
    pub heartbeat: Span,
    pub model: Model,
    /// How the dispatcher works; as in the papers unless something else is tried.
    pub dispatcher: DispatcherConfig,
    /// Whether the dispatcher is told the transport's own round trips. The papers have none.
    pub transport_is_asked: bool,
}

impl Trial {
    /// A tenth of a tank's width: what the prototype and X1 use.
    pub const THRESHOLD: f64 = 0.3;
    /// What BZFlag does.
    pub const HEARTBEAT: Span = Span::from_secs(1);

    /// A trial as in the papers: budget a third of the receivers, threshold 0.3, linear DR vectors.
    pub fn new(scheduler: LabScheduler, receivers: Vec<Receiver>) -> Self {
        Self {
            label: scheduler.to_string(),
            scheduler,
            budget: receivers.len() as f64 / 3.0,
            receivers,
            threshold: Self::THRESHOLD,
            heartbeat: Self::HEARTBEAT,
            model: Model::Linear,
            dispatcher: DispatcherConfig::as_in_the_papers(),
            transport_is_asked: false,
        }
    }

    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    #[must_use]
    pub fn budget(mut self, budget: f64) -> Self {
        self.budget = budget;
        self
    }

    #[must_use]
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.threshold = threshold;
        self
    }

    #[must_use]
    pub fn model(mut self, model: Model) -> Self {
        self.model = model;
        self
    }

    #[must_use]
    pub fn dispatcher(mut self, dispatcher: DispatcherConfig) -> Self {
        self.dispatcher = dispatcher;
        self
    }

    #[must_use]
    pub fn transport_is_asked(mut self, is_asked: bool) -> Self {
        self.transport_is_asked = is_asked;
        self
    }

    pub fn setup(&self) -> Setup {
        let distance = Trigger::Distance { threshold: self.threshold };
        Setup {
            receivers: self.receivers.clone(),
            trigger: Trigger::AnyOf(vec![distance, Trigger::Every(self.heartbeat)]),
            model: self.model.kind(),
            dispatcher: self.dispatcher,
            transport_is_asked: self.transport_is_asked,
        }
    }
}

/// Where trials are played: all of them on the same motion and with the same dice.
#[derive(Clone, Copy)]
pub struct Arena<'a> {
    pub motion: &'a Motion,
    pub seed: u64,
    pub progress: &'a dyn Progress,
}

impl Arena<'_> {
    /// Plays all trials, on as many cores as there are; answers in their order.
    pub fn play(&self, trials: &[Trial]) -> Vec<Score> {
        let stretches = self.motion.stretches();
        let jobs: Vec<Job> = (0..trials.len())
            .flat_map(|trial| (0..self.motion.games).map(move |game| (trial, game)))
            .flat_map(|(trial, game)| (0..stretches).map(move |stretch| Job { trial, game, stretch }))
            .collect();
        self.progress.begin("playing", jobs.len() as u64);
        let runs = map_in_order(&jobs, self.progress, |job| self.play_one(&trials[job.trial], job));
        let mut runs = runs.into_iter();
        let mut game = |_| Game::of(runs.by_ref().take(stretches));
        let score = |trial: &Trial| Score {
            label: trial.label.clone(),
            games: (0..self.motion.games).map(&mut game).collect(),
        };
        trials.iter().map(score).collect()
    }

    fn play_one(&self, trial: &Trial, job: &Job) -> FairnessRun {
        match &self.motion.truths {
            Truths::Tanks(truths) => self.play_truth(&truths[job.game as usize], trial, job),
            Truths::Plane(truths) => self.play_truth(&truths[job.stretch], trial, job),
            Truths::Space(truths) => self.play_truth(&truths[job.stretch], trial, job),
        }
    }

    fn play_truth<V: Planar>(&self, truth: &Truth<V>, trial: &Trial, job: &Job) -> FairnessRun {
        /// Keeps the links' random numbers apart from the motion's: small forks of the seed.
        const LINKS: u64 = 1 << 32;
        let random = Random::from_seed(self.seed).fork(LINKS + job.game).fork(job.stretch as u64);
        let mut setup = trial.setup();
        for (receiver, index) in setup.receivers.iter_mut().zip(0..) {
            receiver.begin_anywhere(&mut random.fork(index).fork(LINKS));
        }
        let scheduler = trial.scheduler.build(trial.receivers.len(), trial.budget);
        run(truth, &setup, scheduler, &random)
    }
}

struct Job {
    trial: usize,
    game: u64,
    stretch: usize,
}
