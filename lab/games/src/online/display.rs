//! What a player looks at.

use fairpath::State;
use fairpath::converge::{Convergence, Drawn};
use fairpath::time::{LocalInstant, Now, TickRate};
use fairpath::vector::Vec2;
use fairpath_compensate::{ENTRIES_DEFAULT, FreeRunning, PositionOffset, Prototype, Reply, Simulate};

/// A player's screen: hears the server, knows the player's hands, and shows.
pub trait ClientDisplay<G: Simulate> {
    /// The hands do this from now on; answers with the stamp to send with it.
    fn act(&mut self, now: LocalInstant, input: &G::Input) -> LocalInstant;

    /// A word of the server arrived.
    fn receive(&mut self, rules: &G, reply: Reply<G::State>, now: Now);

    /// What is shown now.
    fn show(&self, rules: &G, now: Now) -> G::State;
}

/// Shows the newest state as it arrived: no compensation at all.
#[derive(Clone)]
pub struct Uncompensated<G: Simulate>(FreeRunning<G>);

/// Plays on what the server has not seen of the player's hands: Buchheit 2004's final game.
///
/// The own part of what is shown can be bent by a [`Convergence`], so that the eye can follow what
/// nobody could know.
#[derive(Clone)]
pub struct Extrapolated<G: Simulate> {
    client: FreeRunning<G>,
    own: fn(&G::State) -> State<Vec2>,
    drawn: Drawn<Vec2>,
}

/// Everything a round trip ahead, and the hands as an offset of the place: Buchheit 2004's first
/// game.
#[derive(Clone)]
pub struct Prototyped<G: PositionOffset>(Prototype<G>);

impl<G: Simulate> Uncompensated<G> {
    /// A screen that shows `state` until something arrives.
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
        self.0.heard().clone()
    }
}

impl<G: Simulate> Extrapolated<G> {
    /// A screen that begins with `state`. `own` is the player's own part of it, and bent by
    /// `convergence` when it is drawn.
    pub fn new(
        state: G::State,
        rate: TickRate,
        convergence: Convergence,
        own: fn(&G::State) -> State<Vec2>,
    ) -> Self {
        let client = FreeRunning::new(state, rate, ENTRIES_DEFAULT);
        Self { client, own, drawn: Drawn::new(convergence) }
    }

    /// The player's own part as it is drawn: corrections bend this, and nothing else.
    pub fn drawn(&self, now: Now, shown: &G::State) -> State<Vec2> {
        self.drawn.at(now, &(self.own)(shown))
    }

    /// What the client behind it knows.
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
    /// A screen that begins with `state`.
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
        // What comes back with its stamp was a ping.
        if let Some(sent) = reply.acknowledged {
            self.0.pong(sent + reply.applied, now.local);
        }
        self.0.accept(reply.tick, reply.state);
    }

    fn show(&self, rules: &G, now: Now) -> G::State {
        self.0.predict(rules, now.local)
    }
}
