use super::limits::OBJECTS_PER_CLIENT_MAX;
use crate::motion::MotionKind;
use crate::time::Span;
use crate::trigger::Trigger;

/// A kind of object, as the game numbers them. All peers of a session know the same classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

/// How objects of one kind are replicated.
///
/// ```
/// use fairpath::session::Class;
/// use fairpath::{MotionKind, Span, Trigger};
///
/// let tank = Class::new(Trigger::within(0.3)).with_model(MotionKind::Circular).claimable();
/// let scenery = Class::new(Trigger::Every(Span::from_secs(5))).with_model(MotionKind::Static).server_only();
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    pub(super) trigger: Trigger,
    pub(super) model: MotionKind,
    pub(super) sends_attitude: bool,
    pub(super) rates: Rates,
    pub(super) is_claimable: bool,
    pub(super) is_server_only: bool,
    pub(super) outlives_owner: bool,
    pub(super) per_client_max: usize,
}

/// How often each receiver is told of an object, at most and at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// No two updates to one receiver in less than this. Default zero.
    ///
    /// Too long, and thresholds are broken for so long; 50 ms keeps a twitching object at 20
    /// updates a second.
    pub interval_min: Span,
    /// No receiver goes without for longer than this, whatever the scheduler wants. Default 3 s,
    /// which is when replicas freeze. Shorter spends bytes on receivers who were right anyway.
    pub interval_max: Span,
}

impl Default for Rates {
    fn default() -> Self {
        Self { interval_min: Span::ZERO, interval_max: Span::from_secs(3) }
    }
}

impl Class {
    /// Objects that are told of when `trigger` says so, as if they went straight on.
    pub fn new(trigger: Trigger) -> Self {
        Self {
            trigger,
            model: MotionKind::default(),
            sends_attitude: false,
            rates: Rates::default(),
            is_claimable: false,
            is_server_only: false,
            outlives_owner: false,
            per_client_max: OBJECTS_PER_CLIENT_MAX,
        }
    }

    /// Predicted with another model.
    #[must_use]
    pub fn with_model(mut self, model: MotionKind) -> Self {
        self.model = model;
        self
    }

    /// Also tells which way they face, where that does not follow from the motion.
    #[must_use]
    pub fn with_attitude(mut self) -> Self {
        self.sends_attitude = true;
        self
    }

    /// Told of at most and at least so often.
    #[must_use]
    pub fn with_rates(mut self, rates: Rates) -> Self {
        self.rates = rates;
        self
    }

    /// A client may take one over: a ball, a door, a vehicle. The first claim that reaches the
    /// server wins.
    #[must_use]
    pub fn claimable(mut self) -> Self {
        self.is_claimable = true;
        self
    }

    /// Clients may not make them.
    #[must_use]
    pub fn server_only(mut self) -> Self {
        self.is_server_only = true;
        self
    }

    /// When its owner's session is lost the server takes it over, instead of destroying it.
    #[must_use]
    pub fn outlives_owner(mut self) -> Self {
        self.outlives_owner = true;
        self
    }

    /// A client may own at most so many; never more than [`OBJECTS_PER_CLIENT_MAX`] of all kinds
    /// together.
    #[must_use]
    pub fn at_most(mut self, per_client_max: usize) -> Self {
        self.per_client_max = per_client_max;
        self
    }
}
