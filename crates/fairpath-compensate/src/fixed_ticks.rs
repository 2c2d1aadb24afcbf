use super::Simulate;
use super::epoch::{Epoch, EpochOrder, Epochs};
use super::input_buffer::{InputBuffer, Pushed};
use super::input_queue::AHEAD_MAX;
use fairpath::State;
use fairpath::converge::Drawn;
use fairpath::time::Now;
use fairpath::vector::Vector;

/// A client that plays ahead of its server, tick for tick, with the server's own step function.
///
/// Input k belongs to tick k on both sides: the server applies it when *its* count reaches k, not
/// when it arrives. So the client must run ahead by the one-way delay
/// ([`Metronome`](super::Metronome) and [`Lead`](super::Lead) see to that), and should send each
/// input more than once ([`unacknowledged`](Self::unacknowledged)). Then its first prediction of
/// tick k is the server's state, bit for bit, unless another player interferes.
///
/// [`advance`](Self::advance) plays a tick. [`accept`](Self::accept) takes a server's state and
/// replays the newer inputs.
///
/// ```
/// use fairpath_compensate::{Accepted, Epoch, FixedTicks, Simulate, Snapshot};
///
/// struct Rail;
/// impl Simulate for Rail {
///     type State = i64;
///     type Input = i64;
///     fn step(&self, cell: &mut i64, speed: &i64, ticks: u32) {
///         *cell += speed * i64::from(ticks);
///     }
/// }
///
/// let start = Snapshot { epoch: Epoch(1), tick: 0, state: 0 };
/// let mut client = FixedTicks::<Rail>::new(start, 250);
/// for speed in [1, 1, 2, 2] {
///     client.advance(&Rail, speed);
/// }
/// assert_eq!((client.tick(), *client.predicted()), (4, 6));
///
/// // Something pushed the cart at the server. The inputs since then still count.
/// let accepted = client.accept(&Rail, Snapshot { epoch: Epoch(1), tick: 2, state: 100 });
/// assert_eq!(accepted, Accepted::Replayed { ticks: 2, padded: 0 });
/// assert_eq!(*client.predicted(), 104);
/// ```
#[derive(Clone, Debug)]
pub struct FixedTicks<G: Simulate> {
    inputs: InputBuffer<u64, G::Input>,
    epochs: Epochs,
    alignment: u32,
    confirmed: u64,
    tick: u64,
    predicted: G::State,
}

/// Ticks that a client may be ahead of the newest received state before it starts anew.
///
/// 512: five seconds at 100 ticks a second, and the most that is ever replayed at once. Lower than
/// a round trip, and inputs of a distant client never arrive in time; far higher, and a server that
/// stood still is shown as it will be half a minute from now.
pub const APART_MAX: u64 = 512;
const _: () = assert!(APART_MAX < AHEAD_MAX, "what a client may send, a server must keep");

/// A state of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot<S> {
    /// The run of the server.
    pub epoch: Epoch,
    /// The number of ticks played: it contains the inputs 0 … `tick` − 1.
    pub tick: u64,
    /// The state after them.
    pub state: S,
}

/// What a server's state changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// The prediction now starts from it.
    Replayed {
        /// How many ticks were replayed.
        ticks: u64,
        /// In how many of them the input was lost because the buffer had overflowed. The oldest
        /// known input took its place.
        padded: u64,
    },
    /// It is not newer than the known state. Nothing changed.
    Stale,
    /// The server has restarted. The prediction starts from its state and its tick count.
    Restarted,
    /// Client and server were too far apart to use the inputs in between: the server had overtaken
    /// the client (which had slept), or the client was more than [`APART_MAX`] ahead. The
    /// prediction starts anew.
    Realigned,
}

impl<G: Simulate> FixedTicks<G> {
    /// Starts from a server's state. Keeps up to `capacity` inputs, see
    /// [`ENTRIES_DEFAULT`](super::ENTRIES_DEFAULT).
    pub fn new(start: Snapshot<G::State>, capacity: usize) -> Self {
        let mut epochs = Epochs::default();
        epochs.handle_epoch(start.epoch);
        Self {
            inputs: InputBuffer::new(capacity),
            epochs,
            alignment: 0,
            confirmed: start.tick,
            tick: start.tick,
            predicted: start.state,
        }
    }

