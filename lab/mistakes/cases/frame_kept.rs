//! A frame that is used after its closure has returned.
//~ error[E0521]: borrowed data escapes outside of closure
//~ `game` is a reference that is only valid in the closure body

use fairpath::prelude::*;
use fairpath_net::NetClient;

fn draw(client: &NetClient<Vec2>, ship: EntityId) -> Option<State<Vec2>> {
    let mut kept = None;
    client.frame(|game| kept = Some(game));
    kept?.draw(ship)
}

fn main() {
    let _ = draw;
}
