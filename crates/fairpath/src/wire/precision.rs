//! Precision: how sender and receiver round numbers.

use super::bits::{Pass, unzigzag, zigzag};
use super::{DecodeError, PrecisionError, VERSION};
use crate::time::{SharedInstant, Span};
use crate::vector::{Vec3, Vector};

/// The settings of a [`Precision`]. Lengths are in the game's own unit; metres in the examples.
///
/// With the defaults a linear DR vector of a 1 km world takes 68 bits plus its share of the batch,
/// and its prediction stays within a centimetre or so for a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrecisionSettings {
    /// Rounding of positions, per axis. Default 0.01: at most 5 mm off. Each halving costs a bit
    /// per axis. Too coarse (far above the trigger's threshold): every DR vector starts with an
    /// error that triggers the next.
    pub position_step: f64,
    /// The corner of the world with the smallest coordinates. Default −500 on each axis. A position
    /// outside costs 25 bits more per axis and keeps the step up to 2²³ steps from zero (84 km);
    /// beyond that it costs 65 more and is exact. In too small a world that happens often; each
    /// doubling of the world costs a bit per axis. In two dimensions only the models of IEEE 1278.1
    /// use the third axis.
    pub world_min: Vec3,
    /// The corner of the world with the greatest coordinates. Default 500 on each axis.
    pub world_max: Vec3,
    /// Rounding of velocities, per axis. Default 0.01 per second: a straight prediction is 5 mm off
    /// after a second. Each halving costs a bit per axis. Too coarse: predictions drift to the
    /// threshold on their own (at 0.1 per second and a threshold of 0.1, after two seconds).
    pub velocity_step: f64,
    /// The greatest velocity per axis without an escape. Default 40 per second (144 km/h). An
    /// escape costs 25 bits per axis, each doubling of the limit costs one: double it if more than
    /// one velocity in 25 is faster.
    pub velocity_limit: f64,
    /// Rounding of accelerations, per axis. Default 0.02 per second squared: 5 mm after a second.
    pub acceleration_step: f64,
    /// The greatest acceleration per axis without an escape. Default 40 per second squared, four g.
    pub acceleration_limit: f64,
    /// The number of headings in a full turn; even. Default 8192: at most 0.4 mrad off, one
    /// centimetre sideways after 25 m. Orientations in space are at most a whole step off. Each
    /// doubling costs a bit, in space three. Too coarse: at 256 a car on a straight of one
    /// kilometre is predicted twelve metres aside.
    pub angle_steps: u32,
    /// Rounding of turn rates. Default 0.001 rad/s: 0.5 mrad after a second.
    pub turn_rate_step: f64,
    /// The greatest turn rate, or body rate per axis, without an escape. Default 8 rad/s.
    pub turn_rate_limit: f64,
    /// The grid of generation times, the same for all batches. Default 1 ms. The owner moves its
    /// motion onto the grid before it generates a DR vector, so a coarse grid costs no accuracy.
    /// Coarser than a tick: DR vectors of different ticks get the same time, and the later one
    /// looks like a duplicate. Finer: a bit or two more per DR vector in batches of several ticks.
    pub time_step: Span,
}

impl Default for PrecisionSettings {
    fn default() -> Self {
        Self {
            position_step: 0.01,
            world_min: Vec3::new(-500.0, -500.0, -500.0),
            world_max: Vec3::new(500.0, 500.0, 500.0),
            velocity_step: 0.01,
            velocity_limit: 40.0,
            acceleration_step: 0.02,
            acceleration_limit: 40.0,
            angle_steps: 8192,
            turn_rate_step: 0.001,
            turn_rate_limit: 8.0,
            time_step: Span::from_millis(1),
        }
    }
}

/// How numbers are rounded on the wire. Both ends of a link must use the same.
///
/// ```
/// use fairpath::wire::{Precision, PrecisionSettings};
///
/// // A slow game in a small hall, to the millimetre.
/// let fine = Precision::new(PrecisionSettings {
///     position_step: 0.001,
///     velocity_step: 0.001,
///     velocity_limit: 8.0,
///     ..PrecisionSettings::default()
/// })?;
/// assert_ne!(fine.fingerprint(), Precision::default().fingerprint());
/// # Ok::<(), fairpath::wire::PrecisionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    settings: PrecisionSettings,
    pub(super) position: [Grid; 3],
    pub(super) velocity: Grid,
    pub(super) acceleration: Grid,
    pub(super) turn_rate: Grid,
    pub(super) duration: Grid,
}

/// Longest duration of a curve without an escape, in steps of the time grid: four seconds.
const DURATION_STEPS: i32 = 4096;

