//! Section 2: precision.

use std::f64::consts::{PI, SQRT_2};

use crate::bits::{Bits, Rejected, unzigzag};

/// What a reader must know before it reads.
pub struct Given {
    pub(crate) near: i128,
    pub(crate) newest_sent: i128,
    pub(crate) position: [Raster; 3],
    pub(crate) velocity: Raster,
    pub(crate) acceleration: Raster,
    pub(crate) turn_rate: Raster,
    pub(crate) duration: Raster,
    pub(crate) angle_steps: u64,
    pub(crate) time_step: i128,
}

impl Given {
    /// Reads lines of a name and its numbers.
    pub fn from_text(text: &str) -> Self {
        let all = |name: &str| -> Vec<String> {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let line = line.unwrap_or_else(|| panic!("the golden file has no line {name:?}"));
            line.split(' ').map(str::to_owned).collect()
        };
        let real = |name: &str, at: usize| -> f64 { all(name)[at].parse().expect("a number") };
        let whole = |name: &str| -> i128 { all(name)[0].parse().expect("a whole number") };
        let axis = |at: usize| {
            Raster::between(real("position_step", 0), real("world_min", at), real("world_max", at))
        };
        let around_zero = |name: &str| {
            let limit = real(&format!("{name}_limit"), 0);
            Raster::between(real(&format!("{name}_step"), 0), -limit, limit)
        };
        let time_step = whole("time_step");
        Self {
            near: whole("near"),
            newest_sent: whole("newest_sent"),
            position: [axis(0), axis(1), axis(2)],
            velocity: around_zero("velocity"),
            acceleration: around_zero("acceleration"),
            turn_rate: around_zero("turn_rate"),
            duration: Raster { step: time_step as f64 * 1e-6, lo: 1, hi: 4096 },
            angle_steps: whole("angle_steps") as u64,
            time_step,
        }
    }

    /// Returns the fingerprint that peers compare before they talk.
    pub fn fingerprint(&self) -> u32 {
        let [x, y, z] = &self.position;
        let mut numbers = vec![2, self.time_step as u64, self.angle_steps];
        for grid in [x, y, z, &self.velocity, &self.acceleration, &self.turn_rate] {
            numbers.extend([grid.step.to_bits(), grid.lo as i64 as u64, grid.hi as i64 as u64]);
        }
        let mut hash = 0x811C_9DC5u32;
        for number in numbers {
            for at in 0..8 {
                hash ^= (number >> (8 * at)) as u32 & 0xFF;
                hash = hash.wrapping_mul(0x0100_0193);
            }
        }
        hash
    }

    pub(crate) fn angle(&self, bits: &mut Bits, name: &str) -> Result<f64, Rejected> {
        let steps = self.angle_steps;
        let code = bits.below(name, steps)?;
        let signed = if code < steps / 2 { code as f64 } else { code as f64 - steps as f64 };
        Ok(signed * (2.0 * PI / steps as f64))
    }

    /// Decodes a quaternion: w, x, y, z.
    pub(crate) fn quaternion(&self, bits: &mut Bits) -> Result<[f64; 4], Rejected> {
        let m = self.angle_steps / 2;
        let largest = bits.bits("largest", 2)? as usize;
        let mut three = [0i128; 3];
        for k in &mut three {
            *k = unzigzag(bits.below("component", 2 * m - 1)?);
        }
        let squared = 2 * i128::from(m) * i128::from(m) - three.iter().map(|k| k * k).sum::<i128>();
        if three.iter().any(|k| k * k >= squared) {
            return Err(Rejected("a tie in a quaternion"));
        }
        let unit = m as f64 * SQRT_2;
        let mut all: Vec<f64> = three.iter().map(|&k| k as f64 / unit).collect();
        all.insert(largest, (squared as f64).sqrt() / unit);
        Ok([all[0], all[1], all[2], all[3]])
    }
}

pub(crate) struct Raster {
    step: f64,
    lo: i128,
    hi: i128,
}

impl Raster {
    fn between(step: f64, low: f64, high: f64) -> Self {
        Self { step, lo: (low / step).round() as i128, hi: (high / step).round() as i128 }
    }

    pub(crate) fn number(&self, bits: &mut Bits, name: &str) -> Result<f64, Rejected> {
        let n = (self.hi - self.lo + 1) as u64;
        let code = bits.below(name, n + 1)?;
        if code < n {
            let middle = self.lo + i128::from(n / 2);
            return Ok((middle + unzigzag(code)) as f64 * self.step);
        }
        if !bits.flag("exact")? {
            let steps = i128::from(bits.bits("steps", 24)?) - (1 << 23);
            if steps == -(1 << 23) || (self.lo..=self.hi).contains(&steps) {
                return Err(Rejected("an escape that was not needed"));
            }
            return Ok(steps as f64 * self.step);
        }
        let number = f64::from_bits(bits.bits("as it is", 64)?);
        if !number.is_finite() {
            return Err(Rejected("not finite"));
        }
        if number.abs() < (f64::from(1 << 23) - 0.5) * self.step {
            return Err(Rejected("an escape that was not needed"));
        }
        Ok(number)
    }
}
