//! What bevy_replicon and lightyear replicate: an entity for each tank, and one for the time.

use std::time::Duration;

use ::fairpath::vector::Vec2;
use bevy::ecs::bundle::Bundle;
use bevy::ecs::component::Component;
use bevy::ecs::entity::Entity;
use bevy::ecs::query::QueryState;
use bevy::ecs::world::World;
use fairpath_bench::{TankPaths, machine};
use serde::{Deserialize, Serialize};

use crate::snapshot::{TankStates, spell};

/// The number of a tank. It never changes.
#[derive(Clone, Copy, Debug, PartialEq, Component, Serialize, Deserialize)]
pub(super) struct TankId(u16);

/// Position and velocity of a tank.
#[derive(Clone, Copy, Debug, PartialEq, Component, Serialize, Deserialize)]
pub(super) struct TankMotion([f32; 4]);

/// The instant of all states of one tick, in microseconds. It has an entity of its own.
#[derive(Clone, Copy, Debug, PartialEq, Component, Serialize, Deserialize)]
pub(super) struct TickTime(u32);

/// The entities of a server.
pub(super) struct ServerEntities {
    tanks: Vec<Entity>,
    time: Entity,
}

impl ServerEntities {
    /// Spawns the entities. `replicated` makes the components that have them replicated.
    pub(super) fn spawn<B: Bundle>(world: &mut World, tanks: usize, replicated: impl Fn() -> B) -> Self {
        let tanks = (0..tanks)
            .map(|tank| world.spawn((TankId(tank as u16), TankMotion([0.0; 4]), replicated())).id())
            .collect();
        let time = world.spawn((TickTime(0), replicated())).id();
        Self { tanks, time }
    }

    /// Sets all components to the states at `at`.
    pub(super) fn update(&self, world: &mut World, paths: &TankPaths, at: Duration) {
        for (tank, entity) in self.tanks.iter().enumerate() {
            let mut motion = world.get_mut::<TankMotion>(*entity).expect("never despawned");
            motion.0 = spell(paths, tank, at);
        }
        world.get_mut::<TickTime>(self.time).expect("never despawned").0 = at.as_micros() as u32;
    }
}

/// The states that a client has received.
pub(super) struct ClientEntities {
    tanks: QueryState<(&'static TankId, &'static TankMotion)>,
    time: QueryState<&'static TickTime>,
    states: TankStates,
}

impl ClientEntities {
    pub(super) fn new(world: &mut World, tanks: usize) -> Self {
        Self { tanks: world.query(), time: world.query(), states: TankStates::of(tanks) }
    }

    /// Reads the components, extrapolates every tank, and returns the instant after `began`.
    pub(super) fn show(&mut self, world: &World, began: Duration, shown: &mut [Option<Vec2>]) -> Duration {
        let Self { tanks, time, states } = self;
        if let Some(TickTime(micros)) = time.iter(world).next() {
            let at = Duration::from_micros((*micros).into());
            for (TankId(tank), TankMotion(numbers)) in tanks.iter(world) {
                states.learn(usize::from(*tank), at, *numbers);
            }
        }
        let now = machine::now() - began;
        states.show(now, shown);
        now
    }
}
