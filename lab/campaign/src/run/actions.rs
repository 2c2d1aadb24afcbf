//! What clients and server do in every frame: report their objects, make calls, set states.

use fairpath::Observation;
use fairpath::session::{Delivery, Party};
use fairpath::time::SharedInstant;

use super::{TANK, World, WorldRun};

impl WorldRun<'_> {
    /// Every owner reports the true state of its objects.
    pub(super) fn report_states(&mut self, world: &mut World, now: SharedInstant) {
        for index in 0..self.plan.clients {
            let (client, local) = world.client_now(index);
            let seat = &mut self.seats[index];
            if seat.tank.is_none() && seat.id.is_some() && client.is_connected() {
                seat.tank = client.create(TANK, b"tank", local).ok();
            }
            if let Some((tank, observation)) = seat.tank.zip(self.game.tanks().tanks()[index].observation()) {
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
    pub(super) fn make_calls(&mut self, world: &mut World) {
        for index in 0..self.plan.clients {
            if self.random.chance(self.plan.calls) {
                let delivery = self.draw_delivery();
                self.call_server(world, index, delivery, 8);
            }
            if self.random.chance(0.5 * self.plan.calls) {
                self.call_owner(world, index);
            }
            if self.random.chance(0.5 * self.plan.calls) {
                self.call_client(world, index);
            }
            if self.random.chance(self.plan.calls) {
                self.set_tank_state(world, index);
            }
            if self.random.chance(0.3 * self.plan.calls) && !self.balls.is_empty() {
                let ball = self.balls[self.random.below(self.balls.len() as u64) as usize];
                let value = self.random.bits().to_le_bytes();
                let _ = world.client(index).set_state(ball, 0, &value);
            }
        }
        if self.random.chance(self.plan.calls) {
            let drone = self.drones[self.random.below(self.drones.len() as u64) as usize];
            let (group, value) = (self.random.below(4) as u8, self.random.bits().to_le_bytes().to_vec());
            world.server.set_state(drone, group, &value).expect("it is the server's own");
            self.server_groups.insert((drone, group), value);
        }
    }

    fn draw_delivery(&mut self) -> Delivery {
        use Delivery::{Newest, Quickest, ReliableOrdered, ReliableUnordered, Unreliable};
        let all = [ReliableOrdered, ReliableOrdered, ReliableUnordered, Unreliable, Newest, Quickest];
        all[self.random.below(all.len() as u64) as usize]
    }

    pub(super) fn call_server(&mut self, world: &mut World, index: usize, delivery: Delivery, bytes: usize) {
        let name = format!("c{index}.{}>server", self.seats[index].session);
        let parcel = self.calls.next(&name, delivery);
        if world.client(index).call_server(1, &parcel.to_bytes(bytes), delivery).is_ok() {
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
        if world.client(index).call_owner(tank, method, &parcel.to_bytes(8), delivery).is_ok() {
            self.calls.on_sent(parcel);
        }
    }

    fn call_client(&mut self, world: &mut World, index: usize) {
        let delivery = self.draw_delivery();
        let Some(id) = self.seats[index].id.filter(|id| world.server.is_connected(*id)) else { return };
        let name = format!("s{}.{}>client", self.epoch, id.0);
        let parcel = self.calls.next(&name, delivery);
        if world.server.call_client(id, 3, &parcel.to_bytes(8), delivery).is_ok() {
            self.calls.on_sent(parcel);
        }
    }

    fn set_tank_state(&mut self, world: &mut World, index: usize) {
        let (group, value) = (self.random.below(6) as u8, self.random.bits().to_le_bytes().to_vec());
        let Some(tank) = self.seats[index].tank else { return };
        if world.client(index).set_state(tank, group, &value).is_ok() {
            self.seats[index].groups.insert(group, value);
        }
    }
}
