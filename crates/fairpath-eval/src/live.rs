//! Packets under the live rule: sender and receiver must agree, so what a receiver places is a pure function of one DR
//! vector.
//!
//! An owner sees its own path sample by sample. At the first, and whenever the truth is farther than the threshold
//! from where its last DR vector puts it, it cuts another: one packet. It may choose what it sends by whatever it has
//! learned from its own past, and name the model in the DR vector; but what was sent is then all that counts. That is
//! why [`Sent::place`] is a plain function: it cannot remember anything.
//!
//! Adding a model is one line in [`all`]. Under the same name as in [`candidates`](crate::candidates), it is that
//! predictor's live form; predictors without one need more than one DR vector can carry.

use std::fmt::Debug;

use fairpath::State;
use fairpath::motion::MotionKind;
use fairpath::predict::{Body, Condition, Known, LastingMotion, TICK_SECS};
use fairpath::vector::{Planar, Vec2, Vector};

use crate::candidates::Stage;
use crate::play::{self, HISTORY_TICKS_MAX, Run};
use crate::recording::Stretch;

/// What an owner knows of itself at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// When, in seconds since the stretch began. Owners observe themselves as often as their game runs, not at ticks.
    pub secs: f64,
    /// Where it is, and how it moves there.
    pub body: Body,
    /// How fast its direction turns, radians per second: recorded, or from the acceleration across the velocity.
    pub turn_rate: f64,
}

/// What one DR vector carries.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Where it was, and how it moved there.
    pub body: Body,
    /// How fast it turned.
    pub turn_rate: f64,
    /// Where that puts it so many seconds later. In a DR vector, these are the model bits.
    pub place: fn(&Self, f64) -> Vec2,
}

/// A way to choose what to send.
pub trait LiveModel: Debug + Send {
    /// Another sample of its own path became known. For those that learn.
    fn observe(&mut self, _past: &[Moment]) {}

    /// What to send now. `past` ends with the present and is never empty; it does not reach across a break.
    fn cut(&mut self, past: &[Moment]) -> Sent;
}

/// A live model that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Lower case, for the command line and for tables.
    pub name: &'static str,
    make: fn(&Stage, f64) -> Box<dyn LiveModel>,
}

impl Live {
    /// A new one, which has learned nothing yet, for DR vectors that may be off by `threshold`.
    pub fn make(&self, stage: &Stage, threshold: f64) -> Box<dyn LiveModel> {
        (self.make)(stage, threshold)
    }

    /// The one of that name. Two of the input schemes are motion models under another name.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        let name = match name {
            "constant-velocity" => "line",
            "constant-acceleration" => "tdm",
            name => name,
        };
        all().iter().find(|live| live.name == name)
    }
}

/// Everybody. The line is always first: the others are compared with it.
pub fn all() -> &'static [Live] {
    &[
        Live { name: "line", make: |_, _| Box::new(Always(line)) },
        Live { name: "tdm", make: |_, _| Box::new(Always(quadratic)) },
        Live { name: "circular", make: |_, _| Box::new(Always(circular)) },
        Live { name: "fading-0.3", make: |_, _| Box::new(Always(|sent, secs| fading(sent, secs, 0.3))) },
        Live { name: "fading-1", make: |_, _| Box::new(Always(|sent, secs| fading(sent, secs, 1.0))) },
        Live {
            name: "adaptive",
            make: |stage, threshold| Box::new(Lasting::new(stage.top_speed, threshold)),
        },
    ]
}

/// What an owner knew of itself at every sample of a stretch, from the past only.
pub fn moments_of_stretch(stretch: &Stretch) -> Vec<Moment> {
    let accelerations = play::accelerations(stretch.samples());
    let moments = stretch.samples().iter().zip(accelerations).map(|(sample, acceleration)| {
        let velocity = Vec2::from_3d(sample.velocity);
        let body = Body { position: Vec2::from_3d(sample.position), velocity, acceleration };
        let turn_rate = sample.facing.map_or_else(|| turn_rate(&body), |facing| facing.turn_rate);
        Moment { secs: (sample.at - stretch.begin()).as_secs_f64(), body, turn_rate }
    });
    moments.collect()
}

/// The same at every tick of a run: for games that know themselves at every tick.
pub fn moments_of_run(run: &Run) -> Vec<Moment> {
    let moment = |(index, body): (usize, &Body)| Moment {
        secs: index as f64 * TICK_SECS,
        body: *body,
        turn_rate: turn_rate(body),
    };
    run.scored_bodies().iter().enumerate().map(moment).collect()
}

/// How fast the direction of motion turns: the acceleration across the velocity, by the speed.
fn turn_rate(body: &Body) -> f64 {
    let across = body.velocity.perpendicular().dot(body.acceleration);
    let speed_squared = body.velocity.length_squared();
    if speed_squared > 0.0 { across / speed_squared } else { 0.0 }
}

