//! What all scenes have in common: they are played in ticks, they have knobs, and they show
//! themselves as numbers.

use std::borrow::Cow;

use fairpath::random::Random;
use fairpath::time::{SharedInstant, TickRate};
use fairpath::vector::Vec2;
use fairpath_sim::Digest;

use crate::chart::Chart;

/// How often a scene is played on: as often as the games are.
pub const TICK_RATE: TickRate = TickRate::hz(60);

/// Something that is played before somebody's eyes.
///
/// A scene is a state machine: the same seed, the same knobs turned at the same ticks and the same
/// hands give the same bits, natively and in a browser. It never asks how late it is; the page says
/// how many ticks to play.
pub trait Scene {
    /// The knobs it has, in the order the page shows them.
    fn knobs(&self) -> Cow<'static, [Knob]>;
    /// Turns a knob. The value is within the knob's range.
    fn turn(&mut self, knob: &str, value: f64);
    /// What a person's hands do from now on: −1 to 1 to the right and ahead, and whether the
    /// trigger is pulled.
    fn steer(&mut self, _right: f64, _ahead: f64, _fires: bool) {}
    /// Plays one tick.
    fn tick(&mut self);
    /// Does a piece of what was put off, small enough for one frame; whether there is more. What is
    /// shown in the end does not depend on how often it was called, or when.
    fn think(&mut self) -> bool {
        false
    }
    /// Everything there is to draw, as plain numbers in the order that each scene's own page
    /// states.
    fn frame(&self, out: &mut Vec<f64>);
    /// What never moves, as lines; closed ones end where they begin.
    fn ground(&self) -> Vec<Vec<Vec2>> {
        Vec::new()
    }
    /// One of its charts, counted from zero.
    fn chart(&self, _number: u32) -> Option<Chart> {
        None
    }
    /// Reads a recording that somebody dropped onto the page, and the breaks that belong to it;
    /// says what is wrong with it.
    fn read(&mut self, _file: File<'_>, _breaks: Option<File<'_>>) -> Result<(), String> {
        Err("this scene has no use for files".into())
    }
    /// Something about itself in words, such as the reason why a prediction failed.
    fn words(&mut self, _about: &str) -> String {
        String::new()
    }
}

/// Somebody's file.
pub type File<'a> = fairpath_eval::recording::Source<'a>;

/// Something about a scene that can be changed while it is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knob {
    /// What the page and its address call it.
    pub name: &'static str,
    /// Its least value.
    pub low: f64,
    /// Its greatest value.
    pub high: f64,
    /// From one value to the next.
    pub step: f64,
    /// What it is at first.
    pub usual: f64,
}

impl Knob {
    /// A knob with a range.
    pub const fn new(name: &'static str, low: f64, high: f64, step: f64, usual: f64) -> Self {
        Self { name, low, high, step, usual }
    }

    /// One that chooses among `count` things.
    pub const fn choice(name: &'static str, count: u32, usual: u32) -> Self {
        Self::new(name, 0.0, count as f64 - 1.0, 1.0, usual as f64)
    }

    /// The nearest value it can have; what is no number leaves it where it is at first.
    pub fn nearest(&self, value: f64) -> f64 {
        if value.is_nan() {
            return self.usual;
        }
        value.clamp(self.low, self.high)
    }
}

/// The scenes there are, by the name they have in the page's address.
pub const NAMES: [&str; 4] = ["screens", "told", "guess", "play"];

/// The scene of this name, at its beginning.
pub fn scene(name: &str, seed: u64) -> Option<Box<dyn Scene>> {
    Some(match name {
        "screens" => Box::new(crate::screens::Screens::new(seed)),
        "told" => Box::new(crate::told::Told::new(seed)),
        "guess" => Box::new(crate::guess::Guess::new(seed)),
        "play" => Box::new(crate::play::PlayScene::new(seed)),
        _ => return None,
    })
}

/// Turns a knob to the nearest value it can have; false if the scene has no such knob.
pub fn turn(scene: &mut dyn Scene, name: &str, value: f64) -> bool {
    let Some(knob) = scene.knobs().iter().find(|knob| knob.name == name).copied() else { return false };
    scene.turn(name, knob.nearest(value));
    true
}

/// Nothing is put off any longer.
pub fn finish_thinking(scene: &mut dyn Scene) {
    while scene.think() {}
}

/// 64 bits that stand for all that a scene shows.
pub fn digest(scene: &dyn Scene) -> Digest {
    let mut frame = Vec::new();
    scene.frame(&mut frame);
    let mut digest = Digest::new();
    for number in &frame {
        digest.f64(*number);
    }
    digest
}

/// What a tick begins at.
pub(crate) fn begin(tick: u64) -> SharedInstant {
    SharedInstant::ZERO + TICK_RATE.begin(tick.cast_signed())
}

/// Dice of one's own for every part of a scene.
pub(crate) fn dice(seed: u64, part: u64) -> Random {
    Random::from_seed(seed).fork(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scene_has_sound_knobs_and_shows_finite_numbers() {
        for name in NAMES {
            let mut scene = scene(name, 1).expect("it has a name");
            for knob in scene.knobs().iter() {
                assert!(knob.low < knob.high && knob.step > 0.0, "{name}: {knob:?}");
                assert_eq!(knob.nearest(knob.usual), knob.usual, "{name}: {knob:?}");
                for extreme in [knob.low, knob.high, f64::NAN, f64::INFINITY, -1e300] {
                    assert!(turn(scene.as_mut(), knob.name, extreme));
                    scene.tick();
                }
            }
            (0..120).for_each(|_| scene.tick());
            finish_thinking(scene.as_mut());
            let mut frame = Vec::new();
            scene.frame(&mut frame);
            assert!(frame.iter().all(|number| number.is_finite()), "{name}: {frame:?}");
            assert!(!turn(scene.as_mut(), "no such knob", 1.0));
        }
    }

    #[test]
    fn the_same_again_is_the_same_and_other_dice_are_not() {
        let digest_of = |name: &str, seed: u64| {
            let mut scene = scene(name, seed).expect("it has a name");
            (0..600).for_each(|_| scene.tick());
            digest(scene.as_ref())
        };
        for name in NAMES {
            assert_eq!(digest_of(name, 1), digest_of(name, 1), "{name}");
            assert_ne!(digest_of(name, 1), digest_of(name, 2), "{name}");
        }
    }
}
