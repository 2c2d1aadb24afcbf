//! Tank bots that aim at what their screens place, and every shot judged in several ways at once.
//!
//! A match is played by its own rules: hits count where the tanks really are. Beside it, each shot
//! flies once more for each [`Judge`], against the tanks as that judge has them, and changes
//! nothing: so all judges see the same shots.
//!
//! What other tanks do is received `lag` later. On the server's timeline that is the whole round
//! trip: the shot leaves the barrel where the own tank is, and the others are shown as old as their
//! news.

use std::collections::VecDeque;

use fairpath::converge::{Algorithm, Convergence};
use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, Life};
use fairpath::place::{Arrival, Placement, Replica};
use fairpath::random::Random;
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::trigger::Trigger;
use fairpath::vector::{Vec2, Vector};
use fairpath::{DrVector, Owner, State};
use fairpath_compensate::{Moment, TimeWarp, TimeWarpConfig};
use fairpath_games::tanks::{
    Bot, Driver, Event, Ground, Match, Rectangle, SHOT_RADIUS, Script, SeenTank, Shot, ShotEnd, TANK_LENGTH,
    TANK_WIDTH, TICK_RATE, Tank, Tanks, TanksConfig, Team, Temperament, View,
};

use super::Smoothness;

#[derive(Clone, Debug)]
pub struct Trial {
    pub targets: Targets,
    /// How old received states are.
    pub lag: Span,
    pub placement: Placement,
    pub model: MotionKind,
    /// How corrections are drawn; the bots aim at what is drawn. Nothing: at what is placed.
    pub convergence: Option<Algorithm>,
    /// How far the server rewinds for [`Judge::Capped`].
    pub rewind_max: Span,
    pub secs: u32,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// All tanks are bots: they drive at each other, shoot, and dodge the shots that they see.
    Bots,
    /// The other team drives straight, in circles and at random, and never shoots; no boxes.
    Drivers,
}

/// How it is decided whether a shot hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// The shooter's own screen: what the shooter claims.
    Screen,
    /// The server by where tanks are: no time warp.
    Present,
    /// The server by where tanks were when what the shooter saw of them was true: time warp.
    Warped,
    /// The same, but never farther back than the cap.
    Capped,
}

#[derive(Clone, Debug, Default)]
pub struct Shots {
    pub fired: u32,
    /// How many hit, in the order of [`Judge::ALL`].
    pub hits: [u32; 4],
    /// How many of those that hit on the shooter's screen hit the same tank by this judge.
    pub granted: [u32; 4],
    /// How many hit a tank by this judge that the shot never touched where it really was.
    pub elsewhere: [u32; 4],
    /// How many of those had a box between it and where the shot came from.
    pub behind_cover: [u32; 4],
    /// How far shown tanks are from the real ones, summed, and over how many looks.
    pub shown_off: (f64, u64),
    /// What the eye notices, in units.
    pub smoothness: Smoothness,
}

/// As in the fairness experiments: a tenth of a tank's width.
const THRESHOLD: f64 = 0.3;
/// More than this many units in a frame are seen as a jump: a tenth of a tank's length.
const JUMP: f64 = 0.6;
/// Larger corrections are shown as a jump: bending would show a tank at several times its speed.
const SNAP_BEYOND: f64 = 30.0;

impl Judge {
    pub const ALL: [Self; 4] = [Self::Screen, Self::Present, Self::Warped, Self::Capped];

    pub fn name(self) -> &'static str {
        match self {
            Self::Screen => "shooter's screen",
            Self::Present => "no warp",
            Self::Warped => "time warp",
            Self::Capped => "time warp, capped",
        }
    }
}

impl Trial {
    /// The usual match: four minutes of five against five, rewound by at most 250 ms.
    pub fn new(lag: Span, placement: Placement, seed: u64) -> Self {
        Self {
            targets: Targets::Bots,
            lag,
            placement,
            model: MotionKind::Circular,
            convergence: None,
            rewind_max: TimeWarpConfig::default().rewind_max,
            secs: 240,
            seed,
        }
    }

