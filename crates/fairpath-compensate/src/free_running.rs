use super::Simulate;
use super::epoch::{Epoch, EpochOrder, Epochs};
use super::input_buffer::{Acknowledged, InputBuffer};
use super::steady::Steady;
use fairpath::State;
use fairpath::converge::Drawn;
use fairpath::time::{LocalInstant, Now, Span, TickRate};
use fairpath::vector::Vector;

/// State extrapolation (Buchheit 2004): the server runs by its own clock, and the client replays
/// the inputs that the server's state does not contain.
///
/// The client stamps every input with its own clock. Each server state carries the stamp of the
/// input it was applying, and for how long. The client loads that state into the same physics and
/// plays the rest: each input for the time to the next stamp, the newest until now. Clocks need not
/// agree, no client has to run ahead, and the buffer adapts to the delay.
///
/// It cannot be exact: an input counts from its *arrival*, so jitter stretches and shortens it.
///
/// ```
/// use fairpath_compensate::{Epoch, FreeRunning, Reply, Simulate};
/// use fairpath::time::{LocalInstant, Span, TickRate};
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
/// let ms = LocalInstant::from_millis;
/// let mut client = FreeRunning::<Rail>::new(0, TickRate::hz(100), 250);
/// let first = client.input(ms(0), 1);
/// client.input(ms(100), 3);
/// assert_eq!(client.predict(&Rail, ms(150)).state, 10 + 15);
///
/// // The server has applied the first input for 40 ms; 60 ms of it and all of the second are left.
/// let (acknowledged, applied) = (Some(first), Span::from_millis(40));
/// client.accept(Reply { epoch: Epoch(1), tick: 7, state: 50, acknowledged, applied });
/// assert_eq!(client.predict(&Rail, ms(150)).state, 50 + 6 + 15);
/// ```
#[derive(Clone, Debug)]
pub struct FreeRunning<G: Simulate> {
    rate: TickRate,
    clock: Steady,
    inputs: InputBuffer<LocalInstant, G::Input>,
    epochs: Epochs,
    tick: Option<u64>,
    base: G::State,
    /// The input that the server was applying, and the instant up to which it had.
    playing: Option<(LocalInstant, G::Input)>,
}

/// The longest time that is extrapolated.
///
/// 5 s: what the buffer of Buchheit 2004 holds at its 20 ms, and three times its longest round
/// trip. Below a round trip the player's inputs seem to stick; far above it, after a long silence
/// every frame replays a minute.
pub const EXTRAPOLATION_MAX: Span = Span::from_secs(5);

/// A state sent by a free-running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<S> {
    /// The run of the server.
    pub epoch: Epoch,
    /// The number of ticks it has played. Decides which state is newer.
    pub tick: u64,
    /// The state.
    pub state: S,
    /// The stamp of the newest input that has arrived; `None` before the first.
    pub acknowledged: Option<LocalInstant>,
    /// For how long that input has been applied. Zero if the server answers at once; more if it
    /// sends on its own because the client is silent.
    pub applied: Span,
}

/// What a reply changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyVerdict {
    /// The prediction now starts from it.
    Used,
    /// It is not newer than the known state. Nothing changed.
    Stale,
    /// The server has restarted. Prediction starts from its state; older inputs are forgotten.
    Restarted,
    /// It acknowledges an input that was never sent. The client shows its state as it is. Which
    /// inputs it lacks is unknown, so no older input is replayed on it.
    UnknownStamp,
}

/// A predicted state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction<S> {
    /// The expected state when an input from now arrives.
    pub state: S,
    /// The number of ticks played to get there.
    pub ticks: u64,
    /// Whether it would have taken more than [`EXTRAPOLATION_MAX`], and the rest was left out.
    pub is_capped: bool,
}

impl<G: Simulate> FreeRunning<G> {
    /// Starts from `state`, with ticks of this rate. Keeps up to `capacity` inputs, see
    /// [`ENTRIES_DEFAULT`](super::ENTRIES_DEFAULT).
    pub fn new(state: G::State, rate: TickRate, capacity: usize) -> Self {
        Self {
            rate,
            clock: Steady::default(),
            inputs: InputBuffer::new(capacity),
            epochs: Epochs::default(),
            tick: None,
            base: state,
            playing: None,
        }
    }

