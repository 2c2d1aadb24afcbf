use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::{Index, IndexMut};

use fairpath::random::Random;
use fairpath::time::Span;
use fairpath_sim::{BadLinkConfig, LinkConfig};

/// Everything a middleman is told before it starts.
///
/// ```
/// use fairpath::time::Span;
/// use fairpath_net::middleman::{MiddlemanConfig, Directions, ClientSelector};
/// use fairpath_sim::{LinkConfig, Loss};
///
/// let mut config = MiddlemanConfig::between("127.0.0.1:0".parse()?, "127.0.0.1:7777".parse()?)
///     .both_ways(LinkConfig::default().delay(Span::from_millis(100)));
/// // The second client to come hears badly.
/// config.links.change(ClientSelector::Nth(2), Directions::Down, |link| link.loss = Loss::each(0.3))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MiddlemanConfig {
    /// Where clients send to. Port 0 lets the system choose:
    /// [`Handle::address`](super::Handle::address) tells which.
    pub listen: SocketAddr,
    /// The server.
    pub to: SocketAddr,
    /// Every random choice follows from it, as [`dice`] says. Default 1.
    pub seed: u64,
    /// What the links do to packets. Default: nothing at all.
    pub links: Links,
    /// How much it holds at most.
    pub bounds: Bounds,
}

/// What a middleman holds at most, whoever sends whatever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Clients at a time, each with a socket of its own to the server. Default 64. Who comes when
    /// it is full is refused and counted: those inside are never pushed out, or a flood of
    /// forged addresses would do it. Higher costs sockets (two descriptors each, and many
    /// systems allow 1024); lower turns players away.
    pub clients_max: usize,
    /// Packets that wait for their time in one direction of one client. Default 8192: 8 s at 1000
    /// packets per second. Beyond it packets are lost as at a full queue, and counted.
    pub waiting_packets_max: usize,
    /// Their bytes. Default 4 MiB: 3 s at 10 megabit per second; 64 clients fill half a gigabyte at
    /// worst.
    pub waiting_bytes_max: usize,
    /// A client is forgotten after this long without a packet in either direction. Default 60 s,
    /// twice what QUIC implementations wait before they give a silent peer up; shorter than a
    /// partition, and the server would see the client come back from another port.
    pub idle_after: Span,
}

/// Which client. A later change wins over an earlier one, whichever way it names the client; for a
/// client that comes later the most precise name wins: address, then host, then number, then
/// everyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientSelector {
    /// All, those who will come too.
    Everyone,
    /// The first to send a packet is 1.
    Nth(u32),
    /// All at this host.
    Host(IpAddr),
    /// The one at this host and port.
    Address(SocketAddr),
}

/// One of the two ways a packet can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From a client to the server.
    Up,
    /// From the server to a client.
    Down,
}

/// Which directions something is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Directions {
    /// Both.
    #[default]
    Both,
    /// To the server only.
    Up,
    /// To the client only.
    Down,
}

/// One thing for each direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerDirection<T> {
    /// To the server.
    pub up: T,
    /// To the client.
    pub down: T,
}

/// What the links to each client do: one pair for everyone, and pairs for the chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    everyone: PerDirection<LinkConfig>,
    chosen: BTreeMap<ClientSelector, PerDirection<LinkConfig>>,
}

/// How many clients can be chosen for links of their own; a control line must not fill the memory.
pub const CHOSEN_MAX: usize = 1024;

/// Why links cannot be changed like this. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeError {
    /// A knob would be out of its range.
    BadLink(BadLinkConfig),
    /// [`CHOSEN_MAX`] clients have links of their own already.
    TooManyChosen,
}

/// The dice of one direction of one client. A [`LinkModel`](fairpath_sim::LinkModel) with the same
/// dice and the same link decides in virtual time as the middleman does live.
pub fn dice(seed: u64, nth: u32, direction: Direction) -> Random {
    Random::from_seed(seed).fork(2 * u64::from(nth) + direction as u64)
}

impl MiddlemanConfig {
    /// A middleman that changes nothing yet.
    pub fn between(listen: SocketAddr, to: SocketAddr) -> Self {
        Self { listen, to, seed: 1, links: Links::default(), bounds: Bounds::default() }
    }

