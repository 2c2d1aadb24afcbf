//! A client and a server in one process with simulated links between them.

use fairpath::State;
use fairpath::converge::{Algorithm, Convergence, Drawn};
use fairpath::random::Random;
use fairpath::time::{LocalInstant, Now, SharedInstant, Span, TickRate};
use fairpath::vector::Vec2;
use fairpath_compensate::{Epoch, FreeRunning, HeldInput, Reply, Simulate};
use fairpath_sim::{Link, LinkConfig};

/// Two links with half the round trip each, and the client's prediction from what arrives.
///
/// The server free-runs: each tick it plays the newest input that has arrived and replies with its
/// scene. With compensation the client replays the inputs that the server has not seen yet on top
/// of that scene. It draws its own car or boat with a [`Convergence`], because a gust can correct
/// the predicted position by a whole round trip at once.
#[derive(Debug)]
pub struct RoundTrip<G: Simulate> {
    up: Link<(LocalInstant, G::Input)>,
    down: Link<Reply<G::State>>,
    hands: HeldInput<G::Input>,
    client: FreeRunning<G>,
    tick_rate: TickRate,
    compensates: bool,
    ticks: u64,
    shown: G::State,
    own: fn(&G::State) -> State<Vec2>,
    drawn: Drawn<Vec2>,
    drawn_own: State<Vec2>,
}

/// How corrections of the jet car and of boats are drawn. `snap_beyond` is less than the distance
/// from a wall to the start position of the next car, so a respawn is not blended.
pub const CONVERGENCE: Convergence =
    Convergence { algorithm: Algorithm::Cubic, blend: BLEND, blend_min: BLEND, snap_beyond: 150.0 };
const BLEND: Span = Span::from_millis(200);

impl<G: Simulate> RoundTrip<G> {
    /// Returns links with this round trip. `input` and `scene` count as already received. `own`
    /// returns the player's part of a scene.
    pub fn new(
        round_trip: Span,
        compensates: bool,
        tick_rate: TickRate,
        input: G::Input,
        scene: G::State,
        own: fn(&G::State) -> State<Vec2>,
    ) -> Self {
        let config = half_of(round_trip);
        // Without jitter or loss the links draw no random numbers.
        let dice = Random::from_seed(0);
        Self {
            up: Link::new(config.clone(), dice.fork(0)),
            down: Link::new(config, dice.fork(1)),
            hands: HeldInput::new(input),
            client: FreeRunning::new(scene.clone(), tick_rate, entries(round_trip, tick_rate)),
            tick_rate,
            compensates,
            ticks: 0,
            drawn_own: own(&scene),
            shown: scene,
            own,
            drawn: Drawn::new(CONVERGENCE),
        }
    }

    /// Changes the round trip. Packets already in flight keep theirs. It must not exceed the one
    /// passed to [`new`](Self::new): the client would drop inputs before they are acknowledged.
    pub fn set_round_trip(&mut self, round_trip: Span) {
        self.up.model_mut().reconfigure(half_of(round_trip));
        self.down.model_mut().reconfigure(half_of(round_trip));
    }

    pub fn set_compensates(&mut self, compensates: bool) {
        self.compensates = compensates;
    }

    /// Returns the scene on the player's screen: the newest, extrapolated if compensation is on.
    pub fn shown(&self) -> &G::State {
        &self.shown
    }

    /// Returns the player's own entity as it is drawn. Only this is smoothed.
    pub fn drawn_own(&self) -> &State<Vec2> {
        &self.drawn_own
    }

    /// Plays one tick: the client sends `input`, the server plays the newest and sends its scene.
    pub fn tick(
        &mut self,
        rules: &G,
        now: SharedInstant,
        input: G::Input,
        server: impl FnOnce(&G::Input) -> G::State,
    ) {
        // The links have no rate limit, so sizes do not matter.
        const SIZE_BYTES: u32 = 0;
        let local = LocalInstant::from_micros(now.as_micros());
        self.up.send(now, SIZE_BYTES, (self.client.input(local, input.clone()), input));
        while let Some(arrival) = self.up.poll(now) {
            let (stamp, input) = arrival.payload;
            self.hands.receive(stamp, input);
        }
        let tick = self.tick_rate.begin(1);
        let state = server(self.hands.play(tick));
        self.ticks += 1;
        let (acknowledged, applied) = self.hands.acknowledged();
        let reply = Reply { epoch: Epoch(1), tick: self.ticks, state, acknowledged, applied };
        self.down.send(now, SIZE_BYTES, reply);
        // Predict to the end of the tick that was just played, as the server has it.
        let end = Now { local: local + tick, shared: now };
        while let Some(arrival) = self.down.poll(now) {
            self.client.accept_bending(rules, arrival.payload, end, &mut self.drawn, self.own);
        }
        if self.compensates {
            self.shown = self.client.predict(rules, end.local).state;
            self.drawn_own = self.drawn.at(end, &(self.own)(&self.shown));
        } else {
            self.shown = self.client.newest_state().clone();
            self.drawn_own = (self.own)(&self.shown);
        }
    }
}

/// Returns the link of one direction.
fn half_of(round_trip: Span) -> LinkConfig {
    LinkConfig::default().delay(round_trip.scaled(0.5))
}

/// Returns how many inputs can be unacknowledged at once.
fn entries(round_trip: Span, tick_rate: TickRate) -> usize {
    /// Spare entries for inputs sent while a reply passes through this process.
    const SPARE_ENTRIES: usize = 16;
    SPARE_ENTRIES + tick_rate.running_at(round_trip).unsigned_abs() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_RATE: TickRate = TickRate::hz(100);

    /// Adds up its inputs.
    struct Sum;
    impl Simulate for Sum {
        type State = i64;
        type Input = i64;
        fn step(&self, sum: &mut i64, input: &i64, ticks: u32) {
            *sum += input * i64::from(ticks);
        }
    }

    /// Returns what is shown after each tick, if tick n has input n.
    fn shown(lag_ms: i64, compensates: bool) -> Vec<i64> {
        let round_trip = Span::from_millis(lag_ms);
        let mut way = RoundTrip::<Sum>::new(round_trip, compensates, TICK_RATE, 0, 0, |_| State::default());
        let mut sum = 0;
        (1..=30_i64)
            .map(|tick| {
                way.tick(&Sum, SharedInstant::from_millis(10 * tick), tick, |input| {
                    sum += *input;
                    sum
                });
                *way.shown()
            })
            .collect()
    }

    fn sum_to(tick: i64) -> i64 {
        tick * (tick + 1) / 2
    }

    #[test]
    fn an_input_shows_one_round_trip_later() {
        let shows = shown(100, false);
        assert_eq!(shows[..10], [0; 10], "nothing is back before 100 ms");
        assert!(shows.iter().zip(1..).skip(10).all(|(shown, tick)| *shown == sum_to(tick - 10)), "{shows:?}");
    }

    #[test]
    fn with_compensation_it_shows_at_once() {
        for lag_ms in [0, 100, 200, 1_000] {
            let shows = shown(lag_ms, true);
            assert!(
                shows.iter().zip(1..).all(|(shown, tick)| *shown == sum_to(tick)),
                "{lag_ms} ms: {shows:?}"
            );
        }
    }

    #[test]
    fn without_lag_it_shows_at_once() {
        let shows = shown(0, false);
        assert!(shows.iter().zip(1..).all(|(shown, tick)| *shown == sum_to(tick)), "{shows:?}");
    }
}
