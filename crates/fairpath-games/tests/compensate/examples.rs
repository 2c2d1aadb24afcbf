//! The examples run as they are written; each says what it shows, and checks it.
