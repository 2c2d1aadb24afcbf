//! Counts packets under the live rule: sender and receiver must agree, so a placed position is a
//! pure function of one DR vector.
//!
//! One owner sees all paths sample by sample, as a server that owns all players. It sends a DR
//! vector, one packet, at the start of a path and whenever the truth is farther than the threshold
//! from where the last DR vector places the player. The owner may choose what to send by anything
//! it has learned, and names the model in the DR vector. After that only the DR vector counts. That
//! is why [`Sent::place`] is a plain function: it cannot remember anything.
//!
//! Adding a model takes one line in [`all`]. A model with the same name as in
//! [`candidates`](crate::candidates) is that predictor's live form. Predictors without a live form
//! need more than one DR vector can carry.

use std::fmt::Debug;

use fairpath::State;
use fairpath::motion::MotionKind;
use fairpath::vector::{Planar, Vec2, Vector};
use fairpath_predict::{Body, Condition, Known, LastingMotion, Other, TICK_SECS};

use crate::candidates::MatchSetup;
use crate::play::{self, HISTORY_TICKS_MAX, TickRun};
use crate::recording::Stretch;

/// What an owner knows of a player at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Time in seconds. Owners observe as often as their game runs, not at ticks.
    pub secs: f64,
    pub body: Body,
    /// Turn rate of the motion in radians per second: recorded, or from the acceleration.
    pub turn_rate: f64,
}

/// A path without a break. Never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Team of the player; 0 is no team, without friends.
    pub team: u32,
    /// In order of time.
    pub moments: Vec<Moment>,
}

/// The content of one DR vector.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Position and motion when it was sent.
    pub body: Body,
    pub turn_rate: f64,
    /// Returns the position a number of seconds later. In a DR vector, these are the model bits.
    pub place: fn(&Self, f64) -> Vec2,
}

/// A strategy that chooses what to send.
pub trait LiveModel: Debug + Send {
    fn observe(&mut self, _view: &OwnerView<'_>) {}

    fn cut(&mut self, view: &OwnerView<'_>) -> Sent;
}

/// What an owner knows when a new sample of a player's path has arrived.
#[derive(Clone, Copy, Debug)]
pub struct OwnerView<'a> {
    pub subject: usize,
    /// The path up to the present. Never empty, never across a break.
    pub past: &'a [Moment],
    pub others: &'a [Other],
}

impl OwnerView<'_> {
    fn newest(&self) -> &Moment {
        let Some(newest) = self.past.last() else { unreachable!("the past ends with the present") };
        newest
    }

    fn is_first(&self) -> bool {
        self.past.len() == 1
    }
}

#[derive(Clone, Copy, Debug)]
pub struct LiveCandidate {
    /// Lower case, for the command line and for tables.
    pub name: &'static str,
    make: fn(&MatchSetup, f64) -> Box<dyn LiveModel>,
}

impl LiveCandidate {
    /// Creates the model for DR vectors with this `threshold`. It has learned nothing yet.
    pub fn make(&self, setup: &MatchSetup, threshold: f64) -> Box<dyn LiveModel> {
        (self.make)(setup, threshold)
    }

    /// Returns the model with this name. Two input schemes are motion models under another name.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        let name = match name {
            "constant-velocity" => "line",
            "constant-acceleration" => "tdm",
            name => name,
        };
        all().iter().find(|live| live.name == name)
    }
}

/// Returns all models. The line is always first: the others are compared with it.
pub fn all() -> &'static [LiveCandidate] {
    &[
        LiveCandidate { name: "line", make: |_, _| Box::new(Always(line)) },
        LiveCandidate { name: "tdm", make: |_, _| Box::new(Always(quadratic)) },
        LiveCandidate { name: "circular", make: |_, _| Box::new(Always(circular)) },
        LiveCandidate {
            name: "fading-0.3",
            make: |_, _| Box::new(Always(|sent, secs| fading(sent, secs, 0.3))),
        },
        LiveCandidate {
            name: "fading-1",
            make: |_, _| Box::new(Always(|sent, secs| fading(sent, secs, 1.0))),
        },
        LiveCandidate {
            name: "adaptive",
            make: |setup, threshold| Box::new(Lasting::new(setup.top_speed, threshold)),
        },
    ]
}

