use fairpath::time::{LocalInstant, Span, TickRate};
use fairpath_compensate::{Epoch, HeldInput, Reply, SEAT_SILENCE};

/// One client at a server that runs on its own clock, in whole ticks.
///
/// Call [`receive`](Self::receive) for every input that arrives and [`play`](Self::play) once per
/// tick, then send what [`answer`](Self::answer) returns. A reply is sent at the end of the first
/// tick that played the input, so its state contains the input.
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

/// Interval of keep-alive states to a client whose inputs do not arrive. 100 ms: ten states a
/// second keep its display moving. More costs bytes; with less, a lost uplink appears frozen.
pub const PADDING: Span = Span::from_millis(100);

const _: () = assert!(PADDING.as_micros() < SEAT_SILENCE.as_micros());

impl<I: Clone> ClientSlot<I> {
    /// Returns a slot for one run. Its input is `idle` before the first and after it is freed.
    pub fn new(epoch: Epoch, rate: TickRate, idle: I) -> Self {
        let hands = HeldInput::new(idle.clone());
        Self { epoch, tick: rate.begin(1), ticks: 0, hands, idle, owes_answer: false, since_answer: PADDING }
    }

    /// Takes in an input. Returns `false` if the slot already holds a newer one.
    pub fn receive(&mut self, stamp: LocalInstant, input: I) -> bool {
        self.owes_answer = true;
        self.hands.receive(stamp, input)
    }

    /// Plays one tick and returns its input: the newest, or the idle one if the slot is free.
    pub fn play(&mut self) -> &I {
        self.ticks += 1;
        self.since_answer += self.tick;
        self.hands.play(self.tick);
        if self.is_free() { &self.idle } else { self.hands.input() }
    }

    /// Returns the reply to send after the tick: to an input, or a keep-alive every [`PADDING`].
    pub fn answer<S>(&mut self, state: impl FnOnce() -> S) -> Option<Reply<S>> {
        if !self.owes_answer && self.since_answer < PADDING {
            return None;
        }
        self.owes_answer = false;
        self.since_answer = Span::ZERO;
        let (acknowledged, applied) = self.hands.acknowledged();
        Some(Reply { epoch: self.epoch, tick: self.ticks, state: state(), acknowledged, applied })
    }

    /// Returns whether no input has arrived for [`SEAT_SILENCE`]: the slot may be given away.
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
        assert!(!seat.is_free(), "a client that returns gets its slot again");
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