    /// Stores the input that applies from now on. Returns the stamp to send with it.
    ///
    /// Stamps count the client's own time, limited by [`GAP_MAX`](super::GAP_MAX): a clock that
    /// jumps does not make stamps jump.
    pub fn input(&mut self, now: LocalInstant, input: G::Input) -> LocalInstant {
        let stamp = self.clock.advance(now);
        self.inputs.push(stamp, input);
        stamp
    }

    /// Takes a reply of the server.
    pub fn accept(&mut self, reply: Reply<G::State>) -> ReplyVerdict {
        let is_first = self.epochs.current().is_none();
        match self.epochs.handle_epoch(reply.epoch) {
            EpochOrder::Retired => return ReplyVerdict::Stale,
            EpochOrder::Begun if !is_first => return self.begin_anew(reply),
            EpochOrder::Begun | EpochOrder::Current => {}
        }
        if self.tick.is_some_and(|tick| reply.tick <= tick) {
            return ReplyVerdict::Stale;
        }
        self.tick = Some(reply.tick);
        self.base = reply.state;
        self.settle(reply.acknowledged, reply.applied)
    }

    /// Takes a reply of the server, and lets what is drawn continue from where it was drawn. `part`
    /// selects the drawn object from the state.
    pub fn accept_bending<V: Vector>(
        &mut self,
        game: &G,
        reply: Reply<G::State>,
        now: Now,
        drawn: &mut Drawn<V>,
        part: impl Fn(&G::State) -> State<V>,
    ) -> ReplyVerdict {
        let before = part(&self.predict(game, now.local).state);
        let verdict = self.accept(reply);
        match verdict {
            ReplyVerdict::Used => {
                drawn.correct(now, &before, &part(&self.predict(game, now.local).state));
            }
            ReplyVerdict::Restarted | ReplyVerdict::UnknownStamp => drawn.snap(),
            ReplyVerdict::Stale => {}
        }
        verdict
    }

    /// Plays the inputs that the server's state does not contain, until now.
    pub fn predict(&self, game: &G, now: LocalInstant) -> Prediction<G::State> {
        let now = self.clock.at(now);
        let mut state = self.base.clone();
        let Some(start) = self.starts_at() else { return Prediction { state, ticks: 0, is_capped: false } };
        let due = (now - start).max(Span::ZERO);
        let end = due.min(EXTRAPOLATION_MAX);
        let mut played = 0;
        for (input, until) in self.stretches(now) {
            let reached = self.rate.running_at((until - start).max(Span::ZERO).min(end));
            let ticks = (reached - played).max(0);
            game.step(&mut state, input, ticks as u32);
            played += ticks;
        }
        Prediction { state, ticks: played as u64, is_capped: due > end }
    }

    /// Returns the unacknowledged inputs, oldest first.
    pub fn unacknowledged(&self) -> &InputBuffer<LocalInstant, G::Input> {
        &self.inputs
    }

    /// Returns the newest received state, as it was sent.
    pub fn newest_state(&self) -> &G::State {
        &self.base
    }

    fn settle(&mut self, acknowledged: Option<LocalInstant>, applied: Span) -> ReplyVerdict {
        let Some(stamp) = acknowledged else { return ReplyVerdict::Used };
        match self.inputs.acknowledge(stamp) {
            Acknowledged::Forgot { newest: (of, input), .. } => {
                self.playing = Some((of + applied.max(Span::ZERO), input));
            }
            Acknowledged::Stale => {
                // The same input as in the last reply, applied for longer.
                if let Some((until, _)) = &mut self.playing {
                    *until = (*until).max(stamp + applied.max(Span::ZERO));
                }
            }
            Acknowledged::Unknown => {
                self.inputs.clear();
                self.playing = None;
                return ReplyVerdict::UnknownStamp;
            }
        }
        ReplyVerdict::Used
    }

    fn begin_anew(&mut self, reply: Reply<G::State>) -> ReplyVerdict {
        self.tick = Some(reply.tick);
        self.base = reply.state;
        self.playing = None;
        // Stamps go on: they are this client's own. The new run never receives inputs that were
        // sent to the old one, unless its reply says so.
        if reply.acknowledged.is_some() {
            self.settle(reply.acknowledged, reply.applied);
        } else {
            self.inputs.clear();
        }
        ReplyVerdict::Restarted
    }

    /// Returns from when on inputs are replayed: where the server was, or the first it lacks.
    fn starts_at(&self) -> Option<LocalInstant> {
        let next = self.inputs.iter().next().map(|(stamp, _)| stamp);
        match (&self.playing, next) {
            (Some((until, _)), Some(next)) => Some((*until).min(next)),
            (Some((until, _)), None) => Some(*until),
            (None, next) => next,
        }
    }

