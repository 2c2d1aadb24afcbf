//! Which copies a datagram carries if not all fit.

use crate::dr_vector::DrVector;
use crate::schedule::{Departure, Dispatcher};
use crate::time::Span;
use crate::vector::Planar;
use crate::wire::{Header, Precision, pack_updates};

/// Chooses the copies of one peer's datagrams by the scheduler's rank, and one in [`Self::TURN`] by
/// its waiting time. Only asked where bytes are short.
#[derive(Clone, Debug, Default)]
pub(super) struct Urgent {
    /// Copies chosen since one was last chosen by its waiting time.
    since_oldest: usize,
    ranked: Vec<Ranked>,
}

#[derive(Clone, Copy, Debug)]
struct Ranked {
    rank: f64,
    silence: Span,
    departure: Departure,
}

impl Urgent {
    /// How often the copy that waits longest leaves, whatever its rank: every eighth. Then no
    /// object waits for more than eight rounds over all objects of the peer. More often: the
    /// objects that are far off get less. Less often: the bound becomes meaningless.
    const TURN: usize = 8;

    /// Moves the chosen departures to the front, as many as fit in a message of `bytes_max`, in the
    /// order of entity ids. Returns their number.
    pub(super) fn choose<V: Planar>(
        &mut self,
        departures: &mut Vec<Departure>,
        dispatcher: &Dispatcher<V>,
        precision: &Precision,
        header: &Header,
        bytes_max: usize,
    ) -> usize {
        self.sort(departures, dispatcher, header);
        let vectors: Vec<DrVector<V>> =
            departures.iter().filter_map(|departure| dispatcher.vector(&departure.claim).copied()).collect();
        let packed = pack_updates(precision, header, &vectors, bytes_max, &mut Vec::new());
        let fitting = packed.unwrap_or_default();
        self.since_oldest = (self.since_oldest + fitting) % Self::TURN;
        departures[..fitting].sort_by_key(|departure| departure.claim.entity);
        fitting
    }

    /// Sorts by rank, with those that wait longest in between.
    fn sort<V: Planar>(
        &mut self,
        departures: &mut Vec<Departure>,
        dispatcher: &Dispatcher<V>,
        header: &Header,
    ) {
        self.ranked.clear();
        self.ranked.extend(departures.iter().map(|departure| {
            let (rank, silence) = dispatcher.rank(departure, header.sent_at);
            Ranked { rank, silence, departure: *departure }
        }));
        self.ranked.sort_by(|one, other| other.rank.total_cmp(&one.rank));
        departures.clear();
        let mut left = &mut self.ranked[..];
        for place in self.since_oldest + 1.. {
            let is_turn = place % Self::TURN == 0;
            if is_turn
                && let Some(oldest) = (0..left.len()).max_by_key(|at| (left[*at].silence, usize::MAX - at))
            {
                left[..=oldest].rotate_right(1);
            }
            let Some((next, rest)) = left.split_first_mut() else { return };
            departures.push(next.departure);
            left = rest;
        }
    }
}
