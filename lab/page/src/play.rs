//! Play: drive a tank, a jet car, a boat or a race car over a bad network.
//!
//! Three programs run side by side: the player's, the server and a rival's. They meet only through
//! the simulated links of a `Wire`: the server plays the inputs that have arrived, and screens
//! show the states that have come back. Five techniques take parts of the lag back, and each can be
//! switched off: prediction, reconciliation, interpolation, smoothing, and rewinding for hits.

pub(crate) mod jet_car;
pub(crate) mod race;
pub(crate) mod sailing;
mod tanks;
mod wire;

use std::borrow::Cow;

use fairpath::motion::MotionKind;
use fairpath::number::EntityId;
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::trigger::Trigger;
use fairpath::vector::{Vec2, Vector};
use fairpath::{Observation, Owner, State};
use fairpath_compensate::Simulate;

pub(crate) use self::tanks::field;
use self::wire::{JITTER_MS_MAX, ROUND_TRIP_MS_MAX, Reach, Settings, Shots, VIEWS, Wire};
use crate::chart::{Chart, Series, Stroke};
use crate::scene::{Knob, Scene, TICK_RATE, begin};

const KNOBS: &[Knob] = &[
    Knob::choice("game", 4, 0),
    Knob::new("lag", 0.0, ROUND_TRIP_MS_MAX as f64, 10.0, 300.0),
    Knob::new("jitter", 0.0, JITTER_MS_MAX as f64, 5.0, 0.0),
    Knob::new("loss", 0.0, 50.0, 1.0, 0.0),
    Knob::choice("prediction", 2, 0),
    Knob::choice("reconciliation", 2, 1),
    Knob::choice("interpolation", 2, 1),
    Knob::choice("smoothing", 2, 1),
    Knob::choice("rewinding", 2, 1),
    Knob::choice("driver", 2, 0),
];

/// The length of the chart: ten seconds.
const CHART_TICKS: usize = 600;

/// The scene.
///
/// Its frame, in order: seconds; the number of the game; the camera's centre x and y and its width;
/// x, y and heading of the own thing at the server; the mean error of the screen over ten seconds,
/// of the own thing and of the others; both errors now; four numbers of the game; wind x and y;
/// then the number of things on the player's screen, and for each its sprite, x, y, heading, two
/// sizes, team, and whether it is the own one; then DR vectors of the own thing so far; then the
/// things of the server's view and of the rival's screen, written in the same way.
pub struct PlayScene {
    seed: u64,
    game: u32,
    table: Box<dyn AnyLaggedGame>,
    ticks: u64,
    hands: Hands,
    settings: Settings,
    is_bot: bool,
    own: Vec<f64>,
    others: Vec<f64>,
}

/// The default link, and everything switched on but prediction.
const USUAL: Settings = Settings {
    lag: Span::from_millis(300),
    jitter: Span::ZERO,
    loss: 0.0,
    predicts: false,
    reconciles: true,
    interpolates: true,
    smooths: true,
    rewinds: true,
};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hands {
    pub(crate) right: f64,
    pub(crate) ahead: f64,
    pub(crate) fires: bool,
    /// Whether a bot plays instead.
    pub(crate) is_bot: bool,
}

/// What a thing looks like, by the page's numbers.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Sprite {
    Tank,
    Shot,
    JetCar,
    Obstruction,
    Boat,
    Buoy,
    Car,
    Beam,
}

#[derive(Clone, Copy)]
pub(crate) struct Thing {
    pub(crate) kind: Sprite,
    pub(crate) position: Vec2,
    pub(crate) heading: f64,
    /// Two lengths or angles. The sprite decides which.
    pub(crate) sizes: [f64; 2],
    pub(crate) team: u32,
    /// Tells things of one kind apart, from one state to the next.
    pub(crate) number: u32,
    pub(crate) is_own: bool,
}

impl Thing {
    pub(crate) fn new(kind: Sprite, position: Vec2, heading: f64) -> Self {
        Self { kind, position, heading, sizes: [0.0; 2], team: 0, number: 0, is_own: false }
    }

    pub(crate) fn write(&self, out: &mut Vec<f64>) {
        out.extend([f64::from(self.kind as u8), self.position.x, self.position.y, self.heading]);
        out.extend(self.sizes);
        out.extend([f64::from(self.team), f64::from(u8::from(self.is_own))]);
    }
}

