//! The interface to JavaScript: three classes, strings and flat arrays.

use fairpath::motion::MotionKind;
use fairpath::random::Random;
use fairpath::time::LocalInstant;
use fairpath::vector::Vec2;
use plotters::drawing::IntoDrawingArea;
use plotters_canvas::CanvasBackend;
use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::HtmlCanvasElement;

use crate::chart::Look;
use crate::live::{About, Live};
use crate::scene::{self, File, Scene};
use crate::{play, report};

/// A scene on the page.
#[wasm_bindgen]
pub struct Stage {
    scene: Box<dyn Scene>,
}

#[wasm_bindgen]
impl Stage {
    /// Creates the scene of this name, or returns nothing if there is none.
    pub fn of(name: &str, seed: u32) -> Option<Self> {
        Some(Self { scene: scene::scene(name, seed.into())? })
    }

    /// Returns the knobs, one per line: name, smallest and largest value, step, default.
    pub fn knobs(&self) -> String {
        let line = |knob: &scene::Knob| {
            let scene::Knob { name, low, high, step, usual } = knob;
            format!("{name} {low} {high} {step} {usual}")
        };
        self.scene.knobs().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Turns a knob to the nearest valid value. Returns false if there is no such knob.
    pub fn turn(&mut self, knob: &str, value: f64) -> bool {
        scene::turn(self.scene.as_mut(), knob, value)
    }

    pub fn steer(&mut self, right: f64, ahead: f64, fires: bool) {
        self.scene.steer(right, ahead, fires);
    }

    /// Does a piece of the deferred work and returns whether there is more.
    pub fn think(&mut self) -> bool {
        self.scene.think()
    }

    pub fn step(&mut self, ticks: u32) {
        (0..ticks).for_each(|_| self.scene.tick());
    }

    pub fn frame(&self) -> Vec<f64> {
        let mut numbers = Vec::new();
        self.scene.frame(&mut numbers);
        numbers
    }

    /// Returns the static lines: for each the number of points, then their x and y.
    pub fn ground(&self) -> Vec<f64> {
        flat(self.scene.ground())
    }

    /// Returns 64 bits that stand for the frame, as sixteen hexadecimal digits.
    pub fn digest(&self) -> String {
        scene::digest(self.scene.as_ref()).to_string()
    }

    pub fn words(&mut self, about: &str) -> String {
        self.scene.words(about)
    }

    /// Reads a recording and its breaks, if any. Returns what is wrong with the files, or nothing.
    pub fn read(&mut self, name: &str, bytes: &[u8], breaks: &str, cuts: Option<Vec<u8>>) -> Option<String> {
        let cuts = cuts.as_ref().map(|bytes| File { name: breaks, bytes });
        self.scene.read(File { name, bytes }, cuts).err()
    }

    /// Draws one of the charts. `scale` is canvas pixels per page pixel. Returns false if there is
    /// no such chart.
    pub fn chart(&self, number: u32, canvas: HtmlCanvasElement, is_dark: bool, scale: f64) -> bool {
        let (Some(chart), Some(backend)) =
            (self.scene.chart(number), CanvasBackend::with_canvas_object(canvas))
        else {
            return false;
        };
        chart.draw(&backend.into_drawing_area(), Look { is_dark, scale }).is_ok()
    }

    /// Draws a chart of the page's own values: number pairs, `every` this many seconds, up to now.
    pub fn curve(
        &self,
        pairs: &[f64],
        every: f64,
        canvas: HtmlCanvasElement,
        is_dark: bool,
        scale: f64,
    ) -> bool {
        let Some(backend) = CanvasBackend::with_canvas_object(canvas) else { return false };
        let chart = play::apart_over_time(pairs, every);
        chart.draw(&backend.into_drawing_area(), Look { is_dark, scale }).is_ok()
    }
}

/// Returns for each line the number of points, then their x and y.
fn flat(lines: Vec<Vec<Vec2>>) -> Vec<f64> {
    let line = |line: Vec<Vec2>| {
        let points = line.iter().flat_map(|point| [point.x, point.y]);
        std::iter::once(line.len() as f64).chain(points).collect::<Vec<_>>()
    };
    lines.into_iter().flat_map(line).collect()
}

/// A session with a server. JavaScript carries its bytes and passes its own clock's time, in ms.
#[wasm_bindgen]
pub struct Session {
    live: Live,
}

#[wasm_bindgen]
impl Session {
    /// Starts a session of a game with a server's settings; `chance` and `luck`: unguessable.
    pub fn begin(
        game: u32,
        seed: u32,
        threshold: f64,
        is_circular: bool,
        chance: u32,
        luck: u32,
    ) -> Option<Self> {
        let model = if is_circular { MotionKind::Circular } else { MotionKind::Linear };
        let random = Random::from_seed(u64::from(chance) << 32 | u64::from(luck));
        let about = About { seed: seed.into(), threshold, model };
        Live::new(game, about, &random).ok().map(|live| Self { live })
    }

