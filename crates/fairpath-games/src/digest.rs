//! One number for a whole world.
//!
//! Two runs that went the same way have the same digest, on every platform. So only fixed-size integers go in,
//! never a `usize`, and every NaN counts as the same one: processors disagree about its bits. The sign of a
//! zero does count; it is well defined everywhere, and a heading can hang on it.

use fairpath::State;
use fairpath::random::Random;
use fairpath::vector::Vec2;

/// Collects a world, part by part, in a fixed order. FNV-1a, 64 bits: portable and good enough to tell worlds
/// apart; it protects against nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Digest {
    /// Nothing collected yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number for all that was collected.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Adds a whole number.
    pub fn add(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    /// Adds a signed whole number.
    pub fn add_signed(&mut self, number: i64) {
        self.add(number.cast_unsigned());
    }

    /// Adds a float by its bits, all NaNs alike.
    pub fn add_float(&mut self, number: f64) {
        self.add(if number.is_nan() { f64::NAN.to_bits() & !(1 << 63) } else { number.to_bits() });
    }

    /// Adds a point or direction.
    pub fn add_vector(&mut self, vector: Vec2) {
        self.add_float(vector.x);
        self.add_float(vector.y);
    }

    /// Adds all that is known of a moving thing.
    pub fn add_state(&mut self, state: &State<Vec2>) {
        self.add_vector(state.position);
        self.add_vector(state.velocity);
        self.add_vector(state.acceleration);
        self.add_float(state.orientation);
        self.add_float(state.spin);
    }

    /// Adds where a generator stands, by what it would say next; the generator itself does not move.
    pub fn add_random(&mut self, random: &Random) {
        let mut ahead = random.clone();
        for _ in 0..4 {
            self.add(ahead.bits());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_float(number: f64) -> u64 {
        let mut digest = Digest::new();
        digest.add_float(number);
        digest.value()
    }

    #[test]
    fn all_nans_are_one_and_zeros_are_two() {
        let odd_nan = f64::from_bits(0xFFF8_0000_0000_1234);
        assert_eq!(of_float(f64::NAN), of_float(odd_nan));
        assert_eq!(of_float(f64::NAN), of_float(-f64::NAN));
        assert_ne!(of_float(0.0), of_float(-0.0));
    }

    #[test]
    fn the_function_is_pinned() {
        let mut digest = Digest::new();
        digest.add(1);
        digest.add_signed(-1);
        digest.add_float(0.5);
        // Golden digests are compared between builds: if this changes, they all do.
        assert_eq!(digest.value(), 0x0A9A516BB2C6A3D1);
    }
}
