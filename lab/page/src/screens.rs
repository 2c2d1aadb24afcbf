//! One tank, three screens: the same tank as three receivers see it, 200, 500 and 800 ms away.
//!
//! The owner cuts a DR vector when the exported path is off by more than the threshold; it travels
//! as bytes through three simulated links, and every receiver places the tank in all four ways at
//! once. The page shows one of them, so that switching between them compares like with like.

mod viewer;

use std::borrow::Cow;
use std::collections::VecDeque;

use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, ReceiverId};
use fairpath::schedule::{Broadcast, DispatcherConfig};
use fairpath::time::{SharedInstant, Span};
use fairpath::trigger::Trigger;
use fairpath::vector::{Vec2, Vector};
use fairpath::{Observation, Owner};
use fairpath_games::tanks::{Driver, Input, Match, Script, TanksConfig};
use fairpath_sim::star::{Spoke, Star};
use fairpath_sim::{LinkConfig, Loss, SimClock};

use self::viewer::{KINDS, Viewer, WAYS};
use crate::chart::{Chart, Series, Stroke};
use crate::flight::Flights;
use crate::scene::{Knob, Scene, TICK_RATE, begin, dice};

/// The ways of placing, as the knob counts them.
pub const PLACEMENTS: [&str; WAYS] = ["local", "hop", "global", "global-estimated"];

pub const SCREENS: usize = 3;

const KNOBS: &[Knob] = &[
    Knob::choice("placement", WAYS as u32, 0),
    Knob::choice("motion", 4, 0),
    Knob::new("near", 0.0, 1000.0, 10.0, 200.0),
    Knob::new("middle", 0.0, 1000.0, 10.0, 500.0),
    Knob::new("far", 0.0, 1000.0, 10.0, 800.0),
    Knob::new("jitter", 0.0, 300.0, 10.0, 60.0),
    Knob::new("back", 0.0, 500.0, 10.0, 200.0),
    Knob::new("loss", 0.0, 50.0, 1.0, 0.0),
    Knob::new("threshold", 0.1, 3.0, 0.1, 0.3),
    Knob::choice("model", 2, 1),
];

/// How much of the paths is drawn: 2.5 s, a little more than the longest delay twice.
const TRAIL_TICKS: usize = 150;
/// How many of the last DR vectors are marked on the exported path; more are not within the trail.
const MARKS_MAX: usize = 24;
/// How much of the error's past the chart shows.
const CHART_TICKS: usize = 12 * 60;

/// The scene.
///
/// Its frame, in order: seconds; the real tank's x, y and heading; the exported x and y; bytes and
/// DR vectors so far; the placement shown; then for each screen x, y, heading and whether there is
/// anything to see, the error now, and for each placement the mean error, the mean before export
/// error and the mean after export error; then how many points a trail has, and the trails of the
/// truth, of the export and of each screen as x, y; then how many DR vectors are marked, as x, y;
/// then how many messages are under way, and for each its screen, progress from 0 to 1, whether it
/// is a receipt (never here), and whether it gets lost.
pub struct Screens {
    seed: u64,
    game: Match,
    motion: u32,
    hands: Input,
    owner: Owner<Vec2>,
    threshold: f64,
    model: MotionKind,
    link: LinkConfig,
    star: Star<Vec2, Flights>,
    /// How much longer than there the way back takes: hop placement believes both are the same.
    back: Span,
    viewers: [Viewer; SCREENS],
    placement: usize,
    trails: [VecDeque<Vec2>; 2 + SCREENS],
    marks: VecDeque<(SharedInstant, Vec2)>,
    errors: [VecDeque<f64>; SCREENS],
}

impl Screens {
    /// Three receivers, and a tank that drives at random.
    pub fn new(seed: u64) -> Self {
        let game = Match::of_scripts(TanksConfig::lone_tank(), &Script::random(dice(seed, 0)), seed)
            .expect("the configuration for a lone tank is sound");
        let config = DispatcherConfig::as_in_the_papers();
        let flights = Flights::new(vec![Span::ZERO; SCREENS]);
        let mut star = Star::new(config, Box::new(Broadcast), dice(seed, 0), begin(0)).watched_by(flights);
        let viewers = [(0, 200), (1, 500), (2, 800)].map(|(number, delay_ms)| {
            let viewer = Viewer::new(ReceiverId(number), Span::from_millis(delay_ms));
            let mut random = dice(seed, 1 + u64::from(number));
            let clock = SimClock::unsynchronised(&mut random);
            let spoke = Spoke::new(LinkConfig::default().delay(viewer.delay), random).clock(clock);
            star.join(viewer.id, spoke.synchronised().replicas(KINDS).without_receipts(), begin(0));
            viewer
        });
        let (threshold, model) = (0.3, MotionKind::Circular);
        let mut screens = Self {
            seed,
            game,
            motion: 0,
            hands: Input::IDLE,
            owner: Owner::new(TANK, Trigger::within(threshold)).with_model(model),
            threshold,
            model,
            link: LinkConfig::default().jitter_uniform(Span::from_millis(60)),
            star,
            back: Span::from_millis(200),
            viewers,
            placement: 0,
            trails: Default::default(),
            marks: VecDeque::new(),
            errors: Default::default(),
        };
        screens.change_links();
        screens
    }

