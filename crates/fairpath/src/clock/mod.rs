//! One timeline for everybody: synchronised clocks that say how sure they are, and delay estimates.
//!
//! The client asks ([`Request`]), the server stamps and answers ([`Request::answer`]), and
//! [`ClockSync`] turns the answers into the bridge from local to shared time. A server's own clock
//! *is* the shared clock: it needs no [`ClockSync`], only
//! [`Now::synchronised`](crate::time::Now::synchronised).
//!
//! ```
//! use fairpath::clock::{ClockConfig, ClockSync};
//! use fairpath::time::{LocalInstant, SharedInstant, Span};
//!
//! let mut clock = ClockSync::new(ClockConfig::default());
//! let request = clock.poll_request(LocalInstant::from_millis(5_000)).expect("the first one is due at once");
//!
//! // … 30 ms later, at the server, whose clock shows something else altogether …
//! let stamp = SharedInstant::from_millis(90_030);
//! let reply = request.answer(stamp, stamp);
//!
//! // … and 30 ms later, back here.
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
//! Nothing arrives before it was sent. So each request proves an upper bound of the offset shared −
//! local (what the server read on receipt minus what we read when sending), and each reply a lower
//! one. Both stay proven when they grow older if we let them widen by the drift that two clocks may
//! have, so all we keep is the tightest upper and the tightest lower bound. The estimate is the
//! middle between the two, and the distance to the farther one is an uncertainty that *always*
//! covers the truth, as long as the drift allowance does.
//!
//! This is the low-RTT filter taken one step further: the quickest request and the quickest reply
//! need not belong to the same exchange, so the uncertainty is never more than half the round trip
//! of the best exchange plus drift, and on jittery links less. What stays is half the asymmetry of
//! the quickest ways there and back, which no exchange of messages can see.
//!
//! Fitting the drift as well was considered and left out: within half a minute the middle wanders
//! by a millisecond or two on a jittery link, which as a slope is more than the drift of any sound
//! clock.

mod bounds;
mod delay;
mod exchange;
mod slew;
mod sync;

pub use delay::DelayEstimate;
pub use exchange::{Reply, Request};
pub use sync::{ClockConfig, ClockSync, ReplyError};

use crate::time::Span;

/// A ratio in millionths: drift and slew are given in it, because as integers they are exact
/// everywhere.
fn millionths(span: Span, ppm: u32) -> Span {
    // 2^63 times 2^32 fits; the quotient fits an i64 again for every ratio up to one.
    let product = i128::from(span.as_micros()) * i128::from(ppm.min(1_000_000));
    Span::from_micros((product / 1_000_000) as i64)
}
