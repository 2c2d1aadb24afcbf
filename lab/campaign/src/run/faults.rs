//! Faults and actions of the plan: when they begin, and when temporary ones end.

use fairpath::number::EntityId;
use fairpath::session::{CloseReason, Delivery, Party};
use fairpath::time::SharedInstant;
use fairpath_games::tanks::{Driver, Input};
use fairpath_sim::{Fault, LinkConfig, PeerId, Rate};

use super::{ClientPlayer, FaultEnd, MOVES_ON, RunPhase, World, WorldRun, peer};
use crate::game::OWNER_GROUPS;
use crate::plan::Incident;

impl WorldRun<'_> {
    pub(super) fn change_phase(&mut self, world: &mut World, now: SharedInstant) {
        match self.phase {
            RunPhase::Broken if now >= self.plan.heals_at => {
                self.phase = RunPhase::Healed;
                self.heal(world, now);
            }
            RunPhase::Healed if now >= self.plan.heals_at + MOVES_ON => {
                self.phase = RunPhase::AtRest;
                for tank in 0..self.plan.clients as u32 {
                    self.game.seat(EntityId(tank), Driver::Hands(Input::IDLE));
                }
            }
            _ => {}
        }
    }

    fn heal(&mut self, world: &mut World, now: SharedInstant) {
        world.network.inject(Fault::Heal);
        for index in 0..self.plan.clients {
            for (from, to) in [(peer(index), PeerId(0)), (PeerId(0), peer(index))] {
                let good = LinkConfig { rate: None, ..world.network.link(from, to).config().healed() };
                world.network.inject(Fault::Reconfigure(from, to, Box::new(good)));
            }
            world.arrive(index);
            self.wake(world, index, now);
            if std::mem::take(&mut self.seats[index].drifts) {
                world.network.inject(Fault::DriftClock(peer(index), 20.0));
                self.clocks.on_step(index, now);
            }
        }
        self.endings.clear();
        if self.is_down {
            self.restart(world, now);
        }
        (0..self.plan.clients).for_each(|index| self.repair_garbled(world, index));
    }

    pub(super) fn inject_faults(&mut self, world: &mut World, now: SharedInstant) {
        while let Some((_, incident)) =
            self.plan.incidents.get(self.next_incident).filter(|(at, _)| *at <= now)
        {
            self.next_incident += 1;
            self.apply(world, *incident, now);
        }
    }

    fn apply(&mut self, world: &mut World, incident: Incident, now: SharedInstant) {
        match incident {
            Incident::Partition(who, span) => {
                world.network.inject(Fault::Isolate(peer(who)));
                self.endings.push((now + span, FaultEnd::Partition(who)));
            }
            Incident::Cut(who) => world.cut(who),
            Incident::Crash(who) => self.crash(world, who, now),
            Incident::Leave(who) => {
                let (client, local) = world.client_now(who);
                client.leave(local);
            }
            Incident::Absent(who, span) => {
                world.absent(who);
                self.endings.push((now + span, FaultEnd::Absence(who)));
            }
            Incident::Stall(who, span) => {
                world.stall(who);
                self.endings.push((now + span, FaultEnd::Stall(who)));
            }
            Incident::Step(who, by) => {
                world.network.inject(Fault::StepClock(peer(who), by));
                self.clocks.on_step(who, now);
                self.budgets.on_step(who);
            }
            Incident::Drift(who, ppm) => {
                world.network.inject(Fault::DriftClock(peer(who), ppm));
                self.seats[who].drifts = true;
                self.clocks.on_drift(who);
            }
            Incident::Restart if !self.is_down => self.restart(world, now),
            Incident::PlannedRestart(pause) if !self.is_down => {
                self.stop(world, now);
                self.endings.push((now + pause, FaultEnd::Downtime));
            }
            Incident::Garble(who) => self.garble(world, who),
            Incident::Board(who, rider) => {
                let _ = world.client(who).claim(self.riders[rider]);
            }
            Incident::Attach(rider, carrier) => self.attach(world, rider, carrier),
            Incident::Give(rider, to) if !self.is_down => {
                let to = to.map(|who| self.seats[who].id.filter(|id| world.server.is_connected(*id)));
                if let Some(to) = to.map_or(Some(Party::Server), |id| id.map(Party::Client)) {
                    world.server.give(self.riders[rider], to, now).expect("it exists");
                }
            }
            Incident::Sink(platform) if !self.is_down => self.sink(world, platform, now),
            Incident::Narrow(who, bytes_per_sec, span) => {
                let rate = Some(Rate { bytes_per_sec, queue_bytes_max: 6_000 });
                let narrow = LinkConfig { rate, ..self.plan.links[who][1].clone() };
                world.network.inject(Fault::Reconfigure(PeerId(0), peer(who), Box::new(narrow)));
                self.endings.push((now + span, FaultEnd::Narrow(who)));
            }
            Incident::Claim(who, ball) => {
                // The claim fails if the client does not see the ball or has no session.
                let _ = world.client(who).claim(self.balls[ball]);
            }
            Incident::Release(who) => {
                for ball in self.balls.clone() {
                    let _ = world.client(who).release(ball);
                }
            }
            Incident::Rebuild(who) => {
                let seat = &mut self.seats[who];
                if let Some(tank) = seat.tank
                    && world.client(who).destroy(tank).is_ok()
                {
                    seat.tank = None;
                    seat.groups.clear();
                    seat.garbled.clear();
                    self.placed.on_removed(who, tank);
                    self.calls.excuse(&format!("~o{}@{}", tank.0, self.epoch));
                }
            }
            Incident::Chatter(who, count, bytes) => {
                for _ in 0..count {
                    self.call_server(world, who, Delivery::ReliableOrdered, bytes);
                }
            }
            Incident::Dismiss(who) if !self.is_down => {
                if let Some(id) = self.seats[who].id {
                    world.server.dismiss(id, now);
                }
            }
            // A stopped server does nothing.
            Incident::Restart
            | Incident::PlannedRestart(_)
            | Incident::Give(..)
            | Incident::Sink(_)
            | Incident::Dismiss(_) => {}
        }
    }

    pub(super) fn end_faults(&mut self, world: &mut World, now: SharedInstant) {
        let over: Vec<FaultEnd> =
            self.endings.extract_if(.., |(at, _)| *at <= now).map(|(_, it)| it).collect();
        for ending in over {
            match ending {
                FaultEnd::Partition(who) => world.network.inject(Fault::Rejoin(peer(who))),
                FaultEnd::Absence(who) => world.arrive(who),
                FaultEnd::Stall(who) => self.wake(world, who, now),
                FaultEnd::Downtime => self.restart(world, now),
                FaultEnd::Narrow(who) => {
                    let link = self.plan.links[who][1].clone();
                    world.network.inject(Fault::Reconfigure(PeerId(0), peer(who), Box::new(link)));
                }
            }
        }
    }

    /// Wakes a stalled client and handles its events first: its session may have changed.
    fn wake(&mut self, world: &mut World, who: usize, now: SharedInstant) {
        world.wake(who);
        self.handle_events(world, now);
    }

    /// Crashes and restarts a client after its pending events. Its unsent calls are not owed.
    fn crash(&mut self, world: &mut World, who: usize, now: SharedInstant) {
        self.handle_events(world, now);
        let session = self.seats[who].session;
        self.calls.excuse(&format!("c{who}.{session}>"));
        self.calls.excuse(&format!("c{who}.{session}~"));
        if let Some(id) = world.client(who).id() {
            self.calls.excuse(&format!("s{}.{}>", self.epoch, id.0));
        }
        if let Some(tank) = self.seats[who].tank {
            self.calls.excuse(&format!("~o{}@{}", tank.0, self.epoch));
        }
        let ClientPlayer { starts, drifts, session, .. } = self.seats[who];
        self.seats[who] = ClientPlayer { starts, drifts, session, ..ClientPlayer::default() };
        let client = self.client(who);
        world.restart_client(who, client);
    }

    /// Stops the server for a planned restart. Its clients are told, and wait for the next one.
    fn stop(&mut self, world: &mut World, now: SharedInstant) {
        self.handle_events(world, now);
        (self.is_down, self.stops) = (true, self.stops + 1);
        self.last_states.clear();
        for index in 0..self.plan.clients {
            let (client, server) = world.client_and_server(index);
            let Some(tank) = self.seats[index].tank else { continue };
            // A client that has not noticed an earlier restart means another tank.
            if server.creation(tank).is_some() && server.creation(tank) == client.creation(tank) {
                self.seats[index].stopped_with = Some(tank);
                let value = |group| Some(((tank, group), server.state(tank, group)?.to_vec()));
                self.last_states.extend((0..OWNER_GROUPS).filter_map(value));
            }
        }
        world.stop_server(CloseReason::Restarting);
    }

    fn restart(&mut self, world: &mut World, now: SharedInstant) {
        self.handle_events(world, now);
        self.is_down = false;
        self.calls.excuse(&format!("s{}.", self.epoch));
        self.calls.excuse(&format!("@{}", self.epoch));
        let server = self.server(now);
        world.restart_server(server);
        // Events of the old server do not count.
        self.log.drain();
        self.placed.on_restarted();
        self.ledgers.on_restarted();
        self.budgets.on_restarted();
    }
}
