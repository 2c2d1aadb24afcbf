//! Play over the real network: a session with a server, without the socket.
//!
//! JavaScript has the WebTransport; this has the [`Client`] and the game. What comes is handed in,
//! what is to leave is asked for, and the run loop is the one that [`fairpath::session`]
//! prescribes. A tank is the player's own and told to the others
//! ([`TankPublisher`](fairpath_games::online::TankPublisher)); all other games are the server's, and a
//! [`HostedClient`](fairpath_games::online::HostedClient) plays them.

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

use self::guest::Away;
use self::tanks::LiveTank;
use crate::play::{Game, Hands, jet_car, race, sailing};

/// What a page must know of a server.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Fields, roads and winds follow from it.
    pub seed: u64,
    /// How wrong others may be about a tank.
    pub threshold: f64,
    /// What they take a tank to do meanwhile.
    pub model: MotionKind,
}

/// A browser's place at a server.
///
/// Its frame is that of [`Play`](crate::play::Play).
pub struct Live {
    session: Client<Vec2>,
    table: Box<dyn Table>,
    hands: Hands,
    is_compensated: bool,
    fairness: Option<FairnessReport>,
    sessions: u32,
}

/// A game at a server, whichever it is.
trait Table {
    /// There is a session, and it knows nothing yet.
    fn begin(&mut self, session: &mut Client<Vec2>);
    /// Something that the session says.
    fn hear(&mut self, event: &ClientEvent);
    /// One frame: the hands act, and the server is told.
    fn play(&mut self, session: &mut Client<Vec2>, hands: Hands, is_compensated: bool, now: LocalInstant);
    /// Everything there is to draw.
    fn frame(&mut self, session: &mut Client<Vec2>, now: LocalInstant, out: &mut Vec<f64>);
    /// What never moves.
    fn ground(&self) -> Vec<Vec<Vec2>>;
    /// The player wants to begin anew.
    fn again(&mut self, _session: &mut Client<Vec2>) {}
    /// Microseconds on the shared clock, and where the player's own thing really is, where that is
    /// known here.
    fn truth(&self, _session: &mut Client<Vec2>, _now: LocalInstant) -> Option<(i64, Vec2)> {
        None
    }
}

impl Live {
    /// A player of this game (as [`Play`](crate::play::Play) counts them) at a server; `random`
    /// must be unguessable.
    pub fn new(game: u32, about: About, random: &Random) -> Result<Self, ConfigError> {
        let table: Box<dyn Table> = match game {
            0 => Box::new(LiveTank::new(about.seed, random.fork(0).bits())?),
            1 => {
                let game = jet_car::JetCar::new(about.seed);
                Box::new(Away::<_, HostedJetCar>::new(game.truth(), game))
            }
            2 => {
                let game = sailing::Sailing::new(about.seed);
                Box::new(Away::<_, HostedSailing>::new(game.truth(), game))
            }
            _ => {
                let game = race::Race::new(about.seed);
                Box::new(Away::<_, HostedRace>::new(game.truth(), game))
            }
        };
        let class = || Class::new(Trigger::within(about.threshold));
        let classes = [(TANK, class().with_model(about.model)), (SHOT, class())];
        let session = Client::new(ClientConfig::new(classes), random.fork(1));
        let hands = Hands::default();
        Ok(Self { session, table, hands, is_compensated: false, fairness: None, sessions: 0 })
    }

    /// The session, for whoever carries its bytes.
    pub fn session(&mut self) -> &mut Client<Vec2> {
        &mut self.session
    }

    /// Whether there is a session, and it is not silent.
    pub fn is_connected(&self) -> bool {
        self.session.is_connected()
    }

    /// How many sessions there have been: a second one means that the server has forgotten the
    /// first.
    pub fn sessions(&self) -> u32 {
        self.sessions
    }

    /// Whether a bot plays instead of the hands, and whether the screen plays on what the server
    /// has not seen.
    pub fn set(&mut self, is_bot: bool, is_compensated: bool) {
        self.hands.is_bot = is_bot;
        self.is_compensated = is_compensated;
    }

