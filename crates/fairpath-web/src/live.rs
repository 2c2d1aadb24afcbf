//! Play over the real network: a session with a tank server, without the socket.
//!
//! JavaScript has the WebTransport; this has the [`Client`] and the tank. What comes is handed in, what is to leave is asked
//! for, and the run loop is the one that [`fairpath::session`] prescribes. The tank runs one tick ahead of the clock, as
//! `fairpath bots` do it: where it is at any instant of a tick is known then, and that is what others are told.

use fairpath::motion::MotionKind;
use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::session::{Class, ClassId, Client, ClientConfig, ClientEvent, Party};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::trigger::Trigger;
use fairpath::vector::Vec2;
use fairpath::{Observation, State};
use fairpath_games::tanks::{ConfigError, Driver, Ground, Input, Match, TICK_RATE, Tanks, TanksConfig};

use crate::play::{Kind, Thing};

/// What a tank server calls its tanks and shots.
const TANK: ClassId = ClassId(0);
const SHOT: ClassId = ClassId(1);
/// The state group of a tank that says whether it is on the field.
const ALIVE: u8 = 0;
/// Ticks played at once at most: after a longer stall the game goes on from there, later.
const TICKS_AT_ONCE_MAX: i64 = 60;

/// A browser's place at a tank server.
///
/// Its frame is that of [`Play`](crate::play::Play); the game's own four numbers are the round trip in ms, the clock's uncertainty in ms,
/// how many other tanks are seen, and updates received.
pub struct Live {
    session: Client<Vec2>,
    game: Match,
    /// When tick zero was, on the shared clock; set by the first look at it.
    began: Option<SharedInstant>,
    own: Option<EntityId>,
    sessions: u32,
}

impl Live {
    /// A client for a server with this field, threshold and model; `random` must be unguessable.
    pub fn new(seed: u64, threshold: f64, model: MotionKind, random: Random) -> Result<Self, ConfigError> {
        let map = Tanks::new(TanksConfig::default(), seed)?.map().clone();
        let config = TanksConfig { tanks: [1, 0], ground: Ground::Given(map), ..TanksConfig::default() };
        let game = Match::new(config, random.fork(0).bits(), |_, _, _| Driver::Hands(Input::IDLE))?;
        let class = || Class::new(Trigger::within(threshold));
        let classes = [(TANK, class().with_model(model)), (SHOT, class())];
        let session = Client::new(ClientConfig::new(classes), random.fork(1));
        Ok(Self { session, game, began: None, own: None, sessions: 0 })
    }

    /// The session, for whoever carries its bytes.
    pub fn session(&mut self) -> &mut Client<Vec2> {
        &mut self.session
    }

    /// Whether there is a session, and it is not silent.
    pub fn is_connected(&self) -> bool {
        self.session.is_connected()
    }

    /// How many sessions there have been: a second one means that the server has forgotten the first.
    pub fn sessions(&self) -> u32 {
        self.sessions
    }

    /// One frame: the hands drive, and the server is told.
    pub fn drive(&mut self, right: f64, ahead: f64, now: LocalInstant) {
        while let Some(event) = self.session.poll_event() {
            match event {
                ClientEvent::Connected(_) => self.sessions += 1,
                ClientEvent::SessionLost { .. } => self.own = None,
                _ => {}
            }
        }
        let Some(clock) = self.session.clock_now(now) else { return };
        self.game.seat(EntityId(0), Driver::Hands(Input::drive(ahead, -right)));
        self.play_to(clock.shared);
        if self.session.is_connected() {
            self.tell(clock.shared, now);
        }
    }

    fn play_to(&mut self, now: SharedInstant) {
        let played = self.game.tanks().now().since_zero();
        let began = *self.began.get_or_insert(now - played);
        let stalled = now - began - played - TICK_RATE.begin(TICKS_AT_ONCE_MAX);
        if stalled > Span::ZERO {
            self.began = Some(began + stalled);
        }
        while self.last_tick_at() < now {
            self.game.step();
        }
    }

    fn last_tick_at(&self) -> SharedInstant {
        self.began.unwrap_or(SharedInstant::ZERO) + self.game.tanks().now().since_zero()
    }

    fn tell(&mut self, at: SharedInstant, now: LocalInstant) {
        let state = self.truth_at(at);
        let is_new = self.own.is_none();
        if is_new {
            // A session that has no room for it says so, and is asked again with the next frame.
            self.own = self.session.create(TANK, &[0], now).ok();
        }
        let Some(own) = self.own else { return };
        let observation = if is_new { Observation::Jumped(state) } else { Observation::Moved(state) };
        let told = self.session.observe(own, observation, now);
        let alive = self.session.set_state(own, ALIVE, &[1]);
        if told.is_err() || alive.is_err() {
            self.own = None;
        }
    }

