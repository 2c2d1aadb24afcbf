//! A class whose values borrow from the bytes that they were decoded from.
//~ error: implementation of `Deserialize` is not general enough
//~ `Ship<'_>` must implement `Deserialize<'0>`, for any lifetime

use fairpath::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Ship<'a> {
    name: &'a str,
}

fn main() {
    let _game = Protocol::<Vec2>::new("asteroids", 1).class::<Ship<'_>>("ship", Class::within(0.2));
}
