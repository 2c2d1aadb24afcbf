use super::Simulate;
use super::input_buffer::InputBuffer;
use super::steady::Steady;
use fairpath::time::{LocalInstant, Span, TickRate};

/// The first variant of Buchheit 2004, for comparison: extrapolates everything by one round trip,
/// and adds the inputs of that time to the position.
///
/// The round trip comes from pings, not from acknowledgements, so it is right on average and wrong
/// whenever the delay changes. The inputs move the *position* only: the velocity they lead to is
/// missing, and so is everything else where the physics is not a sum (walls, drag, turning). A
/// correction is shown as a jump.
#[derive(Clone, Debug)]
pub struct Prototype<G: PositionOffset> {
    rate: TickRate,
    clock: Steady,
    round_trip: RoundTrip,
    inputs: InputBuffer<LocalInstant, G::Input>,
    tick: Option<u64>,
    base: G::State,
}

/// A game in which an input can be added to the player's position, for [`Prototype`].
pub trait PositionOffset: Simulate {
    /// Returns the input of a player that does nothing.
    fn idle(&self) -> Self::Input;

    /// Moves the player to where `input` takes it, if held for `ticks` ticks that began `ago` ticks
    /// before now. Changes only the position.
    fn shift(&self, state: &mut Self::State, input: &Self::Input, ago: u32, ticks: u32);
}

impl<G: PositionOffset> Prototype<G> {
    /// Starts from `state`, with ticks of this rate. Keeps up to `capacity` inputs.
    pub fn new(state: G::State, rate: TickRate, capacity: usize) -> Self {
        Self {
            rate,
            clock: Steady::default(),
            round_trip: RoundTrip::default(),
            inputs: InputBuffer::new(capacity),
            tick: None,
            base: state,
        }
    }

    /// Stores the input that applies from now on.
    pub fn input(&mut self, now: LocalInstant, input: G::Input) {
        let stamp = self.clock.advance(now);
        self.inputs.push(stamp, input);
    }

    /// Takes the answer, received at `now`, to a ping sent at `sent`.
    pub fn pong(&mut self, sent: LocalInstant, now: LocalInstant) {
        self.round_trip.observe(now - sent);
    }

    /// Takes the state after `tick` ticks. Returns false if it is not newer than the known one.
    pub fn accept(&mut self, tick: u64, state: G::State) -> bool {
        let is_newer = self.tick.is_none_or(|known| tick > known);
        if is_newer {
            self.tick = Some(tick);
            self.base = state;
        }
        is_newer
    }

    /// Returns the newest state one round trip later: the player moved by the inputs since.
    pub fn predict(&self, game: &G, now: LocalInstant) -> G::State {
        let now = self.clock.at(now);
        let ahead = self.round_trip.mean();
        let mut state = self.base.clone();
        game.step(&mut state, &game.idle(), self.ticks(ahead));
        let began = now - ahead;
        let ends = self.inputs.iter().map(|(stamp, _)| stamp).skip(1).chain([now]);
        for ((stamp, input), until) in self.inputs.iter().zip(ends) {
            let from = stamp.max(began);
            let ago = self.ticks(now - from);
            let ticks = ago.saturating_sub(self.ticks(now - until));
            if ticks > 0 {
                game.shift(&mut state, input, ago, ticks);
            }
        }
        state
    }

    /// Returns the current estimate of the round trip.
    pub fn round_trip(&self) -> Span {
        self.round_trip.mean()
    }

    fn ticks(&self, span: Span) -> u32 {
        self.rate.running_at(span.max(Span::ZERO)).min(i64::from(u32::MAX)) as u32
    }
}

/// An estimate of the round trip from pings: a mean that weights each new one by 1/8, as in TCP.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrip {
    mean: Option<Span>,
}

impl RoundTrip {
    /// The longest accepted round trip. A clock that jumps meanwhile must not show the future.
    pub const BELIEVED_MAX: Span = super::EXTRAPOLATION_MAX;

    /// Adds a measured round trip. Ignores negative ones and those above
    /// [`BELIEVED_MAX`](Self::BELIEVED_MAX).
    pub fn observe(&mut self, took: Span) {
        if (Span::ZERO..=Self::BELIEVED_MAX).contains(&took) {
            self.mean = Some(self.mean.map_or(took, |mean| mean + (took - mean).scaled(0.125)));
        }
    }

    /// Returns the estimate; zero before the first ping.
    pub fn mean(&self) -> Span {
        self.mean.unwrap_or(Span::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::Rail;

    impl PositionOffset for Rail {
        fn idle(&self) -> i64 {
            0
        }

        fn shift(&self, (position, _): &mut (i64, i64), push: &i64, ago: u32, ticks: u32) {
            // A push in the tick that began `ago` ticks ago has moved the cart in every later tick.
            *position += (0..ticks).map(|tick| push * i64::from(ago - tick - 1)).sum::<i64>();
        }
    }

    fn ms(millis: i64) -> LocalInstant {
        LocalInstant::from_millis(millis)
    }

    #[test]
    fn at_a_constant_delay_the_place_is_right_and_the_velocity_is_not() {
        let mut client = Prototype::<Rail>::new((0, 0), TickRate::hz(100), 250);
        client.pong(ms(0), ms(100));
        for tick in 0..10 {
            client.input(ms(100 + 10 * tick), tick % 3);
        }
        client.accept(1, (500, 20));
        let mut truth = (500, 20);
        (0..10).for_each(|tick| Rail.step(&mut truth, &(tick % 3), 1));
        let predicted = client.predict(&Rail, ms(200));
        assert_eq!(predicted.0, truth.0);
        assert_eq!((predicted.1, truth.1), (20, 29));
        assert!(!client.accept(1, (0, 0)), "not newer");
    }

    #[test]
    fn pings_beyond_belief_are_passed_over() {
        let mut round_trip = RoundTrip::default();
        round_trip.observe(Span::from_secs(-3));
        round_trip.observe(Span::from_secs(86_400));
        assert_eq!(round_trip.mean(), Span::ZERO);
        round_trip.observe(Span::from_millis(100));
        round_trip.observe(Span::from_millis(180));
        assert_eq!(round_trip.mean(), Span::from_millis(110));
    }
}
