//! The middleman without its sockets: its clients, the fate of each packet, and when it leaves.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use fairpath::time::SharedInstant;
use fairpath_sim::{EventQueue, LinkConfig, LinkModel};

use super::config::{
    Bounds, ChangeError, ClientSelector, Direction, Directions, Links, MiddlemanConfig, PerDirection,
    link_random,
};
use super::statistics::{ClientStatistics, DirectionStatistics, FORGOTTEN_CLIENTS_MAX, MiddlemanStatistics};

/// Feed with `handle_packet`, sleep until `poll_deadline`, drain `poll_packet` until `None`, and
/// report each packet with `on_left`.
pub(super) struct Proxy {
    seed: u64,
    bounds: Bounds,
    links: Links,
    clients: BTreeMap<u32, ProxyClient>,
    numbers: BTreeMap<SocketAddr, u32>,
    client_count: u32,
    gone: Vec<ClientStatistics>,
    gone_unlisted: u64,
    refused: u64,
    waiting: EventQueue<Packet>,
    now: SharedInstant,
}

/// One packet in flight, or a copy of one.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) client: u32,
    pub(super) direction: Direction,
    pub(super) bytes: Arc<[u8]>,
    received_at: SharedInstant,
    asked_at: SharedInstant,
    is_copy: bool,
}

struct ProxyClient {
    address: SocketAddr,
    last_packet_at: SharedInstant,
    rebinds: u64,
    links: PerDirection<LinkState>,
}

/// One direction of one client.
struct LinkState {
    model: LinkModel,
    waiting_packets: usize,
    waiting_bytes: usize,
    /// The counters that neither the model nor the fields above have.
    counts: DirectionStatistics,
}

impl Proxy {
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

    pub(super) fn client_at(&self, address: SocketAddr) -> Option<u32> {
        self.numbers.get(&address).copied()
    }

    pub(super) fn address_of(&self, client: u32) -> Option<SocketAddr> {
        self.clients.get(&client).map(|client| client.address)
    }

    /// The links of a connection from this address, which has no number.
    pub(super) fn links_of(&self, address: SocketAddr) -> &PerDirection<LinkConfig> {
        self.links.of(0, address)
    }

    /// Whether an unknown address may become a client.
    pub(super) fn has_room(&self) -> bool {
        self.clients.len() < self.bounds.clients_max
    }

    /// A packet from an unknown address was dropped.
    pub(super) fn on_refused(&mut self) {
        self.refused += 1;
    }

    pub(super) fn next_number(&self) -> u32 {
        self.client_count + 1
    }

    /// Makes an unknown address a client, with the next number.
    pub(super) fn admit(&mut self, now: SharedInstant, address: SocketAddr) -> u32 {
        assert!(self.has_room(), "the caller checks `has_room` first");
        let nth = self.next_number();
        self.client_count = nth;
        let links = self.links.of(nth, address);
        let link = |direction| {
            LinkState::new(LinkModel::new(links[direction].clone(), link_random(self.seed, nth, direction)))
        };
        let links = PerDirection { up: link(Direction::Up), down: link(Direction::Down) };
        self.clients.insert(nth, ProxyClient { address, last_packet_at: now, rebinds: 0, links });
        self.numbers.insert(address, nth);
        nth
    }

    /// Handles a packet from a client (up) or from the server (down). Decides its fate at once.
    pub(super) fn handle_packet(
        &mut self,
        now: SharedInstant,
        client: u32,
        direction: Direction,
        bytes: &[u8],
    ) {
        // Two threads read the clock, and links need packets in the order of time.
        self.now = self.now.max(now);
        let now = self.now;
        let Some(known) = self.clients.get_mut(&client) else { return };
        known.last_packet_at = now;
        let link = &mut known.links[direction];
        // Room for two, because the packet may be duplicated.
        let has_room = link.waiting_packets + 2 <= self.bounds.waiting_packets_max
            && link.waiting_bytes + 2 * bytes.len() <= self.bounds.waiting_bytes_max;
        link.counts.overflowed += u64::from(!has_room);
        let size_bytes = u32::try_from(bytes.len()).expect("a datagram is below 64 KiB");
        let fate = link.model.send_if_room(has_room, now, size_bytes);
        let mut payload: Option<Arc<[u8]>> = None;
        for (asked_at, is_copy) in fate.arrivals().zip([false, true]) {
            link.waiting_packets += 1;
            link.waiting_bytes += bytes.len();
            let bytes = Arc::clone(payload.get_or_insert_with(|| bytes.into()));
            self.waiting
                .schedule(asked_at, Packet { client, direction, bytes, received_at: now, asked_at, is_copy });
        }
    }

