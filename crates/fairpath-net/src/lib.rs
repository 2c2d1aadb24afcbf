//! Fairpath on real sockets.
//!
//! In order: true to the simulator (what decides a packet's fate live is the code that decides it in virtual time),
//! bounded (whatever a stranger sends, memory and sockets have an end), precise, fast.
//!
//! * [`middleman`]: a UDP proxy that makes the network between any client and any server as bad as you ask.
#![forbid(unsafe_code)]

pub mod middleman;