/// Returns what an owner knew at every sample, from the past only. `None` without a sample.
pub fn path_of_stretch(stretch: &Stretch) -> Option<Path> {
    let accelerations = play::accelerations(stretch.samples());
    let moments = stretch.samples().iter().zip(accelerations).map(|(sample, acceleration)| {
        let velocity = Vec2::from_3d(sample.velocity);
        let body = Body { position: Vec2::from_3d(sample.position), velocity, acceleration };
        let turn_rate = sample.facing.map_or_else(|| turn_rate(&body), |facing| facing.turn_rate);
        Moment { secs: sample.at.as_secs_f64(), body, turn_rate }
    });
    Path::new(stretch.team, moments.collect())
}

/// Returns the same at every tick of a run, for games that know their state at every tick.
pub fn path_of_run(run: &TickRun) -> Option<Path> {
    let moment = |(index, body): (usize, &Body)| Moment {
        secs: (run.first_tick + index) as f64 * TICK_SECS,
        body: *body,
        turn_rate: turn_rate(body),
    };
    Path::new(run.team, run.scored_bodies().iter().enumerate().map(moment).collect())
}

impl Path {
    fn new(team: u32, moments: Vec<Moment>) -> Option<Self> {
        (!moments.is_empty()).then_some(Self { team, moments })
    }
}

/// Returns the turn rate of the motion: the acceleration across the velocity, by the speed.
fn turn_rate(body: &Body) -> f64 {
    let across = body.velocity.perpendicular().dot(body.acceleration);
    let speed_squared = body.velocity.length_squared();
    if speed_squared > 0.0 { across / speed_squared } else { 0.0 }
}

/// Returns how many packets a model needs to stay within `threshold` of all players' paths.
pub fn packets(players: &[Vec<Path>], model: &mut dyn LiveModel, threshold: f64) -> usize {
    let mut packets = 0;
    let mut told: Vec<Option<(f64, Sent)>> = vec![None; players.len()];
    let mut last_moments = LastMoments::new(players.len());
    let mut others = Vec::new();
    for PathSample { subject, path, index } in in_order(players) {
        let moment = &path.moments[index];
        last_moments.handle_moment(subject, path.team, moment);
        last_moments.others_of(subject, &mut others);
        let view = OwnerView { subject, past: &path.moments[..=index], others: &others };
        model.observe(&view);
        let holds = told[subject].filter(|_| index > 0).is_some_and(|(since, sent)| {
            let placed = (sent.place)(&sent, moment.secs - since);
            placed.distance(moment.body.position) <= threshold
        });
        if !holds {
            told[subject] = Some((moment.secs, model.cut(&view)));
            packets += 1;
        }
    }
    packets
}

struct PathSample<'a> {
    subject: usize,
    path: &'a Path,
    index: usize,
}

/// Returns all samples of all players in order of time; equal times in the order of players.
fn in_order(players: &[Vec<Path>]) -> Vec<PathSample<'_>> {
    let mut samples = Vec::new();
    for (subject, paths) in players.iter().enumerate() {
        for path in paths {
            samples.extend((0..path.moments.len()).map(|index| PathSample { subject, path, index }));
        }
    }
    samples.sort_by(|one, other| one.secs().total_cmp(&other.secs()));
    samples
}

impl PathSample<'_> {
    fn secs(&self) -> f64 {
        self.path.moments[self.index].secs
    }
}

struct LastMoments {
    players: Vec<Option<(u32, Moment)>>,
}

impl LastMoments {
    /// A player without a sample for this long is absent: dead or gone.
    const GONE_SECS: f64 = 0.25;