    /// Where the own tank is at an instant within the tick that was played last.
    fn truth_at(&self, at: SharedInstant) -> State<Vec2> {
        let state = self.game.tanks().tanks()[0].state();
        let back = (at - self.last_tick_at()).as_secs_f64().clamp(-1.0, 0.0);
        MotionKind::Circular.from_state(&state).state_at(back)
    }

    /// Microseconds on the shared clock, and where the own tank is then: for tests that compare with what others see.
    pub fn truth(&mut self, now: LocalInstant) -> Option<(i64, Vec2)> {
        let shared = self.session.clock_now(now)?.shared;
        self.own?;
        Some((shared.as_micros(), self.truth_at(shared).position))
    }

    /// Everything there is to draw.
    pub fn frame(&mut self, now: LocalInstant, out: &mut Vec<f64>) {
        let shared = self.session.clock_now(now).map_or(SharedInstant::ZERO, |clock| clock.shared);
        let own = self.truth_at(shared);
        let others = self.others(now);
        let statistics = self.session.statistics();
        let millis = |span: Option<Span>| span.map_or(0.0, Span::as_millis_f64);
        let tanks = others.iter().filter(|thing| matches!(thing.kind, Kind::Tank)).count();
        out.extend([self.game.tanks().now().as_secs_f64(), 0.0, own.position.x, own.position.y, 150.0]);
        out.extend([own.position.x, own.position.y, own.orientation, 0.0, 0.0, 0.0, 0.0]);
        let uncertainty = self.session.clock_uncertainty(now);
        out.extend([millis(statistics.round_trip), millis(uncertainty), tanks as f64]);
        out.extend([statistics.vectors_received as f64, 0.0, 0.0, others.len() as f64 + 1.0]);
        others.iter().for_each(|thing| thing.write(out));
        Thing { is_own: true, ..Thing::new(Kind::Tank, own.position, own.orientation) }.write(out);
    }

    fn others(&mut self, now: LocalInstant) -> Vec<Thing> {
        let objects: Vec<EntityId> = self.session.objects().collect();
        let is_mine = |session: &Client<Vec2>, object: EntityId| {
            let own = session.id().map(Party::Client);
            own.is_some() && session.owner(object) == own
        };
        let mut things = Vec::new();
        for object in objects {
            if is_mine(&self.session, object) || self.session.state(object, ALIVE) == Some(&[0]) {
                continue;
            }
            let Some(state) = self.session.draw(object, now) else { continue };
            let kind = if self.session.class(object) == Some(SHOT) { Kind::Shot } else { Kind::Tank };
            let team =
                u32::from(self.session.creation(object).is_some_and(|bytes| bytes.first() == Some(&1)));
            things.push(Thing { team, ..Thing::new(kind, state.position, state.orientation) });
        }
        things
    }

    /// The field's walls and boxes.
    pub fn ground(&self) -> Vec<Vec<Vec2>> {
        crate::play::field(self.game.tanks().map())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath::schedule::Broadcast;
    use fairpath::session::{ConnectionId, Server, ServerConfig, Token};
    use fairpath::vector::Vector;

    /// A server and the page's client, byte for byte, without a network between them.
    #[test]
    fn a_server_sees_the_tank_where_it_is() {
        let class = || Class::new(Trigger::within(0.3));
        let classes = [(TANK, class().with_model(MotionKind::Circular)), (SHOT, class())];
        let mut server =
            Server::<Vec2>::new(ServerConfig::new(classes, 1), Box::new(Broadcast), Random::from_seed(2));
        let mut live = Live::new(1, 0.3, MotionKind::Circular, Random::from_seed(3)).expect("sound");
        let mut link = ConnectionId(0);
        let mut seen = 0;
        for step in 0..2_000_i64 {
            let micros = step * 5_000;
            let (local, shared) = (LocalInstant::from_micros(micros), SharedInstant::from_micros(micros));
            if step == 0 {
                link = server.handle_connected(Token([7; 16]), shared).expect("there is room");
                live.session().handle_connected(local);
            }
            live.session().handle_timeout(local);
            server.handle_timeout(shared);
            live.drive(0.5, 1.0, local);
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
            let object = server.objects().next();
            if let (Some(object), Some((_, truth))) = (object, live.truth(local))
                && let Some(placed) = server.place(object, shared)
            {
                assert!(placed.position.distance(truth) < 0.4, "at {micros} µs");
                seen += 1;
            }
        }
        assert!(seen > 1_000, "it was seen {seen} times");
    }
}