/// How many packets a model needs to stay within `threshold` of the path at every sample.
pub fn packets(moments: &[Moment], model: &mut dyn LiveModel, threshold: f64) -> usize {
    let mut packets = 0;
    let mut told: Option<(f64, Sent)> = None;
    for (index, moment) in moments.iter().enumerate() {
        let past = &moments[..=index];
        model.observe(past);
        let holds = told.is_some_and(|(since, sent)| {
            let placed = (sent.place)(&sent, moment.secs - since);
            placed.distance(moment.body.position) <= threshold
        });
        if !holds {
            told = Some((moment.secs, model.cut(past)));
            packets += 1;
        }
    }
    packets
}

/// Always the same model, from the newest moment.
#[derive(Debug)]
struct Always(fn(&Sent, f64) -> Vec2);

impl LiveModel for Always {
    fn cut(&mut self, past: &[Moment]) -> Sent {
        let Some(newest) = past.last() else { unreachable!("the past ends with the present") };
        Sent { body: newest.body, turn_rate: newest.turn_rate, place: self.0 }
    }
}

/// The line or arc that lasts: the owner learns from its own past, tick by tick.
#[derive(Debug)]
struct Lasting {
    chooser: LastingMotion,
    /// What it knew of itself at every tick since the stretch began.
    history: Vec<Body>,
}

impl Lasting {
    /// There is nobody else: every owner has a chooser of its own.
    const SELF: usize = 0;

    fn new(top_speed: f64, threshold: f64) -> Self {
        Self { chooser: LastingMotion::new(top_speed, threshold), history: Vec::new() }
    }

    fn known(history: &[Body]) -> Known<'_> {
        let shown = history.len().saturating_sub(HISTORY_TICKS_MAX);
        let history = &history[shown..];
        Known { history, condition: Condition::default(), others: &[], world: None, inputs: &[] }
    }
}

impl LiveModel for Lasting {
    /// All ticks up to the newest sample, each from the newest sample before it.
    fn observe(&mut self, past: &[Moment]) {
        let [.., newest] = past else { return };
        if past.len() == 1 {
            self.history.clear();
        }
        let before = past.len().checked_sub(2).map(|index| past[index]);
        while self.history.len() as f64 * TICK_SECS <= newest.secs {
            let secs = self.history.len() as f64 * TICK_SECS;
            let from = before.filter(|_| secs < newest.secs).unwrap_or(*newest);
            let position = from.body.position + from.body.velocity * (secs - from.secs);
            self.history.push(Body { position, ..from.body });
            self.chooser.learn(Self::SELF, &Self::known(&self.history));
        }
        let secs = before.map_or(0.0, |before| newest.secs - before.secs);
        self.chooser.observe(Self::SELF, newest.body.position, secs);
    }

    fn cut(&mut self, past: &[Moment]) -> Sent {
        let Some(newest) = past.last() else { unreachable!("the past ends with the present") };
        // What was just seen counts as the tick that it is nearest to.
        let ticks = self.history.len();
        let is_next = newest.secs - (ticks as f64 - 1.0) * TICK_SECS > 0.5 * TICK_SECS;
        let guessed = if is_next { None } else { self.history.pop() };
        self.history.push(newest.body);
        let motion = self.chooser.choose(Self::SELF, &Self::known(&self.history), newest.turn_rate);
        self.history.pop();
        self.history.extend(guessed);
        let body = Body { velocity: motion.velocity_at(0.0), ..newest.body };
        let place = if motion.kind() == MotionKind::Circular { circular } else { line };
        Sent { body, turn_rate: newest.turn_rate, place }
    }
}

fn line(sent: &Sent, secs: f64) -> Vec2 {
    placed(sent, MotionKind::Linear, secs)
}

fn quadratic(sent: &Sent, secs: f64) -> Vec2 {
    placed(sent, MotionKind::Quadratic, secs)
}

fn circular(sent: &Sent, secs: f64) -> Vec2 {
    placed(sent, MotionKind::Circular, secs)
}

fn placed(sent: &Sent, kind: MotionKind, secs: f64) -> Vec2 {
    let Body { position, velocity, acceleration } = sent.body;
    let facing = State::moving(position, velocity).with_heading(velocity.heading(), sent.turn_rate);
    kind.from_state(&State { acceleration, ..facing }).position_at(secs)
}

/// The velocity fades as e^(−t/τ).
fn fading(sent: &Sent, secs: f64, tau: f64) -> Vec2 {
    sent.body.position + sent.body.velocity * (-libm::expm1(-secs / tau) * tau)
}
