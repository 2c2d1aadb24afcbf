use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};

use super::config::{LinkConfig, Rate};
use super::loss::LossChain;
use super::statistics::LinkStatistics;

/// Decides when a packet arrives, if at all. Packets are in a [`Link`](super::Link) or a socket.
///
/// Call [`send`](Self::send) for every packet in the order of sending; `now` must never go
/// backwards. `now` is true time in the simulator. A proxy on real sockets passes its own clock,
/// because only differences count.
///
/// Every effect draws from a stream of its own, once per packet, also for lost packets. So a fault
/// changes only what it touches: with and without loss, delivered packets take equally long.
#[derive(Clone, Debug)]
pub struct LinkModel {
    config: LinkConfig,
    now: SharedInstant,
    packet_count: u64,
    is_cut: bool,
    loss: LossChain,
    bottleneck: Bottleneck,
    jitter: Random,
    detour: Random,
    copy: Random,
    /// The latest arrival among those that keep their order.
    last_in_order: SharedInstant,
    statistics: LinkStatistics,
}

/// The fate of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives once.
    Delivered {
        /// When it arrives.
        at: SharedInstant,
    },
    /// It arrives twice. The copy may be the first.
    Duplicated {
        /// When the packet arrives.
        at: SharedInstant,
        /// When its copy arrives.
        copy_at: SharedInstant,
    },
    /// It does not arrive.
    Lost(LossCause),
}

/// Why a packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LossCause {
    /// It was sent during a partition.
    Partition,
    /// The bottleneck's queue had no room for it, or the link's table of packets in flight.
    QueueFull,
    /// Its number was on the list of packets to lose.
    Chosen,
    /// Random loss took it.
    Random,
    /// The recorded ping of that moment was lost.
    Trace,
}

impl Fate {
    /// Returns when the packet arrives, and when its copy does.
    pub fn arrivals(self) -> impl Iterator<Item = SharedInstant> {
        let (at, copy_at) = match self {
            Self::Delivered { at } => (Some(at), None),
            Self::Duplicated { at, copy_at } => (Some(at), Some(copy_at)),
            Self::Lost(_) => (None, None),
        };
        at.into_iter().chain(copy_at)
    }
}

impl LinkModel {
    /// Creates a link that draws from `random`. Give every link a [fork](Random::fork) of its own,
    /// or they draw the same numbers.
    ///
    /// # Panics
    /// If [`LinkConfig::check`] rejects the configuration.
    pub fn new(config: LinkConfig, random: Random) -> Self {
        assert_usable(&config);
        Self {
            now: SharedInstant::from_micros(i64::MIN),
            packet_count: 0,
            is_cut: false,
            loss: LossChain::new(&config.loss, random.fork(0)),
            bottleneck: Bottleneck::new(),
            jitter: random.fork(1),
            detour: random.fork(2),
            copy: random.fork(3),
            last_in_order: SharedInstant::from_micros(i64::MIN),
            statistics: LinkStatistics::default(),
            config,
        }
    }

    /// Returns the fate of a packet that is sent now.
    ///
    /// # Panics
    /// If `now` is before the packet sent last.
    pub fn send(&mut self, now: SharedInstant, size_bytes: u32) -> Fate {
        self.send_if_room(true, now, size_bytes)
    }

    /// Like [`send`](Self::send), for a carrier of packets that may have no room for another one.
    /// Without room the packet is lost as at a full queue; its random numbers are drawn all the
    /// same, so that the packets after it have the same fate.
    ///
    /// # Panics
    /// If `now` is before the packet sent last.
    pub fn send_if_room(&mut self, has_room: bool, now: SharedInstant, size_bytes: u32) -> Fate {
        assert!(now >= self.now, "packets must be sent in the order of time: now went backwards");
        self.now = now;
        self.packet_count += 1;
        let luck = self.draw();
        let fate =
            if has_room { self.decide(now, size_bytes, luck) } else { Fate::Lost(LossCause::QueueFull) };
        self.statistics.count(now, size_bytes, fate);
        fate
    }

    /// Loses every packet sent from now on, until [`repair`](Self::repair).
    pub fn partition(&mut self) {
        self.is_cut = true;
    }

    /// Ends what [`partition`](Self::partition) began. Configured partitions stay.
    pub fn repair(&mut self) {
        self.is_cut = false;
    }

    /// Returns whether a packet sent at `t` would be lost to a partition.
    pub fn is_partitioned(&self, t: SharedInstant) -> bool {
        self.is_cut || self.config.partitions.iter().any(|during| during.contains(&t))
    }

    /// Returns the configuration.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Changes the configuration for packets sent from now on. Packets in flight or waiting at the
    /// bottleneck keep their arrival times; statistics and packet numbers go on.
    ///
    /// # Panics
    /// If [`LinkConfig::check`] rejects the configuration.
    pub fn reconfigure(&mut self, config: LinkConfig) {
        assert_usable(&config);
        self.bottleneck.change_rate(self.config.rate, config.rate);
        self.config = config;
    }

    /// Returns the statistics of the packets sent so far.
    pub fn statistics(&self) -> &LinkStatistics {
        &self.statistics
    }

