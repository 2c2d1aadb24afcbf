//! The knobs of a zone, and the instants it is given.

use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::trigger::Trigger;
use fairpath::wire::Precision;

/// One instant as both clocks of a server show it, and how wrong the shared clock may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The monotonic clock of this machine. Leases are counted on it.
    pub local: LocalInstant,
    /// The clock of the world. Batches are stamped with it.
    pub shared: SharedInstant,
    /// How far `shared` may be from the reference.
    pub uncertainty: Span,
}

/// Before every instant that a clock shows. A monotonic clock may begin below zero.
pub(crate) const LONG_AGO: LocalInstant = LocalInstant::from_micros(i64::MIN / 2);

/// The knobs of a zone. All servers of a world must use the same.
#[derive(Clone, Debug)]
pub struct ZoneConfig {
    /// How long a lease lasts after the holder sent its last renewal. Default 3 s.
    ///
    /// Shorter: the cells of a crashed server are taken sooner. Below the time in which the store
    /// elects a leader (about 1 s), every election silences the world.
    pub lease: Span,
    /// How much earlier than `lease` the holder stops. Default 500 ms. At least four times
    /// `uncertainty_max`, plus what monotonic clocks drift during a lease.
    pub margin: Span,
    /// A server whose shared clock is less certain owns nothing. Default 50 ms.
    pub uncertainty_max: Span,
    /// How long an answer of the store is awaited before the key is read. Default 400 ms.
    pub answer_within: Span,
    /// How old unsaved changes become before they are saved. Default 1 s.
    pub checkpoint_interval: Span,
    /// How old unsaved changes may be before their owner falls silent. Default 3 s: the most that a
    /// crash can lose while the store is out of order.
    pub loss_max: Span,
    /// How long an offer waits for its Accept. Default 300 ms.
    pub offer_within: Span,
    /// How far outside its cell an entity is before it is handed over. Default 1 world unit.
    pub hysteresis: f64,
    /// How far beyond the own cells ghosts are heard. Default 0: the neighbouring cells.
    pub reach: f64,
    /// When receivers of ghosts need a new DR vector. Default [`Trigger::within`] 0.1.
    pub trigger: Trigger,
    /// The precision of DR vectors between servers.
    pub precision: Precision,
    /// How often the busiest server considers giving up a cell. Default 5 s.
    pub rebalance_interval: Span,
    /// A digest of the game's protocol. Servers that differ are refused.
    pub protocol: u64,
}

impl Default for ZoneConfig {
    fn default() -> Self {
        Self {
            lease: Span::from_secs(3),
            margin: Span::from_millis(500),
            uncertainty_max: Span::from_millis(50),
            answer_within: Span::from_millis(400),
            checkpoint_interval: Span::from_secs(1),
            loss_max: Span::from_secs(3),
            offer_within: Span::from_millis(300),
            hysteresis: 1.0,
            reach: 0.0,
            trigger: Trigger::within(0.1),
            precision: Precision::default(),
            rebalance_interval: Span::from_secs(5),
            protocol: 0,
        }
    }
}

/// A configuration that cannot be safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadZoneConfig {
    /// The margin is shorter than four times the largest clock uncertainty.
    MarginTooShort,
    /// The lease is shorter than four margins: a holder could hardly renew it.
    LeaseTooShort,
    /// `loss_max` is shorter than the checkpoint interval: owners would fall silent all the time.
    LossTooShort,
}

impl std::fmt::Display for BadZoneConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::MarginTooShort => "the margin of leases must be at least four times uncertainty_max",
            Self::LeaseTooShort => "a lease must last at least four margins",
            Self::LossTooShort => "loss_max must be longer than the checkpoint interval",
        })
    }
}

impl std::error::Error for BadZoneConfig {}

impl ZoneConfig {
    /// Checks that the spans fit each other.
    pub fn check(&self) -> Result<(), BadZoneConfig> {
        if self.margin < self.uncertainty_max.scaled(4.0) {
            return Err(BadZoneConfig::MarginTooShort);
        }
        if self.lease < self.margin.scaled(4.0) {
            return Err(BadZoneConfig::LeaseTooShort);
        }
        if self.loss_max <= self.checkpoint_interval {
            return Err(BadZoneConfig::LossTooShort);
        }
        Ok(())
    }
}
