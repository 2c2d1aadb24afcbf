//! One race between an agent far away and an equal one at the server.

use std::collections::VecDeque;

use fairpath::converge::Convergence;
use fairpath::motion::MotionKind;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vector;
use fairpath_games::online::{ClientDisplay, Extrapolated, Loopback, Uncompensated};
use fairpath_games::sailing::{
    Agent, Input, Regatta, Sailing, SailingConfig, SailingPredictor, SailingScene, TICK_RATE, Trim,
};

use super::half_each_way;

#[derive(Clone, Debug)]
pub struct Race {
    pub rules: SailingConfig,
    pub trim: Trim,
    pub rtt: Span,
    /// By how much the round trip varies, to either side.
    pub jitter: Span,
    /// Whether the far agent's screen simulates ahead of the server.
    pub is_compensated: bool,
    pub seed: u64,
}

#[derive(Clone, Debug)]
pub struct Finish {
    /// When the far agent reached the buoy, in seconds; [`RACE_SECS_MAX`] if never.
    pub client_secs: f64,
    pub server_secs: f64,
    /// How often the far one's rudder went from one side to the other, per minute.
    pub swings_per_minute: f64,
}

/// Ways to show the other boat, whose inputs the client does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherBoat {
    /// Where it was when the state left.
    Heard,
    /// Straight on from there.
    Linear,
    /// On a circle from there.
    Circular,
    /// As the boat's own physics goes on with sheet and rudder as they were.
    Physics,
}

/// Six times what an undisturbed boat takes: a boat that has not finished by then goes in circles.
pub const RACE_SECS_MAX: f64 = 600.0;

impl OtherBoat {
    pub const ALL: [Self; 4] = [Self::Heard, Self::Linear, Self::Circular, Self::Physics];

    pub fn name(self) -> &'static str {
        match self {
            Self::Heard => "as heard",
            Self::Linear => "straight on",
            Self::Circular => "on a circle",
            Self::Physics => "its own physics",
        }
    }
}

impl Finish {
    /// Buchheit 2004's measure: by which share of the server's time the far one took longer.
    pub fn loss(&self) -> f64 {
        (self.client_secs - self.server_secs) / self.server_secs
    }

    pub fn is_home(&self) -> bool {
        self.client_secs < RACE_SECS_MAX
    }
}

/// The far one sits here, the other there.
const CLIENT: usize = 0;
const SERVER: usize = 1;
/// As the boat begins, until the first input arrives.
const AS_IT_IS: Input = Input::new(0.5, 0.0);

impl Race {
    pub fn run(&self) -> Finish {
        let helm = SailingPredictor { rules: self.rules.clone(), seat: CLIENT };
        let race = Sailing::new(self.rules.clone(), self.seed).expect("these rules are sound");
        let start = race.scene().clone();
        if self.is_compensated {
            let own = |scene: &SailingScene| scene.boats[CLIENT].state();
            self.sail(race, &helm, Extrapolated::new(start, TICK_RATE, Convergence::default(), own))
        } else {
            self.sail(race, &helm, Uncompensated::new(start, TICK_RATE))
        }
    }

    fn sail<S: ClientDisplay<SailingPredictor>>(
        &self,
        mut race: Sailing,
        helm: &SailingPredictor,
        screen: S,
    ) -> Finish {
        let dice = Random::from_seed(self.seed);
        let link = half_each_way(self.rtt, self.jitter);
        let mut way =
            Loopback::<SailingPredictor, S>::new(&link, &dice.fork(1 << 33), TICK_RATE, AS_IT_IS, screen);
        let phase = TICK_RATE.begin(1).scaled(dice.fork(1 << 34).unit());
        let mut client = Agent::new(self.trim);
        let mut server = Agent::new(self.trim);
        let mut swings = Swings::default();
        let ticks_max = (RACE_SECS_MAX * f64::from(TICK_RATE.as_hz())) as i64;
        for tick in 0..ticks_max {
            if race.is_over() {
                break;
            }
            let frame_at = SharedInstant::ZERO + TICK_RATE.begin(tick) + phase;
            way.frame(helm, frame_at, |screen, now| {
                let shown = screen.show(helm, now);
                let input = client.sail(&self.rules, now.shared, &shown, CLIENT);
                swings.note(input.rudder);
                input
            });
            way.tick(SharedInstant::ZERO + TICK_RATE.begin(tick + 1), |input| {
                let scene = race.scene();
                let other = server.sail(&self.rules, scene.now(), scene, SERVER);
                race.step(&[*input, other], 1);
                race.scene().clone()
            });
        }
        let [client_secs, server_secs] = [CLIENT, SERVER].map(|seat| finished_secs(race.scene(), seat));
        Finish { client_secs, server_secs, swings_per_minute: 60.0 * f64::from(swings.count) / client_secs }
    }
}

fn finished_secs(scene: &SailingScene, seat: usize) -> f64 {
    scene.boats[seat].finished_at.map_or(RACE_SECS_MAX, |tick| tick as f64 * TICK_RATE.step_secs())
}

/// How often a rudder goes from well over on one side to well over on the other.
#[derive(Default)]
struct Swings {
    count: u32,
    side: f64,
}

impl Swings {
    fn note(&mut self, rudder: f64) {
        /// Less is a correction, not a swing.
        const WELL_OVER: f64 = 0.2;
        if rudder.abs() > WELL_OVER && rudder.signum() != self.side {
            self.count += u32::from(self.side != 0.0);
            self.side = rudder.signum();
        }
    }
}

/// The mean error in feet of the other boat as shown a round trip after its last known state left,
/// in the order of [`OtherBoat::ALL`]. Two agents at the server sail; a far client looks on.
pub fn other_boat_off(rules: &SailingConfig, trim: Trim, rtt: Span, seed: u64) -> [f64; 4] {
    let mut regatta = Regatta::of_agents(rules.clone(), seed, trim).expect("these rules are sound");
    let ticks = TICK_RATE.running_at(rtt) as usize;
    let secs = ticks as f64 * TICK_RATE.step_secs();
    let mut past: VecDeque<SailingScene> = VecDeque::new();
    let (mut sums, mut count) = ([0.0; 4], 0_u32);
    while !regatta.race().is_over() && regatta.race().scene().now().as_secs_f64() < RACE_SECS_MAX {
        regatta.step();
        past.push_back(regatta.race().scene().clone());
        if past.len() <= ticks {
            continue;
        }
        let Some(heard) = past.pop_front() else { continue };
        let truth = regatta.race().scene().boats[SERVER].position;
        let other = heard.boats[SERVER].state();
        let mut played_on = heard;
        played_on.step(rules, |_| None, ticks as u32);
        let shown = OtherBoat::ALL.map(|way| match way {
            OtherBoat::Heard => other.position,
            OtherBoat::Linear => MotionKind::Linear.from_state(&other).position_at(secs),
            OtherBoat::Circular => MotionKind::Circular.from_state(&other).position_at(secs),
            OtherBoat::Physics => played_on.boats[SERVER].position,
        });
        for (sum, shown) in sums.iter_mut().zip(shown) {
            *sum += shown.distance(truth);
        }
        count += 1;
    }
    sums.map(|sum| sum / f64::from(count))
}