    pub(super) fn poll_deadline(&self) -> Option<SharedInstant> {
        self.waiting.next_at()
    }

    pub(super) fn poll_packet(&mut self, now: SharedInstant) -> Option<Packet> {
        self.waiting.pop_until(now).map(|(_, packet)| packet)
    }

    /// A packet from `poll_packet` was sent, or could not be.
    pub(super) fn on_left(&mut self, packet: &Packet, at: SharedInstant, was_sent: bool) {
        let Some(client) = self.clients.get_mut(&packet.client) else { return };
        let link = &mut client.links[packet.direction];
        link.waiting_packets -= 1;
        link.waiting_bytes -= packet.bytes.len();
        if !was_sent {
            link.counts.failures += 1;
            return;
        }
        link.counts.left += 1;
        if !packet.is_copy {
            link.counts.measured.add(at - packet.received_at);
            link.counts.late.add(at - packet.asked_at);
        }
    }

    /// The other side reported that its port is closed.
    pub(super) fn on_failure(&mut self, client: u32, direction: Direction) {
        if let Some(client) = self.clients.get_mut(&client) {
            client.links[direction].counts.failures += 1;
        }
    }

    /// Changes links, also for later clients. Returns the number of current clients changed.
    pub(super) fn change(
        &mut self,
        clients: ClientSelector,
        directions: Directions,
        mut edit: impl FnMut(&mut LinkConfig),
    ) -> Result<usize, ChangeError> {
        let mut changed = Vec::new();
        for nth in self.matching(clients) {
            let current = &self.clients[&nth].links;
            let mut links = PerDirection {
                up: current.up.model.config().clone(),
                down: current.down.model.config().clone(),
            };
            links.edit(directions, &mut edit);
            links.up.check()?;
            links.down.check()?;
            changed.push((nth, links));
        }
        self.links.change(clients, directions, edit)?;
        let count = changed.len();
        for (nth, links) in changed {
            let current = &mut self.clients.get_mut(&nth).expect("it was there a moment ago").links;
            current.up.model.reconfigure(links.up);
            current.down.model.reconfigure(links.down);
        }
        Ok(count)
    }

    /// The numbers of current clients that are selected.
    pub(super) fn matching(&self, clients: ClientSelector) -> Vec<u32> {
        let meant = self.clients.iter().filter(|(nth, client)| clients.includes(**nth, client.address));
        meant.map(|(nth, _)| *nth).collect()
    }

    pub(super) fn on_rebound(&mut self, client: u32) {
        if let Some(client) = self.clients.get_mut(&client) {
            client.rebinds += 1;
        }
    }

    /// Forgets clients that are idle and have no packet in flight. Returns their numbers.
    pub(super) fn forget_idle(&mut self, now: SharedInstant) -> Vec<u32> {
        let idle_after = self.bounds.idle_after;
        let is_idle = |client: &ProxyClient| {
            now - client.last_packet_at >= idle_after
                && Direction::ALL.iter().all(|direction| client.links[*direction].waiting_packets == 0)
        };
        let idle: Vec<u32> =
            self.clients.iter().filter(|(_, client)| is_idle(client)).map(|(nth, _)| *nth).collect();
        for nth in &idle {
            let client = self.clients.remove(nth).expect("it was found a moment ago");
            self.numbers.remove(&client.address);
            if self.gone.len() < FORGOTTEN_CLIENTS_MAX {
                self.gone.push(client.statistics(*nth, true));
            } else {
                self.gone_unlisted += 1;
            }
        }
        idle
    }

    pub(super) fn statistics(&self, now: SharedInstant) -> MiddlemanStatistics {
        let here = self.clients.iter().map(|(nth, client)| client.statistics(*nth, false));
        let mut clients: Vec<ClientStatistics> = self.gone.iter().cloned().chain(here).collect();
        clients.sort_by_key(|client| client.nth);
        MiddlemanStatistics {
            ran_for: now.since_zero(),
            clients,
            clients_unlisted: self.gone_unlisted,
            refused: self.refused,
        }
    }
}

impl ProxyClient {
    fn statistics(&self, nth: u32, is_gone: bool) -> ClientStatistics {
        let (up, down) = (self.links.up.statistics(), self.links.down.statistics());
        ClientStatistics { nth, address: self.address, is_gone, rebinds: self.rebinds, up, down }
    }
}

impl LinkState {
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
