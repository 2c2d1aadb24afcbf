//! The middleman without its sockets: who is there, what becomes of each packet, and when it
//! leaves.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use fairpath::time::SharedInstant;
use fairpath_sim::{EventQueue, LinkConfig, LinkModel};

use super::config::{
    Bounds, ChangeError, ClientSelector, Direction, Directions, Links, MiddlemanConfig, PerDirection, dice,
};
use super::statistics::{ClientStatistics, DirectionStatistics, GONE_MAX, Statistics};

/// Feed with `handle_packet`, sleep until `poll_deadline`, drain `poll_packet` until `None`, and
/// tell `on_left` of each.
pub(super) struct Relay {
    seed: u64,
    bounds: Bounds,
    links: Links,
    /// By number.
    clients: BTreeMap<u32, Client>,
    numbers: BTreeMap<SocketAddr, u32>,
    /// How many there have been.
    client_count: u32,
    gone: Vec<ClientStatistics>,
    gone_unlisted: u64,
    refused: u64,
    waiting: EventQueue<Packet>,
    now: SharedInstant,
}

/// One packet on its way, or the copy of one.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) client: u32,
    pub(super) direction: Direction,
    pub(super) bytes: Arc<[u8]>,
    received_at: SharedInstant,
    asked_at: SharedInstant,
    is_copy: bool,
}

struct Client {
    address: SocketAddr,
    last_packet_at: SharedInstant,
    rebinds: u64,
    lanes: PerDirection<Lane>,
}

/// One direction of one client.
struct Lane {
    model: LinkModel,
    waiting_packets: usize,
    waiting_bytes: usize,
    /// Without what the model and the fields above know.
    counts: DirectionStatistics,
}

impl Relay {
    pub(super) fn new(config: &MiddlemanConfig) -> Self {
        Self {
            seed: config.seed,
            bounds: config.bounds,
            links: config.links.clone(),
            clients: BTreeMap::new(),
            numbers: BTreeMap::new(),
            client_count: 0,
            gone: Vec::new(),
            gone_unlisted: 0,
            refused: 0,
            waiting: EventQueue::new(),
            now: SharedInstant::ZERO,
        }
    }

    /// The number of the client at this address.
    pub(super) fn client_at(&self, address: SocketAddr) -> Option<u32> {
        self.numbers.get(&address).copied()
    }

    pub(super) fn address_of(&self, client: u32) -> Option<SocketAddr> {
        self.clients.get(&client).map(|client| client.address)
    }

    /// A stranger's first packet came: may it be a client?
    pub(super) fn has_room(&self) -> bool {
        self.clients.len() < self.bounds.clients_max
    }

    /// A stranger's packet was dropped.
    pub(super) fn on_refused(&mut self) {
        self.refused += 1;
    }

    /// The number that the next client gets.
    pub(super) fn next_number(&self) -> u32 {
        self.client_count + 1
    }

    /// Makes a stranger a client, with the next number.
    pub(super) fn admit(&mut self, now: SharedInstant, address: SocketAddr) -> u32 {
        assert!(self.has_room(), "whoever asks first whether there is room does not overfill the table");
        let nth = self.next_number();
        self.client_count = nth;
        let links = self.links.of(nth, address);
        let lane =
            |direction| Lane::new(LinkModel::new(links[direction].clone(), dice(self.seed, nth, direction)));
        let lanes = PerDirection { up: lane(Direction::Up), down: lane(Direction::Down) };
        self.clients.insert(nth, Client { address, last_packet_at: now, rebinds: 0, lanes });
        self.numbers.insert(address, nth);
        nth
    }

    /// A packet came from a client (up) or from the server (down). What becomes of it is decided at
    /// once.
    pub(super) fn handle_packet(
        &mut self,
        now: SharedInstant,
        client: u32,
        direction: Direction,
        bytes: &[u8],
    ) {
        // Two threads read the clock, and links must be told of packets in the order of time.
        self.now = self.now.max(now);
        let now = self.now;
        let Some(who) = self.clients.get_mut(&client) else { return };
        who.last_packet_at = now;
        let lane = &mut who.lanes[direction];
        // For two, because it may be duplicated.
        let has_room = lane.waiting_packets + 2 <= self.bounds.waiting_packets_max
            && lane.waiting_bytes + 2 * bytes.len() <= self.bounds.waiting_bytes_max;
        lane.counts.overflowed += u64::from(!has_room);
        let size_bytes = u32::try_from(bytes.len()).expect("a datagram is below 64 KiB");
        let fate = lane.model.send_if_room(has_room, now, size_bytes);
        let mut payload: Option<Arc<[u8]>> = None;
        for (asked_at, is_copy) in fate.arrivals().zip([false, true]) {
            lane.waiting_packets += 1;
            lane.waiting_bytes += bytes.len();
            let bytes = Arc::clone(payload.get_or_insert_with(|| bytes.into()));
            self.waiting
                .schedule(asked_at, Packet { client, direction, bytes, received_at: now, asked_at, is_copy });
        }
    }