    /// Plays one tick with `input`.
    pub fn advance(&mut self, game: &G, input: G::Input) -> Pushed {
        game.step(&mut self.predicted, &input, 1);
        let pushed = self.inputs.push(self.tick, input);
        self.tick += 1;
        pushed
    }

    /// Takes a server's state and replays the inputs since then.
    pub fn accept(&mut self, game: &G, snapshot: Snapshot<G::State>) -> Accepted {
        match self.epochs.handle_epoch(snapshot.epoch) {
            EpochOrder::Retired => return Accepted::Stale,
            EpochOrder::Begun => {
                self.begin_anew(snapshot);
                return Accepted::Restarted;
            }
            EpochOrder::Current => {}
        }
        if snapshot.tick <= self.confirmed {
            return Accepted::Stale;
        }
        if snapshot.tick > self.tick || self.tick - snapshot.tick > APART_MAX {
            self.begin_anew(snapshot);
            return Accepted::Realigned;
        }
        self.replay(game, snapshot)
    }

    /// Takes a server's state, and lets what is drawn continue from where it was drawn. `part`
    /// selects the drawn object from the state.
    ///
    /// A restart or realignment is drawn as a jump.
    pub fn accept_bending<V: Vector>(
        &mut self,
        game: &G,
        snapshot: Snapshot<G::State>,
        now: Now,
        drawn: &mut Drawn<V>,
        part: impl Fn(&G::State) -> State<V>,
    ) -> Accepted {
        let before = part(&self.predicted);
        let accepted = self.accept(game, snapshot);
        match accepted {
            Accepted::Replayed { .. } => drawn.correct(now, &before, &part(&self.predicted)),
            Accepted::Restarted | Accepted::Realigned => drawn.snap(),
            Accepted::Stale => {}
        }
        accepted
    }

    /// Returns the predicted state after [`tick`](Self::tick) ticks.
    pub fn predicted(&self) -> &G::State {
        &self.predicted
    }

    /// Returns how many ticks were played: the next input is number `tick`.
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// Returns how many ticks it is ahead of the newest received state. A game may show a warning
    /// when it grows: the game goes on, but nothing is confirmed.
    pub fn unconfirmed_ticks(&self) -> u64 {
        self.tick - self.confirmed
    }

    /// Returns the last `count` unconfirmed inputs with their ticks, to be sent in a packet.
    pub fn unacknowledged(&self, count: usize) -> impl ExactSizeIterator<Item = (u64, &G::Input)> {
        self.inputs.last(count)
    }

    /// Returns the server's run that the inputs are for. Packets carry it: other runs ignore them.
    pub fn epoch(&self) -> Option<Epoch> {
        self.epochs.current()
    }

    /// Returns how often the tick count has restarted. A packet carries it, so that the server
    /// removes what was sent for the same ticks before
    /// ([`InputQueue::handle_alignment`](super::InputQueue::handle_alignment)).
    pub fn alignment(&self) -> u32 {
        self.alignment
    }

    /// Returns how many inputs were lost to a full buffer so far.
    pub fn overflow_count(&self) -> u64 {
        self.inputs.overflow_count()
    }

    fn replay(&mut self, game: &G, snapshot: Snapshot<G::State>) -> Accepted {
        self.confirmed = snapshot.tick;
        if let Some(included) = snapshot.tick.checked_sub(1) {
            self.inputs.acknowledge(included);
        }
        self.predicted = snapshot.state;
        let ticks = self.tick - snapshot.tick;
        let padded = ticks - self.inputs.len() as u64;
        if let Some((_, oldest)) = self.inputs.iter().next() {
            // At most APART_MAX.
            game.step(&mut self.predicted, oldest, padded as u32);
        }
        for (_, input) in self.inputs.iter() {
            game.step(&mut self.predicted, input, 1);
        }
        Accepted::Replayed { ticks, padded }
    }