    /// Another owner goes on from what the last one exported: receivers follow that.
    fn change_owner(&mut self) {
        let owner = Owner::new(TANK, Trigger::within(self.threshold)).with_model(self.model);
        self.owner = match self.owner.exported() {
            Some(exported) => owner.continuing(*exported),
            None => owner,
        };
        self.measure_anew();
    }

    fn change_links(&mut self) {
        for viewer in &self.viewers {
            let there = self.link.clone().delay(viewer.delay);
            let back = self.link.clone().delay(viewer.delay + self.back);
            self.star.reconfigure(viewer.id, &there, &back);
        }
        self.star.watch.delays = self.viewers.iter().map(|viewer| viewer.delay).collect();
        self.measure_anew();
    }

    fn change_driver(&mut self) {
        let driver = match self.motion {
            0 => Driver::Script(Script::random(dice(self.seed, 9))),
            1 => Driver::Script(Script::CIRCLE),
            2 => Driver::Script(Script::STRAIGHT),
            _ => Driver::Hands(self.hands),
        };
        self.game.seat(EntityId(0), driver);
        self.measure_anew();
    }

    /// Resets the measurements: those under other settings do not count.
    fn measure_anew(&mut self) {
        self.viewers.iter_mut().for_each(Viewer::measure_anew);
    }

    fn send(&mut self, now: SharedInstant) {
        let Some(tank) = self.game.tanks().tank(EntityId(0)) else { return };
        let export = self.owner.observe(Observation::Moved(tank.state()), now).expect("tanks are finite");
        let Some(export) = export else { return };
        self.star.export(&export, now);
        self.star.send_due(now);
        remember(&mut self.marks, (now, tank.state().position), MARKS_MAX);
    }

    fn look(&mut self, now: SharedInstant) {
        let truth = self.truth();
        let exported = *self.owner.exported().expect("the first observation exports");
        let [truths, exports, placed @ ..] = &mut self.trails;
        remember(truths, truth, TRAIL_TICKS);
        remember(exports, exported.position_at(now), TRAIL_TICKS);
        self.star.run_until(now);
        self.star.watch.settle(now);
        for ((viewer, trail), errors) in self.viewers.iter_mut().zip(placed).zip(&mut self.errors) {
            viewer.look(&mut self.star, now, truth, &exported);
            let shown = viewer.placed(self.placement).map_or(truth, |state| state.position);
            remember(trail, shown, TRAIL_TICKS);
            remember(errors, shown.distance(truth), CHART_TICKS);
        }
    }

    fn truth(&self) -> Vec2 {
        self.game.tanks().tanks()[0].state().position
    }
}

const TANK: EntityId = EntityId(1);