    /// Sets whether a bot plays, and whether the screen is compensated for lag.
    pub fn set(&mut self, is_bot: bool, is_compensated: bool) {
        self.live.set(is_bot, is_compensated);
    }

    /// Restarts the game, if the game has a start.
    pub fn again(&mut self) {
        self.live.again();
    }

    /// Returns the numbers of [`Live::standing`].
    pub fn standing(&self, now: f64) -> Vec<f64> {
        self.live.standing(local(now)).to_vec()
    }

    pub fn connected(&mut self, now: f64) {
        self.live.session().handle_connected(local(now));
    }

    pub fn disconnected(&mut self, now: f64) {
        self.live.session().handle_disconnected(None, local(now));
    }

    pub fn hear_stream(&mut self, bytes: &[u8], now: f64) {
        self.live.session().handle_stream(bytes, local(now));
    }

    pub fn hear_unordered(&mut self, bytes: &[u8], now: f64) {
        self.live.session().handle_unordered(bytes, local(now));
    }

    pub fn hear_datagram(&mut self, bytes: &[u8], now: f64) {
        self.live.session().handle_datagram(bytes, local(now));
    }

    pub fn poll_stream(&mut self, now: f64) -> Option<Vec<u8>> {
        self.live.session().handle_timeout(local(now));
        self.live.session().poll_stream(local(now))
    }

    /// Returns the next unordered message, which has a stream of its own.
    pub fn poll_unordered(&mut self) -> Option<Vec<u8>> {
        self.live.session().poll_unordered()
    }

    /// Returns the next datagram, of at most `bytes_max` bytes.
    pub fn poll_datagram(&mut self, now: f64, bytes_max: u32) -> Option<Vec<u8>> {
        self.live.session().poll_datagram(local(now), bytes_max as usize)
    }

    /// Returns whether the session wants the connection closed.
    pub fn poll_close(&mut self) -> bool {
        self.live.session().poll_close().is_some()
    }

    /// Returns whether there is a session, and it is not silent.
    pub fn is_connected(&self) -> bool {
        self.live.is_connected()
    }

    pub fn sessions(&self) -> u32 {
        self.live.sessions()
    }

    pub fn drive(&mut self, right: f64, ahead: f64, fires: bool, now: f64) {
        self.live.drive(right, ahead, fires, local(now));
    }

    pub fn frame(&mut self, now: f64) -> Vec<f64> {
        let mut numbers = Vec::new();
        self.live.frame(local(now), &mut numbers);
        numbers
    }

    /// Returns µs on the shared clock, and the own tank's x and y; empty until the clock is known.
    pub fn truth(&mut self, now: f64) -> Vec<f64> {
        self.live.truth(local(now)).map_or_else(Vec::new, |(at, place)| vec![at as f64, place.x, place.y])
    }

    pub fn ground(&self) -> Vec<f64> {
        flat(self.live.ground())
    }
}

fn local(now_ms: f64) -> LocalInstant {
    LocalInstant::from_micros((now_ms * 1e3) as i64)
}

/// The evaluator of recordings.
#[wasm_bindgen]
pub struct Evaluation {
    evaluation: report::RecordingEvaluation,
}

#[wasm_bindgen]
impl Evaluation {
    /// Reads a recording and, if there are any, its breaks. Throws what is wrong with the files.
    pub fn of(name: &str, bytes: &[u8], breaks: &str, cuts: Option<Vec<u8>>) -> Result<Self, String> {
        let cuts = cuts.as_ref().map(|bytes| File { name: breaks, bytes });
        report::RecordingEvaluation::of(File { name, bytes }, cuts).map(|evaluation| Self { evaluation })
    }

    /// Returns the names of the predictors, one per line.
    pub fn names() -> String {
        report::RecordingEvaluation::names().collect::<Vec<_>>().join("\n")
    }

    /// Returns the number of players, the seconds, and the hit radius.
    pub fn size(&self) -> Vec<f64> {
        self.evaluation.size().to_vec()
    }

    pub fn unit(&self) -> String {
        self.evaluation.unit()
    }

    /// Returns the score of a predictor, or nothing if it cannot predict this recording.
    pub fn score(&self, number: usize) -> Option<Vec<f64>> {
        self.evaluation.score(number)
    }
}
