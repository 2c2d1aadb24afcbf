//! A class whose values hold a text of the program, which cannot be received.
//~ error: implementation of `Deserialize` is not general enough
//~ but it actually implements `Deserialize<'static>`

use fairpath::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Ship {
    name: &'static str,
}

fn main() {
    let _game = Protocol::<Vec2>::new("asteroids", 1).class::<Ship>("ship", Class::within(0.2));
}