/// One game, its rules and its server.
pub(crate) trait PlayedGame {
    /// The rules that a client can play by itself.
    type Rules: Simulate;
    const TICK_RATE: TickRate;
    /// Whether a screen may show others in the past. What falls towards the player must not be.
    const INTERPOLATES: bool = true;
    /// Whether prediction moves the others too, if they are not interpolated.
    const PREDICTS_OTHERS: bool = true;
    /// The largest error that others may have about the own thing: a twentieth of its length.
    const THRESHOLD: f64 = 0.3;

    fn rules(&self) -> Self::Rules;
    fn idle(&self) -> InputOf<Self>;
    /// Returns the state at the server.
    fn truth(&self) -> StateOf<Self>;
    /// Plays one tick at the server with the input that has arrived.
    fn serve(&mut self, input: &InputOf<Self>);
    /// Returns the input of the player in front of this screen.
    fn decide(&mut self, hands: Hands, now: SharedInstant, shown: &StateOf<Self>) -> InputOf<Self>;
    /// Returns what a bot does that sees the drawn positions. Default: it sees the state.
    fn aim(&self, _own: &State<Vec2>, _others: &[(u32, Vec2)]) -> Option<InputOf<Self>> {
        None
    }
    /// Returns whether this input fires a beam.
    fn fires(_input: &InputOf<Self>) -> bool {
        false
    }
    /// Returns what a beam of the own thing reaches.
    fn reach(&self, _own: &State<Vec2>, _others: &[(u32, Vec2)]) -> Reach {
        Reach { length: 0.0, is_hit: false }
    }
    /// Returns the rival as it is drawn on its own screen.
    fn rival(&self, _state: &StateOf<Self>) -> Option<Thing> {
        None
    }
    /// Returns the state of the player's own thing.
    fn own(state: &StateOf<Self>) -> State<Vec2>;
    /// Returns the positions of all others, by numbers that stay.
    fn others(&self, state: &StateOf<Self>) -> Vec<(u32, Vec2)>;
    /// Returns everything there is to draw, with the own thing where it is drawn.
    fn things(&self, shown: &StateOf<Self>, own: &State<Vec2>) -> Vec<Thing>;
    /// Returns centre and width of the camera.
    fn camera(&self, own: &State<Vec2>) -> (Vec2, f64);
    /// Returns four numbers, such as the score.
    fn status(&self, shown: &StateOf<Self>) -> [f64; 4];
    fn wind(&self, _shown: &StateOf<Self>) -> Vec2 {
        Vec2::ZERO
    }
    /// Returns the static lines, closed and open ones.
    fn ground(&self) -> Vec<Vec<Vec2>> {
        Vec::new()
    }
}

pub(crate) type StateOf<G> = <<G as PlayedGame>::Rules as Simulate>::State;
pub(crate) type InputOf<G> = <<G as PlayedGame>::Rules as Simulate>::Input;

/// A game behind a lagged link, of any kind.
trait AnyLaggedGame {
    fn tick(&mut self, hands: Hands, now: SharedInstant);
    fn set(&mut self, settings: Settings);
    /// Returns the screen's error when the player's input counted: own thing, mean of the others.
    fn apart(&self) -> (f64, f64);
    fn frame(&self, out: &mut Vec<f64>);
    fn things(&self, out: &mut Vec<f64>);
    fn ground(&self) -> Vec<Vec<Vec2>>;
}

/// A game, its three programs, and the owner that would announce the own thing to others.
struct LaggedGame<G: PlayedGame> {
    wire: Wire<G>,
    ticks: i64,
    owner: Owner<Vec2>,
    vectors: u64,
}

impl<G: PlayedGame> LaggedGame<G> {
    fn new(game: G, settings: Settings, seed: u64) -> Self {
        let owner = Owner::new(EntityId(0), Trigger::within(G::THRESHOLD)).with_model(MotionKind::Circular);
        Self { wire: Wire::new(game, settings, seed), ticks: 0, owner, vectors: 0 }
    }
}

/// Returns a line that ends where it begins.
pub(crate) fn closed(mut line: Vec<Vec2>) -> Vec<Vec2> {
    line.extend(line.first().copied());
    line
}

