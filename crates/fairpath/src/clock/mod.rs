//! One timeline for all peers: clock synchronisation with a stated uncertainty, and delays.
//!
//! A client asks ([`Request`]), the server stamps and answers ([`Request::answer`]), and
//! [`ClockSync`] turns the answers into a mapping from local to shared time. A server's clock *is*
//! the shared clock: a server needs no [`ClockSync`], only
//! [`Now::synchronised`](crate::time::Now::synchronised).
//!
//! ```
//! use fairpath::clock::{ClockConfig, ClockSync};
//! use fairpath::time::{LocalInstant, SharedInstant, Span};
//!
//! let mut clock = ClockSync::new(ClockConfig::default());
//! let request = clock.poll_request(LocalInstant::from_millis(5_000)).expect("the first one is due at once");
//!
//! // 30 ms later, at the server. Its clock shows another time.
//! let stamp = SharedInstant::from_millis(90_030);
//! let reply = request.answer(stamp, stamp);
//!
//! // 30 ms later, back at the client.
//! let round_trip = clock.handle_reply(reply, LocalInstant::from_millis(5_060)).unwrap();
//! assert_eq!(round_trip, Span::from_millis(60));
//! let now = clock.now(LocalInstant::from_millis(5_100)).expect("one exchange is enough");
//! assert_eq!(now.shared, SharedInstant::from_millis(90_100));
//! // Half the round trip, and the drift of a tenth of a second.
//! assert!(clock.uncertainty(now.local).unwrap() < Span::from_micros(30_030));
//! ```
//!
//! # How the offset is found
//!
//! No message arrives before it was sent. Each request therefore proves an upper bound of the
//! offset shared − local (the server's stamp on receipt minus the client's stamp on sending), and
//! each reply proves a lower bound. A bound stays valid as it ages if it widens by the greatest
//! drift between two clocks. So only the tightest upper and the tightest lower bound are kept. The
//! estimate is the middle between them. The distance to the farther bound is an uncertainty that
//! *always* covers the truth, as long as the drift allowance holds.
//!
//! This extends the usual filter, which keeps the exchange with the shortest round trip: here the
//! quickest request and the quickest reply need not belong to one exchange. The uncertainty is at
//! most half the round trip of the best exchange plus drift, and less on jittery links. Half the
//! asymmetry between quickest request and quickest reply remains; no exchange can measure it.
//!
//! The drift itself is not fitted: within half a minute the middle wanders by a millisecond or two
//! on a jittery link, and that slope exceeds the drift of any sound clock.
//!
//! # How a clock starts
//!
//! The first exchange of a session is a bad one: it waits with the greeting for lost packets. A
//! clock made with [`ClockSync::starting`] therefore asks several times within the first round
//! trips, and steps to each better estimate, until it [is ready](ClockSync::is_ready) and its owner
//! calls [`ClockSync::start`]. From then on it slews.

mod bounds;
mod delay;
mod exchange;
mod slew;
mod sync;

pub use delay::DelayEstimate;
pub use exchange::{Reply, Request};
pub use sync::{ClockConfig, ClockSync, ReplyError};

use crate::time::Span;

/// Returns `ppm` millionths of `span`: integers, exact on every platform.
fn millionths(span: Span, ppm: u32) -> Span {
    // 2^63 times 2^32 fits; the quotient fits an i64 again for every ratio up to one.
    let product = i128::from(span.as_micros()) * i128::from(ppm.min(1_000_000));
    Span::from_micros((product / 1_000_000) as i64)
}