    /// Returns each input to replay, and until when it counts.
    fn stretches(&self, now: LocalInstant) -> impl Iterator<Item = (&G::Input, LocalInstant)> {
        let ends = self.inputs.iter().map(|(stamp, _)| stamp).chain([now]);
        let skipped = usize::from(self.playing.is_none());
        let playing = self.playing.as_ref().map(|(_, input)| input);
        playing.into_iter().chain(self.inputs.iter().map(|(_, input)| input)).zip(ends.skip(skipped))
    }
}

/// A client's input at a free-running server: the newest that has arrived, until a newer one does.
///
/// Late and repeated inputs are dropped. The server can only play the present, so playing a late
/// input would make every later input late as well.
#[derive(Clone, Debug)]
pub struct HeldInput<I> {
    input: I,
    stamp: Option<LocalInstant>,
    applied: Span,
    silent: Span,
}

impl<I> HeldInput<I> {
    /// Starts with `idle` until an input arrives.
    pub fn new(idle: I) -> Self {
        Self { input: idle, stamp: None, applied: Span::ZERO, silent: Span::ZERO }
    }

    /// Takes an input. Returns false if it is not newer than the current one.
    pub fn receive(&mut self, stamp: LocalInstant, input: I) -> bool {
        self.silent = Span::ZERO;
        let is_newer = self.stamp.is_none_or(|held| stamp > held);
        if is_newer {
            *self = Self { input, stamp: Some(stamp), applied: Span::ZERO, silent: Span::ZERO };
        }
        is_newer
    }

    /// Returns the input for the next `span`.
    pub fn play(&mut self, span: Span) -> &I {
        self.applied += span;
        self.silent += span;
        &self.input
    }

    /// Returns the current input.
    pub fn input(&self) -> &I {
        &self.input
    }

    /// Returns what a reply says about it: its stamp, and for how long it has been applied.
    pub fn acknowledged(&self) -> (Option<LocalInstant>, Span) {
        (self.stamp, self.applied)
    }

