use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::{Index, IndexMut};

use fairpath::random::Random;
use fairpath::time::Span;
use fairpath_sim::{BadLinkConfig, LinkConfig};

/// The settings of a middleman.
///
/// ```
/// use fairpath::time::Span;
/// use fairpath_net::middleman::{ClientSelector, Directions, LinkConfig, Loss, MiddlemanConfig};
///
/// let mut config = MiddlemanConfig::between("127.0.0.1:0".parse()?, "127.0.0.1:7777".parse()?)
///     .both_ways(LinkConfig::default().delay(Span::from_millis(100)));
/// // The second client receives badly.
/// let second = ClientSelector::Nth(2);
/// config.links.change(second, Directions::Down, |link| link.loss = Loss::each(0.3))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MiddlemanConfig {
    /// The address that clients send to. With port 0 the system chooses one, which
    /// [`Middleman::address`](super::Middleman::address) returns.
    pub listen: SocketAddr,
    /// The server's address.
    pub to: SocketAddr,
    /// Seed of every random decision, see [`link_random`]. Default 1.
    pub seed: u64,
    /// The links of the clients. Default: perfect.
    pub links: Links,
    /// Limits of clients and waiting packets.
    pub bounds: Bounds,
    /// Whether TCP connections to the same port are carried too, with the constant delay of their
    /// client's link. Default: no. A game that uses both, such as BZFlag, needs it.
    pub carries_tcp: bool,
}

/// Limits of a middleman, whatever clients send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Clients at a time, each with a socket to the server. Default 64. A full middleman refuses
    /// newcomers and counts them; it never drops a client, because a flood of forged addresses
    /// could then drop all. Higher costs sockets (two descriptors each, and many systems allow
    /// 1024); lower turns players away.
    pub clients_max: usize,
    /// Packets that wait in one direction of one client. Default 8192: 8 s at 1000 packets per
    /// second. Packets beyond this are lost as in a full queue, and counted.
    pub waiting_packets_max: usize,
    /// Bytes that wait in one direction of one client. Default 4 MiB: 3 s at 10 megabit per second.
    /// 64 clients fill half a gigabyte at most.
    pub waiting_bytes_max: usize,
    /// A client is forgotten after this long without a packet in either direction. Default 60 s,
    /// twice the idle timeout of QUIC implementations. If it were shorter than a partition, the
    /// server would see the client return from another port.
    pub idle_after: Span,
}

/// Selects clients. A later change overrides an earlier one, whichever selector it used. For a
/// later client the most precise selector wins: address, then host, then number, then all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientSelector {
    /// All clients, including clients that connect later.
    All,
    /// The client with this number. The first to send a packet is 1.
    Nth(u32),
    /// All clients at this host.
    Host(IpAddr),
    /// The client at this host and port.
    Address(SocketAddr),
}

/// A direction of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From a client to the server.
    Up,
    /// From the server to a client.
    Down,
}

/// A choice of directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Directions {
    /// Both directions.
    #[default]
    Both,
    /// Only towards the server.
    Up,
    /// Only towards the client.
    Down,
}

/// One value for each direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerDirection<T> {
    /// Towards the server.
    pub up: T,
    /// Towards the client.
    pub down: T,
}

/// The links of all clients: a default pair, and pairs for selected clients.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    default: PerDirection<LinkConfig>,
    selected: BTreeMap<ClientSelector, PerDirection<LinkConfig>>,
}

/// Selectors that may have links of their own. Bounds the memory that commands can use.
pub const CLIENT_LINKS_MAX: usize = 1024;

/// Why links cannot be changed. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeError {
    /// A parameter would be out of its range.
    BadLink(BadLinkConfig),
    /// [`CLIENT_LINKS_MAX`] selectors have links of their own already.
    TooManyClientLinks,
}

/// Returns the generator for one direction of one client. A [`LinkModel`](fairpath_sim::LinkModel)
/// with the same generator and link decides in virtual time as the middleman does live.
pub fn link_random(seed: u64, nth: u32, direction: Direction) -> Random {
    Random::from_seed(seed).fork(2 * u64::from(nth) + direction as u64)
}

impl MiddlemanConfig {
    /// A middleman with perfect links.
    pub fn between(listen: SocketAddr, to: SocketAddr) -> Self {
        Self { listen, to, seed: 1, links: Links::default(), bounds: Bounds::default(), carries_tcp: false }
    }

    /// Sets the link of all clients, the same in both directions.
    #[must_use]
    pub fn both_ways(self, link: LinkConfig) -> Self {
        self.each_way(link.clone(), link)
    }

    /// Sets the links of all clients: towards the server, and towards the client.
    #[must_use]
    pub fn each_way(mut self, up: LinkConfig, down: LinkConfig) -> Self {
        self.links.default = PerDirection { up, down };
        self
    }

    /// Sets [`seed`](Self#structfield.seed).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets [`bounds`](Self#structfield.bounds).
    #[must_use]
    pub fn bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }
}

