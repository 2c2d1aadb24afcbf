//! Step 4: a whole game, with ships, bullets, scores, chat, and a server that restarts.
//!
//! Clients own their ships and bullets. The server counts hits and shows a client what is within 300
//! units. Ben has 10 frames a second. Cleo's packets take 150 ± 30 ms each way, and 5 % are lost.
//!
//! `cargo run -p fairpath-net --features middleman --example 04_asteroids`

use std::collections::BTreeMap;
use std::thread::{scope, sleep};
use std::time::Duration;

use fairpath::prelude::*;
use fairpath::random::Random;
use fairpath_net::middleman::{LinkConfig, Loss, Middleman, MiddlemanConfig};
use fairpath_net::{Identity, NetClient, NetServer};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(crate) struct Ship(pub(crate) String);
#[derive(Serialize, Deserialize)]
pub(crate) struct Bullet;
#[derive(Serialize, Deserialize)]
pub(crate) struct Score(pub(crate) u32);
#[derive(Serialize, Deserialize)]
pub(crate) struct Chat(String);

/// The game, as server and clients know it.
pub(crate) fn asteroids() -> Protocol<Vec2> {
    let ship = Class::within(0.2).quadratic().facing_within(0.3).server_state::<Score>("score");
    Protocol::new("asteroids", 1)
        .class::<Ship>("ship", ship)
        .class::<Bullet>("bullet", Class::within(0.2))
        .call::<Chat>("chat", Delivery::ReliableOrdered)
}

pub(crate) const VIEW: Within = Within { enter: 300.0, leave: 330.0 };
type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// One frame of the server: passes chat on, counts hits.
pub(crate) fn referee(game: &mut ServerFrame<'_, Vec2>, scores: &mut BTreeMap<String, u32>) -> Outcome {
    while let Some(event) = game.poll_event() {
        let ServerEvent::Called { call, .. } = event else { continue };
        call.get::<Chat>().map(|chat| game.call_all(&chat)).transpose()?;
    }
    let (ships, bullets) = (game.objects_of::<Ship>(), game.objects_of::<Bullet>());
    for ship in &ships {
        let Some(Ship(name)) = game.creation(*ship) else { continue };
        let score = scores.entry(name).or_default();
        for bullet in &bullets {
            let place = |object: &EntityId| game.place(*object).map_or(Vec2::ZERO, |state| state.position);
            let is_hit = |other: &EntityId| other != ship && place(other).distance(place(bullet)) < 8.0;
            if game.owner(*bullet) == game.owner(*ship) && ships.iter().any(is_hit) {
                game.destroy(*bullet)?;
                *score += 1;
            }
        }
        game.set(*ship, &Score(*score))?;
    }
    Ok(())
}

/// Flies to random places with at most 60 u/s and 80 u/s²: turns the nose, thrusts, coasts.
#[derive(Clone)]
pub(crate) struct Pilot {
    pub(crate) ship: State<Vec2>,
    /// How long the pilot thrusts and coasts, each between two numbers of seconds.
    pub(crate) rhythm: [[f64; 2]; 2],
    random: Random,
    is_thrusting: bool,
    secs_left: f64,
    course: f64,
}

impl Pilot {
    pub(crate) fn step(&mut self, secs: f64) {
        self.secs_left -= secs;
        if self.secs_left < 0.0 {
            self.is_thrusting = !self.is_thrusting;
            let [min, max] = self.rhythm[usize::from(!self.is_thrusting)];
            self.secs_left = self.random.between(min, max);
            let place = Vec2::new(self.random.between(-200.0, 200.0), self.random.between(-200.0, 200.0));
            self.course = (place - self.ship.position).heading();
        }
        let State { position, velocity, orientation, .. } = self.ship;
        let turn_rate = (Vec2::turn_between(orientation, self.course) / secs).clamp(-4.0, 4.0);
        let nose = orientation + turn_rate * secs;
        let push = if self.is_thrusting { Vec2::from_heading(nose) * 80.0 } else { velocity * -0.5 };
        let wanted = velocity + push * secs;
        let reached = wanted * (60.0 / wanted.length().max(60.0));
        self.ship = State::moving(position + (velocity + reached) * (0.5 * secs), reached)
            .with_acceleration((reached - velocity) * (1.0 / secs))
            .with_heading(nose, turn_rate);
    }
}

/// A player, and the objects that its client owns.
#[derive(Clone)]
pub(crate) struct Player {
    pub(crate) name: &'static str,
    pub(crate) pilot: Pilot,
    pub(crate) steps: FixedSteps<LocalInstant>,
    pub(crate) ship: Option<EntityId>,
    bullet: Option<(EntityId, LocalInstant)>,
}

