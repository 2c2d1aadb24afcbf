//! Faults and actions of the plan: when they begin, and when temporary ones end.

use fairpath::number::EntityId;
use fairpath::session::{CloseReason, Delivery, Party};
use fairpath::time::{SharedInstant, Span};
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
        self.wake_server(world, now);
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
            Incident::Partition(who, span) => self.isolate(world, who, now + span),
            Incident::Cut(who) => world.cut(who),
            Incident::Crash(who) => self.crash(world, who, now),
            Incident::Leave(who) => self.leave(world, who),
            Incident::Absent(who, span) => self.go_away(world, who, now + span),
            Incident::Stall(who, span) => self.stall(world, who, now + span),
            Incident::OneWay(who, is_up, span) => self.cut_one_way(world, (who, is_up), now + span),
            Incident::Step(who, by) => self.step_clock(world, who, by, now),
            Incident::Drift(who, ppm) => self.drift_clock(world, who, ppm),
            Incident::Narrow(who, rate, span) => self.narrow(world, who, rate, now + span),
            Incident::Garble(who) => self.garble(world, who),
            Incident::Board(who, rider) => claim(world, who, self.riders[rider]),
            Incident::Attach(rider, carrier) => self.attach(world, rider, carrier),
            Incident::Claim(who, ball) => claim(world, who, self.balls[ball]),
            Incident::Release(who) => self.release_balls(world, who),
            Incident::Rebuild(who) => self.rebuild(world, who),
            Incident::Chatter(who, count, bytes) => self.chatter(world, who, count, bytes),
            Incident::Restart
            | Incident::PlannedRestart(_)
            | Incident::ServerStall(_)
            | Incident::Give(..)
            | Incident::Sink(_)
            | Incident::Dismiss(_) => self.apply_at_server(world, incident, now),
        }
    }

    /// Lets the server act. A stopped server does nothing, and a stalled one can only be restarted.
    fn apply_at_server(&mut self, world: &mut World, incident: Incident, now: SharedInstant) {
        let is_restart = matches!(incident, Incident::Restart | Incident::PlannedRestart(_));
        if self.is_down || (self.is_stalled && !is_restart) {
            return;
        }
        match incident {
            Incident::ServerStall(span) => {
                world.stall_server();
                self.is_stalled = true;
                self.endings.push((now + span, FaultEnd::ServerStall));
            }
            Incident::Restart => self.restart(world, now),
            Incident::PlannedRestart(pause) => {
                self.stop(world, now);
                self.endings.push((now + pause, FaultEnd::Downtime));
            }
            Incident::Give(rider, to) => self.give(world, rider, to, now),
            Incident::Sink(platform) => self.sink(world, platform, now),
            Incident::Dismiss(who) => {
                if let Some(id) = self.seats[who].id {
                    world.server.dismiss(id, now);
                }
            }
            _ => {}
        }
    }

    fn isolate(&mut self, world: &mut World, who: usize, until: SharedInstant) {
        world.network.inject(Fault::Isolate(peer(who)));
        self.endings.push((until, FaultEnd::Partition(who)));
    }

    fn cut_one_way(&mut self, world: &mut World, (who, is_up): (usize, bool), until: SharedInstant) {
        let (from, to) = if is_up { (peer(who), PeerId(0)) } else { (PeerId(0), peer(who)) };
        world.network.inject(Fault::PartitionOneWay(from, to));
        self.endings.push((until, FaultEnd::OneWay(who)));
    }

    /// Whether the server does nothing: it is stopped or stalled.
    pub(super) fn is_idle(&self) -> bool {
        self.is_down || self.is_stalled
    }

    /// Ends a stall of the server, and handles its events.
    fn wake_server(&mut self, world: &mut World, now: SharedInstant) {
        if std::mem::take(&mut self.is_stalled) {
            world.wake_server();
            self.handle_events(world, now);
        }
    }

    fn leave(&mut self, world: &mut World, who: usize) {
        self.seats[who].has_left = true;
        let (client, local) = world.client_now(who);
        client.leave(local);
    }

    fn go_away(&mut self, world: &mut World, who: usize, until: SharedInstant) {
        world.absent(who);
        self.endings.push((until, FaultEnd::Absence(who)));
    }

    fn stall(&mut self, world: &mut World, who: usize, until: SharedInstant) {
        world.stall(who);
        self.endings.push((until, FaultEnd::Stall(who)));
    }

    fn step_clock(&mut self, world: &mut World, who: usize, by: Span, now: SharedInstant) {
        world.network.inject(Fault::StepClock(peer(who), by));
        self.clocks.on_step(who, now);
        self.budgets.on_step(who);
    }

    fn drift_clock(&mut self, world: &mut World, who: usize, ppm: f64) {
        world.network.inject(Fault::DriftClock(peer(who), ppm));
        self.seats[who].drifts = true;
        self.clocks.on_drift(who);
    }

    fn narrow(&mut self, world: &mut World, who: usize, bytes_per_sec: u64, until: SharedInstant) {
        let rate = Some(Rate { bytes_per_sec, queue_bytes_max: 6_000 });
        let narrow = LinkConfig { rate, ..self.plan.links[who][1].clone() };
        world.network.inject(Fault::Reconfigure(PeerId(0), peer(who), Box::new(narrow)));
        self.endings.push((until, FaultEnd::Narrow(who)));
    }

    fn release_balls(&mut self, world: &mut World, who: usize) {
        for ball in &self.balls {
            // The client may own only some of them.
            let _ = world.client(who).release(*ball);
        }
    }

    /// A client destroys its tank; with its next report it creates another one.
    fn rebuild(&mut self, world: &mut World, who: usize) {
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

    fn chatter(&mut self, world: &mut World, who: usize, count: u32, bytes: usize) {
        for _ in 0..count {
            self.call_server(world, who, Delivery::ReliableOrdered, bytes);
        }
    }

    /// The server gives a rider to a client that is connected, or takes it.
    fn give(&mut self, world: &mut World, rider: usize, to: Option<usize>, now: SharedInstant) {
        let to = to.map(|who| self.seats[who].id.filter(|id| world.server.is_connected(*id)));
        if let Some(to) = to.map_or(Some(Party::Server), |id| id.map(Party::Client)) {
            world.server.give(self.riders[rider], to, now).expect("it exists");
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
                FaultEnd::OneWay(who) => world.network.inject(Fault::Repair(PeerId(0), peer(who))),
                FaultEnd::ServerStall => self.wake_server(world, now),
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
        (self.is_down, self.is_stalled, self.stops) = (true, false, self.stops + 1);
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
        (self.is_down, self.is_stalled) = (false, false);
        self.calls.excuse(&format!("s{}.", self.epoch));
        self.calls.excuse(&format!("@{}", self.epoch));
        self.placed.on_restarted();
        self.ledgers.on_restarted();
        self.budgets.on_restarted();
        // The new server records its first DR vectors here: later the log must not be dropped.
        self.log.drain();
        let server = self.server(now);
        world.restart_server(server);
    }
}

/// A client claims an object. That fails if it does not see the object or has no session.
fn claim(world: &mut World, who: usize, object: EntityId) {
    let _ = world.client(who).claim(object);
}
