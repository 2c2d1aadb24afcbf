//! The way to the server and back: a simulated one in this process, or a real one.

use fairpath::State;
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;
use fairpath_compensate::Simulate;
use fairpath_experiments::online::{PlayerStatus, RemoteGame};
use fairpath_games::shared::RoundTrip;

/// Where the server is, and what the player's screen shows of it.
pub(super) enum GameLink<G: Simulate> {
    /// In this process, at the end of a simulated way.
    Here(Box<RoundTrip<G>>),
    /// On another machine.
    Elsewhere { far: Box<dyn RemoteGame<G>>, compensates: bool, shown: G::State, drawn_own: State<Vec2> },
}

impl<G: Simulate> GameLink<G> {
    /// Over this way, unless the server is elsewhere.
    pub(super) fn new(way: RoundTrip<G>, far: Option<Box<dyn RemoteGame<G>>>, compensates: bool) -> Self {
        match far {
            None => Self::Here(Box::new(way)),
            Some(far) => {
                let (shown, drawn_own) = (way.shown().clone(), *way.drawn_own());
                Self::Elsewhere { far, compensates, shown, drawn_own }
            }
        }
    }

    pub(super) fn status(&self) -> Option<PlayerStatus> {
        match self {
            Self::Here(_) => None,
            Self::Elsewhere { far, .. } => Some(far.status()),
        }
    }

    /// Asks a server elsewhere for another run; `false` if there is none.
    pub(super) fn again(&self) -> bool {
        match self {
            Self::Here(_) => false,
            Self::Elsewhere { far, .. } => {
                far.again();
                true
            }
        }
    }

    /// Asks a server elsewhere to begin the countdown; `false` if there is none.
    pub(super) fn start(&self) -> bool {
        match self {
            Self::Here(_) => false,
            Self::Elsewhere { far, .. } => {
                far.start();
                true
            }
        }
    }

    /// The scene on the player's screen: the newest that arrived, played on if compensated.
    pub(super) fn shown(&self) -> &G::State {
        match self {
            Self::Here(way) => way.shown(),
            Self::Elsewhere { shown, .. } => shown,
        }
    }

    /// The player's own part of it as it is drawn: corrections bend this, and nothing else.
    pub(super) fn drawn_own(&self) -> &State<Vec2> {
        match self {
            Self::Here(way) => way.drawn_own(),
            Self::Elsewhere { drawn_own, .. } => drawn_own,
        }
    }

    /// One tick: the input leaves, and a server in this process plays the newest that has arrived.
    pub(super) fn tick(
        &mut self,
        rules: &G,
        now: SharedInstant,
        input: G::Input,
        server: impl FnOnce(&G::Input) -> G::State,
    ) {
        match self {
            Self::Here(way) => way.tick(rules, now, input, server),
            Self::Elsewhere { far, compensates, shown, drawn_own } => {
                (*shown, *drawn_own) = far.play(rules, input, *compensates);
            }
        }
    }
}