/// Returns the mean distance of things with the same number, or 0 if there are none.
pub(crate) fn mean_distance(shown: &[(u32, Vec2)], there: &[(u32, Vec2)]) -> f64 {
    let distance = |(number, place): &(u32, Vec2)| {
        let (_, there) = there.iter().find(|(other, _)| other == number)?;
        Some(place.distance(*there))
    };
    let all: Vec<f64> = shown.iter().filter_map(distance).collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

impl<G: PlayedGame> AnyLaggedGame for LaggedGame<G> {
    /// Plays the game's own ticks up to `now`. Their rate is not the page's.
    fn tick(&mut self, hands: Hands, now: SharedInstant) {
        while SharedInstant::ZERO + G::TICK_RATE.begin(self.ticks + 1) <= now {
            self.ticks += 1;
            self.wire.tick(hands);
            let own = G::own(&self.wire.game().truth());
            let at = SharedInstant::ZERO + G::TICK_RATE.begin(self.ticks);
            let export = self.owner.observe(Observation::Moved(own), at).expect("the game is finite");
            self.vectors += u64::from(export.is_some());
        }
    }

    fn set(&mut self, settings: Settings) {
        self.wire.set(settings);
    }

    fn apart(&self) -> (f64, f64) {
        self.wire.apart()
    }

    fn frame(&self, out: &mut Vec<f64>) {
        let game = self.wire.game();
        let (middle, width) = game.camera(self.wire.own());
        let truth = G::own(&game.truth());
        out.extend([middle.x, middle.y, width]);
        out.extend([truth.position.x, truth.position.y, truth.orientation]);
    }

    fn things(&self, out: &mut Vec<f64>) {
        let (game, shown) = (self.wire.game(), self.wire.shown());
        let wind = game.wind(shown);
        let Shots { fired, seen, counted } = self.wire.shots();
        let [status @ .., last] = game.status(shown);
        let shots = [fired, seen, counted].map(f64::from);
        out.extend(if fired > 0 { shots } else { status });
        out.extend([last, wind.x, wind.y]);
        for view in 0..VIEWS {
            if view == 1 {
                out.push(self.vectors as f64);
            }
            let things = self.wire.things(view);
            out.push(things.len() as f64);
            things.iter().for_each(|thing| thing.write(out));
        }
    }

    fn ground(&self) -> Vec<Vec<Vec2>> {
        self.wire.game().ground()
    }
}

fn table(game: u32, settings: Settings, seed: u64) -> Box<dyn AnyLaggedGame> {
    match game {
        0 => Box::new(LaggedGame::new(tanks::TanksGame::new(seed), settings, seed)),
        1 => Box::new(LaggedGame::new(jet_car::JetCarGame::new(seed), settings, seed)),
        2 => Box::new(LaggedGame::new(sailing::SailingGame::new(seed), settings, seed)),
        _ => Box::new(LaggedGame::new(race::RaceGame::new(seed), settings, seed)),
    }
}

impl PlayScene {
    /// Creates the scene with a tank, a round trip of 300 ms, and no prediction.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            game: 0,
            table: table(0, USUAL, seed),
            ticks: 0,
            hands: Hands::default(),
            settings: USUAL,
            is_bot: false,
            own: Vec::new(),
            others: Vec::new(),
        }
    }

    fn apply(&mut self) {
        self.table.set(self.settings);
        self.own.clear();
        self.others.clear();
    }
}

