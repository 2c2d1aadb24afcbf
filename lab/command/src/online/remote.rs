//! The player's end.

use std::net::SocketAddr;

use fairpath::State;
use fairpath::converge::Convergence;
use fairpath::session::{Client, ClientConfig};
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_compensate::Simulate;
use fairpath_games::online::{HostedClient, HostedGame};
use fairpath_net::{ConnectionState, NetClient, NetClientConfig, Trust, unguessable_random};

use super::{BUDGET, CLASSES, CONNECT_WITHIN};
use crate::BadInput;

/// A player somewhere, and the run at a server.
pub(crate) struct Remote<H: HostedGame> {
    client: NetClient<Vec2>,
    guest: HostedClient<H>,
}

impl<H: HostedGame> Remote<H> {
    /// Begins to connect, and does not wait for it; `scene` is shown until something arrives.
    pub(crate) fn connect(
        server: SocketAddr,
        trust: Trust,
        scene: H::Scene,
        convergence: Convergence,
    ) -> Result<Self, BadInput> {
        let session = ClientConfig { budget: BUDGET, ..ClientConfig::new(CLASSES) };
        let session = Client::<Vec2>::new(session, unguessable_random());
        let config =
            NetClientConfig { budget: BUDGET, connect_within: CONNECT_WITHIN, ..NetClientConfig::new(trust) };
        let client = NetClient::connect(server, config, session)?;
        Ok(Self { client, guest: HostedClient::new(scene, convergence) })
    }

    /// One frame: what has arrived is heard, `play` looks and says what the hands do, and that
    /// leaves.
    pub(crate) fn frame(&mut self, rules: &H::Rules, play: impl FnOnce(&Self, Now) -> H::Input) {
        let Self { client, guest } = self;
        let now = client.frame(|session, now| {
            while let Some(event) = session.poll_event() {
                guest.handle_event(&event);
            }
            now
        });
        guest.receive(rules, now);
        let input = play(self, Now { local: now, shared: SharedInstant::from_micros(now.as_micros()) });
        let Self { client, guest } = self;
        client.frame(|session, _| guest.act(session, input, now));
    }

    /// What is shown: played on by the player's own hands, or as it arrived.
    pub(crate) fn shown(&self, rules: &H::Rules, now: Now, is_compensated: bool) -> H::Scene {
        self.guest.shown(rules, now.local, is_compensated)
    }

    /// The player's own part of what is shown with compensation, as it is drawn.
    pub(crate) fn drawn(&self, now: Now, shown: &H::Scene) -> State<Vec2> {
        self.guest.drawn(now.local, shown)
    }

    /// Asks for another run.
    pub(crate) fn again(&self) {
        self.client.frame(|session, _| self.guest.restart(session));
    }

    /// How many states have been heard.
    pub(crate) fn heard(&self) -> u64 {
        self.guest.heard()
    }

    /// How it stands, in a few words, and whether it is hopeless.
    pub(crate) fn standing(&self) -> Standing {
        match (self.client.connection_state(), self.guest.welcome()) {
            (ConnectionState::Over(reason), _) => {
                let why = reason.map_or_else(|| "it is over".into(), |reason| reason.to_string());
                Standing::Over(format!("the server ended it: {why}"))
            }
            (_, Some(number)) if number != H::NUMBER => {
                Standing::Over(format!("that server does not play {}", H::NAME))
            }
            (ConnectionState::Connecting { failed }, _) => {
                Standing::Waiting(format!("connecting, {failed} attempts failed"))
            }
            (ConnectionState::Connected, None) => {
                Standing::Waiting("connected, waiting for the server".into())
            }
            (ConnectionState::Connected, Some(_)) => {
                Standing::Playing(self.client.status().session.round_trip)
            }
        }
    }
}

/// A far end, whatever game it plays.
pub(crate) trait FarEnd<G: Simulate> {
    /// One frame in which the hands do `input`; answers with what is shown then, and the own part
    /// of it as it is drawn.
    fn play(&mut self, rules: &G, input: G::Input, is_compensated: bool) -> (G::State, State<Vec2>);
    /// How it stands.
    fn standing(&self) -> Standing;
    /// Asks for another run.
    fn again(&self);
}

impl<H: HostedGame> FarEnd<H::Rules> for Remote<H> {
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

    fn standing(&self) -> Standing {
        Self::standing(self)
    }

    fn again(&self) {
        Self::again(self);
    }
}

/// How a player stands with the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Standing {
    /// Not there yet, or not there any more, but it may come.
    Waiting(String),
    /// In the middle of it; the round trip, once it is known.
    Playing(Option<Span>),
    /// It will not come.
    Over(String),
}
