//! The objects besides tanks, drones and balls: stones, bullets, platforms and riders.

use fairpath::number::EntityId;
use fairpath::session::{ObjectError, Party};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::{Observation, State};

use super::{MOVES_ON, RunPhase, World, WorldRun};
use crate::check::{Law, bullet_lane};
use crate::game::{BULLET, Bullet, PLATFORM, Platform};

/// A bullet in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shot {
    object: EntityId,
    number: u32,
    born_at: SharedInstant,
}

impl Shot {
    fn state(number: u32, age: Span) -> State<Vec2> {
        let velocity = Vec2::new(30.0, 0.0);
        State::moving(Vec2::new(-20.0, bullet_lane(number)) + velocity * age.as_secs_f64(), velocity)
    }

    fn is_over(&self, now: SharedInstant) -> bool {
        now - self.born_at >= Span::from_millis(300 + 100 * i64::from(self.number % 10))
    }
}

/// A place in the world, reached through this many parents.
#[derive(Clone, Copy, Debug)]
pub(super) struct CarriedPlace {
    pub(super) position: Vec2,
    heading: f64,
    pub(super) depth: usize,
}

impl CarriedPlace {
    fn of(state: &State<Vec2>) -> Self {
        Self { position: state.position, heading: state.orientation, depth: 0 }
    }
}

