//! A time of a client's own clock at the server.
//~ error[E0308]: mismatched types
//~ expected `SharedInstant`, found `LocalInstant`

use fairpath::prelude::*;

fn fly(game: &mut ServerFrame<'_, Vec2>, ship: EntityId, state: State<Vec2>, at: LocalInstant) {
    let _ = game.observe(ship, state, at);
}

fn main() {
    let _ = fly;
}
