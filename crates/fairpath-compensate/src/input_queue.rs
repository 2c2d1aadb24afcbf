use std::collections::{BTreeMap, BTreeSet};

use fairpath::time::Span;

/// The inputs of one client at the server, each waiting for its tick.
///
/// Call [`receive`](Self::receive) for every input that arrives, repeated ones included: packets
/// carry inputs redundantly. Call [`play`](Self::play) once per tick. If no input has arrived, it
/// pads, so the server never waits for a client.
///
/// ```
/// use fairpath_compensate::{InputQueue, Padding, Played, Received};
///
/// let mut queue = InputQueue::new(0, Padding { repeat_ticks: 2, idle: 'i' });
/// assert_eq!(queue.receive(0, 'a'), Received::Waiting);
/// assert_eq!(queue.receive(2, 'c'), Received::Waiting);
/// let played: Vec<Played<char>> = (0..6).map(|_| queue.play()).collect();
/// assert_eq!(played.iter().map(|one| one.input).collect::<String>(), "aaccci");
/// assert!(played[1].is_padded && played[5].is_padded && !played[2].is_padded);
/// assert_eq!(queue.receive(1, 'b'), Received::Late);
/// ```
#[derive(Clone, Debug)]
pub struct InputQueue<I> {
    padding: Padding<I>,
    alignment: u32,
    waiting: BTreeMap<u64, I>,
    next: u64,
    last: Option<I>,
    padded_in_a_row: u64,
    silent_ticks: u64,
    /// Padded ticks, to distinguish a late input from a repeated one.
    padded: BTreeSet<u64>,
    margin: Option<Margin>,
    statistics: (u64, u64),
}

/// Ticks that an input may be ahead of the next played tick, and padded ticks remembered.
///
/// 1024: ten seconds at 100 ticks a second, more than any client needs to be ahead. It bounds what
/// a client can make the server store.
pub const AHEAD_MAX: u64 = 1024;

/// The silence after which a server should free a client's seat. 4 s, as in Buchheit 2004: longer
/// than a hiccup of a wireless link, shorter than other players like to wait for an absent one.
/// [`InputQueue::silent_ticks`] counts it.
pub const SEAT_SILENCE: Span = Span::from_secs(4);

/// The input of a tick for which none has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Padding<I> {
    /// For how many ticks the last input is repeated. Default 25: a quarter of a second at 100
    /// ticks a second, longer than most gaps. Too low, and every lost input is a twitch; too high,
    /// and the car of an absent driver drives on.
    pub repeat_ticks: u32,
    /// The input after that.
    pub idle: I,
}

impl<I> Padding<I> {
    /// Creates the default padding with this idle input.
    pub const fn new(idle: I) -> Self {
        Self { repeat_ticks: 25, idle }
    }
}

/// The result of [`InputQueue::receive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// It waits for its tick.
    Waiting,
    /// It is already known.
    Repeated,
    /// It is too late: its tick was padded.
    Late,
    /// It is farther ahead than [`AHEAD_MAX`]. Nothing changed.
    TooFarAhead,
}

/// The input of one tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played<I> {
    /// The tick.
    pub tick: u64,
    /// The client's input, or the padding.
    pub input: I,
    /// Whether the client's own input had not arrived.
    pub is_padded: bool,
}

/// How early an input arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Margin {
    /// The tick of the input.
    pub tick: u64,
    /// How many ticks before that tick was played; negative if after.
    pub ticks: i32,
}

impl<I: Clone> InputQueue<I> {
    /// Creates a queue whose first tick is number `first`.
    pub fn new(first: u64, padding: Padding<I>) -> Self {
        Self {
            padding,
            alignment: 0,
            waiting: BTreeMap::new(),
            next: first,
            last: None,
            padded_in_a_row: 0,
            silent_ticks: 0,
            padded: BTreeSet::new(),
            margin: None,
            statistics: (0, 0),
        }
    }

    /// Takes the number of times that the client has restarted its tick count. Returns false if the
    /// packet is from before the last restart: ignore its inputs.
    ///
    /// A restart removes all waiting inputs. Only for clients whose tick count can restart
    /// ([`FixedTicks::alignment`](super::FixedTicks::alignment)). It wraps after 2³² restarts.
    pub fn handle_alignment(&mut self, alignment: u32) -> bool {
        if alignment > self.alignment {
            self.alignment = alignment;
            self.waiting.clear();
        }
        alignment == self.alignment
    }

