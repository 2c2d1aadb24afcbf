//! The server's end of a hosted game: a run for each client.

use std::collections::BTreeMap;

use fairpath::session::{ClientId, Delivery, Server, ServerEvent};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_compensate::Epoch;

use super::hosted::HostedGame;
use super::message::{read_input, write_reply};
use super::slot::ClientSlot;
use super::{INPUT, RESTART, STATE, WELCOME};

/// Runs one game for every client in it.
///
/// Each call of [`play`](Self::play) plays the whole ticks that have passed. A client's run begins
/// with its first input and ends after four seconds without one.
pub struct Room<H: HostedGame> {
    game: H,
    /// The seed of the first run. Each further run uses the next number.
    seed: u64,
    runs: u32,
    seats: BTreeMap<ClientId, ClientRun<H>>,
    statistics: RoomStatistics,
}

struct ClientRun<H: HostedGame> {
    host: ClientSlot<H::Input>,
    run: H::Run,
    /// When the run began, moved later by every stall that was not caught up.
    began: SharedInstant,
    played: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoomStatistics {
    pub runs: u32,
    /// Runs ended because no input arrived.
    pub freed: u32,
    pub inputs: u64,
    pub answers: u64,
    /// Calls that could not be decoded. The room dismisses the client that sends one.
    pub bad_messages: u32,
}

/// The longest stall that is caught up with. After a longer one the run continues where it stopped.
const CATCH_UP_MAX: Span = Span::from_millis(500);

impl<H: HostedGame> Room<H> {
    /// Returns an empty room. The first run uses this seed, each further one the next number.
    pub fn new(game: H, seed: u64) -> Self {
        Self { game, seed, runs: 0, seats: BTreeMap::new(), statistics: RoomStatistics::default() }
    }

    /// Handles all session events, plays the ticks that are due, and sends the states.
    pub fn frame(&mut self, session: &mut Server<Vec2>, now: SharedInstant) {
        while let Some(event) = session.poll_event() {
            if let ServerEvent::Joined { client, .. } = event {
                self.greet(session, client);
            }
            self.handle_event(session, event, now);
        }
        self.play(session, now);
    }

    /// Plays the ticks that are due and sends the states.
    pub fn play(&mut self, session: &mut Server<Vec2>, now: SharedInstant) {
        for (client, seat) in &mut self.seats {
            seat.play(&self.game, now);
            // If several ticks are caught up, only the last state is sent.
            let reply = seat.host.answer(|| H::scene(&seat.run).clone());
            if let Some(reply) = reply {
                // The call fails if the client is gone or its queue full; the next replaces it.
                let sent = session.call_client(*client, STATE, &write_reply(&reply), Delivery::Unreliable);
                self.statistics.answers += u64::from(sent.is_ok());
            }
        }
        let before = self.seats.len();
        self.seats.retain(|_, seat| !seat.host.is_free());
        self.statistics.freed += (before - self.seats.len()) as u32;
    }

    /// Sends a client the number of this room's game.
    pub fn greet(&self, session: &mut Server<Vec2>, client: ClientId) {
        // A new session has room for this call; if not, the session ends with an error of its own.
        let _ = session.call_client(client, WELCOME, &[H::NUMBER], Delivery::ReliableOrdered);
    }

    pub fn leave(&mut self, client: ClientId) {
        self.seats.remove(&client);
    }

    pub fn handle_event(&mut self, session: &mut Server<Vec2>, event: ServerEvent, now: SharedInstant) {
        match event {
            ServerEvent::SessionLost { client, .. } => {
                self.seats.remove(&client);
            }
            ServerEvent::Called { from, method: INPUT, call, .. } => match read_input(call.bytes()) {
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

    /// Returns the run of a client; begins one if it has none.
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

    pub fn statistics(&self) -> RoomStatistics {
        self.statistics
    }
}

impl<H: HostedGame> ClientRun<H> {
    /// Plays the whole ticks that have passed.
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
