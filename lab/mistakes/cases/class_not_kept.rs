//! A class that is added to a copy of the description, which is dropped.
//~ that must be used
//~ the returned game has the class, not this one: chain the calls
#![deny(unused_must_use)]

use fairpath::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct Ship;

fn main() {
    let game = Protocol::<Vec2>::new("asteroids", 1);
    game.class::<Ship>("ship", Class::within(0.2));
}
