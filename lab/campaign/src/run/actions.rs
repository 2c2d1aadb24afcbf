//! What clients and server do in every frame: report their objects, make calls, set states.

use fairpath::Observation;
use fairpath::random::Random;
use fairpath::session::{Delivery, Party};
use fairpath::time::SharedInstant;

use super::{World, WorldRun};
use crate::game::{DELIVERIES, GROUPS, OWNER_GROUPS, TANK, Tank, for_type, set_at_client, set_at_server};

impl WorldRun<'_> {
    /// Every owner reports the true state of its objects.
    pub(super) fn report_states(&mut self, world: &mut World, now: SharedInstant) {
        for index in 0..self.plan.clients {
            let (client, local) = world.client_now(index);
            let seat = &mut self.seats[index];
            let observation = self.game.tanks().tanks()[index].observation();
            if let Some(observation) = observation
                && (seat.tank.is_none() && seat.id.is_some() && client.is_connected())
            {
                let number = self.identity.next(TANK, self.epoch);
                let tank = Tank::new(self.epoch, number, 0);
                seat.tank = client.frame(local).create(&tank, *observation.state(), local).ok();
            }
            if let Some((tank, observation)) = seat.tank.zip(observation) {
                // Without a session the report fails, which is fine.
                let _ = client.observe(tank, observation, local);
            }
            let me = seat.id.map(Party::Client);
            for (number, ball) in self.balls.iter().enumerate() {
                if me.is_some() && client.owner(*ball) == me {
                    let _ = client.observe(*ball, Observation::Moved(self.ball(number, now)), local);
                }
            }
        }
        if self.is_idle() {
            return;
        }
        for (number, drone) in self.drones.iter().enumerate() {
            let state = Observation::Moved(self.drone(number, now));
            world.server.observe(*drone, state, now).expect("it is the server's own");
        }
        for (number, ball) in self.balls.iter().enumerate() {
            if world.server.owner(*ball) == Some(Party::Server) {
                let state = Observation::Moved(self.ball(number, now));
                world.server.observe(*ball, state, now).expect("it is the server's own");
            }
        }
    }

    /// Clients and server make calls and set states, as often as the plan says.
    pub(super) fn make_calls(&mut self, world: &mut World, now: SharedInstant) {
        for index in 0..self.plan.clients {
            if self.random.chance(self.plan.calls) {
                let delivery = self.draw_delivery();
                self.call_server(world, index, delivery, 0);
            }
            if self.random.chance(0.5 * self.plan.calls) {
                self.call_owner(world, index);
            }
            if self.random.chance(0.5 * self.plan.calls) && !self.is_idle() {
                self.call_client(world, index);
            }
            if self.random.chance(self.plan.calls) {
                self.set_tank_state(world, index);
            }
            if self.random.chance(0.3 * self.plan.calls) && !self.balls.is_empty() {
                let ball = self.balls[self.random.below(self.balls.len() as u64) as usize];
                let (client, local) = world.client_now(index);
                set_at_client(client, ball, (0, self.random.bits()), local);
            }
        }
        if self.random.chance(2.0 * self.plan.calls) && !self.is_idle() {
            self.set_server_state(world, now);
        }
    }

    /// The server sets a state of a drone, or one of its own of a tank.
    fn set_server_state(&mut self, world: &mut World, now: SharedInstant) {
        let one_of = |count: usize, random: &mut Random| random.below(count as u64) as usize;
        let (object, group) = if self.random.chance(0.5) {
            let drone = self.drones[one_of(self.drones.len(), &mut self.random)];
            (drone, self.random.below(GROUPS.into()) as u8)
        } else {
            let seat = &self.seats[one_of(self.plan.clients, &mut self.random)];
            let Some((tank, id)) = seat.tank.zip(seat.id) else { return };
            if world.server.owner(tank) != Some(Party::Client(id)) {
                return;
            }
            (tank, OWNER_GROUPS + self.random.below((GROUPS - OWNER_GROUPS).into()) as u8)
        };
        let is_set = set_at_server(&mut world.server, object, (group, self.random.bits()), now);
        assert!(is_set, "the server may set this");
        let value = world.server.state(object, group).expect("it was set").to_vec();
        self.server_groups.insert((object, group), value);
    }

    fn draw_delivery(&mut self) -> Delivery {
        use Delivery::{Newest, Quickest, ReliableOrdered, ReliableUnordered, Unreliable};
        let all = [ReliableOrdered, ReliableOrdered, ReliableUnordered, Unreliable, Newest, Quickest];
        all[self.random.below(all.len() as u64) as usize]
    }

    /// Makes a typed call, with so many bytes more than necessary.
    pub(super) fn call_server(&mut self, world: &mut World, index: usize, delivery: Delivery, more: usize) {
        let name = format!("c{index}.{}>server", self.seats[index].session);
        let parcel = self.calls.next(&name, delivery);
        let mut frame = world.client_frame(index);
        if for_type!(method_of(delivery), 0, |D| frame.call_server(&parcel.typed::<D>(more))).is_ok() {
            self.calls.on_sent(parcel);
        }
    }

    /// Calls the owner of another client's tank, if there is one.
    fn call_owner(&mut self, world: &mut World, index: usize) {
        let other = self.random.below(self.plan.clients as u64) as usize;
        let delivery = self.draw_delivery();
        let Some(tank) = self.seats[other].tank.filter(|_| other != index) else { return };
        let name = format!("c{index}.{}~o{}@{}", self.seats[index].session, tank.0, self.epoch);
        let parcel = self.calls.next(&name, delivery);
        // Of newest calls to one method only the newest counts: each caller has its own method.
        let method = 100 + index as u32;
        if world.client(index).call_owner(tank, method, &parcel.to_bytes(), delivery).is_ok() {
            self.calls.on_sent(parcel);
        }
    }

    fn call_client(&mut self, world: &mut World, index: usize) {
        let delivery = self.draw_delivery();
        let Some(id) = self.seats[index].id.filter(|id| world.server.is_connected(*id)) else { return };
        let name = format!("s{}.{}>client", self.epoch, id.0);
        let parcel = self.calls.next(&name, delivery);
        let mut frame = world.server_frame();
        if for_type!(method_of(delivery), 0, |D| frame.call_client(id, &parcel.typed::<D>(0))).is_ok() {
            self.calls.on_sent(parcel);
        }
    }

    fn set_tank_state(&mut self, world: &mut World, index: usize) {
        let (group, value) = (self.random.below(OWNER_GROUPS.into()) as u8, self.random.bits());
        self.set_tank_group(world, index, group, value);
    }

    fn set_tank_group(&mut self, world: &mut World, index: usize, group: u8, value: u64) {
        let Some(tank) = self.seats[index].tank else { return };
        let (client, local) = world.client_now(index);
        if set_at_client(client, tank, (group, value), local) {
            let value = client.state(tank, group).expect("it was set").to_vec();
            self.seats[index].groups.insert(group, value);
            self.seats[index].garbled.remove(&group);
        }
    }

    /// A client sends bytes of another type, which the sessions below the types allow.
    pub(super) fn garble(&mut self, world: &mut World, index: usize) {
        let group = self.random.below(OWNER_GROUPS.into()) as u8;
        let client = world.client(index);
        let _ = client.call_server(0, &[0xFF; 3], Delivery::ReliableOrdered);
        let drone = self.drones[0];
        let _ = client.call_owner(drone, 1, &[0xFF; 3], Delivery::ReliableUnordered);
        if let Some(tank) = self.seats[index].tank
            && client.set_state(tank, group, &[0xFF; 3]).is_ok()
        {
            self.seats[index].garbled.insert(group);
        }
    }

    /// A client sets the states again that it has garbled, as it would after the refusal.
    pub(super) fn repair_garbled(&mut self, world: &mut World, index: usize) {
        for group in self.seats[index].garbled.clone() {
            let value = self.random.bits();
            self.set_tank_group(world, index, group, value);
        }
    }
}

/// Returns the method of the typed call with this delivery.
fn method_of(delivery: Delivery) -> u8 {
    DELIVERIES.iter().position(|one| *one == delivery).expect("all are listed") as u8
}
