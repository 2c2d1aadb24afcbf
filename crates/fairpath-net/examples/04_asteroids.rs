//! Step 4: a whole game, with ships, bullets, scores, chat, and a server that restarts.
//!
//! Clients own their ships and bullets. The server counts hits and shows a client what is within
//! 300 units. Ben has 10 frames a second. Cleo's packets take 150 ± 30 ms each way, and 5 % are
//! lost.
//!
//! `cargo run -p fairpath-net --features middleman --example 04_asteroids`

use std::{thread, time::Duration};

use fairpath::prelude::*;
use fairpath::{Trigger, random::Random};
use fairpath_net::{Identity, NetClient, NetServer, middleman::*};

#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct Ship(pub(crate) String);
#[derive(serde::Serialize, serde::Deserialize)]
struct Bullet;
#[derive(serde::Serialize, serde::Deserialize)]
struct Score(u32);
#[derive(serde::Serialize, serde::Deserialize)]
struct Chat(String);

/// The game, as server and clients know it. Ships report a burst of thrust as soon as it turns
/// their course by 0.01 rad, before it has grown into a distance of 0.2.
pub(crate) fn asteroids() -> Protocol<Vec2> {
    let turned = Trigger::PreReckoning { angle: 0.01, speed_min: 2.0 };
    let ship = Class::new(Trigger::AnyOf(vec![Trigger::within(0.2), turned])).quadratic();
    Protocol::new("asteroids", 1)
        .class::<Ship>("ship", ship.facing_within(0.3).server_state::<Score>("score"))
        .class::<Bullet>("bullet", Class::within(0.2))
        .call::<Chat>("chat", Delivery::ReliableOrdered)
}

pub(crate) const VIEW: Within = Within { enter: 300.0, leave: 330.0 };
pub(crate) type Steps = FixedSteps<LocalInstant>;
type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// One frame of the server: passes chat on, counts hits.
pub(crate) fn referee(game: &mut ServerFrame<'_, Vec2>) -> Outcome {
    while let Some(event) = game.poll_event() {
        let ServerEvent::Called { call, .. } = event else { continue };
        call.get::<Chat>().map(|chat| game.call_all(&chat)).transpose()?;
    }
    let ships = game.objects_of::<Ship>();
    for bullet in game.objects_of::<Bullet>() {
        let (Some(hot), shooter) = (game.place(bullet), game.owner(bullet)) else { continue };
        let is_near = |ship: State<Vec2>| ship.position.distance(hot.position) < 8.0;
        let is_hit = |ship: &EntityId| game.owner(*ship) != shooter && game.place(*ship).is_some_and(is_near);
        if ships.iter().any(is_hit) {
            game.destroy(bullet)?;
            if let Some(ship) = ships.iter().find(|ship| game.owner(**ship) == shooter) {
                game.set(*ship, &Score(game.get(*ship).unwrap_or(Score(0)).0 + 1))?;
            }
        }
    }
    Ok(())
}

/// A player: the ship, its pilot, and the objects that the client owns.
#[derive(Clone)]
pub(crate) struct Player {
    pub(crate) name: &'static str,
    pub(crate) ship: State<Vec2>,
    /// How long the pilot thrusts and coasts, each between two numbers of seconds.
    pub(crate) rhythm: [[f64; 2]; 2],
    random: Random,
    is_thrusting: bool,
    secs_left: f64,
    course: f64,
    id: Option<EntityId>,
    bullet: Option<(EntityId, LocalInstant)>,
}

impl Player {
    pub(crate) fn new(name: &'static str, seed: u64) -> Self {
        let ship = State::moving(Vec2::from_heading(seed as f64) * 50.0, Vec2::ZERO);
        let (is_thrusting, secs_left, course, id, bullet) = (false, 0.0, 0.0, None, None);
        let (rhythm, random) = ([[0.2, 0.6], [2.0, 4.0]], Random::from_seed(seed));
        Self { name, ship, rhythm, random, is_thrusting, secs_left, course, id, bullet }
    }

