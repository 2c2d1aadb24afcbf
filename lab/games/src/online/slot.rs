//! One seat at a free-running server.

use fairpath::time::{LocalInstant, Span, TickRate};
use fairpath_compensate::{Epoch, HeldInput, Reply, SEAT_SILENCE};

/// One seat at a server that runs on by its own clock, in whole ticks.
///
/// [`receive`](Self::hear) every input that arrives, [`play`](Self::play) once per tick, and send what
/// [`answer`](Self::answer) says after it. Inputs are answered at the end of the tick they were
/// first played in, so that the answer contains them.
///
/// ```
/// use fairpath_compensate::Epoch;
/// use fairpath::time::{LocalInstant, TickRate};
/// use fairpath_games::online::ClientSlot;
///
/// let mut cell = 0;
/// let mut seat = ClientSlot::new(Epoch(1), TickRate::hz(100), 0);
/// seat.receive(LocalInstant::from_millis(5), 3);
/// cell += *seat.play();
/// let reply = seat.answer(|| cell).expect("an input came");
/// assert_eq!((reply.state, reply.acknowledged), (3, Some(LocalInstant::from_millis(5))));
/// cell += *seat.play();
/// assert_eq!(seat.answer(|| cell), None, "nothing new came, and the last word is 10 ms old");
/// ```
#[derive(Clone, Debug)]
pub struct ClientSlot<I> {
    epoch: Epoch,
    tick: Span,
    ticks: u64,
    hands: HeldInput<I>,
    idle: I,
    owes_answer: bool,
    since_answer: Span,
}

/// How long a server says nothing to somebody who says nothing. 100 ms: ten words a second show
/// that it is there, and let a screen go on; more often costs for nothing, less often and a screen
/// that lost its way up seems frozen.
pub const PADDING: Span = Span::from_millis(100);

const _: () = assert!(PADDING.as_micros() < SEAT_SILENCE.as_micros());

impl<I: Clone> ClientSlot<I> {
    /// A seat in this run of the server, for hands that do `idle` until they are heard of, and
    /// again when they are gone.
    pub fn new(epoch: Epoch, rate: TickRate, idle: I) -> Self {
        let hands = HeldInput::new(idle.clone());
        Self { epoch, tick: rate.begin(1), ticks: 0, hands, idle, owes_answer: false, since_answer: PADDING }
    }

    /// An input arrived; `false` if a newer one is held.
    pub fn receive(&mut self, stamp: LocalInstant, input: I) -> bool {
        self.owes_answer = true;
        self.hands.receive(stamp, input)
    }

    /// What the hands do in the next tick: the newest that arrived, or nothing once the seat is
    /// given up.
    pub fn play(&mut self) -> &I {
        self.ticks += 1;
        self.since_answer += self.tick;
        self.hands.play(self.tick);
        if self.is_free() { &self.idle } else { self.hands.input() }
    }

    /// What to send after the tick, if anything: an answer to what arrived, or a word to somebody
    /// who is silent.
    pub fn answer<S>(&mut self, state: impl FnOnce() -> S) -> Option<Reply<S>> {
        if !self.owes_answer && self.since_answer < PADDING {
            return None;
        }
        self.owes_answer = false;
        self.since_answer = Span::ZERO;
        let (acknowledged, applied) = self.hands.acknowledged();
        Some(Reply { epoch: self.epoch, tick: self.ticks, state: state(), acknowledged, applied })
    }

    /// Whether nothing has been heard for [`SEAT_SILENCE`]: somebody else may have the seat.
    pub fn is_free(&self) -> bool {
        self.hands.silent() > SEAT_SILENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: TickRate = TickRate::hz(50);

    fn seat() -> ClientSlot<char> {
        ClientSlot::new(Epoch(1), RATE, '-')
    }

    #[test]
    fn silence_is_padded_and_after_four_seconds_the_seat_is_free() {
        let mut seat = seat();
        seat.receive(LocalInstant::ZERO, 'x');
        let mut answers = 0;
        for tick in 1..=200 {
            assert_eq!(*seat.play(), 'x', "held for 4 s");
            answers += u32::from(seat.answer(|| tick).is_some());
        }
        assert!((40..=41).contains(&answers), "{answers} words in four seconds");
        assert!(!seat.is_free());
        assert_eq!(*seat.play(), '-');
        assert!(seat.is_free());
        seat.receive(LocalInstant::from_millis(1), 'y');
        assert!(!seat.is_free(), "who comes back in time to find it free has it again");
        assert_eq!(*seat.play(), 'y');
    }

    #[test]
    fn every_input_is_answered_with_its_stamp_and_how_long_it_was_played() {
        let mut seat = seat();
        for tick in 0..10 {
            seat.receive(LocalInstant::from_millis(20 * tick), 'a');
            seat.play();
            let reply = seat.answer(|| ()).expect("an input came");
            assert_eq!(reply.acknowledged, Some(LocalInstant::from_millis(20 * tick)));
            assert_eq!((reply.applied, reply.tick), (RATE.begin(1), tick as u64 + 1));
        }
    }
}
