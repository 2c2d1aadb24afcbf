//! The server's end: a run for each guest, on elapsed time.

use std::collections::BTreeMap;

use fairpath::session::{ClientId, Delivery, Server, ServerEvent};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_compensate::Epoch;

use super::hosted::HostedGame;
use super::message::{read_input, write_reply};
use super::slot::ClientSlot;
use super::{INPUT, RESTART, STATE, WELCOME};

/// A room with a seat for every guest, each with a run of its own.
///
/// It is asked often and plays what time has passed, in whole ticks. A seat is taken with the first
/// input and free again after four seconds of silence; a guest who comes back later begins anew.
pub struct Room<H: HostedGame> {
    game: H,
    /// The first run's; each further one has the next.
    seed: u64,
    runs: u32,
    seats: BTreeMap<ClientId, ClientRun<H>>,
    statistics: RoomStatistics,
}

struct ClientRun<H: HostedGame> {
    host: ClientSlot<H::Input>,
    run: H::Run,
    /// When it would have begun, had it never been held up.
    began: SharedInstant,
    played: i64,
}

/// What happened in a room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoomStatistics {
    /// Runs that were begun.
    pub runs: u32,
    /// Seats that were given up for silence.
    pub freed: u32,
    /// Inputs that arrived.
    pub inputs: u64,
    /// States that were sent.
    pub answers: u64,
    /// Messages that were none; who sends them is sent away.
    pub bad_messages: u32,
}

/// The longest stretch that is caught up with; after a longer one the game goes on where it was.
const CATCH_UP_MAX: Span = Span::from_millis(500);

impl<H: HostedGame> Room<H> {
    /// With nobody in it; the first run follows from this seed, and each further one from the next.
    pub fn new(game: H, seed: u64) -> Self {
        Self { game, seed, runs: 0, seats: BTreeMap::new(), statistics: RoomStatistics::default() }
    }

    /// Hears everybody, plays what is due, and answers.
    pub fn frame(&mut self, session: &mut Server<Vec2>, now: SharedInstant) {
        while let Some(event) = session.poll_event() {
            if let ServerEvent::Joined(client) = event {
                self.greet(session, client);
            }
            self.handle_event(session, event, now);
        }
        self.play(session, now);
    }

    /// Plays what is due, and answers.
    pub fn play(&mut self, session: &mut Server<Vec2>, now: SharedInstant) {
        for (client, seat) in &mut self.seats {
            seat.play(&self.game, now);
            // Of ticks that were caught up with only the last is news.
            let reply = seat.host.answer(|| H::scene(&seat.run).clone());
            if let Some(reply) = reply {
                // Somebody who is gone is not told; somebody who is slow misses this one.
                let sent = session.call_client(*client, STATE, &write_reply(&reply), Delivery::Unreliable);
                self.statistics.answers += u64::from(sent.is_ok());
            }
        }
        let before = self.seats.len();
        self.seats.retain(|_, seat| !seat.host.is_free());
        self.statistics.freed += (before - self.seats.len()) as u32;
    }

    /// Says to somebody which game is played here.
    pub fn greet(&self, session: &mut Server<Vec2>, client: ClientId) {
        // Whoever has just come has room for a greeting; if not, the session ends and says why.
        let _ = session.call_client(client, WELCOME, &[H::NUMBER], Delivery::ReliableOrdered);
    }

    /// Somebody gets up.
    pub fn leave(&mut self, client: ClientId) {
        self.seats.remove(&client);
    }

    /// Hears what happened to a session.
    pub fn handle_event(&mut self, session: &mut Server<Vec2>, event: ServerEvent, now: SharedInstant) {
        match event {
            ServerEvent::SessionLost { client, .. } => {
                self.seats.remove(&client);
            }
            ServerEvent::Called { from, method: INPUT, bytes, .. } => match read_input(&bytes) {
                Ok((stamp, input)) => {
                    self.statistics.inputs += 1;
                    if let Some(seat) = self.seat(from, now) {
                        seat.host.receive(stamp, input);
                    }
                }
                Err(_) => self.send_away(session, from, now),
            },
            ServerEvent::Called { from, method: RESTART, .. } => {
                self.seats.remove(&from);
            }
            ServerEvent::Called { from, .. } => self.send_away(session, from, now),
            _ => {}
        }
    }

    /// The seat of a guest; a new run if there is none.
    fn seat(&mut self, client: ClientId, now: SharedInstant) -> Option<&mut ClientRun<H>> {
        if !self.seats.contains_key(&client) {
            let run = self.game.begin(self.seed.wrapping_add(self.runs.into())).ok()?;
            self.runs = self.runs.wrapping_add(1);
            self.statistics.runs = self.statistics.runs.saturating_add(1);
            let host = ClientSlot::new(Epoch(self.runs), H::TICK_RATE, H::idle());
            self.seats.insert(client, ClientRun { host, run, began: now, played: 0 });
        }
        self.seats.get_mut(&client)
    }

    fn send_away(&mut self, session: &mut Server<Vec2>, client: ClientId, now: SharedInstant) {
        self.statistics.bad_messages += 1;
        self.seats.remove(&client);
        session.dismiss(client, now);
    }

    /// What happened so far.
    pub fn statistics(&self) -> RoomStatistics {
        self.statistics
    }
}

impl<H: HostedGame> ClientRun<H> {
    /// Plays the ticks that have passed.
    fn play(&mut self, game: &H, now: SharedInstant) {
        let behind = (now - self.began) - H::TICK_RATE.begin(self.played);
        if behind > CATCH_UP_MAX {
            self.began += behind;
        }
        while H::TICK_RATE.begin(self.played + 1) <= now - self.began {
            self.played += 1;
            game.step(&mut self.run, self.host.play());
        }
    }
}
