//! The player's own tank, among those of other clients.

use std::collections::VecDeque;

use fairpath::State;
use fairpath::motion::MotionKind;
use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::session::{Client, ClientEvent, Party};
use fairpath::time::{LocalInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath_games::online::{ALIVE, SHOT, SessionAt, TankPublisher, show};
use fairpath_games::tanks::{
    Bot, ConfigError, Driver, Ground, Input, Match, Tanks, TanksConfig, Temperament,
};

use super::OnlineGame;
use crate::play::{Hands, Sprite, Thing, field};

/// The own tank and shots are simulated here and replicated to the server. All others come from it.
///
/// The owner of a tank needs no compensation to see it at once. Without compensation the screen
/// shows what a client without a tank of its own would see: the tank as it comes back from the
/// server, one round trip later.
pub(super) struct LiveTank {
    crew: TankPublisher,
    bot: Bot,
    is_compensated: bool,
    /// The tank's states at the last frames, the newest last.
    past: VecDeque<(LocalInstant, State<Vec2>)>,
}

/// The longest round trip that the screen shows.
const PAST_MAX: Span = Span::from_secs(2);

const OWN: EntityId = EntityId(0);
/// The width of the screen, in units.
const SCREEN: f64 = 150.0;

impl LiveTank {
    /// Creates a tank alone on the field of the server's seed. `dice` decides where it starts.
    pub(super) fn new(seed: u64, dice: u64) -> Result<Self, ConfigError> {
        let map = Tanks::new(TanksConfig::default(), seed)?.map().clone();
        let config = TanksConfig { tanks: [1, 0], ground: Ground::Given(map), ..TanksConfig::default() };
        let game = Match::new(config, dice, |_, _, _| Driver::Hands(Input::IDLE))?;
        let bot = Bot::new(Temperament::Hunter, Random::from_seed(dice));
        Ok(Self { crew: TankPublisher::new(game), bot, is_compensated: true, past: VecDeque::new() })
    }

    /// Returns the own tank's state now, or its start before the clock is synchronised.
    fn own(&self, session: &mut Client<Vec2>, now: LocalInstant) -> State<Vec2> {
        let state = self.crew.game().tanks().tanks()[0].state();
        let Some(clock) = session.clock_now(now) else { return state };
        let back = (clock.shared - self.crew.time_of_last_tick()).as_secs_f64().clamp(-1.0, 0.0);
        MotionKind::Circular.from_state(&state).state_at(back)
    }

    fn remember(&mut self, session: &mut Client<Vec2>, now: LocalInstant) {
        let own = self.own(session, now);
        self.past.push_back((now, own));
        while self.past.front().is_some_and(|(at, _)| now - *at > PAST_MAX) {
            self.past.pop_front();
        }
    }

    /// Returns the state on the screen: that of now, or without compensation of one round trip ago.
    fn shown(&self, session: &Client<Vec2>, now: LocalInstant) -> Option<State<Vec2>> {
        if self.is_compensated {
            return None;
        }
        let seen_at = now - session.statistics().round_trip.unwrap_or(Span::ZERO);
        let after = self.past.partition_point(|(at, _)| *at <= seen_at);
        self.past.get(after.saturating_sub(1)).map(|(_, state)| *state)
    }
}

impl OnlineGame for LiveTank {
    fn begin(&mut self, _session: &mut Client<Vec2>) {
        self.crew.forget_session();
    }

    fn hear(&mut self, event: &ClientEvent) {
        if matches!(event, ClientEvent::SessionLost { .. }) {
            self.crew.forget_session();
        }
    }

    fn play(&mut self, session: &mut Client<Vec2>, hands: Hands, is_compensated: bool, now: LocalInstant) {
        self.is_compensated = is_compensated;
        let Some(clock) = session.clock_now(now) else { return };
        let driver = if hands.is_bot {
            Driver::Bot(self.bot.clone())
        } else {
            Driver::Hands(Input { throttle: hands.ahead, turn: -hands.right, fire: hands.fires })
        };
        self.crew.seat(OWN, driver);
        self.crew.play(clock.shared, |view| show(view, session, now));
        self.remember(session, now);
        if session.is_connected() && self.crew.publish(&mut SessionAt(session, now), clock.shared).is_err() {
            // A session without room returns an error; the next frame sends all again.
            self.crew.forget_session();
        }
    }

    fn frame(&mut self, session: &mut Client<Vec2>, now: LocalInstant, out: &mut Vec<f64>) {
        let truth = self.own(session, now);
        let own = self.shown(session, now).unwrap_or(truth);
        let apart = own.position.distance(truth.position);
        let others = others(session, now);
        let count = |kind: Sprite| others.iter().filter(|one| one.kind as u8 == kind as u8).count() as f64;
        let tanks = self.crew.game().tanks();
        out.extend([tanks.now().as_secs_f64(), 0.0, own.position.x, own.position.y, SCREEN]);
        out.extend([truth.position.x, truth.position.y, truth.orientation, apart, 0.0, apart, 0.0]);
        out.extend([count(Sprite::Tank), count(Sprite::Shot), 0.0, 0.0, 0.0, 0.0]);
        let shots = tanks.shots().iter().map(|shot| Thing::new(Sprite::Shot, shot.state().position, 0.0));
        let tank = Thing { is_own: true, ..Thing::new(Sprite::Tank, own.position, own.orientation) };
        let things: Vec<Thing> = others.into_iter().chain(shots).chain([tank]).collect();
        out.push(things.len() as f64);
        things.iter().for_each(|thing| thing.write(out));
    }

    fn ground(&self) -> Vec<Vec<Vec2>> {
        field(self.crew.game().tanks().map())
    }

    fn truth(&self, session: &mut Client<Vec2>, now: LocalInstant) -> Option<(i64, Vec2)> {
        let shared = session.clock_now(now)?.shared;
        self.crew.truths(shared).next()?;
        Some((shared.as_micros(), self.own(session, now).position))
    }
}

/// Returns all things of other clients, where they are drawn.
fn others(session: &mut Client<Vec2>, now: LocalInstant) -> Vec<Thing> {
    let own = session.id().map(Party::Client);
    let is_mine = |session: &Client<Vec2>, object| own.is_some() && session.owner(object) == own;
    let objects: Vec<EntityId> = session.objects().collect();
    let mut things = Vec::new();
    for object in objects {
        if is_mine(session, object) || session.state(object, ALIVE) == Some(&[0]) {
            continue;
        }
        let Some(state) = session.draw(object, now) else { continue };
        let kind = if session.class(object) == Some(SHOT) { Sprite::Shot } else { Sprite::Tank };
        let team = u32::from(session.creation(object).is_some_and(|bytes| bytes.first() == Some(&1)));
        things.push(Thing { team, ..Thing::new(kind, state.position, state.orientation) });
    }
    things
}
