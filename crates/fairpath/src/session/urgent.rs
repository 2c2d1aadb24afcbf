//! Which copies a datagram carries if not all fit.

use std::cmp::Reverse;

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
    /// The indices of `ranked`. The copy that has waited longest is first.
    oldest: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Ranked {
    rank: f64,
    silence: Span,
    departure: Departure,
    is_chosen: bool,
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

    /// Sorts copies by rank. In every eighth place is the copy that has waited longest.
    fn sort<V: Planar>(
        &mut self,
        departures: &mut Vec<Departure>,
        dispatcher: &Dispatcher<V>,
        header: &Header,
    ) {
        self.ranked.clear();
        self.ranked.extend(departures.iter().map(|departure| {
            let (rank, silence) = dispatcher.rank(departure, header.sent_at);
            Ranked { rank, silence, departure: *departure, is_chosen: false }
        }));
        self.ranked.sort_by(|one, other| other.rank.total_cmp(&one.rank));
        let Self { ranked, oldest, .. } = self;
        oldest.clear();
        oldest.extend(0..ranked.len());
        oldest.sort_by_key(|at| (Reverse(ranked[*at].silence), *at));
        // Both orders are walked once: with tens of thousands of objects a search for each turn
        // would take minutes.
        let (mut by_rank, mut by_silence) = (0..ranked.len(), oldest.iter().copied());
        departures.clear();
        for place in self.since_oldest + 1.. {
            let is_left = |at: &usize| !ranked[*at].is_chosen;
            let is_turn = place % Self::TURN == 0;
            let next = if is_turn { by_silence.find(is_left) } else { by_rank.find(is_left) };
            let Some(next) = next else { return };
            ranked[next].is_chosen = true;
            departures.push(ranked[next].departure);
        }
    }
}
