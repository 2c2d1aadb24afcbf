use std::fmt;
use std::str::FromStr;

use super::{Broadcast, Claim, Claims, DecisionContext, Scheduler};
use crate::ledger::Ledger;
use crate::random::Random;
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// Which copies leave first where a receiver's byte budget does not suffice for all: the scheduler
/// of a live server.
///
/// Every new DR vector is due at once to every receiver, as with [`Broadcast`]. What does not fit
/// waits, replaced by newer DR vectors of the same entity, and competes again as soon as there is
/// room. So with enough bytes every order sends exactly what broadcast sends. The order is only
/// asked where bytes are short.
///
/// One copy in eight leaves because it has waited longest, whatever the order says. Therefore no
/// entity waits for longer than eight rounds over all entities of its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueOrder {
    /// The copy that removes most error when it arrives comes first. From [`ErrorIndex`].
    ///
    /// [`ErrorIndex`]: super::ErrorIndex
    #[default]
    ErrorIndex,
    /// Receivers are sent entities in turns, entities with more error more often: the error times
    /// the time since the last copy. From [`DeterministicBudget`].
    ///
    /// [`DeterministicBudget`]: super::DeterministicBudget
    Turns,
    /// All entities in turns, whatever their error. From [`EveryNth`].
    ///
    /// [`EveryNth`]: super::EveryNth
    Rounds,
    /// First come, first served: the oldest DR vector that was not sent. From [`Broadcast`].
    Arrival,
}

impl QueueOrder {
    /// All orders, the default first.
    pub const ALL: [Self; 4] = [Self::ErrorIndex, Self::Turns, Self::Rounds, Self::Arrival];

    /// The name that [`FromStr`] parses.
    pub fn name(self) -> &'static str {
        match self {
            Self::ErrorIndex => "error-index",
            Self::Turns => "turns",
            Self::Rounds => "rounds",
            Self::Arrival => "arrival",
        }
    }

    /// What the order does, in one line for people.
    pub fn explanation(self) -> &'static str {
        match self {
            Self::ErrorIndex => "the copy that removes most error first",
            Self::Turns => "in turns, more often after more error",
            Self::Rounds => "in turns, all alike",
            Self::Arrival => "first come, first served",
        }
    }
}

impl fmt::Display for QueueOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for QueueOrder {
    type Err = UnknownOrder;

    fn from_str(text: &str) -> Result<Self, UnknownOrder> {
        let named = Self::ALL.into_iter().find(|order| order.name().eq_ignore_ascii_case(text.trim()));
        named.ok_or_else(|| UnknownOrder(text.into()))
    }
}

/// A name that is not that of a [`QueueOrder`]. The text lists the names there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOrder(pub String);

impl std::error::Error for UnknownOrder {}

impl fmt::Display for UnknownOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = QueueOrder::ALL.map(QueueOrder::name).join(", ");
        write!(f, "no order is called {:?}; choose one of {names}", self.0)
    }
}

/// A copy that waits for room in its receiver's byte budget.
#[derive(Debug)]
pub struct WaitingCopy<'a, V: Planar> {
    /// The claim, by which the copy waits.
    pub claim: &'a Claim,
    /// The errors of all receivers about the entity.
    pub ledger: &'a Ledger<V>,
    /// Time since the last copy about the entity to this receiver, or since it began to see it.
    pub silence: Span,
    /// Expected one-way delay to the receiver; `None` before the first receipt.
    pub delay: Option<Span>,
    /// The current instant.
    pub now: SharedInstant,
}

impl<V: Planar> WaitingCopy<'_, V> {
    /// How long after its arrival the copy is judged. 200 ms, as
    /// [`ErrorIndexConfig::outlook`](super::ErrorIndexConfig::outlook): about the time between two
    /// datagrams where bytes are short, by which the copy would be late if it stayed.
    const OUTLOOK: Span = Span::from_millis(200);

    /// Returns the receiver's distance to the newest DR vector shortly after the copy's arrival, if
    /// it is not sent. Infinite if the receiver does not know the entity, or not its current life.
    pub fn error_if_kept(&self) -> f64 {
        let arrival = self.now + self.delay.unwrap_or(Span::ZERO).max(Span::ZERO);
        self.ledger.distance_if_nothing_sent(self.claim.receiver, arrival + Self::OUTLOOK)
    }

    /// Returns the error times the silence: the default rank.
    pub fn turn(&self, error: f64) -> f64 {
        let doublings = self.silence.as_secs_f64() / WEIGHT_DOUBLES.as_secs_f64();
        (error.max(0.0) + WEIGHT_FLOOR).min(f64::MAX / 1e9) * (1.0 + doublings)
    }
}

/// Time without a copy after which an entity's weight has doubled, if not all fit.
///
/// 100 ms: a handful of packets. Much longer: light claims starve behind heavy ones. Much shorter:
/// weight hardly matters.
const WEIGHT_DOUBLES: Span = Span::from_millis(100);
/// Weight of a claim without weight: below any error that matters, but waiting increases it.
const WEIGHT_FLOOR: f64 = 1e-3;

impl QueueOrder {
    fn rank<V: Planar>(self, copy: &WaitingCopy<'_, V>) -> f64 {
        let error = copy.error_if_kept();
        match self {
            // A birth or a jump: there is no error to weigh against an entity that is missing.
            _ if error == f64::INFINITY => f64::INFINITY,
            Self::ErrorIndex => error,
            Self::Turns => copy.turn(error),
            Self::Rounds => copy.silence.as_secs_f64(),
            Self::Arrival => -copy.claim.generated_at.since_zero().as_secs_f64(),
        }
    }
}

/// The scheduler of a live server: every DR vector to every receiver at once, as far as each
/// receiver's byte budget allows, the rest in a [`QueueOrder`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Queued {
    order: QueueOrder,
}

impl Queued {
    /// Returns the scheduler with this order.
    pub fn by(order: QueueOrder) -> Self {
        Self { order }
    }
}

impl<V: Planar> Scheduler<V> for Queued {
    fn on_trigger(&mut self, context: &DecisionContext<'_, V>, random: &mut Random, claims: &mut Claims) {
        Broadcast.on_trigger(context, random, claims);
    }

    fn needs_candidates(&self) -> bool {
        Scheduler::<V>::needs_candidates(&Broadcast)
    }

    fn rank(&self, copy: &WaitingCopy<'_, V>) -> f64 {
        self.order.rank(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_parsed_from_what_they_display() {
        for order in QueueOrder::ALL {
            assert_eq!(order.to_string().to_uppercase().parse(), Ok(order));
        }
        let error = "nobody".parse::<QueueOrder>().unwrap_err().to_string();
        assert!(error.contains("nobody") && error.contains("error-index"), "{error}");
    }
}
