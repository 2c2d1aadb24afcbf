//! Sealed datagrams, without sockets: laws of packets, and whole paths in virtual time.

#[path = "sealed/exporter.rs"]
mod exporter;
#[path = "sealed/narrow.rs"]
mod narrow;
#[path = "sealed/packets.rs"]
mod packets;
#[path = "sealed/paths.rs"]
mod paths;
#[path = "sealed/vectors.rs"]
mod vectors;