    pub fn run(&self) -> Shots {
        let mut game = self.game();
        let mut news = News::new(self, game.tanks().tanks().len());
        let mut flights: Vec<Flight> = Vec::new();
        let mut shots = Shots { smoothness: Smoothness::new(JUMP), ..Shots::default() };
        news.spread(&game);
        for _ in 0..self.secs * TICK_RATE.as_hz() {
            let begin = game.tanks().now();
            game.step_showing(|view| news.show(view, &mut shots.shown_off));
            news.spread(&game);
            // Without shots that end in the tick they were fired in: from less than two units away.
            flights.extend(game.tanks().shots().iter().filter(|shot| shot.is_new()).map(Flight::new));
            let targets = Judge::ALL.map(|judge| news.targets(judge));
            let tick = Tick { game: game.tanks(), begin, end: game.tanks().now(), targets: &targets };
            flights.retain_mut(|flight| flight.fly(&tick, &news, &mut shots));
        }
        shots.smoothness.merge(&news.smoothness);
        shots
    }
}

impl Trial {
    pub fn game(&self) -> Match {
        let game = match self.targets {
            Targets::Bots => Match::of_bots(TanksConfig::default(), self.seed),
            Targets::Drivers => {
                let config = TanksConfig { ground: Ground::Generated { boxes: 0 }, ..TanksConfig::default() };
                Match::new(config, self.seed, |tanks, id, random| match tanks.tank(id).map(Tank::team) {
                    Some(Team::Blue) => Driver::Script(script(id, random)),
                    _ => Driver::Bot(Bot::new(Temperament::Hunter, random)),
                })
            }
        };
        game.expect("the usual rules are sound")
    }
}

/// Each kind of motion in turn.
fn script(id: EntityId, random: Random) -> Script {
    match id.0 % 3 {
        0 => Script::STRAIGHT,
        1 => Script::CIRCLE,
        _ => Script::random(random),
    }
}

/// What every tank has received of every other: the same, as all are equally far apart.
struct News {
    lag: Span,
    rewind_max: Span,
    is_drawn: bool,
    /// A screen that shows the present has nothing to rewind.
    shows_present: bool,
    now: SharedInstant,
    teams: Vec<Team>,
    owners: Vec<Owner<Vec2>>,
    replicas: Vec<Replica<Vec2>>,
    underway: VecDeque<(SharedInstant, DrVector<Vec2>)>,
    past: TimeWarp<Vec2>,
    present: Vec<Moment<Vec2>>,
    smoothness: Smoothness,
}

impl News {
    fn new(trial: &Trial, tanks: usize) -> Self {
        let algorithm = trial.convergence.unwrap_or(Algorithm::Snap);
        let convergence = Convergence { algorithm, snap_beyond: SNAP_BEYOND, ..Convergence::default() };
        let owner = |number| Owner::new(EntityId(number), Trigger::within(THRESHOLD)).with_model(trial.model);
        let config =
            TimeWarpConfig { history: trial.lag + Span::from_secs(1), rewind_max: Span::from_secs(10) };
        Self {
            lag: trial.lag,
            rewind_max: trial.rewind_max,
            is_drawn: trial.convergence.is_some(),
            shows_present: trial.placement == Placement::Global,
            now: SharedInstant::ZERO,
            teams: Vec::new(),
            owners: (0..tanks as u32).map(owner).collect(),
            replicas: vec![Replica::new(trial.placement).with_convergence(convergence); tanks],
            underway: VecDeque::new(),
            past: TimeWarp::new(config),
            present: Vec::new(),
            smoothness: Smoothness::new(JUMP),
        }
    }

    /// Every tank sends how it moves, and receives what was sent `lag` ago.
    fn spread(&mut self, game: &Match) {
        let tanks = game.tanks();
        self.now = tanks.now();
        self.teams = tanks.tanks().iter().map(|tank| tank.team()).collect();
        for (tank, owner) in tanks.tanks().iter().zip(&mut self.owners) {
            let Some(observation) = tank.observation() else { continue };
            if let Ok(Some(export)) = owner.observe(observation, self.now) {
                self.underway.push_back((self.now + self.lag, export.vector));
            }
        }
        let living = tanks.tanks().iter().filter(|tank| tank.is_alive());
        self.present.clear();
        self.present.extend(living.map(|tank| Moment {
            entity: tank.id(),
            life: Life::new((tank.life() % 4) as u8),
            state: tank.state(),
        }));
        self.past.record(self.now, self.present.iter().copied());
        while let Some((_, vector)) = self.underway.pop_front_if(|(due, _)| *due <= self.now) {
            let arrival = Arrival::at(Now::synchronised(self.now));
            self.replicas[vector.entity.0 as usize].accept(&vector, &arrival);
        }
        if self.is_drawn {
            self.watch_screen();
        }
    }

