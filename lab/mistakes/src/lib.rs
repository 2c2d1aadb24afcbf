//! Names the crates that the programs in `cases` use, so that cargo builds them. The test of this
//! package compiles each program, and checks what the compiler says about it.

pub use fairpath;
pub use fairpath_net;
pub use serde;