    fn begin_anew(&mut self, snapshot: Snapshot<G::State>) {
        self.alignment = self.alignment.wrapping_add(1);
        self.inputs.reset();
        self.confirmed = snapshot.tick;
        self.tick = snapshot.tick;
        self.predicted = snapshot.state;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::Rail;

    fn snapshot(tick: u64, state: (i64, i64)) -> Snapshot<(i64, i64)> {
        Snapshot { epoch: Epoch(1), tick, state }
    }

    fn client(capacity: usize) -> FixedTicks<Rail> {
        FixedTicks::new(snapshot(0, (0, 0)), capacity)
    }

    /// The state after the inputs 0 … `ticks` − 1, where input k is k.
    fn truth(ticks: u64) -> (i64, i64) {
        let mut state = (0, 0);
        (0..ticks).for_each(|tick| Rail.step(&mut state, &(tick as i64), 1));
        state
    }

    fn play(client: &mut FixedTicks<Rail>, ticks: u64) {
        for _ in 0..ticks {
            let input = client.tick() as i64;
            client.advance(&Rail, input);
        }
    }

    #[test]
    fn hearing_what_was_predicted_changes_nothing() {
        let mut client = client(250);
        play(&mut client, 50);
        assert_eq!(*client.predicted(), truth(50));
        assert_eq!(
            client.accept(&Rail, snapshot(20, truth(20))),
            Accepted::Replayed { ticks: 30, padded: 0 }
        );
        assert_eq!(*client.predicted(), truth(50));
        assert_eq!(client.accept(&Rail, snapshot(19, (7, 7))), Accepted::Stale);
        assert_eq!(client.accept(&Rail, snapshot(20, (7, 7))), Accepted::Stale);
        assert_eq!(client.unacknowledged(100).map(|(tick, _)| tick).min(), Some(20));
    }

    #[test]
    fn an_overflow_pads_and_says_so() {
        let mut client = client(10);
        play(&mut client, 15);
        assert_eq!(client.overflow_count(), 5);
        assert_eq!(client.accept(&Rail, snapshot(2, truth(2))), Accepted::Replayed { ticks: 13, padded: 3 });
        let mut padded = truth(2);
        [5, 5, 5, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14].iter().for_each(|push| Rail.step(&mut padded, push, 1));
        assert_eq!(*client.predicted(), padded);
        assert_eq!(client.accept(&Rail, snapshot(7, truth(7))), Accepted::Replayed { ticks: 8, padded: 0 });
        assert_eq!(*client.predicted(), truth(15), "and it heals");
    }

    #[test]
    fn a_state_ahead_of_the_client_is_taken_over() {
        let mut client = client(10);
        play(&mut client, 5);
        assert_eq!(client.accept(&Rail, snapshot(1_000, (3, 4))), Accepted::Realigned);
        assert_eq!((client.tick(), *client.predicted()), (1_000, (3, 4)));
        assert_eq!(client.unconfirmed_ticks(), 0);
    }

    #[test]
    fn a_client_that_ran_away_comes_back() {
        let mut client = client(10);
        play(&mut client, 1_000);
        assert_eq!(client.accept(&Rail, snapshot(20, (3, 4))), Accepted::Realigned);
        assert_eq!((client.tick(), *client.predicted()), (20, (3, 4)));
    }

    #[test]
    fn a_restarted_server_is_followed_from_its_first_state() {
        let mut client = client(10);
        play(&mut client, 500);
        client.accept(&Rail, snapshot(499, truth(499)));
        let fresh = Snapshot { epoch: Epoch(9), tick: 3, state: (1, 1) };
        assert_eq!(client.accept(&Rail, fresh), Accepted::Restarted);
        assert_eq!((client.tick(), *client.predicted()), (3, (1, 1)));
        assert_eq!(client.accept(&Rail, snapshot(600, truth(600))), Accepted::Stale, "the old run is over");
        client.advance(&Rail, 2);
        assert_eq!(*client.predicted(), (2, 3));
    }
}
