//! A seeded random number generator that returns the same numbers on every platform, and the
//! distributions that the library needs.
//!
//! Code that needs randomness takes a [`Random`] as an argument; nothing reads the system's
//! generator. The algorithm is xoshiro256++ (Blackman and Vigna), seeded through SplitMix64 as its
//! authors advise.

use std::f64::consts::TAU;

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// Returns the stream that belongs to `seed`.
    pub fn from_seed(seed: u64) -> Self {
        let mut mix = seed;
        Self { state: std::array::from_fn(|_| split_mix(&mut mix)) }
    }

    /// Returns an independent stream for part `index` of a program. Adding a part, or drawing more
    /// numbers in one part, does not change the numbers of the others.
    #[must_use]
    pub fn fork(&self, index: u64) -> Self {
        let mut mix =
            self.state[0] ^ self.state[2].rotate_left(32) ^ index.wrapping_mul(0xA24B_AED4_963E_E407);
        Self { state: std::array::from_fn(|_| split_mix(&mut mix)) }
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let out = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        out
    }

    /// Returns a uniform number in [0, 1), with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a uniform number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Returns a uniform integer from 0 to `count` − 1.
    ///
    /// # Panics
    ///
    /// Panics if `count` is zero.
    pub fn below(&mut self, count: u64) -> u64 {
        assert!(count > 0, "`count` must be at least 1");
        // Multiply-shift; the bias is below count / 2^64.
        ((u128::from(self.bits()) * u128::from(count)) >> 64) as u64
    }

    /// Returns true with this probability; never if it is NaN.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns a normal number with mean 0 and standard deviation 1 (Box–Muller; the second value
    /// is discarded, so that each draw uses the same number of bits).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        radius * libm::cos(TAU * self.unit())
    }

    /// Returns an exponential number with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut out = *state;
    out = (out ^ (out >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    out = (out ^ (out >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    out ^ (out >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_pinned() {
        let mut random = Random::from_seed(1);
        let first: [u64; 3] = std::array::from_fn(|_| random.bits());
        // Worlds are replayed from seeds: if these numbers change, every seed gives another world.
        assert_eq!(first, PINNED);
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = Random::from_seed(7);
        let n = 200_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || random.unit()) - 0.5).abs() < 5e-3);
        assert!(mean(&mut || random.normal()).abs() < 1e-2);
        assert!((mean(&mut || random.normal() * random.normal().signum()).abs()) < 1e-2);
        assert!((mean(&mut || random.exponential()) - 1.0).abs() < 2e-2);
    }

    #[test]
    fn forks_are_apart_from_each_other() {
        let random = Random::from_seed(3);
        assert_ne!(random.fork(0).bits(), random.fork(1).bits());
        assert_eq!(random.fork(5), random.fork(5));
    }

    const PINNED: [u64; 3] =
        [14_971_601_782_005_023_387, 13_781_649_495_232_077_965, 1_847_458_086_238_483_744];
}
