//! What a client shows.

use fairpath::State;
use fairpath::converge::{Convergence, Drawn};
use fairpath::time::{LocalInstant, Now, TickRate};
use fairpath::vector::Vec2;
use fairpath_compensate::{ENTRIES_DEFAULT, FreeRunning, PositionOffset, Prototype, Reply, Simulate};

/// Decides what a client shows from the server's replies and the player's inputs.
pub trait ClientDisplay<G: Simulate> {
    /// Applies the player's input. Returns the time stamp to send with it.
    fn act(&mut self, now: LocalInstant, input: &G::Input) -> LocalInstant;

    fn receive(&mut self, rules: &G, reply: Reply<G::State>, now: Now);

    fn show(&self, rules: &G, now: Now) -> G::State;
}

/// Shows the newest state as it arrived, without compensation.
#[derive(Clone)]
pub struct Uncompensated<G: Simulate>(FreeRunning<G>);

/// Replays inputs unseen by the server on the newest state, as Buchheit 2004's final game does.
///
/// A [`Convergence`] smooths corrections of the player's own entity as it is drawn.
#[derive(Clone)]
pub struct Extrapolated<G: Simulate> {
    client: FreeRunning<G>,
    own: fn(&G::State) -> State<Vec2>,
    drawn: Drawn<Vec2>,
}

/// Extrapolates every entity by a round trip and applies the player's inputs as an offset of the
/// position, as Buchheit 2004's first game does.
#[derive(Clone)]
pub struct Prototyped<G: PositionOffset>(Prototype<G>);

impl<G: Simulate> Uncompensated<G> {
    /// Returns a display that shows `state` until a reply arrives.
    pub fn new(state: G::State, rate: TickRate) -> Self {
        Self(FreeRunning::new(state, rate, ENTRIES_DEFAULT))
    }
}

impl<G: Simulate> ClientDisplay<G> for Uncompensated<G> {
    fn act(&mut self, now: LocalInstant, input: &G::Input) -> LocalInstant {
        self.0.input(now, input.clone())
    }

    fn receive(&mut self, _: &G, reply: Reply<G::State>, _: Now) {
        self.0.accept(reply);
    }

    fn show(&self, _: &G, _: Now) -> G::State {
        self.0.newest_state().clone()
    }
}

impl<G: Simulate> Extrapolated<G> {
    /// Returns a display that begins with `state`. `own` returns what `convergence` smooths.
    pub fn new(
        state: G::State,
        rate: TickRate,
        convergence: Convergence,
        own: fn(&G::State) -> State<Vec2>,
    ) -> Self {
        let client = FreeRunning::new(state, rate, ENTRIES_DEFAULT);
        Self { client, own, drawn: Drawn::new(convergence) }
    }

    /// Returns the player's own entity as it is drawn. Only this is smoothed.
    pub fn drawn(&self, now: Now, shown: &G::State) -> State<Vec2> {
        self.drawn.at(now, &(self.own)(shown))
    }

    pub fn client(&self) -> &FreeRunning<G> {
        &self.client
    }
}

impl<G: Simulate> ClientDisplay<G> for Extrapolated<G> {
    fn act(&mut self, now: LocalInstant, input: &G::Input) -> LocalInstant {
        self.client.input(now, input.clone())
    }

    fn receive(&mut self, rules: &G, reply: Reply<G::State>, now: Now) {
        self.client.accept_bending(rules, reply, now, &mut self.drawn, self.own);
    }

    fn show(&self, rules: &G, now: Now) -> G::State {
        self.client.predict(rules, now.local).state
    }
}

impl<G: PositionOffset> Prototyped<G> {
    pub fn new(state: G::State, rate: TickRate) -> Self {
        Self(Prototype::new(state, rate, ENTRIES_DEFAULT))
    }
}

impl<G: PositionOffset> ClientDisplay<G> for Prototyped<G> {
    fn act(&mut self, now: LocalInstant, input: &G::Input) -> LocalInstant {
        self.0.input(now, input.clone());
        now
    }

    fn receive(&mut self, _: &G, reply: Reply<G::State>, now: Now) {
        // A reply that returns a time stamp measures the round trip.
        if let Some(sent) = reply.acknowledged {
            self.0.pong(sent + reply.applied, now.local);
        }
        self.0.accept(reply.tick, reply.state);
    }

    fn show(&self, rules: &G, now: Now) -> G::State {
        self.0.predict(rules, now.local)
    }
}
