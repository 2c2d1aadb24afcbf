use fairpath::time::TickRate;
use fairpath::vector::Vec2;

use crate::shared::{Knob, OutOfRange, all_within};

/// A hundred ticks per second, as in Buchheit 2004.
pub const TICK_RATE: TickRate = TickRate::hz(100);
/// Points for every obstruction that leaves the field.
pub const POINTS_AVOIDED: i32 = 1;
/// Points for every obstruction that is hit.
pub const POINTS_HIT: i32 = -4;

/// The rules of a run. Lengths are pixels, speeds pixels per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JetCarConfig {
    /// The width of the field. Default 480.
    pub width: f64,
    /// The height that obstructions fall through. Default 480: the fastest take 1.6 s.
    pub height: f64,
    /// The car's width and length. Default 36: parked in the middle it meets a third of them.
    pub car_size: f64,
    /// Full thrust, U: every tick adds a tenth of it to the velocity. Default 40, so 400 px/s².
    /// With a quarter of it no player can evade; with four times as much a short press is a crash.
    pub thrust: f64,
    /// The widths of small, medium and large obstructions, half as high. Default 50, 90 and 140.
    pub widths: [f64; 3],
    /// The speeds of slow, moderate and fast obstructions. Default 120, 200 and 300.
    pub speeds: [f64; 3],
    /// The mean time between two obstructions, in seconds; each is 0.5 to 1.5 times as long.
    /// Default 0.55: 218 in two minutes. Below 0.3 there is no way through.
    pub spawn_secs: f64,
    /// Random wind. Default none.
    pub wind: Option<Gusts>,
    /// The number of lives. Default 3; the run ends with the last.
    pub lives: u32,
    /// The length of a run, in seconds. Default 120.
    pub secs: u32,
}

/// Random wind: gusts in any direction, and calm between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gusts {
    /// The mean time between two gusts, in seconds (exponential, so unpredictable). Default 2.5.
    pub gap_secs: f64,
    /// The push of the strongest gust, W: each tick adds it to the velocity. Default 5, a little
    /// more than full thrust; gusts have from a third to all of it.
    pub push_max: f64,
    /// The longest gust, in seconds; gusts have from a third to all of it. Default 0.4: the
    /// strongest and longest changes the velocity by 200 px/s, and a car that does not react hits a
    /// wall a second later.
    pub secs_max: f64,
}

impl Default for JetCarConfig {
    fn default() -> Self {
        Self {
            width: 480.0,
            height: 480.0,
            car_size: 36.0,
            thrust: 40.0,
            widths: [50.0, 90.0, 140.0],
            speeds: [120.0, 200.0, 300.0],
            spawn_secs: 0.55,
            wind: None,
            lives: 3,
            secs: 120,
        }
    }
}

impl Default for Gusts {
    fn default() -> Self {
        Self { gap_secs: 2.5, push_max: 5.0, secs_max: 0.4 }
    }
}

impl JetCarConfig {
    /// Returns the default rules with the default wind.
    pub fn windy() -> Self {
        Self { wind: Some(Gusts::default()), ..Self::default() }
    }

    /// Returns the start of a new car: in the middle, four fifths of the way down.
    pub fn start(&self) -> Vec2 {
        Vec2::new(0.5 * self.width, 0.8 * self.height)
    }

    pub fn ticks(&self) -> u64 {
        u64::from(self.secs) * u64::from(TICK_RATE.as_hz())
    }

    /// Returns the acceleration of full thrust, px/s².
    pub fn acceleration(&self) -> f64 {
        self.thrust / 10.0 * f64::from(TICK_RATE.as_hz())
    }

    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        let narrowest = 0.5 * self.width.min(self.height);
        let gusts = self.wind.unwrap_or_default();
        let [small, medium, large] = self.widths;
        let [slow, moderate, fast] = self.speeds;
        let knobs: [Knob; 15] = [
            ("width", self.width, 100.0..=10_000.0),
            ("height", self.height, 100.0..=10_000.0),
            ("car_size", self.car_size, 10.0..=narrowest),
            ("thrust", self.thrust, 0.0..=200.0),
            ("widths[0]", small, 10.0..=narrowest),
            ("widths[1]", medium, 10.0..=narrowest),
            ("widths[2]", large, 10.0..=narrowest),
            // At most ten pixels per tick: no obstruction passes through the car between two ticks.
            ("speeds[0]", slow, 1.0..=1_000.0),
            ("speeds[1]", moderate, 1.0..=1_000.0),
            ("speeds[2]", fast, 1.0..=1_000.0),
            ("spawn_secs", self.spawn_secs, 0.05..=3600.0),
            ("wind.gap_secs", gusts.gap_secs, 0.1..=3600.0),
            ("wind.push_max", gusts.push_max, 0.0..=20.0),
            ("wind.secs_max", gusts.secs_max, 0.01..=10.0),
            // At most a day.
            ("secs", f64::from(self.secs), 1.0..=86_400.0),
        ];
        all_within(&knobs)?;
        all_within(&[("lives", f64::from(self.lives), 1.0..=1_000.0)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_by_name() {
        let broken = |change: fn(&mut JetCarConfig)| {
            let mut config = JetCarConfig::windy();
            change(&mut config);
            config.check().map_err(|error| error.knob)
        };
        assert_eq!(broken(|_| ()), Ok(()));
        assert_eq!(broken(|c| c.thrust = f64::NAN), Err("thrust"));
        assert_eq!(broken(|c| c.widths[2] = 300.0), Err("widths[2]"));
        assert_eq!(broken(|c| c.lives = 0), Err("lives"));
        assert_eq!(
            broken(|c| c.wind = Some(Gusts { gap_secs: 0.0, ..Gusts::default() })),
            Err("wind.gap_secs")
        );
    }
}