impl Links {
    /// Changes the links of these clients in these directions.
    pub fn change(
        &mut self,
        clients: ClientSelector,
        directions: Directions,
        mut edit: impl FnMut(&mut LinkConfig),
    ) -> Result<(), ChangeError> {
        let mut changed = self.clone();
        if clients == ClientSelector::All {
            changed.default.edit(directions, &mut edit);
            changed.selected.values_mut().for_each(|links| links.edit(directions, &mut edit));
        } else {
            changed
                .selected
                .entry(clients)
                .or_insert_with(|| self.default.clone())
                .edit(directions, &mut edit);
        }
        if changed.selected.len() > CLIENT_LINKS_MAX {
            return Err(ChangeError::TooManyClientLinks);
        }
        changed.check()?;
        *self = changed;
        Ok(())
    }

    /// Whether every link is valid.
    pub fn check(&self) -> Result<(), ChangeError> {
        let links = self.selected.values().chain([&self.default]);
        links.flat_map(|pair| [&pair.up, &pair.down]).try_for_each(LinkConfig::check)?;
        Ok(())
    }

    /// The links of a new client with this number and address.
    pub fn of(&self, nth: u32, address: SocketAddr) -> &PerDirection<LinkConfig> {
        [ClientSelector::Address(address), ClientSelector::Host(address.ip()), ClientSelector::Nth(nth)]
            .iter()
            .find_map(|selector| self.selected.get(selector))
            .unwrap_or(&self.default)
    }
}

impl ClientSelector {
    /// Whether this client is selected.
    pub fn includes(self, nth: u32, address: SocketAddr) -> bool {
        match self {
            Self::All => true,
            Self::Nth(number) => number == nth,
            Self::Host(host) => host == address.ip(),
            Self::Address(this) => this == address,
        }
    }
}

impl Direction {
    /// Both directions.
    pub const ALL: [Self; 2] = [Self::Up, Self::Down];
}

impl Directions {
    /// Whether this direction is chosen.
    pub fn include(self, direction: Direction) -> bool {
        match self {
            Self::Both => true,
            Self::Up => direction == Direction::Up,
            Self::Down => direction == Direction::Down,
        }
    }
}

impl PerDirection<LinkConfig> {
    pub(super) fn edit(&mut self, directions: Directions, edit: &mut impl FnMut(&mut LinkConfig)) {
        for direction in Direction::ALL.into_iter().filter(|direction| directions.include(*direction)) {
            edit(&mut self[direction]);
        }
    }
}

impl<T> Index<Direction> for PerDirection<T> {
    type Output = T;

    fn index(&self, direction: Direction) -> &T {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

impl<T> IndexMut<Direction> for PerDirection<T> {
    fn index_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            clients_max: 64,
            waiting_packets_max: 8192,
            waiting_bytes_max: 4 << 20,
            idle_after: Span::from_secs(60),
        }
    }
}

impl From<BadLinkConfig> for ChangeError {
    fn from(error: BadLinkConfig) -> Self {
        Self::BadLink(error)
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadLink(error) => error.fmt(f),
            Self::TooManyClientLinks => write!(
                f,
                "cannot set another link: {CLIENT_LINKS_MAX} clients have links of their own already"
            ),
        }
    }
}

impl std::error::Error for ChangeError {}

#[cfg(test)]
mod tests {
    use fairpath_sim::Loss;

    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_most_precise_selector_wins_for_a_new_client() {
        let mut links = Links::default();
        let mut delay = |selector, millis| {
            links.change(selector, Directions::Up, |link| link.delay = Span::from_millis(millis)).unwrap();
        };
        delay(ClientSelector::Address(address("10.0.0.1:5000")), 1);
        delay(ClientSelector::Host("10.0.0.1".parse().unwrap()), 2);
        delay(ClientSelector::Nth(7), 3);
        let of = |nth, at| links.of(nth, address(at)).up.delay.as_micros() / 1000;
        assert_eq!(of(7, "10.0.0.1:5000"), 1);
        assert_eq!(of(7, "10.0.0.1:5001"), 2);
        assert_eq!(of(7, "10.0.0.2:5000"), 3);
        assert_eq!(of(8, "10.0.0.2:5000"), 0);
        assert_eq!(
            links.of(7, address("10.0.0.2:5000")).down,
            LinkConfig::default(),
            "only up was asked for"
        );
    }

    #[test]
    fn a_change_for_all_clients_keeps_other_parameters_of_selected_ones() {
        let mut links = Links::default();
        links.change(ClientSelector::Nth(1), Directions::Both, |link| link.loss = Loss::each(0.5)).unwrap();
        links
            .change(ClientSelector::All, Directions::Both, |link| link.delay = Span::from_millis(9))
            .unwrap();
        let first = &links.of(1, address("10.0.0.1:1")).down;
        assert_eq!((first.loss, first.delay), (Loss::each(0.5), Span::from_millis(9)));
    }

    #[test]
    fn a_bad_change_changes_nothing() {
        let mut links = Links::default();
        let refused = links.change(ClientSelector::All, Directions::Both, |link| link.duplicate_ratio = 2.0);
        assert_eq!(refused, Err(ChangeError::BadLink(BadLinkConfig::NotARatio("duplicate_ratio"))));
        for nth in 0..CLIENT_LINKS_MAX as u32 {
            links.change(ClientSelector::Nth(nth), Directions::Both, |_| {}).unwrap();
        }
        let refused = links.change(ClientSelector::Nth(u32::MAX), Directions::Both, |_| {});
        assert_eq!(refused, Err(ChangeError::TooManyClientLinks));
        assert_eq!(links.selected.len(), CLIENT_LINKS_MAX);
    }
}
