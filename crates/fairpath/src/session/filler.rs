//! What filling datagrams needs besides the channel: buffers and packed DR vectors, shared by all
//! peers of one end of a session.

use crate::number::EntityId;
use crate::schedule::{Departure, Dispatcher};
use crate::time::SharedInstant;
use crate::vector::Planar;
use crate::wire::{EncodeError, Precision, UpdatesBody};

/// What the end of a session gives its channels to fill datagrams with.
#[derive(Debug)]
pub(super) struct Sending<'a, V: Planar> {
    pub(super) dispatcher: &'a mut Dispatcher<V>,
    pub(super) filler: &'a mut Filler,
    pub(super) precision: &'a Precision,
}

/// Reused from datagram to datagram.
#[derive(Clone, Debug, Default)]
pub(super) struct Filler {
    /// The copies that are due to the peer of the datagram being filled.
    pub(super) departures: Vec<Departure>,
    pub(super) bodies: Bodies,
}

/// The DR vectors of recent datagrams, packed. Peers that are sent the same DR vectors at the same
/// instant share one body.
#[derive(Clone, Debug, Default)]
pub(super) struct Bodies {
    known: Vec<PackedBody>,
    /// Where the next new body goes.
    next: usize,
}

#[derive(Clone, Debug)]
struct PackedBody {
    sent_at: SharedInstant,
    /// How many DR vectors had been generated: with a new one an old claim may mean another.
    generated: u64,
    claims: Vec<(EntityId, SharedInstant)>,
    body: UpdatesBody,
}

impl PackedBody {
    fn is_of(&self, departures: &[Departure]) -> bool {
        let claimed = departures.iter().map(|it| (it.claim.entity, it.claim.generated_at));
        self.claims.len() == departures.len() && self.claims.iter().copied().eq(claimed)
    }
}

impl Bodies {
    /// Bodies kept. Four: with a scheduler that sends to everybody the peers of a tick share one or
    /// two, with one that chooses they share few.
    const KEPT: usize = 4;

    /// Returns the place of the body of these departures' DR vectors for datagrams that leave at `sent_at`. The
    /// departures must be in the order of entity ids.
    pub(super) fn find_or_encode<V: Planar>(
        &mut self,
        dispatcher: &Dispatcher<V>,
        precision: &Precision,
        sent_at: SharedInstant,
        departures: &[Departure],
    ) -> Result<usize, EncodeError> {
        let generated = dispatcher.generated();
        let is_wanted =
            |it: &PackedBody| it.sent_at == sent_at && it.generated == generated && it.is_of(departures);
        if let Some(place) = self.known.iter().position(is_wanted) {
            return Ok(place);
        }
        let place = self.next;
        self.next = (place + 1) % Self::KEPT;
        if place == self.known.len() {
            let (claims, body) = (Vec::new(), UpdatesBody::default());
            self.known.push(PackedBody { sent_at, generated, claims, body });
        }
        let known = &mut self.known[place];
        // No datagram left then: it is not found if encoding fails.
        known.sent_at = SharedInstant::from_micros(i64::MIN);
        let vectors = departures.iter().filter_map(|departure| dispatcher.vector(&departure.claim));
        known.body.encode(precision, sent_at, vectors)?;
        (known.sent_at, known.generated) = (sent_at, generated);
        known.claims.clear();
        known.claims.extend(departures.iter().map(|it| (it.claim.entity, it.claim.generated_at)));
        Ok(place)
    }

    /// Returns the body at this place.
    pub(super) fn at(&self, place: usize) -> &UpdatesBody {
        &self.known[place].body
    }
}
