//! Client and server in one process with simulated links between them.

use fairpath::random::Random;
use fairpath::time::{LocalInstant, Now, SharedInstant, TickRate};
use fairpath_compensate::{Epoch, Reply, Simulate};
use fairpath_sim::{Link, LinkConfig};

use super::display::ClientDisplay;
use super::slot::ClientSlot;

/// A server's slot, a client's display, and the links between them.
///
/// The caller supplies the time: call [`frame`](Self::frame) when the client draws and
/// [`tick`](Self::tick) when the server plays, in the order of time. The two rates may differ.
pub struct Loopback<G: Simulate, S> {
    up: Link<(LocalInstant, G::Input)>,
    down: Link<Reply<G::State>>,
    host: ClientSlot<G::Input>,
    screen: S,
}

/// The links have no rate limit by default, so sizes do not matter.
const SIZE_BYTES: u32 = 0;

impl<G: Simulate, S: ClientDisplay<G>> Loopback<G, S> {
    /// Returns a loopback with this link both ways. The input is `idle` until the first arrives.
    pub fn new(link: &LinkConfig, dice: &Random, rate: TickRate, idle: G::Input, screen: S) -> Self {
        Self {
            up: Link::new(link.clone(), dice.fork(0)),
            down: Link::new(link.clone(), dice.fork(1)),
            host: ClientSlot::new(Epoch(1), rate, idle),
            screen,
        }
    }

    /// Runs a client frame: takes in the replies that arrived, asks `play` for an input, sends it.
    pub fn frame(&mut self, rules: &G, now: SharedInstant, play: impl FnOnce(&S, Now) -> G::Input) {
        let now = Now { local: LocalInstant::from_micros(now.as_micros()), shared: now };
        while let Some(arrival) = self.down.poll(now.shared) {
            self.screen.receive(rules, arrival.payload, now);
        }
        let input = play(&self.screen, now);
        let stamp = self.screen.act(now.local, &input);
        self.up.send(now.shared, SIZE_BYTES, (stamp, input));
    }

    /// Runs the server's tick, which ends `now`: `play` plays it with the newest input that has
    /// arrived, and the server replies with its state.
    pub fn tick(&mut self, now: SharedInstant, play: impl FnOnce(&G::Input) -> G::State) {
        while let Some(arrival) = self.up.poll(now) {
            let (stamp, input) = arrival.payload;
            self.host.receive(stamp, input);
        }
        let state = play(self.host.play());
        if let Some(reply) = self.host.answer(|| state) {
            self.down.send(now, SIZE_BYTES, reply);
        }
    }

    pub fn screen(&self) -> &S {
        &self.screen
    }
}

#[cfg(test)]
mod tests {
    use fairpath::State;
    use fairpath::converge::Convergence;
    use fairpath::time::Span;

    use super::super::{Extrapolated, Uncompensated};
    use super::*;

    const RATE: TickRate = TickRate::hz(100);

    /// Adds up its inputs.
    struct Sum;
    impl Simulate for Sum {
        type State = i64;
        type Input = i64;
        fn step(&self, sum: &mut i64, input: &i64, ticks: u32) {
            *sum += input * i64::from(ticks);
        }
    }

    /// Returns what is shown at each frame, if frame n gives input n.
    fn shown<S: ClientDisplay<Sum>>(one_way_ms: i64, screen: S) -> Vec<i64> {
        let link = LinkConfig::default().delay(Span::from_millis(one_way_ms));
        let mut way = Loopback::new(&link, &Random::from_seed(1), RATE, 0, screen);
        let (mut sum, mut shows) = (0, Vec::new());
        for n in 1..=40 {
            let now = SharedInstant::from_millis(10 * n);
            way.frame(&Sum, now, |screen, now| {
                shows.push(screen.show(&Sum, now));
                n
            });
            way.tick(now, |input| {
                sum += input;
                sum
            });
        }
        shows
    }

    fn sum_to(n: i64) -> i64 {
        n * (n + 1) / 2
    }

    #[test]
    fn an_input_shows_after_a_round_trip_or_at_once() {
        let heard = shown(50, Uncompensated::new(0, RATE));
        assert!(heard.iter().zip(1..).skip(12).all(|(shown, n)| *shown == sum_to(n - 10)), "{heard:?}");
        for one_way in [0, 50, 100] {
            let screen = Extrapolated::new(0, RATE, Convergence::default(), |_| State::default());
            let shows = shown(one_way, screen);
            assert!(shows.iter().zip(1..).all(|(shown, n)| *shown == sum_to(n - 1)), "{shows:?}");
        }
    }
}
