//! Play: drive a tank, a jet car, a boat or a race car over a bad network.
//!
//! The server is in this process, but it and the player meet only through a [`RoundTrip`]: the
//! server plays the inputs that have arrived, and the screen shows the states that have come back.
//! With compensation the screen also plays the inputs that the server has not seen yet, by the
//! server's own rules. Bots run at the server without delay: the difference is the cost of lag.

pub(crate) mod jet_car;
pub(crate) mod race;
pub(crate) mod sailing;
mod tanks;

use std::borrow::Cow;
use std::collections::VecDeque;

use fairpath::State;
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::vector::{Vec2, Vector};
use fairpath_compensate::Simulate;
use fairpath_games::shared::RoundTrip;

pub(crate) use self::tanks::field;
use crate::chart::{Chart, Series, Stroke};
use crate::scene::{Knob, Scene, TICK_RATE, begin};

const KNOBS: &[Knob] = &[
    Knob::choice("game", 4, 0),
    Knob::new("lag", 0.0, ROUND_TRIP_MS_MAX as f64, 10.0, 300.0),
    Knob::choice("compensation", 2, 0),
    Knob::choice("driver", 2, 0),
];

/// The longest round trip. More is not playable.
const ROUND_TRIP_MS_MAX: i64 = 1000;
/// The length of the chart: ten seconds.
const CHART_TICKS: usize = 600;

/// The scene.
///
/// Its frame, in order: seconds; the number of the game; the camera's centre x and y and its width;
/// x, y and heading of the own thing at the server; the mean error of the screen over ten seconds,
/// of the own thing and of the others; both errors now; four numbers of the game; wind x and y;
/// then the number of things to draw, and for each its sprite, x, y, heading, two sizes, team, and
/// whether it is the own one.
pub struct PlayScene {
    seed: u64,
    game: u32,
    table: Box<dyn AnyLaggedGame>,
    ticks: u64,
    hands: Hands,
    lag: Span,
    is_compensated: bool,
    is_bot: bool,
    own: Vec<f64>,
    others: Vec<f64>,
}

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
    Flag,
}

#[derive(Clone, Copy)]
pub(crate) struct Thing {
    pub(crate) kind: Sprite,
    pub(crate) position: Vec2,
    pub(crate) heading: f64,
    /// Two lengths or angles. The sprite decides which.
    pub(crate) sizes: [f64; 2],
    pub(crate) team: u32,
    pub(crate) is_own: bool,
}

