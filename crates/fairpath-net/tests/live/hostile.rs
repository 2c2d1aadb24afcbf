//! Goal: a hostile client is refused with a reason and harms nobody. Method: a QUIC client without manners, while others fly.

#[test]
fn later() {}