    /// Flies to random places with at most 60 u/s and 80 u/s²: turns the nose, thrusts, coasts.
    pub(crate) fn step(&mut self, secs: f64) {
        self.secs_left -= secs;
        if self.secs_left < 0.0 {
            self.is_thrusting = !self.is_thrusting;
            let [min, max] = self.rhythm[usize::from(!self.is_thrusting)];
            self.secs_left = self.random.between(min, max);
            let goal = Vec2::from_heading(self.random.between(0.0, std::f64::consts::TAU)) * 200.0;
            self.course = (goal - self.ship.position).heading();
        }
        let State { position, velocity, orientation, .. } = self.ship;
        let turn_rate = (Vec2::turn_between(orientation, self.course) / secs).clamp(-4.0, 4.0);
        let (nose, drag) = (orientation + turn_rate * secs, velocity * -0.5);
        let push = if self.is_thrusting { Vec2::from_heading(nose) * 80.0 } else { drag };
        let wanted = velocity + push * secs;
        let reached = wanted * (60.0 / wanted.length().max(60.0));
        self.ship = State::moving(position + (velocity + reached) * (0.5 * secs), reached)
            .with_acceleration((reached - velocity) * (1.0 / secs))
            .with_heading(nose, turn_rate);
    }

    /// One frame of a client.
    pub(crate) fn play(&mut self, game: &mut ClientFrame<'_, Vec2>, steps: &mut Steps) -> Outcome {
        while let Some(event) = game.poll_event() {
            let ClientEvent::Called { call, .. } = event else { continue };
            call.get().into_iter().for_each(|Chat(text)| println!("{} reads: {text}", self.name));
        }
        // The server destroys bullets that hit, and a restarted server knows no objects.
        self.id = self.id.filter(|ship| game.is_mine(*ship));
        self.bullet = self.bullet.filter(|(bullet, _)| game.is_mine(*bullet));
        for tick in steps.until(game.now()) {
            self.step(tick.secs());
            if let Some(ship) = self.id {
                game.observe(ship, self.ship, tick.at())?;
            } else if game.is_connected() {
                self.id = Some(game.create(&Ship(self.name.into()), self.ship, tick.at())?);
                game.call_server(&Chat(format!("{} is here", self.name)))?;
            }
        }
        let mut others = game.objects_of::<Ship>().into_iter().filter(|ship| Some(*ship) != self.id);
        if let Some((bullet, ends_at)) = self.bullet {
            (game.now() >= ends_at).then(|| game.destroy(bullet)).transpose()?;
        } else if let Some(target) = others.find_map(|ship| game.place(ship)) {
            let (now, way) = (game.now(), target.position - self.ship.position);
            let bullet = State::moving(self.ship.position, way * (300.0 / way.length().max(1.0)));
            self.bullet = Some((game.create(&Bullet, bullet, now)?, now + Span::from_secs(1)));
        }
        Ok(())
    }
}

fn main() -> Outcome {
    let (game, identity) = (&asteroids(), Identity::local(&[])?);
    let builder = || NetServer::builder(game).identity(identity.clone()).scope(VIEW);
    let mut server = builder().listen("127.0.0.1:0")?;
    let (near, pin) = (server.address(), server.fingerprint());
    let link = LinkConfig::default().delay(Span::from_millis(150)).jitter_uniform(Span::from_millis(30));
    let link = MiddlemanConfig::between("127.0.0.1:0".parse()?, near).both_ways(link.loss(Loss::each(0.05)));
    let middleman = Middleman::start(link)?;
    let seats = [("Anna", near, 144), ("Ben", near, 10), ("Cleo", middleman.address(), 144)];
    thread::scope(|threads| {
        let clients = seats.map(|(name, address, frames_per_sec)| {
            threads.spawn(move || run(&NetClient::join(address, pin, game)?, name, frames_per_sec))
        });
        for frame in 0..210 {
            if frame == 100 {
                server.shutdown_for_restart(Duration::from_secs(1));
                server = builder().listen(near)?;
            }
            server.frame(referee)?;
            thread::sleep(Duration::from_secs(1) / 20);
        }
        clients.into_iter().try_for_each(|client| client.join().expect("no client panics"))
    })
}

/// Plays for ten seconds, and prints once a second what is drawn.
fn run(client: &NetClient<Vec2>, name: &'static str, frames_per_sec: u32) -> Outcome {
    let (mut player, mut steps) = (Player::new(name, name.as_bytes()[0].into()), FixedSteps::hz(60));
    for frame in 1..=10 * frames_per_sec {
        client.frame(|game| player.play(game, &mut steps))?;
        if frame % frames_per_sec == 0 {
            println!("{name} sees{}", client.frame(draw));
        }
        thread::sleep(Duration::from_secs(1) / frames_per_sec);
    }
    Ok(())
}

fn draw(game: &mut ClientFrame<'_, Vec2>) -> String {
    let mut scene = String::new();
    for ship in game.objects_of::<Ship>() {
        let (Some(Ship(name)), Some(drawn)) = (game.creation(ship), game.draw(ship)) else { continue };
        scene += &format!(" {name} ({}) at {:.0?}", game.get(ship).unwrap_or(Score(0)).0, drawn.position);
    }
    scene
}
