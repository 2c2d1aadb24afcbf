//! The server's end of a [`Table`], as calls of a session.

use fairpath::session::{ClientId, Delivery, Server, ServerEvent};
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;
use fairpath_sim::trace::Trace;

use super::message::{read_input, write_reply};
use super::table::{Phase, SharedGame, Table};
use super::{INPUT, START, STATE, WELCOME};

/// Carries the calls of a session to a table, and its states back.
pub struct SharedRoom<G: SharedGame> {
    table: Table<G>,
    statistics: SharedRoomStatistics,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedRoomStatistics {
    /// Games played to their end.
    pub games: u32,
    pub inputs: u64,
    pub answers: u64,
    /// Inputs of clients for which there was no seat.
    pub without_seat: u64,
    /// Starts by a client that is not the host, or while a game was on.
    pub refused_starts: u32,
    /// Calls that could not be decoded. The client that sends one is dismissed.
    pub bad_messages: u32,
}

impl<G: SharedGame> SharedRoom<G> {
    pub fn new(table: Table<G>) -> Self {
        Self { table, statistics: SharedRoomStatistics::default() }
    }

    /// Handles all session events, plays the ticks that are due, and sends the states. Returns the
    /// recording of a game that ended.
    pub fn frame(&mut self, session: &mut Server<Vec2>, now: SharedInstant) -> Option<Trace> {
        while let Some(event) = session.poll_event() {
            self.handle_event(session, event, now);
        }
        let was_playing = self.table.phase() == Phase::Playing;
        self.table.play(now);
        if was_playing && self.table.phase() == Phase::Over {
            self.statistics.games += 1;
        }
        while let Some((client, reply)) = self.table.poll_reply() {
            // The call fails if the client is gone or its queue full; the next replaces it.
            let sent = session.call_client(client, STATE, &write_reply(&reply), Delivery::Unreliable);
            self.statistics.answers += u64::from(sent.is_ok());
        }
        self.table.take_recording()
    }

    fn handle_event(&mut self, session: &mut Server<Vec2>, event: ServerEvent, now: SharedInstant) {
        match event {
            ServerEvent::Joined { client, .. } => {
                self.table.join(client);
                let _ = session.call_client(client, WELCOME, &[G::NUMBER], Delivery::ReliableOrdered);
            }
            ServerEvent::SessionLost { client, .. } => self.table.leave(client),
            ServerEvent::Called { from, method: INPUT, call, .. } => match read_input(call.bytes()) {
                Ok((stamp, input)) => {
                    self.statistics.inputs += 1;
                    // A client whose seat was given away takes one again with its next input.
                    let has_seat = self.table.join(from) && self.table.receive(from, stamp, input);
                    self.statistics.without_seat += u64::from(!has_seat);
                }
                Err(_) => self.send_away(session, from, now),
            },
            ServerEvent::Called { from, method: START, .. } => {
                self.statistics.refused_starts += u32::from(!self.table.start(from));
            }
            ServerEvent::Called { from, .. } => self.send_away(session, from, now),
            _ => {}
        }
    }

    fn send_away(&mut self, session: &mut Server<Vec2>, client: ClientId, now: SharedInstant) {
        self.statistics.bad_messages += 1;
        self.table.leave(client);
        session.dismiss(client, now);
    }

    pub fn table(&self) -> &Table<G> {
        &self.table
    }

    pub fn statistics(&self) -> SharedRoomStatistics {
        self.statistics
    }
}
