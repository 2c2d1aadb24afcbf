//! Goal: the examples run as written. Method: run them.

#[path = "../examples/01_lossy_link.rs"]
mod lossy_link;
#[path = "../examples/00_one_ship.rs"]
mod one_ship;
#[path = "../examples/04_partition.rs"]
mod partition;
#[path = "../examples/02_server_and_clients.rs"]
mod server_and_clients;
#[path = "../examples/03_state_and_calls.rs"]
mod state_and_calls;

#[test]
fn every_rung_of_the_ladder_holds() {
    one_ship::main();
    lossy_link::main();
    server_and_clients::main();
    state_and_calls::main();
    partition::main();
}
