//! The plugin over real sockets, on the loopback. One program, so that it is linked once.

mod asteroids;
mod common;
mod ladder;
mod misuse;
mod one_ship;
mod session;
