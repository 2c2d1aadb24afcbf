//! A game of ships that race for a coin: its protocol, its rules, and one frame of each end.
//!
//! The programs `server` and `client` run the frames over the network. The test runs the same
//! frames over a simulated network.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairpath::prelude::*;
use serde::{Deserialize, Serialize};

/// The name of the game. A client of another game is refused.
pub const NAME: &str = "fairpath-template";

/// A player's ship, with the value that it is created with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ship {
    /// The name of the player.
    pub name: String,
}

/// The coin. There is one.
#[derive(Debug, Serialize, Deserialize)]
pub struct Coin;

/// How many coins a ship has. Only the server sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score(pub u32);

/// Tells all clients that a ship has taken the coin.
#[derive(Debug, Serialize, Deserialize)]
pub struct Taken(pub EntityId);

/// Returns the description of the game, which both ends share.
pub fn protocol() -> Protocol<Vec2> {
    // Clients see a ship at most 0.2 units off, plus what the delay of the network adds.
    let ship = Class::within(0.2).circular().at_most(1).server_state::<Score>("score");
    Protocol::new(NAME, 1)
        .class::<Ship>("ship", ship)
        .class::<Coin>("coin", Class::within(0.2).server_only())
        .call::<Taken>("taken", Delivery::ReliableOrdered)
}

/// The server's part of the game: it places the coin and keeps the score.
#[derive(Debug, Default)]
pub struct ServerGame {
    coin: Option<EntityId>,
    coins_taken: u32,
}

impl ServerGame {
    /// A ship that is this near takes the coin.
    const REACH: f64 = 1.0;

    /// Runs one frame of the server.
    pub fn frame(&mut self, game: &mut ServerFrame<'_, Vec2>) -> Result<(), Box<dyn Error>> {
        while let Some(event) = game.poll_event() {
            match event {
                ServerEvent::Joined { client, .. } => println!("client {} joined", client.0),
                ServerEvent::SessionLost { client, .. } => println!("client {} left", client.0),
                _ => {}
            }
        }
        let (now, place) = (game.now(), self.coin_place());
        let Some(coin) = self.coin else {
            self.coin = Some(game.create(&Coin, place, now)?);
            return Ok(());
        };
        let is_near = |ship: State<Vec2>| ship.position.distance(place.position) < Self::REACH;
        let ships = game.objects_of::<Ship>();
        let Some(winner) = ships.into_iter().find(|ship| game.place(*ship).is_some_and(is_near)) else {
            return Ok(game.observe(coin, place, now)?);
        };
        let Score(score) = game.get(winner).unwrap_or_default();
        game.set(winner, &Score(score + 1))?;
        game.call_all(&Taken(winner))?;
        self.coins_taken += 1;
        Ok(game.jump(coin, self.coin_place(), now)?)
    }

    /// Returns where the coin lies, on a circle of 15 units.
    fn coin_place(&self) -> State<Vec2> {
        State::moving(Vec2::from_heading(2.4 * f64::from(self.coins_taken)) * 15.0, Vec2::ZERO)
    }
}

/// A client's part of the game: it flies the player's ship.
#[derive(Debug)]
pub struct ClientGame {
    name: String,
    /// `None` without a session.
    ship: Option<EntityId>,
    flight: Flight,
    steps: FixedSteps<LocalInstant>,
}

impl ClientGame {
    /// Returns the game of a player with this name, whose ship starts here.
    pub fn new(name: &str, start: Vec2) -> Self {
        let flight = Flight { position: start, ..Flight::default() };
        Self { name: name.into(), ship: None, flight, steps: FixedSteps::hz(60) }
    }

    /// Runs one frame of the client.
    pub fn frame(&mut self, game: &mut ClientFrame<'_, Vec2>) -> Result<(), Box<dyn Error>> {
        while let Some(event) = game.poll_event() {
            match event {
                ClientEvent::Called { call, .. } => {
                    if let Some(Taken(ship)) = call.get() {
                        let name = game.creation(ship).map_or_else(String::new, |Ship { name }| name);
                        println!("{name} takes the coin");
                    }
                }
                // The server has restarted, or this client was away for too long.
                ClientEvent::SessionLost { .. } => self.ship = None,
                _ => {}
            }
        }
        if !game.is_connected() {
            return Ok(());
        }
        let Some(ship) = self.ship else {
            let (value, now) = (Ship { name: self.name.clone() }, game.now());
            self.ship = Some(game.create(&value, self.flight.state(), now)?);
            self.steps = FixedSteps::hz(60);
            return Ok(());
        };
        // An autopilot flies to the coin. Put the player's input here.
        let coin = game.objects_of::<Coin>().first().and_then(|coin| game.place(*coin));
        let target = coin.map_or(Vec2::ZERO, |coin| coin.position);
        for tick in self.steps.until(game.now()) {
            self.flight.step(target, tick.secs());
            game.observe(ship, self.flight.state(), tick.at())?;
        }
        Ok(())
    }

    /// Returns the name, the score and the state of every visible ship, as they should be drawn.
    pub fn ships(&self, game: &mut ClientFrame<'_, Vec2>) -> Vec<(String, Score, State<Vec2>)> {
        let ships = game.objects_of::<Ship>().into_iter().filter_map(|ship| {
            // The own ship is known exactly; the others are drawn by dead reckoning.
            let is_own = self.ship == Some(ship);
            let state = if is_own { self.flight.state() } else { game.draw(ship)? };
            Some((game.creation::<Ship>(ship)?.name, game.get(ship).unwrap_or_default(), state))
        });
        ships.collect()
    }

    /// Returns the state of the player's ship.
    pub fn own_ship(&self) -> State<Vec2> {
        self.flight.state()
    }
}

/// The flight of one ship.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flight {
    position: Vec2,
    heading: f64,
    turn_rate: f64,
    speed: f64,
}

impl Flight {
    /// The greatest speed, in units per second.
    const SPEED: f64 = 10.0;
    /// The greatest acceleration, in units per second squared.
    const ACCELERATION: f64 = 10.0;
    /// The greatest turn rate, in radians per second.
    const TURN_RATE: f64 = 3.0;

    /// Flies towards a target for `secs`: slower and in a curve if the target is not ahead.
    pub fn step(&mut self, target: Vec2, secs: f64) {
        let (ahead, way) = (Vec2::from_heading(self.heading), target - self.position);
        let way = way * (1.0 / way.length().max(1e-9));
        self.turn_rate = Self::TURN_RATE * ahead.perpendicular().dot(way);
        let (wanted, change) = (Self::SPEED * ahead.dot(way).max(0.2), Self::ACCELERATION * secs);
        self.speed += (wanted - self.speed).clamp(-change, change);
        self.heading += self.turn_rate * secs;
        self.position += Vec2::from_heading(self.heading) * (self.speed * secs);
    }

    /// Returns the state to observe. The velocity is the slope of the position: the prediction of
    /// other peers starts with it.
    pub fn state(&self) -> State<Vec2> {
        let velocity = Vec2::from_heading(self.heading) * self.speed;
        State::moving(self.position, velocity).with_heading(self.heading, self.turn_rate)
    }
}

/// Returns a flag that becomes true when the user presses Ctrl-C.
pub fn ctrl_c() -> std::io::Result<Arc<AtomicBool>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let pressed = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&pressed);
    std::thread::spawn(move || {
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            flag.store(true, Ordering::Relaxed);
        }
    });
    Ok(pressed)
}