impl WorldRun<'_> {
    /// Clients and server fire bullets, move them, and destroy them.
    pub(super) fn fly_bullets(&mut self, world: &mut World, now: SharedInstant) {
        let fires = self.phase != RunPhase::AtRest && self.resting_until(now).is_none();
        let chance = if fires { self.plan.bullets / 60.0 } else { 0.0 };
        for index in 0..self.plan.clients {
            if self.random.chance(chance) && self.seats[index].id.is_some() {
                let number = self.identity.next(BULLET, self.epoch);
                let mut frame = world.client_frame(index);
                let (at, bullet) = (frame.now(), Bullet::new(self.epoch, number, 0));
                if let Ok(object) = frame.create(&bullet, Shot::state(number, Span::ZERO), at) {
                    self.seats[index].shots.push(Shot { object, number, born_at: now });
                }
            }
            let mut frame = world.client_frame(index);
            let at: LocalInstant = frame.now();
            self.seats[index].shots.retain(|shot| {
                let state = Shot::state(shot.number, now - shot.born_at);
                // Without a session it fails, which is fine: the session's objects are gone.
                let _ = frame.observe(shot.object, state, at);
                !shot.is_over(now) || frame.destroy(shot.object) == Err(ObjectError::TooFast)
            });
        }
        if self.is_idle() {
            return;
        }
        if self.random.chance(chance) {
            let number = self.identity.next(BULLET, self.epoch);
            let bullet = Bullet::new(self.epoch, number, 0);
            let made = world.server.frame(now).create(&bullet, Shot::state(number, Span::ZERO), now);
            let object = made.expect("there is room");
            self.identity.on_created(object, number);
            self.shots.push(Shot { object, number, born_at: now });
        }
        self.shots.retain(|shot| {
            let mut frame = world.server.frame(now);
            frame.observe(shot.object, Shot::state(shot.number, now - shot.born_at), now).expect("its own");
            !shot.is_over(now) || frame.destroy(shot.object).is_err()
        });
    }

    /// Every owner reports its platforms and riders.
    pub(super) fn move_riders(&mut self, world: &mut World, now: SharedInstant) {
        for index in 0..self.plan.clients {
            let Some(me) = self.seats[index].id.map(Party::Client) else { continue };
            for (number, rider) in self.riders.iter().enumerate() {
                let (client, local) = world.client_now(index);
                if client.owner(*rider) == Some(me) {
                    let state = Observation::Moved(self.rider(number, now));
                    let mut observed = client.observe(*rider, state, local);
                    if let Err(ObjectError::BadParent(_)) = observed {
                        client.attach(*rider, None).expect("its own");
                        observed = client.observe(*rider, state, local);
                    }
                    let exported = client.followed(*rider).and_then(|exported| exported.parent);
                    let is_exported = observed.is_err() || exported == client.parent(*rider);
                    self.findings.check(Law::Placed, now, is_exported, || {
                        format!("client {index} has not exported the parent of rider {}", rider.0)
                    });
                }
            }
        }
        if self.is_idle() {
            return;
        }
        for (number, platform) in self.platforms.iter().enumerate() {
            let state = Observation::Moved(self.platform(number, now));
            world.server.observe(*platform, state, now).expect("it is the server's own");
        }
        for (number, rider) in self.riders.iter().enumerate() {
            if world.server.owner(*rider) == Some(Party::Server) {
                let state = Observation::Moved(self.rider(number, now));
                if let Err(ObjectError::BadParent(_)) = world.server.observe(*rider, state, now) {
                    world.server.attach(*rider, None).expect("it is the server's own");
                    world.server.observe(*rider, state, now).expect("it has no parent");
                }
            }
        }
    }

    /// Checks that the server has exported the parents of its riders.
    pub(super) fn check_servers_riders(&mut self, world: &World, now: SharedInstant) {
        for rider in &self.riders {
            if world.server.owner(*rider) == Some(Party::Server) {
                let parent = world.server.parent(*rider);
                self.placed.on_parent_chosen(*rider, parent, now, &mut self.findings);
            }
        }
    }

    /// The owner of a rider attaches or detaches it. It may not see the carrier, or be away.
    pub(super) fn attach(&mut self, world: &mut World, rider: usize, carrier: Option<usize>) {
        let object = self.riders[rider];
        let parent =
            carrier.map(|index| *self.platforms.iter().chain(&self.riders).nth(index).expect("drawn"));
        let _ = match world.server.owner(object) {
            Some(Party::Client(owner)) => match self.seats.iter().position(|seat| seat.id == Some(owner)) {
                Some(index) => world.client(index).attach(object, parent),
                None => return,
            },
            _ => world.server.attach(object, parent),
        };
    }

    /// Destroys a platform and creates another one, which the server's riders board at once: their
    /// DR vectors overtake its announcement.
    pub(super) fn sink(&mut self, world: &mut World, platform: usize, now: SharedInstant) {
        let is_on_board = |rider: &&EntityId| {
            world.server.owner(**rider) == Some(Party::Server)
                && world.server.parent(**rider) == Some(self.platforms[platform])
        };
        let on_board: Vec<EntityId> = self.riders.iter().filter(is_on_board).copied().collect();
        world.server.destroy(self.platforms[platform]).expect("it exists");
        let number = self.identity.next(PLATFORM, self.epoch);
        let value = Platform::new(self.epoch, number, 0);
        let made = world.server.frame(now).create(&value, self.platform(platform, now), now);
        self.platforms[platform] = made.expect("there is room");
        self.identity.on_created(self.platforms[platform], number);
        for rider in on_board {
            world.server.attach(rider, Some(self.platforms[platform])).expect("both exist");
        }
    }

    /// Returns where a platform or rider truly is in the world; `None` if an owner is away, so that
    /// the object does not move.
    pub(super) fn carried(
        &self,
        world: &mut World,
        object: EntityId,
        now: SharedInstant,
    ) -> Option<CarriedPlace> {
        if let Some(number) = self.platforms.iter().position(|platform| *platform == object) {
            return Some(CarriedPlace::of(&self.platform(number, now)));
        }
        let number = self.riders.iter().position(|rider| *rider == object)?;
        let own = CarriedPlace::of(&self.rider(number, now));
        let Some(parent) = self.owners_parent(world, object)? else { return Some(own) };
        let carrier = self.carried(world, parent, now)?;
        let ahead = Vec2::from_heading(carrier.heading);
        Some(CarriedPlace {
            position: carrier.position + ahead * own.position.x + ahead.perpendicular() * own.position.y,
            heading: carrier.heading + own.heading,
            depth: carrier.depth + 1,
        })
    }

    /// Returns the parent that the owner of a rider has chosen; `None` if the owner is away.
    pub(super) fn owners_parent(&self, world: &mut World, object: EntityId) -> Option<Option<EntityId>> {
        match world.server.owner(object)? {
            Party::Server => Some(world.server.parent(object)),
            Party::Client(owner) => {
                let index = self.seats.iter().position(|seat| seat.id == Some(owner))?;
                Some(world.client(index).parent(object))
            }
        }
    }

    /// Returns the state of a platform: it drives and turns in circles, until all objects rest.
    pub(super) fn platform(&self, number: usize, now: SharedInstant) -> State<Vec2> {
        let rests_since = self.plan.heals_at + MOVES_ON;
        let phase = 0.4 * now.min(rests_since).as_secs_f64() + 3.0 * number as f64;
        let (turns, ahead) = (if now < rests_since { 0.4 } else { 0.0 }, Vec2::from_heading(phase));
        let state = State::moving(ahead * 25.0, ahead.perpendicular() * (25.0 * turns));
        state.with_heading(phase, turns)
    }

    /// Returns the state of a rider relative to its parent, or in the world if it has none: it
    /// walks to and fro, until all objects rest. The first one stands.
    pub(super) fn rider(&self, number: usize, now: SharedInstant) -> State<Vec2> {
        let rests_since = self.plan.heals_at + MOVES_ON;
        let phase = 1.1 * now.min(rests_since).as_secs_f64() + number as f64;
        let width = if number == 0 { 0.0 } else { 2.0 };
        let speed = if now < rests_since { 1.1 * width * libm::cos(phase) } else { 0.0 };
        let position = Vec2::new(width * libm::sin(phase), 1.5 + number as f64);
        State::moving(position, Vec2::new(speed, 0.0)).with_heading(0.3 * number as f64, 0.0)
    }
}