    /// Puts what is heard of onto a screen: tanks as placed, and shots once they are heard of.
    fn show(&self, view: &mut View, shown_off: &mut (f64, u64)) {
        view.tanks = self
            .on_screen()
            .filter(|moment| moment.entity != view.me)
            .map(|Moment { entity, state, .. }| SeenTank {
                id: entity,
                team: self.teams[entity.0 as usize],
                state,
            })
            .collect();
        for seen in &view.tanks {
            if let Some(real) = self.present.iter().find(|moment| moment.entity == seen.id) {
                shown_off.0 += real.state.position.distance(seen.state.position);
                shown_off.1 += 1;
            }
        }
        view.shots.retain(|shot| shot.shooter == view.me || shot.fired_at + self.lag <= view.now);
    }

    /// Every tank that was alive when the DR vector left, where the screen shows it.
    fn on_screen(&self) -> impl Iterator<Item = Moment<Vec2>> {
        let now = Now::synchronised(self.now);
        self.rewound(self.lag).into_iter().filter_map(move |moment| {
            let replica = &self.replicas[moment.entity.0 as usize];
            let state = if self.is_drawn { replica.draw(now) } else { replica.place(now) };
            Some(Moment { state: state?, ..moment })
        })
    }

    fn rewound(&self, by: Span) -> Vec<Moment<Vec2>> {
        let mut seen = Vec::new();
        let first = SharedInstant::ZERO;
        if self.now - by >= first {
            self.past.rewind(self.now, self.now - by, &mut seen);
        }
        seen
    }

    fn targets(&self, judge: Judge) -> Vec<Moment<Vec2>> {
        match judge {
            Judge::Screen => self.on_screen().collect(),
            // The match itself decides which tank is hit now.
            Judge::Present => Vec::new(),
            Judge::Warped | Judge::Capped if self.shows_present => Vec::new(),
            Judge::Warped => self.rewound(self.lag),
            Judge::Capped => self.rewound(self.lag.min(self.rewind_max)),
        }
    }

    fn watch_screen(&mut self) {
        let now = Now::synchronised(self.now);
        let Some(replica) = self.replicas.first() else { return };
        if let Some((drawn, placed)) = replica.draw(now).zip(replica.place(now)) {
            self.smoothness.note(&drawn, &placed, TICK_RATE.step_secs());
        }
    }
}

struct Tick<'a> {
    game: &'a Tanks,
    begin: SharedInstant,
    end: SharedInstant,
    targets: &'a [Vec<Moment<Vec2>>; 4],
}

/// A shot in the air, once for each judge.
struct Flight {
    id: EntityId,
    life: u16,
    team: Team,
    muzzle: Vec2,
    velocity: Vec2,
    fired_at: SharedInstant,
    verdicts: [Verdict; 4],
    /// Where every tank was a tick ago, by each judge.
    before: [Vec<Moment<Vec2>>; 4],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Flies,
    Missed,
    Hit(EntityId),
}

impl Flight {
    fn new(shot: &Shot) -> Self {
        let State { position, velocity, .. } = shot.state();
        let fired_at = shot.fired_at();
        // A shot that was just fired has flown for one tick.
        let flown = TICK_RATE.begin(TICK_RATE.running_at(fired_at.since_zero()) + 1) - fired_at.since_zero();
        Self {
            id: shot.id(),
            life: shot.life(),
            team: shot.team(),
            muzzle: position - velocity * flown.as_secs_f64(),
            velocity,
            fired_at,
            verdicts: [Verdict::Flies; 4],
            before: Default::default(),
        }
    }

    /// One tick for every judge; `false` once it is over for all of them.
    fn fly(&mut self, tick: &Tick<'_>, news: &News, shots: &mut Shots) -> bool {
        for (number, judge) in Judge::ALL.into_iter().enumerate() {
            if self.verdicts[number] != Verdict::Flies {
                continue;
            }
            let is_present = news.shows_present && judge != Judge::Screen || judge == Judge::Present;
            self.verdicts[number] =
                if is_present { self.by_the_game(tick) } else { self.by_targets(number, tick, news) };
            if let Verdict::Hit(victim) = self.verdicts[number] {
                self.note_place(number, victim, tick, news, shots);
            }
        }
        let is_over = self.verdicts.iter().all(|verdict| *verdict != Verdict::Flies);
        if is_over {
            self.settle(shots);
        }
        !is_over
    }

    fn at(&self, now: SharedInstant) -> Vec2 {
        self.muzzle + self.velocity * (now - self.fired_at).as_secs_f64()
    }

