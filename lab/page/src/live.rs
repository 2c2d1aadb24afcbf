//! Play over the real network: a session with a server, without the socket.
//!
//! JavaScript has the WebTransport; this module has the [`Client`] and the game, with the run loop
//! that [`fairpath::session`] prescribes. A tank belongs to the player and is replicated to the
//! others (by [`TankPublisher`](fairpath_games::online::TankPublisher)). All other games run at the
//! server, and a [`HostedClient`](fairpath_games::online::HostedClient) plays them.

mod guest;
mod tanks;

use fairpath::motion::MotionKind;
use fairpath::random::Random;
use fairpath::session::{Class, Client, ClientConfig, ClientEvent};
use fairpath::time::{LocalInstant, Span};
use fairpath::trigger::Trigger;
use fairpath::vector::Vec2;
use fairpath_games::online::{FAIRNESS, FairnessReport, HostedJetCar, HostedRace, HostedSailing, SHOT, TANK};
use fairpath_games::tanks::ConfigError;

use self::guest::HostedPlayer;
use self::tanks::LiveTank;
use crate::play::{Hands, PlayedGame, jet_car, race, sailing};

/// What the page must know about a server.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The seed of fields, roads and winds.
    pub seed: u64,
    /// The largest error of other clients about a tank.
    pub threshold: f64,
    pub model: MotionKind,
}

/// A browser's player at a server.
///
/// Its frame is that of [`PlayScene`](crate::play::PlayScene).
pub struct Live {
    session: Client<Vec2>,
    table: Box<dyn OnlineGame>,
    hands: Hands,
    is_compensated: bool,
    fairness: Option<FairnessReport>,
    sessions: u32,
}

/// A game over a session, of any kind.
trait OnlineGame {
    fn begin(&mut self, session: &mut Client<Vec2>);
    fn hear(&mut self, event: &ClientEvent);
    /// Plays one frame with the player's input, and sends it to the server.
    fn play(&mut self, session: &mut Client<Vec2>, hands: Hands, is_compensated: bool, now: LocalInstant);
    fn frame(&mut self, session: &mut Client<Vec2>, now: LocalInstant, out: &mut Vec<f64>);
    fn ground(&self) -> Vec<Vec<Vec2>>;
    /// Restarts the game, if the game has a start.
    fn again(&mut self, _session: &mut Client<Vec2>) {}
    /// Returns µs on the shared clock and the true position of the own thing, if known here.
    fn truth(&self, _session: &mut Client<Vec2>, _now: LocalInstant) -> Option<(i64, Vec2)> {
        None
    }
}

impl Live {
    /// Creates a player of this game (numbered as in [`PlayScene`](crate::play::PlayScene)) at a
    /// server. `random` must be unguessable.
    pub fn new(game: u32, about: About, random: &Random) -> Result<Self, ConfigError> {
        let table: Box<dyn OnlineGame> = match game {
            0 => Box::new(LiveTank::new(about.seed, random.fork(0).bits())?),
            1 => {
                let game = jet_car::JetCarGame::new(about.seed);
                Box::new(HostedPlayer::<_, HostedJetCar>::new(game.truth(), game))
            }
            2 => {
                let game = sailing::SailingGame::new(about.seed);
                Box::new(HostedPlayer::<_, HostedSailing>::new(game.truth(), game))
            }
            _ => {
                let game = race::RaceGame::new(about.seed);
                Box::new(HostedPlayer::<_, HostedRace>::new(game.truth(), game))
            }
        };
        let class = || Class::new(Trigger::within(about.threshold));
        let classes = [(TANK, class().with_model(about.model)), (SHOT, class())];
        let session = Client::new(ClientConfig::new(classes), random.fork(1));
        let hands = Hands::default();
        Ok(Self { session, table, hands, is_compensated: false, fairness: None, sessions: 0 })
    }

    /// Returns the session, for the code that carries its bytes.
    pub fn session(&mut self) -> &mut Client<Vec2> {
        &mut self.session
    }

    /// Returns whether there is a session, and it is not silent.
    pub fn is_connected(&self) -> bool {
        self.session.is_connected()
    }

