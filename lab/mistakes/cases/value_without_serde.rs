//! A class whose values cannot travel: serde's derives are missing.
//~ error[E0277]: values of type `Ship` cannot be sent and received
//~ add `#[derive(serde::Serialize, serde::Deserialize)]`

use fairpath::prelude::*;

struct Ship {
    name: String,
}

fn main() {
    let _game = Protocol::<Vec2>::new("asteroids", 1).class::<Ship>("ship", Class::within(0.2));
}
