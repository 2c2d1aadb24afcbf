//! A player of a game that runs at the server.

use std::collections::VecDeque;

use fairpath::State;
use fairpath::converge::Convergence;
use fairpath::session::{Client, ClientEvent};
use fairpath::time::{LocalInstant, SharedInstant};
use fairpath::vector::{Vec2, Vector};
use fairpath_games::online::{HostedClient, HostedGame};

use super::OnlineGame;
use crate::play::{Hands, PlayedGame, mean_distance};

/// A player of a hosted game. `game` turns input into commands and draws.
pub(super) struct HostedPlayer<G, H: HostedGame> {
    game: G,
    rules: H::Rules,
    guest: HostedClient<H>,
    is_seated: bool,
    scene: H::Scene,
    own: State<Vec2>,
    /// What the screen showed, until the server has seen the player's input of then.
    shown: VecDeque<PendingAnswer>,
    /// The errors of the screen: the own thing's and the others', the newest last.
    apart: VecDeque<(f64, f64)>,
}

/// What a screen showed when the player's input with this stamp was sent.
struct PendingAnswer {
    stamp: LocalInstant,
    own: Vec2,
    others: Vec<(u32, Vec2)>,
}

/// Frames that wait for their answer: ten seconds. A player with more lag is not playing.
const SHOWN_MAX: usize = 600;

impl<G, H> HostedPlayer<G, H>
where
    H: HostedGame,
    G: PlayedGame<Rules = H::Rules>,
{
    /// Creates a player. `scene` is shown until the server sends a state.
    pub(super) fn new(scene: H::Scene, game: G) -> Self {
        Self {
            rules: game.rules(),
            guest: HostedClient::new(scene.clone(), Convergence::default()),
            is_seated: false,
            own: H::own(&scene),
            scene,
            game,
            shown: VecDeque::new(),
            apart: VecDeque::new(),
        }
    }

    /// Compares a past screen with the server's newest state, once that contains the input of then.
    fn compare(&mut self) {
        let Some(stamp) = self.guest.acknowledged() else { return };
        while self.shown.front().is_some_and(|shown| shown.stamp < stamp) {
            self.shown.pop_front();
        }
        let Some(shown) = self.shown.pop_front_if(|shown| shown.stamp == stamp) else { return };
        let truth = self.guest.newest();
        let others = mean_distance(&shown.others, &self.game.others(truth));
        if self.apart.len() == SHOWN_MAX {
            self.apart.pop_front();
        }
        self.apart.push_back((shown.own.distance(H::own(truth).position), others));
    }
}

impl<G, H> OnlineGame for HostedPlayer<G, H>
where
    H: HostedGame,
    G: PlayedGame<Rules = H::Rules>,
{
    fn begin(&mut self, session: &mut Client<Vec2>) {
        self.guest.join(session);
        self.is_seated = true;
        self.shown.clear();
    }

    fn hear(&mut self, event: &ClientEvent) {
        self.guest.handle_event(event);
    }

    fn play(&mut self, session: &mut Client<Vec2>, hands: Hands, is_compensated: bool, now: LocalInstant) {
        self.guest.receive(&self.rules, now);
        self.compare();
        self.scene = self.guest.shown(&self.rules, now, is_compensated);
        self.own = if is_compensated { self.guest.drawn(now, &self.scene) } else { H::own(&self.scene) };
        let at = SharedInstant::from_micros(now.as_micros());
        let input = self.game.decide(hands, at, &self.scene);
        if !self.is_seated {
            return;
        }
        let stamp = self.guest.act(session, input, now);
        if self.shown.len() == SHOWN_MAX {
            self.shown.pop_front();
        }
        let others = self.game.others(&self.scene);
        self.shown.push_back(PendingAnswer { stamp, own: self.own.position, others });
    }

    fn frame(&mut self, _: &mut Client<Vec2>, now: LocalInstant, out: &mut Vec<f64>) {
        let (middle, width) = self.game.camera(&self.own);
        let truth = H::own(self.guest.newest());
        let count = self.apart.len().max(1) as f64;
        let sum = self.apart.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let newest = self.apart.back().copied().unwrap_or_default();
        out.extend([now.as_micros() as f64 / 1e6, f64::from(H::NUMBER)]);
        out.extend([middle.x, middle.y, width]);
        out.extend([truth.position.x, truth.position.y, truth.orientation]);
        out.extend([sum.0 / count, sum.1 / count, newest.0, newest.1]);
        let wind = self.game.wind(&self.scene);
        out.extend(self.game.status(&self.scene));
        out.extend([wind.x, wind.y]);
        let things = self.game.things(&self.scene, &self.own);
        out.push(things.len() as f64);
        things.iter().for_each(|thing| thing.write(out));
    }

    fn again(&mut self, session: &mut Client<Vec2>) {
        self.guest.restart(session);
    }

    fn ground(&self) -> Vec<Vec<Vec2>> {
        self.game.ground()
    }
}
