//! A player's end, with a socket.

use std::net::SocketAddr;

use fairpath::State;
use fairpath::converge::Convergence;
use fairpath::session::{Client, ClientConfig};
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_compensate::Simulate;
use fairpath_games::online::{ClientGame, HostedClient};
use fairpath_net::{ConnectError, ConnectionState, NetClient, NetClientConfig, Trust, unguessable_random};

use super::{BUDGET, CLASSES, CONNECT_WITHIN};

pub struct RemotePlayer<H: ClientGame> {
    client: NetClient<Vec2>,
    guest: HostedClient<H>,
}

impl<H: ClientGame> RemotePlayer<H> {
    /// Starts to connect and does not wait for it. `scene` is shown until the first state arrives.
    pub fn connect(
        server: SocketAddr,
        trust: Trust,
        scene: H::Scene,
        convergence: Convergence,
    ) -> Result<Self, ConnectError> {
        let session = ClientConfig { budget: BUDGET, ..ClientConfig::new(CLASSES) };
        let session = Client::<Vec2>::new(session, unguessable_random());
        let config =
            NetClientConfig { budget: BUDGET, connect_within: CONNECT_WITHIN, ..NetClientConfig::new(trust) };
        let client = NetClient::connect(server, config, session)?;
        Ok(Self { client, guest: HostedClient::new(scene, convergence) })
    }

    /// Plays one frame: applies what has arrived, asks `play` for the input, and sends it.
    pub fn frame(&mut self, rules: &H::Rules, play: impl FnOnce(&Self, Now) -> H::Input) {
        let Self { client, guest } = self;
        let now = client.with_session(|session, now| {
            while let Some(event) = session.poll_event() {
                guest.handle_event(&event);
            }
            now
        });
        guest.receive(rules, now);
        let input = play(self, Now { local: now, shared: SharedInstant::from_micros(now.as_micros()) });
        let Self { client, guest } = self;
        client.with_session(|session, _| guest.act(session, input, now));
    }

    /// The scene to show: simulated on with the player's own inputs, or as it arrived.
    pub fn shown(&self, rules: &H::Rules, now: Now, is_compensated: bool) -> H::Scene {
        self.guest.shown(rules, now.local, is_compensated)
    }

    /// The player's own part of a compensated scene, as it is drawn.
    pub fn drawn(&self, now: Now, shown: &H::Scene) -> State<Vec2> {
        self.guest.drawn(now.local, shown)
    }

    pub fn again(&self) {
        self.client.with_session(|session, _| self.guest.restart(session));
    }

    /// Asks the server to begin the countdown of a game that several play.
    pub fn start(&self) {
        self.client.with_session(|session, _| self.guest.start(session));
    }

    /// The number of states that have arrived.
    pub fn heard(&self) -> u64 {
        self.guest.heard()
    }

    pub fn status(&self) -> PlayerStatus {
        match (self.client.connection_state(), self.guest.welcome()) {
            (ConnectionState::Over(problem), _) => {
                PlayerStatus::Over(problem.map_or_else(|| "left".into(), |problem| problem.to_string()))
            }
            (_, Some(number)) if number != H::NUMBER => {
                PlayerStatus::Over(format!("this server does not host {}; connect to another one", H::NAME))
            }
            (ConnectionState::Connecting { failed, last: Some(problem) }, _) => {
                PlayerStatus::Waiting(format!("connecting, {failed} attempts failed; {problem}"))
            }
            (ConnectionState::Connecting { .. }, _) => PlayerStatus::Waiting("connecting".into()),
            (ConnectionState::Connected, None) => {
                PlayerStatus::Waiting("connected, waiting for the server".into())
            }
            (ConnectionState::Connected, Some(_)) => {
                PlayerStatus::Playing(self.client.status().session.round_trip)
            }
        }
    }
}

pub trait RemoteGame<G: Simulate> {
    /// Plays one frame with `input`. Returns the scene to show, and its own part as drawn.
    fn play(&mut self, rules: &G, input: G::Input, is_compensated: bool) -> (G::State, State<Vec2>);
    fn status(&self) -> PlayerStatus;
    /// Asks the server for another run.
    fn again(&self);
    /// Asks the server to begin the countdown of a game that several play.
    fn start(&self);
}

impl<H: ClientGame> RemoteGame<H::Rules> for RemotePlayer<H> {
    fn play(&mut self, rules: &H::Rules, input: H::Input, is_compensated: bool) -> (H::Scene, State<Vec2>) {
        let mut shown = None;
        self.frame(rules, |remote, now| {
            let scene = remote.shown(rules, now, is_compensated);
            let own = if is_compensated { remote.drawn(now, &scene) } else { H::own(&scene) };
            shown = Some((scene, own));
            input
        });
        shown.expect("a frame looks once")
    }

    fn status(&self) -> PlayerStatus {
        Self::status(self)
    }

    fn again(&self) {
        Self::again(self);
    }

    fn start(&self) {
        Self::start(self);
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum PlayerStatus {
    /// Not connected; another attempt follows.
    Waiting(String),
    /// Playing; the round trip, once it is known.
    Playing(Option<Span>),
    /// Closed for good; the text says why.
    Over(String),
}