impl Player {
    pub(crate) fn new(name: &'static str, seed: u64) -> Self {
        let ship = State::moving(Vec2::from_heading(seed as f64) * 50.0, Vec2::ZERO);
        let (rhythm, random) = ([[0.2, 0.6], [1.0, 2.5]], Random::from_seed(seed));
        let pilot = Pilot { ship, rhythm, random, is_thrusting: false, secs_left: 0.0, course: 0.0 };
        Self { name, pilot, steps: FixedSteps::hz(60), ship: None, bullet: None }
    }

    /// One frame of a client.
    pub(crate) fn play(&mut self, game: &mut ClientFrame<'_, Vec2>) -> Outcome {
        while let Some(event) = game.poll_event() {
            if let ClientEvent::Connected(_) = event {
                game.call_server(&Chat(format!("{} is here", self.name)))?;
            } else if let ClientEvent::Called { call, .. } = event {
                call.get().into_iter().for_each(|Chat(text)| println!("{} reads: {text}", self.name));
            }
        }
        // A restarted server knows neither, and a bullet that hits is destroyed.
        self.ship = self.ship.filter(|ship| game.is_mine(*ship));
        self.bullet = self.bullet.filter(|(bullet, _)| game.is_mine(*bullet));
        for tick in self.steps.until(game.now()) {
            self.pilot.step(tick.secs());
            if let Some(ship) = self.ship {
                game.observe(ship, self.pilot.ship, tick.at())?;
            } else if game.is_connected() {
                self.ship = Some(game.create(&Ship(self.name.into()), self.pilot.ship, tick.at())?);
            }
        }
        match self.bullet {
            Some((bullet, ends_at)) if game.now() >= ends_at => game.destroy(bullet)?,
            None if self.ship.is_some() => self.shoot(game)?,
            _ => {}
        }
        Ok(())
    }

    /// Shoots at another ship. The bullet flies for a second.
    fn shoot(&mut self, game: &mut ClientFrame<'_, Vec2>) -> Outcome {
        let (now, from) = (game.now(), self.pilot.ship.position);
        let mut others = game.objects_of::<Ship>().into_iter().filter(|ship| Some(*ship) != self.ship);
        if let Some(target) = others.find_map(|ship| game.place(ship)) {
            let flight_secs = target.position.distance(from) / 150.0;
            let aim = target.position + target.velocity * flight_secs - from;
            let bullet = State::moving(from, aim * (150.0 / aim.length().max(1.0)));
            self.bullet = Some((game.create(&Bullet, bullet, now)?, now + Span::from_secs(1)));
        }
        Ok(())
    }
}

fn main() -> Outcome {
    let (game, identity) = (asteroids(), Identity::local(&[])?);
    let server = || NetServer::builder(&game).identity(identity.clone()).scope(VIEW);
    let mut running = server().listen("127.0.0.1:0")?;
    let (near, pin) = (running.address(), running.fingerprint());
    let link = LinkConfig::default().delay(Span::from_millis(150)).jitter_uniform(Span::from_millis(30));
    let link = MiddlemanConfig::between("127.0.0.1:0".parse()?, near).both_ways(link.loss(Loss::each(0.05)));
    let middleman = Middleman::start(link)?;
    let seats = [("Anna", near, 144), ("Ben", near, 10), ("Cleo", middleman.address(), 144)];
    let mut scores = BTreeMap::new();
    scope(|threads| {
        let clients = seats.map(|(name, address, frames_per_sec)| {
            let client = NetClient::join(address, pin, &game);
            threads.spawn(move || run(&client?, Player::new(name, name.len() as u64), frames_per_sec))
        });
        for frame in 0..210 {
            if frame == 100 {
                running.shutdown_for_restart(Duration::from_secs(1));
                running = server().listen(near)?;
            }
            running.frame(|game| referee(game, &mut scores))?;
            sleep(Duration::from_secs(1) / 20);
        }
        clients.into_iter().try_for_each(|client| client.join().expect("no client panics"))
    })
}

/// Plays for ten seconds, and prints once a second what is drawn.
fn run(client: &NetClient<Vec2>, mut player: Player, frames_per_sec: u32) -> Outcome {
    for frame in 1..=10 * frames_per_sec {
        client.frame(|game| player.play(game))?;
        if frame % frames_per_sec == 0 {
            println!("{} sees {}", player.name, client.frame(draw));
        }
        while let Some(problem) = client.poll_problem() {
            println!("{}: {problem}", player.name);
        }
        sleep(Duration::from_secs(1) / frames_per_sec);
    }
    Ok(())
}

fn draw(game: &mut ClientFrame<'_, Vec2>) -> String {
    let mut scene = format!("{} bullets", game.objects_of::<Bullet>().len());
    for ship in game.objects_of::<Ship>() {
        if let (Some(Ship(name)), Some(state)) = (game.creation(ship), game.draw(ship)) {
            let Score(score) = game.get(ship).unwrap_or(Score(0));
            scene += &format!(", {name} ({score}) at {:.0} {:.0}", state.position.x, state.position.y);
        }
    }
    scene
}