impl Precision {
    /// Checks the settings and prepares them for use.
    pub fn new(settings: PrecisionSettings) -> Result<Self, PrecisionError> {
        let PrecisionSettings { position_step, world_min, world_max, .. } = settings;
        let axis = |axis: usize, name| {
            Grid::new(name, position_step, world_min.component(axis), world_max.component(axis))
        };
        let around_zero = |name, step, limit: f64| Grid::new(name, step, -limit, limit);
        if !settings.angle_steps.is_multiple_of(2) || !(8..=1 << 20).contains(&settings.angle_steps) {
            return Err(PrecisionError::AngleSteps(settings.angle_steps));
        }
        if settings.time_step <= Span::ZERO || settings.time_step > Span::from_secs(1) {
            return Err(PrecisionError::TimeStep);
        }
        Ok(Self {
            settings,
            position: [axis(0, "position x")?, axis(1, "position y")?, axis(2, "position z")?],
            velocity: around_zero("velocity", settings.velocity_step, settings.velocity_limit)?,
            acceleration: around_zero(
                "acceleration",
                settings.acceleration_step,
                settings.acceleration_limit,
            )?,
            turn_rate: around_zero("turn rate", settings.turn_rate_step, settings.turn_rate_limit)?,
            duration: Grid::from_steps(settings.time_step.as_secs_f64(), 1, DURATION_STEPS),
        })
    }

    /// Returns the settings it was made from.
    pub fn settings(&self) -> &PrecisionSettings {
        &self.settings
    }

    /// Returns the step of the grid of generation times.
    pub fn time_step(&self) -> Span {
        self.settings.time_step
    }

    /// Returns a number that two peers compare before they exchange data: the same for the same
    /// format version and precision, almost surely different for any other. FNV-1a over the values
    /// that `PROTOCOL.md` lists.
    pub fn fingerprint(&self) -> u32 {
        let [x, y, z] = self.position;
        let grids = [x, y, z, self.velocity, self.acceleration, self.turn_rate];
        let whole = [
            u64::from(VERSION),
            self.settings.time_step.as_micros() as u64,
            self.settings.angle_steps.into(),
        ];
        let of_grids = grids.iter().flat_map(Grid::words);
        let mut hash = 0x811C_9DC5_u32;
        for byte in whole.into_iter().chain(of_grids).flat_map(u64::to_le_bytes) {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        hash
    }

    /// Returns the instant of the time grid nearest to `t`.
    pub fn on_time_grid(&self, t: SharedInstant) -> SharedInstant {
        SharedInstant::ZERO + t.since_zero().rounded_to(self.time_step())
    }
}

impl Default for Precision {
    fn default() -> Self {
        Self::new(PrecisionSettings::default()).expect("the default settings are valid")
    }
}

/// Rounds a number to a whole number of steps: in few bits within the expected range, in 24 bits
/// outside it, and unrounded if it does not fit in those.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    step: f64,
    /// 1 / step: a multiplication is several times as fast as a division.
    steps_per_unit: f64,
    /// Numbers at least this far from zero are not rounded.
    far: f64,
    /// The middle of the range, in steps. Codes count outwards, so that central values are short.
    middle: i32,
    /// Numbers of steps in the range. The code after the last of them is the escape.
    levels: u32,
    /// The phase-in code of the levels and the escape.
    width: u32,
    short_count: u32,
}

/// Numbers of steps at least this far from zero do not fit in 24 bits.
const FAR_STEPS: i32 = 1 << 23;

impl Grid {
    fn new(name: &'static str, step: f64, low: f64, high: f64) -> Result<Self, PrecisionError> {
        if !(1e-9..=1e9).contains(&step) {
            return Err(PrecisionError::Step(name));
        }
        let [low, high] = [low, high].map(|end| (end / step).round());
        if !(-f64::from(FAR_STEPS) < low && low <= high && high < f64::from(FAR_STEPS)) {
            return Err(PrecisionError::Range(name));
        }
        Ok(Self::from_steps(step, low as i32, high as i32))
    }

    fn from_steps(step: f64, low: i32, high: i32) -> Self {
        let levels = (high - low + 1) as u32;
        let width = u32::BITS - levels.leading_zeros();
        Self {
            step,
            steps_per_unit: 1.0 / step,
            far: (f64::from(FAR_STEPS) - 0.5) * step,
            middle: low + (levels / 2) as i32,
            levels,
            width,
            short_count: (1 << width) - (levels + 1),
        }
    }

    /// The grid's part of the fingerprint: the step's bits, lowest and highest number of steps.
    fn words(&self) -> [u64; 3] {
        let low = i64::from(self.middle) - i64::from(self.levels / 2);
        [self.step.to_bits(), low as u64, (low + i64::from(self.levels) - 1) as u64]
    }

    pub(super) fn step(&self) -> f64 {
        self.step
    }

    pub(super) fn rounds_to_zero(&self, value: f64) -> bool {
        self.is_near(value) && self.steps(value) == 0
    }

    #[inline]
    pub(super) fn pass<P: Pass>(&self, pass: &mut P, value: f64) -> Result<f64, DecodeError> {
        let escape = u64::from(self.levels);
        let code = if self.is_near(value) { self.code(self.steps(value)).min(escape) } else { escape };
        let code = pass.phase_in(code, self.width, self.short_count.into())?;
        if code == escape {
            return self.pass_outside(pass, value);
        }
        Ok(self.value(self.middle + unzigzag(code) as i32))
    }