    /// Returns for how long no input has arrived; see [`SEAT_SILENCE`](super::SEAT_SILENCE).
    pub fn silent(&self) -> Span {
        self.silent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::Rail;

    const RATE: TickRate = TickRate::hz(100);

    fn ms(millis: i64) -> LocalInstant {
        LocalInstant::from_millis(millis)
    }

    fn client() -> FreeRunning<Rail> {
        FreeRunning::new((0, 0), RATE, 250)
    }

    fn reply(tick: u64, state: (i64, i64), acknowledged: Option<i64>, applied_ms: i64) -> Reply<(i64, i64)> {
        let acknowledged = acknowledged.map(ms);
        Reply { epoch: Epoch(1), tick, state, acknowledged, applied: Span::from_millis(applied_ms) }
    }

    #[test]
    fn each_input_counts_until_the_next_stamp() {
        let mut client = client();
        client.input(ms(0), 1);
        client.input(ms(30), -1);
        client.input(ms(50), 0);
        let mut expected = (0, 0);
        [(1, 3), (-1, 2), (0, 4)].iter().for_each(|(push, ticks)| Rail.step(&mut expected, push, *ticks));
        let predicted = client.predict(&Rail, ms(90));
        assert_eq!((predicted.state, predicted.ticks), (expected, 9));
    }

    #[test]
    fn a_server_that_has_played_an_input_longer_than_it_was_meant_does_not_cut_into_the_next() {
        let mut client = client();
        client.input(ms(0), 1);
        client.input(ms(100), 2);
        assert_eq!(client.accept(reply(1, (0, 0), Some(0), 5_000)), ReplyVerdict::Used);
        assert_eq!(client.predict(&Rail, ms(130)).state.1, 6, "three ticks of the second, none of the first");
    }

    #[test]
    fn an_unknown_stamp_shows_the_state_and_replays_nothing_older() {
        let mut client = client();
        client.input(ms(0), 1);
        assert_eq!(client.accept(reply(1, (100, 0), Some(70_000), 0)), ReplyVerdict::UnknownStamp);
        assert_eq!(client.predict(&Rail, ms(50)).state, (100, 0));
        client.input(ms(60), 1);
        assert_eq!(client.predict(&Rail, ms(80)).state.1, 2, "new inputs count again");
        assert_eq!(
            client.accept(reply(2, (100, 0), Some(0), 60)),
            ReplyVerdict::Used,
            "known, though forgotten"
        );
    }

    #[test]
    fn a_clock_that_jumps_stretches_nothing_by_more_than_the_gap() {
        let mut client = client();
        client.input(ms(0), 1);
        client.input(ms(10), 1);
        let stamp = client.input(ms(86_400_000), 1);
        assert_eq!(stamp, ms(510));
        assert_eq!(client.predict(&Rail, ms(86_400_020)).ticks, 53);
        let back = client.input(ms(5), 1);
        assert_eq!(back, ms(510), "it stands still for one input, and goes on");
        assert_eq!(client.input(ms(15), 1), ms(520));
    }

    #[test]
    fn ten_seconds_of_silence_are_bounded() {
        let mut client = client();
        for at in 0..1_000 {
            client.input(ms(at * 10), 1);
        }
        let predicted = client.predict(&Rail, ms(10_000));
        assert!(predicted.ticks <= 500, "{} ticks", predicted.ticks);
        assert_eq!(client.unacknowledged().len(), 250);
        assert_eq!(client.accept(reply(1_000, (7, 7), Some(9_990), 0)), ReplyVerdict::Used);
        assert_eq!(client.predict(&Rail, ms(10_000)).ticks, 1, "and over at once");

        let mut alone = self::client();
        alone.input(ms(0), 1);
        for at in 0..100 {
            alone.input(ms(at * 400), 1);
        }
        let predicted = alone.predict(&Rail, ms(40_000));
        assert_eq!((predicted.ticks, predicted.is_capped), (500, true));
    }

    #[test]
    fn a_restarted_server_is_followed() {
        let mut client = client();
        client.input(ms(0), 1);
        client.accept(reply(5_000, (9, 9), Some(0), 0));
        client.input(ms(10), 1);
        let fresh = Reply { epoch: Epoch(2), ..reply(1, (0, 0), None, 0) };
        assert_eq!(client.accept(fresh), ReplyVerdict::Restarted);
        assert_eq!(client.predict(&Rail, ms(30)).state, (0, 0));
        client.input(ms(40), 1);
        let next = Reply { epoch: Epoch(2), ..reply(2, (0, 0), Some(40), 0) };
        assert_eq!(client.accept(next), ReplyVerdict::Used);
        assert_eq!(client.predict(&Rail, ms(60)).state.1, 2);
        assert_eq!(client.accept(reply(6_000, (9, 9), Some(10), 0)), ReplyVerdict::Stale);
    }

    #[test]
    fn a_correction_bends_what_is_drawn_and_not_what_is_simulated() {
        use fairpath::converge::Convergence;
        use fairpath::time::SharedInstant;
        use fairpath::vector::Vec2;

        let part = |state: &(i64, i64)| State::moving(Vec2::new(state.0 as f64, 0.0), Vec2::ZERO);
        let now = |millis| Now { local: ms(millis), shared: SharedInstant::from_millis(millis) };
        let mut client = client();
        let mut drawn = Drawn::new(Convergence::default());
        client.input(ms(0), 0);
        client.accept_bending(&Rail, reply(1, (0, 0), Some(0), 0), now(10), &mut drawn, part);
        client.accept_bending(&Rail, reply(2, (8, 0), Some(0), 10), now(20), &mut drawn, part);
        let simulated = client.predict(&Rail, ms(20)).state;
        assert_eq!(simulated, (8, 0));
        assert_eq!(drawn.at(now(20), &part(&simulated)).position.x, 0.0, "where it was");
        let halfway = drawn.at(now(120), &part(&simulated)).position.x;
        assert!((1.0..7.0).contains(&halfway), "{halfway}");
        assert_eq!(drawn.at(now(220), &part(&simulated)).position.x, 8.0);
    }

    #[test]
    fn only_a_newer_input_is_held() {
        let mut held = HeldInput::new('-');
        assert!(held.receive(ms(10), 'a'));
        assert_eq!(*held.play(Span::from_millis(20)), 'a');
        assert!(!held.receive(ms(5), 'b'));
        assert_eq!(held.acknowledged(), (Some(ms(10)), Span::from_millis(20)));
        assert!(held.receive(ms(11), 'c'));
        assert_eq!(held.acknowledged(), (Some(ms(11)), Span::ZERO));
        held.play(Span::from_secs(4));
        assert!(held.silent() >= super::super::SEAT_SILENCE);
    }
}