    /// Returns the number of sessions so far. A second one: the server has forgotten the first.
    pub fn sessions(&self) -> u32 {
        self.sessions
    }

    /// Sets whether a bot plays, and whether the screen is compensated for lag.
    pub fn set(&mut self, is_bot: bool, is_compensated: bool) {
        self.hands.is_bot = is_bot;
        self.is_compensated = is_compensated;
    }

    pub fn again(&mut self) {
        self.table.again(&mut self.session);
    }

    pub fn drive(&mut self, right: f64, ahead: f64, fires: bool, now: LocalInstant) {
        self.hands = Hands { right, ahead, fires, ..self.hands };
        while let Some(event) = self.session.poll_event() {
            match &event {
                ClientEvent::Connected(_) => {
                    self.sessions += 1;
                    self.table.begin(&mut self.session);
                }
                ClientEvent::Called { method: FAIRNESS, call, .. } => {
                    self.fairness = FairnessReport::from_bytes(call.bytes()).ok();
                }
                _ => self.table.hear(&event),
            }
        }
        self.table.play(&mut self.session, self.hands, self.is_compensated, now);
    }

    pub fn frame(&mut self, now: LocalInstant, out: &mut Vec<f64>) {
        self.table.frame(&mut self.session, now, out);
    }

    /// Returns the state of link and ledger: the round trip and the clock's uncertainty in ms,
    /// updates received; the number of players in the ledger, the mean error of this player's
    /// screen, the mean over all players, and the spread.
    pub fn standing(&self, now: LocalInstant) -> [f64; 7] {
        let statistics = self.session.statistics();
        let millis = |span: Option<Span>| span.map_or(0.0, Span::as_millis_f64);
        let FairnessReport { own, mean, spread, players } = self.fairness.unwrap_or_default();
        let uncertainty = self.session.clock_uncertainty(now);
        let received = statistics.vectors_received as f64;
        [millis(statistics.round_trip), millis(uncertainty), received, players.into(), own, mean, spread]
    }

    /// Returns µs on the shared clock and the own tank's position, for tests that compare views.
    pub fn truth(&mut self, now: LocalInstant) -> Option<(i64, Vec2)> {
        self.table.truth(&mut self.session, now)
    }