    fn by_the_game(&self, tick: &Tick<'_>) -> Verdict {
        let ends = tick.game.events().iter().filter_map(|event| match event {
            Event::ShotEnded { shot, life, end, .. } if (*shot, *life) == (self.id, self.life) => Some(*end),
            _ => None,
        });
        match { ends }.next() {
            Some(ShotEnd::Tank(victim)) => Verdict::Hit(victim),
            Some(_) => Verdict::Missed,
            None => Verdict::Flies,
        }
    }

    fn by_targets(&mut self, judge: usize, tick: &Tick<'_>, news: &News) -> Verdict {
        let (from, to) = (self.at(tick.begin), self.at(tick.end));
        let barrier = tick.game.map().first_hit(from, to).map(|(share, _)| share);
        let targets = &tick.targets[judge];
        let foes = targets.iter().filter(|target| news.teams[target.entity.0 as usize] != self.team);
        let hit = foes
            .filter_map(|target| {
                let before = self.before[judge].iter().find(|before| before.entity == target.entity);
                let share = meets(from, to, before.unwrap_or(target), target)?;
                (share <= barrier.unwrap_or(1.0)).then_some((share, target.entity))
            })
            .min_by(|one, other| one.0.total_cmp(&other.0));
        self.before[judge].clone_from(targets);
        let rules = tick.game.config();
        let is_spent = (tick.end - self.fired_at).as_secs_f64() * rules.shot_speed >= rules.shot_range;
        match hit {
            Some((_, victim)) => Verdict::Hit(victim),
            None if barrier.is_some() || is_spent => Verdict::Missed,
            None => Verdict::Flies,
        }
    }

    /// Notes whether the victim is where it was hit, or else where; nothing of a tank that is gone.
    fn note_place(&self, judge: usize, victim: EntityId, tick: &Tick<'_>, news: &News, shots: &mut Shots) {
        let Some(real) = news.present.iter().find(|moment| moment.entity == victim) else { return };
        if meets(self.at(tick.begin), self.at(tick.end), real, real).is_some() {
            return;
        }
        shots.elsewhere[judge] += 1;
        shots.behind_cover[judge] += u32::from(!tick.game.map().sees(self.muzzle, real.state.position));
    }

    fn settle(&self, shots: &mut Shots) {
        shots.fired += 1;
        let claimed = self.verdicts[0];
        for (judge, verdict) in self.verdicts.iter().enumerate() {
            let is_hit = matches!(verdict, Verdict::Hit(_));
            shots.hits[judge] += u32::from(is_hit);
            shots.granted[judge] += u32::from(is_hit && *verdict == claimed);
        }
    }
}

/// After which share of the tick a shot that flies from `start` to `end` meets a tank that drives
/// from `before` to `after`; each end is seen from the tank as it is then, as the game does it.
fn meets(start: Vec2, end: Vec2, before: &Moment<Vec2>, after: &Moment<Vec2>) -> Option<f64> {
    let shape = |moment: &Moment<Vec2>| {
        let State { position, orientation, .. } = moment.state;
        Rectangle::new(position, orientation, TANK_LENGTH, TANK_WIDTH).inflated(SHOT_RADIUS)
    };
    let (earlier, later) = (shape(before), shape(after));
    if start.distance(later.centre) > later.reach() + 1.0 + start.distance(end) {
        return None;
    }
    // A tank that jumped from one place to another was never in between.
    let earlier = if earlier.centre.distance(later.centre) > TANK_LENGTH { later } else { earlier };
    later.first_hit_local(earlier.to_local(start), later.to_local(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_lag_the_screen_is_the_truth_and_all_judges_agree() {
        let trial = Trial { secs: 60, ..Trial::new(Span::ZERO, Placement::Global, 3) };
        let shots = trial.run();
        assert!(shots.fired > 20, "{shots:?}");
        let off = shots.shown_off.0 / shots.shown_off.1 as f64;
        assert!(off < THRESHOLD, "{off} units");
        assert_eq!(shots.hits[1], shots.hits[2]);
        assert_eq!(shots.elsewhere[1], 0);
    }

    #[test]
    fn warp_grants_what_the_shooter_saw_and_no_warp_does_not() {
        let trial = Trial { secs: 60, ..Trial::new(Span::from_millis(400), Placement::Local, 3) };
        let Shots { hits: [claimed, ..], granted: [_, present, warped, capped], .. } = trial.run();
        assert!(claimed > 5 && warped * 10 >= claimed * 8, "{warped} of {claimed}");
        assert!(present < capped && capped <= warped, "{present} {capped} {warped}");
    }
}