    /// Begins anew, in games that have a beginning.
    pub fn again(&mut self) {
        self.table.again(&mut self.session);
    }

    /// One frame: the hands act, and the server is told.
    pub fn drive(&mut self, right: f64, ahead: f64, fires: bool, now: LocalInstant) {
        self.hands = Hands { right, ahead, fires, ..self.hands };
        while let Some(event) = self.session.poll_event() {
            match &event {
                ClientEvent::Connected(_) => {
                    self.sessions += 1;
                    self.table.begin(&mut self.session);
                }
                ClientEvent::Called { method: FAIRNESS, bytes, .. } => {
                    self.fairness = FairnessReport::from_bytes(bytes).ok();
                }
                _ => self.table.hear(&event),
            }
        }
        self.table.play(&mut self.session, self.hands, self.is_compensated, now);
    }

    /// Everything there is to draw.
    pub fn frame(&mut self, now: LocalInstant, out: &mut Vec<f64>) {
        self.table.frame(&mut self.session, now, out);
    }

    /// How the link and the ledger stand: the round trip and the clock's uncertainty in ms, updates
    /// received; how many players the ledger has, how wrong this one's screen has been,
    /// everybody's on average, and how unequal they are.
    pub fn standing(&self, now: LocalInstant) -> [f64; 7] {
        let statistics = self.session.statistics();
        let millis = |span: Option<Span>| span.map_or(0.0, Span::as_millis_f64);
        let FairnessReport { own, mean, spread, players } = self.fairness.unwrap_or_default();
        let uncertainty = self.session.clock_uncertainty(now);
        let received = statistics.vectors_received as f64;
        [millis(statistics.round_trip), millis(uncertainty), received, players.into(), own, mean, spread]
    }

    /// Microseconds on the shared clock, and where the own tank is then: for tests that compare
    /// with what others see.
    pub fn truth(&mut self, now: LocalInstant) -> Option<(i64, Vec2)> {
        self.table.truth(&mut self.session, now)
    }

    /// What never moves.
    pub fn ground(&self) -> Vec<Vec<Vec2>> {
        self.table.ground()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath::schedule::Broadcast;
    use fairpath::session::{ConnectionId, Server, ServerConfig, Token};
    use fairpath::time::SharedInstant;
    use fairpath::vector::Vector;
    use fairpath_games::online::GameRooms;

    const ABOUT: About = About { seed: 1, threshold: 0.3, model: MotionKind::Circular };

    /// A server and the page's client, byte for byte, without a network between them. `look` sees
    /// both every 5 ms.
    fn played(game: u32, secs: i64, mut look: impl FnMut(&mut Live, &mut Server<Vec2>, i64)) {
        let class = || Class::new(Trigger::within(ABOUT.threshold));
        let classes = [(TANK, class().with_model(ABOUT.model)), (SHOT, class())];
        let config = ServerConfig::new(classes, 1);
        let mut server = Server::<Vec2>::new(config, Box::new(Broadcast), Random::from_seed(2));
        let mut hall = GameRooms::new(ABOUT.seed);
        let mut live = Live::new(game, ABOUT, &Random::from_seed(3)).expect("sound");
        live.set(false, true);
        let mut link = ConnectionId(0);
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
                server.handle_stream(link, &bytes, shared);
            }
            while let Some(bytes) = live.session().poll_datagram(local, 1200) {
                server.handle_datagram(link, &bytes, shared);
            }
            while let Some(bytes) = server.poll_stream(link, shared) {
                live.session().handle_stream(&bytes, local);
            }
            while let Some(bytes) = server.poll_datagram(link, shared, 1200) {
                live.session().handle_datagram(&bytes, local);
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
            // Whoever thrusts all the time meets a wall, and is put where it began.
            let way = places.iter().map(|place| place.distance(places[0])).fold(0.0, f64::max);
            assert!(way > 3.0, "game {game}: the server has moved it by {way}");
        }
    }
}
