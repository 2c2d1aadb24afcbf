//! An observation whose error is dropped.
//~ error: unused `Result` that must be used
#![deny(unused_must_use)]

use fairpath::prelude::*;

fn fly(game: &mut ServerFrame<'_, Vec2>, ship: EntityId, state: State<Vec2>) {
    game.observe(ship, state, game.now());
}

fn main() {
    let _ = fly;
}
