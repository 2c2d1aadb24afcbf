//! A state in space in a game on a plane.
//~ error[E0308]: mismatched types
//~ expected `State<Vec2>`, found `State<Vec3>`

use fairpath::prelude::*;

fn fly(game: &mut ClientFrame<'_, Vec2>, ship: EntityId) {
    let state = State::moving(Vec3::new(1.0, 2.0, 3.0), Vec3::ZERO);
    let _ = game.observe(ship, state, game.now());
}

fn main() {
    let _ = fly;
}
