//! How the parts that every world is made of count for its digest.

use fairpath::State;
use fairpath::random::Random;
use fairpath::vector::Vec2;
use fairpath_sim::Digest;

/// A point or direction.
pub(super) fn add_vector(vector: Vec2, digest: &mut Digest) {
    digest.f64(vector.x).f64(vector.y);
}

/// All that is known of a moving thing.
pub(super) fn add_state(state: &State<Vec2>, digest: &mut Digest) {
    add_vector(state.position, digest);
    add_vector(state.velocity, digest);
    add_vector(state.acceleration, digest);
    digest.f64(state.orientation).f64(state.spin);
}

/// Where a generator stands, by what it would say next; the generator itself does not move.
pub(super) fn add_random(random: &Random, digest: &mut Digest) {
    let mut ahead = random.clone();
    for _ in 0..4 {
        digest.u64(ahead.bits());
    }
}
