//! What filling datagrams needs besides the channel: buffers and packed DR vectors, shared by all
//! peers of one end of a session.

use crate::number::EntityId;
use crate::schedule::{Departure, Dispatcher};
use crate::time::SharedInstant;
use crate::vector::Planar;
use crate::wire::{EncodeError, Precision, UpdatesBody};

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
    /// The key that is looked for.
    wanted: Vec<VectorKey>,
}

#[derive(Clone, Debug)]
struct PackedBody {
    sent_at: SharedInstant,
    key: Vec<VectorKey>,
    body: UpdatesBody,
}

/// Identifies a DR vector. An entity that jumps twice within a step of the time grid has two DR
/// vectors of one instant, which differ in generation or life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct VectorKey {
    entity: EntityId,
    life_and_generation: u16,
    generated_at: SharedInstant,
}

impl Bodies {
    /// Bodies kept. Four: with a scheduler that sends to everybody the peers of a tick share one or
    /// two, with one that chooses they share few.
    const KEPT: usize = 4;

    /// Returns the body of these departures' DR vectors for datagrams that leave at `sent_at`. The
    /// departures must be in the order of entity ids.
    pub(super) fn find_or_encode<V: Planar>(
        &mut self,
        dispatcher: &Dispatcher<V>,
        precision: &Precision,
        sent_at: SharedInstant,
        departures: &[Departure],
    ) -> Result<&UpdatesBody, EncodeError> {
        self.wanted.clear();
        let vectors = || departures.iter().filter_map(|departure| dispatcher.vector(&departure.claim));
        self.wanted.extend(vectors().map(|vector| VectorKey {
            entity: vector.entity,
            life_and_generation: u16::from(vector.life.number()) << 8 | u16::from(vector.generation.0),
            generated_at: vector.generated_at,
        }));
        let is_wanted = |it: &PackedBody| it.sent_at == sent_at && it.key == self.wanted;
        if let Some(place) = self.known.iter().position(is_wanted) {
            return Ok(&self.known[place].body);
        }
        let place = self.next;
        self.next = (place + 1) % Self::KEPT;
        if place == self.known.len() {
            self.known.push(PackedBody { sent_at, key: Vec::new(), body: UpdatesBody::default() });
        }
        let PackedBody { sent_at: kept_at, key, body } = &mut self.known[place];
        key.clear();
        body.encode(precision, sent_at, vectors())?;
        *kept_at = sent_at;
        key.extend_from_slice(&self.wanted);
        Ok(body)
    }
}