    /// Takes an input.
    pub fn receive(&mut self, tick: u64, input: I) -> Received {
        if tick >= self.next.saturating_add(AHEAD_MAX) {
            return Received::TooFarAhead;
        }
        self.silent_ticks = 0;
        let received = if tick >= self.next {
            match self.waiting.entry(tick) {
                std::collections::btree_map::Entry::Occupied(_) => Received::Repeated,
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(input);
                    Received::Waiting
                }
            }
        } else if self.padded.remove(&tick) {
            Received::Late
        } else {
            Received::Repeated
        };
        if received != Received::Repeated {
            self.note_margin(tick);
        }
        received
    }

    /// Returns the input of the next tick.
    pub fn play(&mut self) -> Played<I> {
        let tick = self.next;
        self.next += 1;
        self.silent_ticks += 1;
        if let Some(input) = self.waiting.remove(&tick) {
            self.last = Some(input.clone());
            self.padded_in_a_row = 0;
            self.statistics.0 += 1;
            return Played { tick, input, is_padded: false };
        }
        self.statistics.1 += 1;
        self.padded.insert(tick);
        if self.padded.len() as u64 > AHEAD_MAX {
            self.padded.pop_first();
        }
        let repeated =
            self.last.as_ref().filter(|_| self.padded_in_a_row < u64::from(self.padding.repeat_ticks));
        let input = repeated.unwrap_or(&self.padding.idle).clone();
        self.padded_in_a_row += 1;
        Played { tick, input, is_padded: true }
    }

    /// Returns the tick that is played next.
    pub fn next_tick(&self) -> u64 {
        self.next
    }

    /// Returns the smallest margin since the last call. The next state should report it to the
    /// client's [`Lead`](super::Lead).
    pub fn take_margin(&mut self) -> Option<Margin> {
        self.margin.take()
    }

    /// Returns how many ticks were played since an input last arrived; see [`SEAT_SILENCE`].
    pub fn silent_ticks(&self) -> u64 {
        self.silent_ticks
    }

    /// Returns how many ticks were played with the client's own input.
    pub fn on_time_count(&self) -> u64 {
        self.statistics.0
    }

    /// Returns how many ticks were padded.
    pub fn padded_count(&self) -> u64 {
        self.statistics.1
    }

    fn note_margin(&mut self, tick: u64) {
        // Both are within AHEAD_MAX of the next tick.
        let ticks = (tick as i64 - self.next as i64) as i32;
        if self.margin.is_none_or(|tightest| ticks <= tightest.ticks) {
            self.margin = Some(Margin { tick, ticks });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> InputQueue<u32> {
        InputQueue::new(100, Padding { repeat_ticks: 3, idle: 0 })
    }

    #[test]
    fn what_is_repeated_is_played_once() {
        let mut queue = queue();
        assert_eq!(queue.receive(100, 7), Received::Waiting);
        assert_eq!(queue.receive(100, 8), Received::Repeated, "the first word counts");
        assert_eq!(queue.play(), Played { tick: 100, input: 7, is_padded: false });
        assert_eq!(queue.receive(100, 7), Received::Repeated, "it was in time, so it is not late");
        assert_eq!((queue.on_time_count(), queue.padded_count()), (1, 0));
    }

    #[test]
    fn a_count_that_began_anew_overrides_what_waits() {
        let mut queue = queue();
        assert!(queue.handle_alignment(0));
        queue.receive(100, 7);
        assert!(queue.handle_alignment(1));
        assert_eq!(queue.receive(100, 8), Received::Waiting);
        assert!(!queue.handle_alignment(0), "a packet from before");
        assert_eq!(queue.play().input, 8);
    }

    #[test]
    fn margins_are_those_of_first_arrivals() {
        let mut queue = queue();
        queue.receive(104, 1);
        assert_eq!(queue.take_margin(), Some(Margin { tick: 104, ticks: 4 }));
        queue.play();
        queue.play();
        queue.receive(104, 1);
        assert_eq!(queue.take_margin(), None, "a repeated one says nothing");
        queue.receive(101, 1);
        queue.receive(103, 1);
        assert_eq!(queue.take_margin(), Some(Margin { tick: 101, ticks: -1 }));
    }

    #[test]
    fn silence_is_padded_and_counted_and_memory_stays_bounded() {
        let mut queue = queue();
        queue.receive(100, 5);
        let played: Vec<u32> = (0..10_000).map(|_| queue.play().input).collect();
        assert_eq!(played[..6], [5, 5, 5, 5, 0, 0]);
        assert_eq!(queue.silent_ticks(), 10_000);
        assert_eq!(queue.padded.len() as u64, AHEAD_MAX);
        for tick in 0..100_000 {
            queue.receive(tick, 1);
        }
        assert_eq!(queue.receive(u64::MAX, 1), Received::TooFarAhead);
        assert!(queue.waiting.len() as u64 <= AHEAD_MAX);
        assert_eq!(queue.play().input, 1, "and it is back at once");
    }
}