    /// Draws all random numbers for one packet, whatever its fate.
    fn draw(&mut self) -> Luck {
        let config = &self.config;
        let has_copy = config.duplicate_ratio > 0.0 && self.copy.chance(config.duplicate_ratio);
        Luck {
            is_lost: self.loss.next_is_lost(&config.loss),
            jitter: draw_jitter(config, &mut self.jitter),
            takes_detour: config.reorder_ratio > 0.0 && self.detour.chance(config.reorder_ratio),
            copy_jitter: has_copy.then(|| draw_jitter(config, &mut self.copy)),
        }
    }

    fn decide(&mut self, now: SharedInstant, size_bytes: u32, luck: Luck) -> Fate {
        if self.is_partitioned(now) {
            return Fate::Lost(LossCause::Partition);
        }
        let Some(departs) = self.bottleneck.pass(now, size_bytes, self.config.rate) else {
            return Fate::Lost(LossCause::QueueFull);
        };
        if self.config.drop_nth.binary_search(&self.packet_count).is_ok() {
            return Fate::Lost(LossCause::Chosen);
        }
        if luck.is_lost {
            return Fate::Lost(LossCause::Random);
        }
        let Some(delay) = self.delay_without_jitter(now) else {
            return Fate::Lost(LossCause::Trace);
        };
        let arrives = |jitter: Span| departs + (delay + jitter).max(Span::ZERO);
        let at = if luck.takes_detour {
            arrives(luck.jitter + self.config.reorder_extra)
        } else {
            self.in_order(arrives(luck.jitter))
        };
        match luck.copy_jitter {
            Some(jitter) => Fate::Duplicated { at, copy_at: self.in_order(arrives(jitter)) },
            None => Fate::Delivered { at },
        }
    }

    fn delay_without_jitter(&self, now: SharedInstant) -> Option<Span> {
        let traced = match &self.config.rtt_trace {
            Some(trace) => trace.one_way_at(now)?,
            None => Span::ZERO,
        };
        Some(self.config.delay + traced)
    }

    /// Delays an arrival behind earlier packets, if order is kept.
    fn in_order(&mut self, at: SharedInstant) -> SharedInstant {
        if !self.config.keep_order {
            return at;
        }
        self.last_in_order = self.last_in_order.max(at);
        self.last_in_order
    }
}

/// The random numbers of one packet.
struct Luck {
    is_lost: bool,
    jitter: Span,
    takes_detour: bool,
    copy_jitter: Option<Span>,
}

fn draw_jitter(config: &LinkConfig, random: &mut Random) -> Span {
    let mut jitter = Span::ZERO;
    if config.jitter_uniform > Span::ZERO {
        let reach = config.jitter_uniform.as_micros();
        // Whole microseconds, both ends included: its mean is exactly zero.
        jitter += Span::from_micros(random.below(2 * reach as u64 + 1) as i64 - reach);
    }
    if config.jitter_normal > Span::ZERO {
        jitter += config.jitter_normal.scaled(random.normal());
    }
    jitter
}

/// A queue that packets leave one after the other.
///
/// Its end is kept in units of 1 µs / (bytes per second), where a packet lasts exactly its size ×
/// 10⁶. Only the answer is rounded, so the rate is exact for any number of packets.
#[derive(Clone, Debug)]
struct Bottleneck {
    /// When the packets that came before the last change of rate have left.
    drained_at: SharedInstant,
    /// When all packets will have left, in the units of the present rate.
    busy_until: Option<i128>,
}

const BYTE: i128 = 1_000_000;

impl Bottleneck {
    fn new() -> Self {
        Self { drained_at: SharedInstant::from_micros(i64::MIN), busy_until: None }
    }

    /// Returns when a packet has left the queue; `None` if the queue is full.
    fn pass(&mut self, now: SharedInstant, size_bytes: u32, rate: Option<Rate>) -> Option<SharedInstant> {
        let begin = now.max(self.drained_at);
        let Some(rate) = rate else { return Some(begin) };
        let bytes_per_sec = i128::from(rate.bytes_per_sec);
        let idle = i128::from(begin.as_micros()) * bytes_per_sec;
        let waiting = self.busy_until.map_or(0, |busy| (busy - idle).max(0));
        let with_this_one = waiting + i128::from(size_bytes) * BYTE;
        if with_this_one > i128::from(rate.queue_bytes_max) * BYTE {
            return None;
        }
        self.busy_until = Some(idle + with_this_one);
        Some(begin + rounded_up(with_this_one, bytes_per_sec))
    }

    /// Waiting packets keep their departure times. The new rate holds for packets after them.
    fn change_rate(&mut self, old: Option<Rate>, new: Option<Rate>) {
        if old == new {
            return;
        }
        if let (Some(busy), Some(old)) = (self.busy_until.take(), old) {
            let drained_at = SharedInstant::ZERO + rounded_up(busy, i128::from(old.bytes_per_sec));
            self.drained_at = self.drained_at.max(drained_at);
        }
    }
}

/// Rounds up, because a packet has left when its last byte has.
fn rounded_up(micros_times_rate: i128, rate: i128) -> Span {
    let micros = -(-micros_times_rate).div_euclid(rate);
    Span::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}

fn assert_usable(config: &LinkConfig) {
    if let Err(complaint) = config.check() {
        panic!("invalid link configuration: {complaint}");
    }
}
