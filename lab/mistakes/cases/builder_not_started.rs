//! A server that is described and never started.
//~ error: unused `ServerBuilder` that must be used
//~ call listen to start the server
#![deny(unused_must_use)]

use fairpath::prelude::*;
use fairpath_net::NetServer;

fn main() {
    let game = Protocol::<Vec2>::new("asteroids", 1);
    NetServer::builder(&game).scope(Within { enter: 300.0, leave: 350.0 });
}