impl Scene for PlayScene {
    fn knobs(&self) -> Cow<'static, [Knob]> {
        KNOBS.into()
    }

    fn turn(&mut self, knob: &str, value: f64) {
        let is_on = value > 0.0;
        match knob {
            "game" => {
                self.game = value as u32;
                self.table = table(self.game, self.settings, self.seed);
                self.ticks = 0;
            }
            "lag" => self.settings.lag = Span::from_millis(value as i64),
            "jitter" => self.settings.jitter = Span::from_millis(value as i64),
            "loss" => self.settings.loss = value / 100.0,
            "prediction" => self.settings.predicts = is_on,
            "reconciliation" => self.settings.reconciles = is_on,
            "interpolation" => self.settings.interpolates = is_on,
            "smoothing" => self.settings.smooths = is_on,
            "rewinding" => self.settings.rewinds = is_on,
            "driver" => self.is_bot = is_on,
            _ => return,
        }
        self.apply();
    }

    fn steer(&mut self, right: f64, ahead: f64, fires: bool) {
        self.hands = Hands { right, ahead, fires, ..self.hands };
    }

    fn tick(&mut self) {
        self.ticks += 1;
        let hands = Hands { is_bot: self.is_bot, ..self.hands };
        self.table.tick(hands, begin(self.ticks));
        let (own, others) = self.table.apart();
        // Half of it at once, so that it is not moved at every tick.
        for (past, now) in [(&mut self.own, own), (&mut self.others, others)] {
            if past.len() >= 2 * CHART_TICKS {
                past.drain(..CHART_TICKS);
            }
            past.push(now);
        }
    }

    fn frame(&self, out: &mut Vec<f64>) {
        out.extend([self.ticks as f64 * TICK_RATE.step_secs(), f64::from(self.game)]);
        self.table.frame(out);
        let mean = |past: &[f64]| {
            let recent = &past[past.len().saturating_sub(CHART_TICKS)..];
            recent.iter().sum::<f64>() / recent.len().max(1) as f64
        };
        let newest = |past: &[f64]| past.last().copied().unwrap_or(0.0);
        out.extend([mean(&self.own), mean(&self.others), newest(&self.own), newest(&self.others)]);
        self.table.things(out);
    }

    fn ground(&self) -> Vec<Vec<Vec2>> {
        self.table.ground()
    }

    fn chart(&self, _number: u32) -> Option<Chart> {
        let recent = self.own.len().saturating_sub(CHART_TICKS)..;
        let pairs = self.own[recent.clone()].iter().zip(&self.others[recent]);
        let pairs: Vec<f64> = pairs.flat_map(|(own, others)| [*own, *others]).collect();
        let secs = -TICK_RATE.step_secs() * CHART_TICKS as f64;
        Some(Chart { x_range: Some((secs, 0.0)), ..apart_over_time(&pairs, TICK_RATE.step_secs()) })
    }
}

