//! A call whose values can be sent, but not received: `Deserialize` is missing.
//~ error[E0277]: values of type `Chat` cannot be sent and received
//~ not a type with serde's `Serialize` and `Deserialize`

use fairpath::prelude::*;

#[derive(serde::Serialize)]
struct Chat(String);

fn main() {
    let _game = Protocol::<Vec2>::new("asteroids", 1).call::<Chat>("chat", Delivery::Newest);
}
