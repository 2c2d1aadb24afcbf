//! The `fairpath` command.
fn main() {}
