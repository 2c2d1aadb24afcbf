//! The interface of all scenes: played in ticks, turned by knobs, shown as numbers.

use std::borrow::Cow;

use fairpath::random::Random;
use fairpath::time::{SharedInstant, TickRate};
use fairpath::vector::Vec2;
use fairpath_sim::Digest;

use crate::chart::Chart;

/// The tick rate of a scene, the same as that of the games.
pub const TICK_RATE: TickRate = TickRate::hz(60);

/// Something that the page plays and draws.
///
/// A scene is a state machine: the same seed, knobs and inputs at the same ticks give the same
/// bits, natively and in a browser. It never reads a clock; the page says how many ticks to play.
pub trait Scene {
    /// Returns the knobs, in the order the page shows them.
    fn knobs(&self) -> Cow<'static, [Knob]>;
    /// Turns a knob. The value is within the knob's range.
    fn turn(&mut self, knob: &str, value: f64);
    /// Sets the player's input: −1 to 1 to the right and ahead, and whether the player fires.
    fn steer(&mut self, _right: f64, _ahead: f64, _fires: bool) {}
    fn tick(&mut self);
    /// Does a piece of the deferred work, small enough for one frame, and returns whether there is
    /// more. The result does not depend on how often or when this is called.
    fn think(&mut self) -> bool {
        false
    }
    /// Appends everything to draw, as plain numbers in the order that each scene documents.
    fn frame(&self, out: &mut Vec<f64>);
    /// Returns the static lines of the scene. Closed lines end where they begin.
    fn ground(&self) -> Vec<Vec<Vec2>> {
        Vec::new()
    }
    /// Returns a chart by its number, counted from zero.
    fn chart(&self, _number: u32) -> Option<Chart> {
        None
    }
    /// Reads a dropped recording and its breaks. The error says what is wrong with the file.
    fn read(&mut self, _file: File<'_>, _breaks: Option<File<'_>>) -> Result<(), String> {
        Err("this scene does not read files; drop the file onto `guess` or `report`".into())
    }
    /// Returns a text about the scene, such as the reason why a prediction failed.
    fn words(&mut self, _about: &str) -> String {
        String::new()
    }
}

/// A file from the user.
pub type File<'a> = fairpath_eval::recording::Source<'a>;

/// A setting of a scene that can change while it is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knob {
    /// The name in the page and in its address.
    pub name: &'static str,
    pub low: f64,
    pub high: f64,
    pub step: f64,
    /// The default value.
    pub usual: f64,
}

impl Knob {
    pub const fn new(name: &'static str, low: f64, high: f64, step: f64, usual: f64) -> Self {
        Self { name, low, high, step, usual }
    }

    /// Creates a knob that chooses one of `count` options.
    pub const fn choice(name: &'static str, count: u32, usual: u32) -> Self {
        Self::new(name, 0.0, count as f64 - 1.0, 1.0, usual as f64)
    }

    /// Returns the nearest valid value. NaN gives the default.
    pub fn nearest(&self, value: f64) -> f64 {
        if value.is_nan() {
            return self.usual;
        }
        value.clamp(self.low, self.high)
    }
}

/// The names of the scenes, as in the page's address.
pub const NAMES: [&str; 4] = ["screens", "told", "guess", "play"];

pub fn scene(name: &str, seed: u64) -> Option<Box<dyn Scene>> {
    Some(match name {
        "screens" => Box::new(crate::screens::Screens::new(seed)),
        "told" => Box::new(crate::told::Told::new(seed)),
        "guess" => Box::new(crate::guess::Guess::new(seed)),
        "play" => Box::new(crate::play::PlayScene::new(seed)),
        _ => return None,
    })
}

/// Turns a knob to the nearest valid value. Returns false if the scene has no such knob.
pub fn turn(scene: &mut dyn Scene, name: &str, value: f64) -> bool {
    let Some(knob) = scene.knobs().iter().find(|knob| knob.name == name).copied() else { return false };
    scene.turn(name, knob.nearest(value));
    true
}

/// Does all deferred work.
pub fn finish_thinking(scene: &mut dyn Scene) {
    while scene.think() {}
}

/// Returns 64 bits that stand for everything a scene shows.
pub fn digest(scene: &dyn Scene) -> Digest {
    let mut frame = Vec::new();
    scene.frame(&mut frame);
    let mut digest = Digest::new();
    for number in &frame {
        digest.f64(*number);
    }
    digest
}

/// Returns the instant at which a tick begins.
pub(crate) fn begin(tick: u64) -> SharedInstant {
    SharedInstant::ZERO + TICK_RATE.begin(tick.cast_signed())
}

/// Returns an independent random generator for a part of a scene.
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