/// Returns the chart of a screen's error: pairs (own, others), one `every` so many seconds, to now.
pub(crate) fn apart_over_time(pairs: &[f64], every: f64) -> Chart {
    let count = pairs.len() / 2;
    let series = (0..2).map(|which| {
        let values = pairs.iter().skip(which).step_by(2).enumerate();
        Series {
            // Blue for the own thing, vermilion for the others.
            colour: 5 - which as u32,
            stroke: Stroke::Solid,
            points: values.map(|(at, apart)| ((at as f64 - count as f64) * every, *apart)).collect(),
        }
    });
    Chart {
        x: "seconds ago".into(),
        y: "off by".into(),
        x_range: Some((-every * count.max(1) as f64, 0.0)),
        y_least: 2.0,
        series: series.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::turn;

    fn played(turns: &[(&str, f64)], secs: u32) -> PlayScene {
        let mut play = PlayScene::new(1);
        for (knob, value) in turns {
            assert!(turn(&mut play, knob, *value));
        }
        (0..60 * secs).for_each(|_| play.tick());
        play
    }

    fn mean(past: &[f64]) -> f64 {
        past.iter().sum::<f64>() / past.len() as f64
    }

    #[test]
    fn prediction_shows_the_own_thing_where_it_is_going_to_be_and_lag_does_not() {
        for game in 0..4 {
            let common = [("game", f64::from(game)), ("driver", 1.0), ("lag", 400.0)];
            let late = played(&common, 15);
            let helped = played(&[&common[..], &[("prediction", 1.0)]].concat(), 15);
            let prompt = played(&[&common[..], &[("lag", 0.0)]].concat(), 15);
            assert!(mean(&prompt.own) < 1e-9, "game {game}: without lag the screen is the server");
            let (late, helped) = (mean(&late.own), mean(&helped.own));
            assert!(late > 0.5 && helped < 0.2 * late, "game {game}: {helped} instead of {late}");
        }
    }

    /// Returns the own x on the screen.
    fn drawn(play: &PlayScene) -> f64 {
        let mut frame = Vec::new();
        play.frame(&mut frame);
        let count = frame[18] as usize;
        let own = (0..count).map(|thing| &frame[19 + 8 * thing..]).find(|thing| thing[7] > 0.0);
        own.expect("it is drawn")[1]
    }

    /// Returns after how many ticks of full throttle the own tank moves on the screen.
    fn answers_after(turns: &[(&str, f64)]) -> u32 {
        let mut play = played(turns, 2);
        let before = drawn(&play);
        play.steer(0.0, 1.0, false);
        (1..=120)
            .find(|_| {
                play.tick();
                (drawn(&play) - before).abs() > 1e-9
            })
            .expect("it moves within two seconds")
    }

    #[test]
    fn without_prediction_the_screen_answers_a_round_trip_later_and_with_it_at_once() {
        let late = answers_after(&[("lag", 300.0)]);
        assert!((18 - 2..=18 + 2).contains(&late), "300 ms are 18 ticks: {late}");
        assert_eq!(answers_after(&[("lag", 300.0), ("prediction", 1.0)]), 1);
    }

    #[test]
    fn without_reconciliation_the_screen_and_the_server_part() {
        let turns = [("lag", 200.0), ("jitter", 50.0), ("prediction", 1.0), ("driver", 1.0)];
        let apart = |reconciliation| {
            let play = played(&[&turns[..], &[("reconciliation", reconciliation)]].concat(), 30);
            mean(&play.own)
        };
        let (on, off) = (apart(1.0), apart(0.0));
        assert!(off > 0.5 && off > 3.0 * on, "{on} on and {off} off");
    }

    /// Returns the largest jump of the rival on the screen from one tick to the next.
    fn rival_jumps(turns: &[(&str, f64)]) -> f64 {
        let mut play = played(turns, 3);
        let place = |play: &PlayScene| {
            let mut frame = Vec::new();
            play.frame(&mut frame);
            let rival =
                (0..frame[18] as usize).map(|thing| &frame[19 + 8 * thing..]).find(|one| one[7] == 0.0);
            rival.map(|one| Vec2::new(one[1], one[2])).expect("the rival is drawn")
        };
        let (mut last, mut worst) = (place(&play), 0.0);
        for _ in 0..600 {
            play.tick();
            let next = place(&play);
            worst = f64::max(worst, last.distance(next));
            last = next;
        }
        worst
    }

    #[test]
    fn without_interpolation_the_rival_jumps() {
        let (on, off) = (rival_jumps(&[]), rival_jumps(&[("interpolation", 0.0)]));
        // At 25 units a second a tank moves 0.42 in a tick, and 1.25 between two states.
        assert!(on < 0.5 && off > 1.0, "{on} on and {off} off");
    }

    #[test]
    fn without_smoothing_corrections_are_jumps() {
        let jump = |smoothing| {
            let turns = [("lag", 300.0), ("jitter", 100.0), ("prediction", 1.0), ("smoothing", smoothing)];
            let mut play = played(&turns, 2);
            play.steer(0.0, 1.0, false);
            let (mut last, mut worst) = (drawn(&play), 0.0);
            for tick in 0..600 {
                play.steer(f64::from(tick / 20 % 2) * 2.0 - 1.0, 1.0, false);
                play.tick();
                let next = drawn(&play);
                worst = f64::max(worst, (next - last).abs());
                last = next;
            }
            worst
        };
        let (on, off) = (jump(1.0), jump(0.0));
        assert!(off > 1.3 * on, "{on} on and {off} off");
    }

    #[test]
    fn rewinding_makes_hits_on_the_screen_count() {
        let counted = |rewinding| {
            let turns = [("lag", 300.0), ("prediction", 1.0), ("driver", 1.0), ("rewinding", rewinding)];
            let mut frame = Vec::new();
            played(&turns, 60).frame(&mut frame);
            let [fired, seen, counted] = [frame[12], frame[13], frame[14]];
            assert!(fired >= 10.0 && seen >= 10.0, "{fired} shots, {seen} hits on the screen");
            counted / seen
        };
        let (on, off) = (counted(1.0), counted(0.0));
        assert!(on > 0.9 && off < 0.7 * on, "{on} of the hits count, and {off} without");
    }

    #[test]
    fn the_outlines_of_fields_and_tracks_are_closed() {
        for game in [0, 3] {
            let lines = played(&[("game", f64::from(game))], 0).ground();
            assert!(lines.len() >= 2, "game {game}");
            assert!(lines.iter().all(|line| line.first() == line.last()), "game {game}");
        }
    }

    #[test]
    fn hands_move_the_own_thing() {
        for game in 0..4 {
            let mut play = played(&[("game", f64::from(game)), ("lag", 100.0)], 1);
            let place = |play: &PlayScene| {
                let mut frame = Vec::new();
                play.frame(&mut frame);
                Vec2::new(frame[5], frame[6])
            };
            let before = place(&play);
            play.steer(0.1, 1.0, true);
            (0..120).for_each(|_| play.tick());
            assert!(place(&play).distance(before) > 3.0, "game {game}");
        }
    }
}