impl Scene for Screens {
    fn knobs(&self) -> Cow<'static, [Knob]> {
        KNOBS.into()
    }

    fn turn(&mut self, knob: &str, value: f64) {
        let span = || Span::from_millis(value as i64);
        match knob {
            "placement" => {
                self.placement = value as usize;
                // The trails of another placement do not continue.
                self.trails[2..].iter_mut().for_each(VecDeque::clear);
                self.errors.iter_mut().for_each(VecDeque::clear);
            }
            "motion" => {
                self.motion = value as u32;
                self.change_driver();
            }
            "near" | "middle" | "far" => {
                let number = ["near", "middle", "far"].iter().position(|name| *name == knob).unwrap_or(0);
                self.viewers[number].delay = span();
                self.change_links();
            }
            "jitter" => {
                self.link = self.link.clone().jitter_uniform(span());
                self.change_links();
            }
            "back" => {
                self.back = span();
                self.change_links();
            }
            "loss" => {
                self.link = self.link.clone().loss(Loss::each(value / 100.0));
                self.change_links();
            }
            "threshold" => {
                self.threshold = value;
                self.change_owner();
            }
            "model" => {
                self.model = if value > 0.0 { MotionKind::Circular } else { MotionKind::Linear };
                self.change_owner();
            }
            _ => {}
        }
    }

    fn steer(&mut self, right: f64, ahead: f64, _fires: bool) {
        self.hands = Input::drive(ahead, -right);
        if self.motion == 3 {
            self.game.seat(EntityId(0), Driver::Hands(self.hands));
        }
    }

    fn tick(&mut self) {
        self.game.step();
        let now = self.game.tanks().now();
        self.send(now);
        self.look(now);
    }

    fn frame(&self, out: &mut Vec<f64>) {
        let now = self.game.tanks().now();
        let state = self.game.tanks().tanks()[0].state();
        let exported = self.owner.exported().map_or(state.position, |vector| vector.position_at(now));
        out.extend([now.as_secs_f64(), state.position.x, state.position.y, state.orientation]);
        // Every viewer is sent the same DR vectors.
        let sent = self.star.link(self.viewers[0].id).statistics();
        out.extend([exported.x, exported.y, sent.sent_bytes as f64, sent.sent as f64, self.placement as f64]);
        for viewer in &self.viewers {
            viewer.frame(self.placement, state.position, out);
        }
        let points = self.trails.iter().map(VecDeque::len).min().unwrap_or(0);
        out.push(points as f64);
        for trail in &self.trails {
            let oldest = trail.len() - points;
            out.extend(trail.iter().skip(oldest).flat_map(|point| [point.x, point.y]));
        }
        let recent = || self.marks.iter().filter(|(at, _)| now - *at <= TICK_RATE.begin(TRAIL_TICKS as i64));
        out.push(recent().count() as f64);
        out.extend(recent().flat_map(|(_, point)| [point.x, point.y]));
        out.push(self.star.watch.at(now).count() as f64);
        self.star.watch.at(now).for_each(|flight| flight.write(now, out));
    }

    fn chart(&self, _number: u32) -> Option<Chart> {
        let secs = |index: usize, of: usize| (index as f64 - of as f64) * TICK_RATE.step_secs();
        let series = self.errors.iter().enumerate().map(|(number, errors)| Series {
            colour: number as u32,
            stroke: Stroke::Solid,
            points: errors.iter().enumerate().map(|(at, error)| (secs(at, errors.len()), *error)).collect(),
        });
        Some(Chart {
            x: "seconds ago".into(),
            y: "error".into(),
            x_range: Some((-TICK_RATE.step_secs() * CHART_TICKS as f64, 0.0)),
            y_least: 2.0,
            series: series.collect(),
        })
    }
}

/// Adds the newest and forgets the oldest beyond `count_max`.
fn remember<T>(past: &mut VecDeque<T>, newest: T, count_max: usize) {
    if past.len() == count_max {
        past.pop_front();
    }
    past.push_back(newest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::turn;

    fn played(turns: &[(&str, f64)], secs: u32) -> Screens {
        let mut scene = Screens::new(1);
        for (knob, value) in turns {
            assert!(turn(&mut scene, knob, *value));
        }
        (0..60 * secs).for_each(|_| scene.tick());
        scene
    }

    #[test]
    fn on_synchronised_clocks_nothing_is_left_once_news_has_arrived() {
        let scene = played(&[], 60);
        for viewer in &scene.viewers {
            let [local, _, global, _] = viewer.measured();
            assert_eq!(global.after.mean(), 0.0);
            assert!(local.after.mean() > 1.0 && global.error.mean() < 0.5 * local.error.mean());
        }
    }

    #[test]
    fn on_the_default_link_the_three_kinds_of_placement_differ() {
        let scene = played(&[], 120);
        let [local, hop, global, _] = scene.viewers[2].measured().map(|one| one.error.mean());
        assert!(global < 0.8 * hop && hop < 0.8 * local, "local {local}, hop {hop}, global {global}");
    }

    #[test]
    fn the_farther_away_the_more_wrong() {
        let scene = played(&[], 60);
        let [near, middle, far] = scene.viewers.each_ref().map(|viewer| viewer.measured()[0].error.mean());
        assert!(near < middle && middle < far, "{near} {middle} {far}");
    }

    #[test]
    fn loss_hurts_and_turning_it_off_heals() {
        let mut scene = played(&[("loss", 50.0), ("placement", 2.0)], 60);
        let lossy = scene.viewers[0].measured()[2].error.mean();
        turn(&mut scene, "loss", 0.0);
        (0..3600).for_each(|_| scene.tick());
        let healed = scene.viewers[0].measured()[2].error.mean();
        assert!(healed < 0.8 * lossy, "{lossy} then {healed}");
    }

    #[test]
    fn hands_drive_when_they_are_asked_to() {
        let mut scene = played(&[("motion", 3.0)], 1);
        let before = scene.truth();
        scene.steer(0.0, 1.0, false);
        (0..60).for_each(|_| scene.tick());
        assert!((scene.truth().distance(before) - 25.0).abs() < 0.5, "a second at full speed");
    }
}
