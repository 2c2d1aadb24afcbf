//! A call with a text instead of the type that the protocol names.
//~ error[E0277]: values of type `str` cannot be sent and received
//~ wrap a text, a list or a number in a type of the game: `struct Chat(String);`

use fairpath::prelude::*;

fn say(game: &mut ClientFrame<'_, Vec2>) {
    let _ = game.call_server("hello");
}

fn main() {
    let _ = say;
}
