use std::collections::BTreeMap;

use fairpath::session::{ClientId, Server, ServerEvent};
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;

use super::JOIN;
use super::hosted::{ClientGame, HostedJetCar, HostedRace, HostedSailing};
use super::room::Room;

/// A [`Room`] for each game. A client joins one of them by the game's number.
pub struct GameRooms {
    jet_car: Room<HostedJetCar>,
    sailing: Room<HostedSailing>,
    race: Room<HostedRace>,
    seated: BTreeMap<ClientId, u8>,
}

impl GameRooms {
    /// Returns rooms for the page's games. Obstructions, winds and the road follow from the seed.
    pub fn new(seed: u64) -> Self {
        Self {
            jet_car: Room::new(HostedJetCar::default(), seed),
            sailing: Room::new(HostedSailing::shifting(), seed),
            race: Room::new(HostedRace::on_road_of(seed), seed),
            seated: BTreeMap::new(),
        }
    }

    /// Handles one session event. Events of clients that are in no room are ignored.
    pub fn handle_event(&mut self, session: &mut Server<Vec2>, event: &ServerEvent, now: SharedInstant) {
        let from = match event {
            ServerEvent::Called { from, method: JOIN, call, .. } => {
                return self.join(session, *from, call.bytes().first().copied().unwrap_or(0));
            }
            ServerEvent::Called { from, .. } => *from,
            ServerEvent::SessionLost { client, .. } => *client,
            _ => return,
        };
        match self.seated.get(&from) {
            Some(&HostedJetCar::NUMBER) => self.jet_car.handle_event(session, event.clone(), now),
            Some(&HostedSailing::NUMBER) => self.sailing.handle_event(session, event.clone(), now),
            Some(&HostedRace::NUMBER) => self.race.handle_event(session, event.clone(), now),
            _ => {}
        }
        if matches!(event, ServerEvent::SessionLost { .. }) {
            self.seated.remove(&from);
        }
    }

    /// Plays the ticks that are due in every room and sends the states.
    pub fn play(&mut self, session: &mut Server<Vec2>, now: SharedInstant) {
        self.jet_car.play(session, now);
        self.sailing.play(session, now);
        self.race.play(session, now);
    }

    /// Moves a client into the room of this game. Unknown numbers, such as 0, leave it in no room.
    fn join(&mut self, session: &mut Server<Vec2>, client: ClientId, game: u8) {
        self.jet_car.leave(client);
        self.sailing.leave(client);
        self.race.leave(client);
        self.seated.remove(&client);
        match game {
            HostedJetCar::NUMBER => self.jet_car.greet(session, client),
            HostedSailing::NUMBER => self.sailing.greet(session, client),
            HostedRace::NUMBER => self.race.greet(session, client),
            _ => return,
        }
        self.seated.insert(client, game);
    }
}
