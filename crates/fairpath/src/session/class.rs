use super::limits::OBJECTS_PER_CLIENT_MAX;
use crate::motion::MotionKind;
use crate::time::Span;
use crate::trigger::Trigger;

/// Identifies a class of objects. The game chooses the number, the same at all peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

/// How objects of one kind are replicated.
///
/// ```
/// use fairpath::session::Class;
/// use fairpath::{MotionKind, Span, Trigger};
///
/// let tank = Class::new(Trigger::within(0.3)).with_model(MotionKind::Circular).claimable();
/// let scenery =
///     Class::new(Trigger::Every(Span::from_secs(5))).with_model(MotionKind::Static).server_only();
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

/// Limits of how often each receiver is sent updates of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Least time between two updates to one receiver. Default zero.
    ///
    /// Too long: errors exceed the threshold for that long. 50 ms limits an object that changes
    /// direction all the time to 20 updates a second.
    pub interval_min: Span,
    /// Longest time without an update to a receiver, whatever the scheduler decides. Default 3 s,
    /// the horizon of replicas. Shorter: bytes go to receivers whose prediction was right.
    pub interval_max: Span,
}

impl Default for Rates {
    fn default() -> Self {
        Self { interval_min: Span::ZERO, interval_max: Span::from_secs(3) }
    }
}

impl Class {
    /// Returns a class of objects sent when `trigger` fires, predicted at constant velocity.
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

    /// Sets the motion model. Default [`MotionKind::Linear`].
    #[must_use]
    pub fn with_model(mut self, model: MotionKind) -> Self {
        self.model = model;
        self
    }

    /// Also sends the orientation, for objects that do not face the way they move.
    #[must_use]
    pub fn with_attitude(mut self) -> Self {
        self.sends_attitude = true;
        self
    }

    /// Sets the limits of the update rate.
    #[must_use]
    pub fn with_rates(mut self, rates: Rates) -> Self {
        self.rates = rates;
        self
    }

    /// Lets clients claim objects of the class: a ball, a door, a vehicle. The first claim that
    /// reaches the server wins.
    #[must_use]
    pub fn claimable(mut self) -> Self {
        self.is_claimable = true;
        self
    }

    /// Forbids clients to create objects of the class.
    #[must_use]
    pub fn server_only(mut self) -> Self {
        self.is_server_only = true;
        self
    }

    /// Passes an object to the server when its owner's session is lost, instead of destroying it.
    #[must_use]
    pub fn outlives_owner(mut self) -> Self {
        self.outlives_owner = true;
        self
    }

    /// Sets how many of these one client may own. [`OBJECTS_PER_CLIENT_MAX`] limits all classes.
    #[must_use]
    pub fn at_most(mut self, per_client_max: usize) -> Self {
        self.per_client_max = per_client_max;
        self
    }
}