    pub fn ground(&self) -> Vec<Vec<Vec2>> {
        self.table.ground()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use fairpath::schedule::Broadcast;
    use fairpath::session::{ConnectionId, Server, ServerConfig, Token};
    use fairpath::time::SharedInstant;
    use fairpath::vector::Vector;
    use fairpath_games::online::GameRooms;

    const ABOUT: About = About { seed: 1, threshold: 0.3, model: MotionKind::Circular };

    /// Runs a server and the page's client without a network. `look` is called every 5 ms.
    fn played(game: u32, secs: i64, look: impl FnMut(&mut Live, &mut Server<Vec2>, i64)) {
        played_over(game, secs, Span::ZERO, look);
    }

    /// A message of either side, by what carries it.
    enum Message {
        Stream(Vec<u8>),
        Datagram(Vec<u8>),
    }

    fn played_over(
        game: u32,
        secs: i64,
        round_trip: Span,
        mut look: impl FnMut(&mut Live, &mut Server<Vec2>, i64),
    ) {
        let class = || Class::new(Trigger::within(ABOUT.threshold));
        let classes = [(TANK, class().with_model(ABOUT.model)), (SHOT, class())];
        let config = ServerConfig::new(classes, 1);
        let mut server = Server::<Vec2>::new(config, Box::new(Broadcast), Random::from_seed(2));
        let mut hall = GameRooms::new(ABOUT.seed);
        let mut live = Live::new(game, ABOUT, &Random::from_seed(3)).expect("sound");
        live.set(false, true);
        let mut link = ConnectionId(0);
        let way = round_trip.as_micros() / 2;
        let (mut up, mut down) = (VecDeque::new(), VecDeque::new());
        for step in 0..200 * secs {
            let micros = step * 5_000;
            let (local, shared) = (LocalInstant::from_micros(micros), SharedInstant::from_micros(micros));
            if step == 0 {
                link = server.handle_connected(Token([7; 16]), shared).expect("there is room");
                live.session().handle_connected(local);
            }
            live.session().handle_timeout(local);
            server.handle_timeout(shared);
            while let Some(event) = server.poll_event() {
                hall.handle_event(&mut server, &event, shared);
            }
            hall.play(&mut server, shared);
            if step % 100 == 0 {
                FairnessReport::send_to_all(&mut server);
            }
            live.drive(0.5, 1.0, true, local);
            while let Some(bytes) = live.session().poll_stream(local) {
                up.push_back((micros + way, Message::Stream(bytes)));
            }
            while let Some(bytes) = live.session().poll_datagram(local, 1200) {
                up.push_back((micros + way, Message::Datagram(bytes)));
            }
            while let Some((_, message)) = up.pop_front_if(|(at, _)| *at <= micros) {
                match message {
                    Message::Stream(bytes) => {
                        server.handle_stream(link, &bytes, shared);
                    }
                    Message::Datagram(bytes) => {
                        server.handle_datagram(link, &bytes, shared);
                    }
                }
            }
            while let Some(bytes) = server.poll_stream(link, shared) {
                down.push_back((micros + way, Message::Stream(bytes)));
            }
            while let Some(bytes) = server.poll_datagram(link, shared, 1200) {
                down.push_back((micros + way, Message::Datagram(bytes)));
            }
            while let Some((_, message)) = down.pop_front_if(|(at, _)| *at <= micros) {
                match message {
                    Message::Stream(bytes) => live.session().handle_stream(&bytes, local),
                    Message::Datagram(bytes) => live.session().handle_datagram(&bytes, local),
                }
            }
            look(&mut live, &mut server, micros);
        }
    }

    #[test]
    fn a_server_sees_the_tank_where_it_is_and_its_shots_too() {
        let (mut seen, mut shots, mut told) = (0, 0, 0.0);
        played(0, 10, |live, server, micros| {
            let (local, shared) = (LocalInstant::from_micros(micros), SharedInstant::from_micros(micros));
            let of = |class| server.objects().find(|object| server.class(*object) == Some(class));
            shots += u32::from(of(SHOT).is_some());
            told = live.standing(local)[3];
            if let (Some(object), Some((_, truth))) = (of(TANK), live.truth(local))
                && let Some(placed) = server.place(object, shared)
            {
                assert!(placed.position.distance(truth) < 0.4, "at {micros} µs");
                seen += 1;
            }
        });
        assert!(seen > 1_000 && shots > 100, "seen {seen} times, with {shots} shots");
        assert_eq!(told, 1.0, "the ledger has one player");
    }

    #[test]
    fn without_compensation_the_own_tank_is_shown_a_round_trip_late() {
        let (mut late, mut prompt) = (0.0, 0.0);
        played_over(0, 10, Span::from_millis(200), |live, _, micros| {
            let local = LocalInstant::from_micros(micros);
            let mut apart = |is_compensated| {
                live.set(false, is_compensated);
                live.drive(0.5, 1.0, false, local);
                let mut frame = Vec::new();
                live.frame(local, &mut frame);
                frame[8]
            };
            if micros > 5_000_000 {
                prompt = f64::max(prompt, apart(true));
                late = f64::max(late, apart(false));
            }
        });
        assert_eq!(prompt, 0.0, "the owner sees its tank at once");
        assert!((3.5..6.5).contains(&late), "25 units a second, 200 ms late: {late}");
    }

    #[test]
    fn hosted_games_are_played_at_the_server() {
        for game in 1..4 {
            let mut places = Vec::new();
            played(game, 6, |live, _, micros| {
                let mut frame = Vec::new();
                live.frame(LocalInstant::from_micros(micros), &mut frame);
                assert!(frame.iter().all(|number| number.is_finite()), "game {game}");
                assert_eq!(frame[1], f64::from(game));
                places.push(Vec2::new(frame[5], frame[6]));
            });
            // A player that thrusts all the time hits a wall and is put back to its start.
            let way = places.iter().map(|place| place.distance(places[0])).fold(0.0, f64::max);
            assert!(way > 3.0, "game {game}: the server has moved it by {way}");
        }
    }
}