    /// Everyone has this link in both directions.
    #[must_use]
    pub fn both_ways(self, link: LinkConfig) -> Self {
        self.ways(link.clone(), link)
    }

    /// Everyone has these links: to the server, and to the client.
    #[must_use]
    pub fn ways(mut self, up: LinkConfig, down: LinkConfig) -> Self {
        self.links.everyone = PerDirection { up, down };
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
        who: ClientSelector,
        ways: Directions,
        mut edit: impl FnMut(&mut LinkConfig),
    ) -> Result<(), ChangeError> {
        let mut changed = self.clone();
        if who == ClientSelector::Everyone {
            changed.everyone.edit(ways, &mut edit);
            changed.chosen.values_mut().for_each(|links| links.edit(ways, &mut edit));
        } else {
            changed.chosen.entry(who).or_insert_with(|| self.everyone.clone()).edit(ways, &mut edit);
        }
        if changed.chosen.len() > CHOSEN_MAX {
            return Err(ChangeError::TooManyChosen);
        }
        changed.check()?;
        *self = changed;
        Ok(())
    }

    /// Whether every link can be built.
    pub fn check(&self) -> Result<(), ChangeError> {
        let links = self.chosen.values().chain([&self.everyone]);
        links.flat_map(|pair| [&pair.up, &pair.down]).try_for_each(LinkConfig::check)?;
        Ok(())
    }

    /// The links of a client that comes now.
    pub fn of(&self, nth: u32, address: SocketAddr) -> &PerDirection<LinkConfig> {
        [ClientSelector::Address(address), ClientSelector::Host(address.ip()), ClientSelector::Nth(nth)]
            .iter()
            .find_map(|who| self.chosen.get(who))
            .unwrap_or(&self.everyone)
    }
}

impl ClientSelector {
    /// Whether this client is meant.
    pub fn includes(self, nth: u32, address: SocketAddr) -> bool {
        match self {
            Self::Everyone => true,
            Self::Nth(number) => number == nth,
            Self::Host(host) => host == address.ip(),
            Self::Address(this) => this == address,
        }
    }
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Up, Self::Down];
}

impl Directions {
    /// Whether this direction is meant.
    pub fn include(self, direction: Direction) -> bool {
        match self {
            Self::Both => true,
            Self::Up => direction == Direction::Up,
            Self::Down => direction == Direction::Down,
        }
    }
}

impl PerDirection<LinkConfig> {
    pub(super) fn edit(&mut self, ways: Directions, edit: &mut impl FnMut(&mut LinkConfig)) {
        for direction in Direction::ALL.into_iter().filter(|direction| ways.include(*direction)) {
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
            Self::TooManyChosen => write!(f, "{CHOSEN_MAX} clients have links of their own already"),
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
    fn the_most_precise_name_wins_for_who_comes_later() {
        let mut links = Links::default();
        let mut delay = |who, millis| {
            links.change(who, Directions::Up, |link| link.delay = Span::from_millis(millis)).unwrap();
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
    fn a_change_for_everyone_reaches_the_chosen_too_and_leaves_their_other_knobs() {
        let mut links = Links::default();
        links.change(ClientSelector::Nth(1), Directions::Both, |link| link.loss = Loss::each(0.5)).unwrap();
        links
            .change(ClientSelector::Everyone, Directions::Both, |link| link.delay = Span::from_millis(9))
            .unwrap();
        let first = &links.of(1, address("10.0.0.1:1")).down;
        assert_eq!((first.loss, first.delay), (Loss::each(0.5), Span::from_millis(9)));
    }

    #[test]
    fn a_bad_change_changes_nothing() {
        let mut links = Links::default();
        let refused =
            links.change(ClientSelector::Everyone, Directions::Both, |link| link.duplicate_ratio = 2.0);
        assert_eq!(refused, Err(ChangeError::BadLink(BadLinkConfig::NotARatio("duplicate_ratio"))));
        for nth in 0..CHOSEN_MAX as u32 {
            links.change(ClientSelector::Nth(nth), Directions::Both, |_| {}).unwrap();
        }
        let refused = links.change(ClientSelector::Nth(u32::MAX), Directions::Both, |_| {});
        assert_eq!(refused, Err(ChangeError::TooManyChosen));
        assert_eq!(links.chosen.len(), CHOSEN_MAX);
    }
}