    fn new(players: usize) -> Self {
        Self { players: vec![None; players] }
    }

    fn handle_moment(&mut self, subject: usize, team: u32, moment: &Moment) {
        self.players[subject] = Some((team, *moment));
    }

    /// Lists all other players as `subject` sees them, extrapolated to now.
    fn others_of(&self, subject: usize, others: &mut Vec<Other>) {
        others.clear();
        let Some((team, now)) = self.players[subject] else { return };
        for (_, &player) in self.players.iter().enumerate().filter(|(number, _)| *number != subject) {
            let Some((their_team, seen)) = player.filter(|(_, seen)| now.secs - seen.secs < Self::GONE_SECS)
            else {
                continue;
            };
            let position = seen.body.position + seen.body.velocity * (now.secs - seen.secs);
            others.push(Other {
                relation: play::relation(team, their_team),
                body: Body { position, ..seen.body },
                ticks_ago: 0,
                condition: Condition::default(),
            });
        }
    }
}

/// Always the same model, from the newest moment.
#[derive(Debug)]
struct Always(fn(&Sent, f64) -> Vec2);

impl LiveModel for Always {
    fn cut(&mut self, view: &OwnerView<'_>) -> Sent {
        let newest = view.newest();
        Sent { body: newest.body, turn_rate: newest.turn_rate, place: self.0 }
    }
}

/// The line or arc that lasts longest: the owner learns from all players, tick by tick.
#[derive(Debug)]
struct Lasting {
    chooser: LastingMotion,
    /// Known state of each player at every tick since its path began.
    histories: Vec<Vec<Body>>,
}

impl Lasting {
    fn new(top_speed: f64, threshold: f64) -> Self {
        Self { chooser: LastingMotion::new(top_speed, threshold), histories: Vec::new() }
    }
}

impl LiveModel for Lasting {
    /// Learns all ticks up to the newest sample, each from the newest sample before it.
    fn observe(&mut self, view: &OwnerView<'_>) {
        if self.histories.len() <= view.subject {
            self.histories.resize_with(view.subject + 1, Vec::new);
        }
        let history = &mut self.histories[view.subject];
        if view.is_first() {
            history.clear();
        }
        let newest = view.newest();
        let before = view.past.len().checked_sub(2).map_or(newest, |index| &view.past[index]);
        let begin = view.past[0].secs;
        loop {
            let secs = begin + history.len() as f64 * TICK_SECS;
            if secs > newest.secs {
                break;
            }
            let from = if secs < newest.secs { before } else { newest };
            let position = from.body.position + from.body.velocity * (secs - from.secs);
            history.push(Body { position, ..from.body });
            self.chooser.learn(view.subject, &known(history, view.others));
        }
        self.chooser.observe(view.subject, newest.body.position, newest.secs - before.secs);
    }

    fn cut(&mut self, view: &OwnerView<'_>) -> Sent {
        let newest = view.newest();
        let history = &mut self.histories[view.subject];
        // The newest sample counts as the tick nearest to it.
        let since_tick = newest.secs - view.past[0].secs - (history.len() as f64 - 1.0) * TICK_SECS;
        let guessed = if since_tick > 0.5 * TICK_SECS { None } else { history.pop() };
        history.push(newest.body);
        let motion = self.chooser.choose(view.subject, &known(history, view.others), newest.turn_rate);
        history.pop();
        history.extend(guessed);
        let body = Body { velocity: motion.velocity_at(0.0), ..newest.body };
        let place = if motion.kind() == MotionKind::Circular { circular } else { line };
        Sent { body, turn_rate: newest.turn_rate, place }
    }
}

fn known<'a>(history: &'a [Body], others: &'a [Other]) -> Known<'a> {
    let shown = history.len().saturating_sub(HISTORY_TICKS_MAX);
    Known { history: &history[shown..], others, ..Known::default() }
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