impl Thing {
    pub(crate) fn new(kind: Sprite, position: Vec2, heading: f64) -> Self {
        Self { kind, position, heading, sizes: [0.0; 2], team: 0, is_own: false }
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

    fn rules(&self) -> Self::Rules;
    fn idle(&self) -> InputOf<Self>;
    /// Returns the state at the server.
    fn truth(&self) -> StateOf<Self>;
    /// Plays one tick at the server with the input that has arrived.
    fn serve(&mut self, input: &InputOf<Self>);
    /// Returns the input of the player in front of this screen.
    fn decide(&mut self, hands: Hands, now: SharedInstant, shown: &StateOf<Self>) -> InputOf<Self>;
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

type StateOf<G> = <<G as PlayedGame>::Rules as Simulate>::State;
type InputOf<G> = <<G as PlayedGame>::Rules as Simulate>::Input;

/// A game behind a lagged link, of any kind.
trait AnyLaggedGame {
    fn tick(&mut self, hands: Hands, now: SharedInstant);
    fn set(&mut self, lag: Span, is_compensated: bool);
    /// Returns the screen's error when the player's input counted: own thing, mean of the others.
    fn apart(&self) -> (f64, f64);
    fn frame(&self, out: &mut Vec<f64>);
    fn things(&self, out: &mut Vec<f64>);
    fn ground(&self) -> Vec<Vec<Vec2>>;
}

/// A game and the link to its server.
struct LaggedGame<G: PlayedGame> {
    game: G,
    rules: G::Rules,
    way: RoundTrip<G::Rules>,
    lag: Span,
    ticks: i64,
    /// What the screen showed, until the server has seen the player's input of then.
    shown: VecDeque<PendingComparison>,
    apart: (f64, f64),
}

/// What a screen showed, and when the input that answers it arrives at the server.
struct PendingComparison {
    counts_at: SharedInstant,
    own: Vec2,
    others: Vec<(u32, Vec2)>,
}

impl<G: PlayedGame> LaggedGame<G> {
    fn new(game: G) -> Self {
        let round_trip = Span::from_millis(ROUND_TRIP_MS_MAX);
        let way = RoundTrip::new(round_trip, false, G::TICK_RATE, game.idle(), game.truth(), G::own);
        let shown = VecDeque::new();
        Self { rules: game.rules(), game, way, lag: round_trip, ticks: 0, shown, apart: (0.0, 0.0) }
    }

    /// Compares what was shown with the server's state when it counts, half a round trip later.
    fn compare(&mut self, now: SharedInstant) {
        let own = self.way.drawn_own().position;
        let others = self.game.others(self.way.shown());
        self.shown.push_back(PendingComparison { counts_at: now + self.lag.scaled(0.5), own, others });
        while let Some(shown) = self.shown.pop_front_if(|shown| shown.counts_at <= now) {
            let truth = self.game.truth();
            let there = self.game.others(&truth);
            let mean = mean_distance(&shown.others, &there);
            self.apart = (shown.own.distance(G::own(&truth).position), mean);
        }
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
            let at = SharedInstant::ZERO + G::TICK_RATE.begin(self.ticks);
            let Self { game, rules, way, .. } = self;
            let input = game.decide(hands, at, way.shown());
            way.tick(rules, at, input, |received| {
                game.serve(received);
                game.truth()
            });
            self.compare(at);
        }
    }

    fn set(&mut self, lag: Span, is_compensated: bool) {
        self.lag = lag;
        self.shown.clear();
        self.way.set_round_trip(lag);
        self.way.set_compensates(is_compensated);
    }

    fn apart(&self) -> (f64, f64) {
        self.apart
    }

    fn frame(&self, out: &mut Vec<f64>) {
        let (middle, width) = self.game.camera(self.way.drawn_own());
        let truth = G::own(&self.game.truth());
        out.extend([middle.x, middle.y, width]);
        out.extend([truth.position.x, truth.position.y, truth.orientation]);
    }

    fn things(&self, out: &mut Vec<f64>) {
        let shown = self.way.shown();
        let wind = self.game.wind(shown);
        out.extend(self.game.status(shown));
        out.extend([wind.x, wind.y]);
        let things = self.game.things(shown, self.way.drawn_own());
        out.push(things.len() as f64);
        things.iter().for_each(|thing| thing.write(out));
    }

    fn ground(&self) -> Vec<Vec<Vec2>> {
        self.game.ground()
    }
}

fn table(game: u32, seed: u64) -> Box<dyn AnyLaggedGame> {
    match game {
        0 => Box::new(LaggedGame::new(tanks::TanksGame::new(seed))),
        1 => Box::new(LaggedGame::new(jet_car::JetCarGame::new(seed))),
        2 => Box::new(LaggedGame::new(sailing::SailingGame::new(seed))),
        _ => Box::new(LaggedGame::new(race::RaceGame::new(seed))),
    }
}

impl PlayScene {
    /// Creates the scene with tanks, a round trip of 300 ms, and no compensation.
    pub fn new(seed: u64) -> Self {
        let mut play = Self {
            seed,
            game: 0,
            table: table(0, seed),
            ticks: 0,
            hands: Hands::default(),
            lag: Span::from_millis(300),
            is_compensated: false,
            is_bot: false,
            own: Vec::new(),
            others: Vec::new(),
        };
        play.apply();
        play
    }

    fn apply(&mut self) {
        self.table.set(self.lag, self.is_compensated);
        self.own.clear();
        self.others.clear();
    }
}

impl Scene for PlayScene {
    fn knobs(&self) -> Cow<'static, [Knob]> {
        KNOBS.into()
    }

    fn turn(&mut self, knob: &str, value: f64) {
        match knob {
            "game" => {
                self.game = value as u32;
                self.table = table(self.game, self.seed);
                self.ticks = 0;
            }
            "lag" => self.lag = Span::from_millis(value as i64),
            "compensation" => self.is_compensated = value > 0.0,
            "driver" => self.is_bot = value > 0.0,
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
    fn compensation_shows_the_own_thing_where_it_is_going_to_be_and_lag_does_not() {
        for game in 0..4 {
            let common = [("game", f64::from(game)), ("driver", 1.0), ("lag", 400.0)];
            let late = played(&common, 15);
            let helped = played(&[&common[..], &[("compensation", 1.0)]].concat(), 15);
            let prompt = played(&[&common[..], &[("lag", 0.0)]].concat(), 15);
            assert!(mean(&prompt.own) < 1e-9, "game {game}: without lag the screen is the server");
            let (late, helped) = (mean(&late.own), mean(&helped.own));
            assert!(late > 0.5 && helped < 0.2 * late, "game {game}: {helped} instead of {late}");
        }
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