    /// When the next packet is to leave.
    pub(super) fn poll_deadline(&self) -> Option<SharedInstant> {
        self.waiting.next_at()
    }

    /// The next packet whose time has come.
    pub(super) fn poll_packet(&mut self, now: SharedInstant) -> Option<Packet> {
        self.waiting.pop_until(now).map(|(_, packet)| packet)
    }

    /// What `poll_packet` gave was sent on, or could not be.
    pub(super) fn on_left(&mut self, packet: &Packet, at: SharedInstant, was_sent: bool) {
        let Some(client) = self.clients.get_mut(&packet.client) else { return };
        let lane = &mut client.lanes[packet.direction];
        lane.waiting_packets -= 1;
        lane.waiting_bytes -= packet.bytes.len();
        if !was_sent {
            lane.counts.failures += 1;
            return;
        }
        lane.counts.left += 1;
        if !packet.is_copy {
            lane.counts.measured.add(at - packet.received_at);
            lane.counts.late.add(at - packet.asked_at);
        }
    }

    /// The other side says that it does not listen.
    pub(super) fn on_failure(&mut self, client: u32, direction: Direction) {
        if let Some(client) = self.clients.get_mut(&client) {
            client.lanes[direction].counts.failures += 1;
        }
    }

    /// Changes links now, and for whoever comes later. The number of clients that are there and
    /// changed.
    pub(super) fn change(
        &mut self,
        who: ClientSelector,
        ways: Directions,
        mut edit: impl FnMut(&mut LinkConfig),
    ) -> Result<usize, ChangeError> {
        let mut changed = Vec::new();
        for nth in self.matching(who) {
            let lanes = &self.clients[&nth].lanes;
            let mut links =
                PerDirection { up: lanes.up.model.config().clone(), down: lanes.down.model.config().clone() };
            links.edit(ways, &mut edit);
            links.up.check()?;
            links.down.check()?;
            changed.push((nth, links));
        }
        self.links.change(who, ways, edit)?;
        let count = changed.len();
        for (nth, links) in changed {
            let lanes = &mut self.clients.get_mut(&nth).expect("it was there a moment ago").lanes;
            lanes.up.model.reconfigure(links.up);
            lanes.down.model.reconfigure(links.down);
        }
        Ok(count)
    }

    /// The numbers of those meant who are there.
    pub(super) fn matching(&self, who: ClientSelector) -> Vec<u32> {
        let meant = self.clients.iter().filter(|(nth, client)| who.includes(**nth, client.address));
        meant.map(|(nth, _)| *nth).collect()
    }

    pub(super) fn on_rebound(&mut self, client: u32) {
        if let Some(client) = self.clients.get_mut(&client) {
            client.rebinds += 1;
        }
    }

    /// Forgets who has been idle for long and has nothing on its way, and tells whom.
    pub(super) fn forget_idle(&mut self, now: SharedInstant) -> Vec<u32> {
        let idle_after = self.bounds.idle_after;
        let is_idle = |client: &Client| {
            now - client.last_packet_at >= idle_after
                && Direction::ALL.iter().all(|way| client.lanes[*way].waiting_packets == 0)
        };
        let idle: Vec<u32> =
            self.clients.iter().filter(|(_, client)| is_idle(client)).map(|(nth, _)| *nth).collect();
        for nth in &idle {
            let client = self.clients.remove(nth).expect("it was found a moment ago");
            self.numbers.remove(&client.address);
            if self.gone.len() < GONE_MAX {
                self.gone.push(client.statistics(*nth, true));
            } else {
                self.gone_unlisted += 1;
            }
        }
        idle
    }

    pub(super) fn statistics(&self, now: SharedInstant) -> Statistics {
        let here = self.clients.iter().map(|(nth, client)| client.statistics(*nth, false));
        let mut clients: Vec<ClientStatistics> = self.gone.iter().cloned().chain(here).collect();
        clients.sort_by_key(|client| client.nth);
        Statistics {
            ran_for: now.since_zero(),
            clients,
            clients_unlisted: self.gone_unlisted,
            refused: self.refused,
        }
    }
}

impl Client {
    fn statistics(&self, nth: u32, is_gone: bool) -> ClientStatistics {
        let (up, down) = (self.lanes.up.statistics(), self.lanes.down.statistics());
        ClientStatistics { nth, address: self.address, is_gone, rebinds: self.rebinds, up, down }
    }
}

impl Lane {
    fn new(model: LinkModel) -> Self {
        Self { model, waiting_packets: 0, waiting_bytes: 0, counts: DirectionStatistics::default() }
    }

    fn statistics(&self) -> DirectionStatistics {
        DirectionStatistics {
            link: self.model.statistics().clone(),
            waiting: self.waiting_packets,
            ..self.counts.clone()
        }
    }
}

#[cfg(test)]
mod tests;