    #[cold]
    fn pass_outside<P: Pass>(&self, pass: &mut P, value: f64) -> Result<f64, DecodeError> {
        if pass.flag(!self.is_near(value))? {
            return self.pass_exact(pass, value);
        }
        let steps = pass.bits((self.steps(value) + FAR_STEPS) as u64, 24)? as i32 - FAR_STEPS;
        if steps == -FAR_STEPS || self.code(steps) < u64::from(self.levels) {
            return Err(DecodeError::NotCanonical);
        }
        Ok(self.value(steps))
    }

    fn pass_exact<P: Pass>(&self, pass: &mut P, value: f64) -> Result<f64, DecodeError> {
        let bits = value.to_bits();
        let high = pass.bits(bits >> 32, 32)?;
        let low = pass.bits(bits & 0xFFFF_FFFF, 32)?;
        let value = f64::from_bits(high << 32 | low);
        if !value.is_finite() {
            return Err(DecodeError::NonFinite);
        }
        if self.is_near(value) {
            return Err(DecodeError::NotCanonical);
        }
        Ok(value)
    }

    /// Returns whether the number is rounded. NaN is not.
    #[inline]
    fn is_near(&self, value: f64) -> bool {
        value.abs() < self.far
    }

    #[inline]
    fn steps(&self, value: f64) -> i32 {
        // Half a step outwards, then truncated: rounding without a call on any machine.
        let steps = (value * self.steps_per_unit + 0.5f64.copysign(value)) as i32;
        steps.clamp(1 - FAR_STEPS, FAR_STEPS - 1)
    }

    #[inline]
    fn code(&self, steps: i32) -> u64 {
        zigzag(i64::from(steps - self.middle))
    }

    #[inline]
    fn value(&self, steps: i32) -> f64 {
        f64::from(steps) * self.step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::bits::Counter;

    fn bits_of(grid: &Grid, value: f64) -> usize {
        let mut counter = Counter::default();
        grid.pass(&mut counter, value).expect("finite");
        counter.bits
    }

    #[test]
    fn a_kilometre_to_the_centimetre_takes_seventeen_bits_and_less_in_its_middle() {
        let Precision { position: [x, ..], velocity, .. } = Precision::default();
        assert_eq!(
            [0.0, 155.34, 155.35, 155.36, 500.0].map(|value| bits_of(&x, value)),
            [16, 16, 17, 17, 17]
        );
        assert_eq!([0.0, 0.94, 40.0].map(|value| bits_of(&velocity, value)), [12, 12, 13]);
        assert_eq!(bits_of(&x, -500.01), 17 + 1 + 24);
        assert_eq!(bits_of(&x, 1e9), 17 + 1 + 64);
    }

    #[test]
    fn settings_that_cannot_work_are_named() {
        let with = |change: fn(&mut PrecisionSettings)| {
            let mut settings = PrecisionSettings::default();
            change(&mut settings);
            Precision::new(settings).map(drop)
        };
        assert_eq!(with(|s| s.velocity_step = 0.0), Err(PrecisionError::Step("velocity")));
        assert_eq!(with(|s| s.position_step = f64::NAN), Err(PrecisionError::Step("position x")));
        assert_eq!(with(|s| s.world_max.z = -501.0), Err(PrecisionError::Range("position z")));
        assert_eq!(with(|s| s.turn_rate_limit = f64::INFINITY), Err(PrecisionError::Range("turn rate")));
        assert_eq!(with(|s| s.position_step = 1e-6), Err(PrecisionError::Range("position x")));
        assert_eq!(with(|s| s.angle_steps = 9), Err(PrecisionError::AngleSteps(9)));
        assert_eq!(with(|s| s.time_step = Span::ZERO), Err(PrecisionError::TimeStep));
        assert_eq!(with(|s| s.world_min.y = 500.0), Ok(()), "a world may be flat");
    }

    #[test]
    fn the_fingerprint_is_pinned_and_sees_every_knob() {
        let changes: [fn(&mut PrecisionSettings); 11] = [
            |s| s.position_step = 0.02,
            |s| s.world_min.x = -400.0,
            |s| s.world_max.z = 400.0,
            |s| s.velocity_step = 0.02,
            |s| s.velocity_limit = 50.0,
            |s| s.acceleration_step = 0.01,
            |s| s.acceleration_limit = 50.0,
            |s| s.angle_steps = 4096,
            |s| s.turn_rate_step = 0.002,
            |s| s.turn_rate_limit = 4.0,
            |s| s.time_step = Span::from_millis(2),
        ];
        let default = Precision::default().fingerprint();
        assert_eq!(default, PINNED, "peers of the same version would no longer talk to each other");
        for change in changes {
            let mut settings = PrecisionSettings::default();
            change(&mut settings);
            assert_ne!(Precision::new(settings).unwrap().fingerprint(), default);
        }
    }

    const PINNED: u32 = 3_144_018_434;
}
