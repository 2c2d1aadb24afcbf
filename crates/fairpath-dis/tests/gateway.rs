//! Goal: an exercise crosses a session and comes out as it went in. Method: two DIS networks in
//! virtual time, a gateway on each, a session with delay and loss between them.

mod exercise;
