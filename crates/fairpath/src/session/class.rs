use super::limits::GROUPS_MAX;
use super::value::{Value, ValueType};
use crate::converge::Convergence;
use crate::motion::MotionKind;
use crate::schedule::Pace;
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
/// let tank = Class::within(0.3).circular().claimable();
/// let scenery =
///     Class::new(Trigger::Every(Span::from_secs(5))).with_model(MotionKind::Static).server_only();
/// let scoreboard = Class::without_motion().server_only();
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name in the fingerprint of the [`Protocol`](super::Protocol); empty for plain bytes.
    pub(super) name: String,
    /// The type that its objects are created with; `None` for plain bytes.
    pub(super) creation: Option<ValueType>,
    /// The typed state groups, by ascending numbers.
    pub(super) states: Vec<StateGroup>,
    /// One bit for each state group that the server sets, also for objects of clients.
    pub(super) server_groups: u32,
    pub(super) has_motion: bool,
    pub(super) trigger: Trigger,
    pub(super) model: MotionKind,
    pub(super) sends_attitude: bool,
    pub(super) rates: Rates,
    pub(super) smoothing: Convergence,
    pub(super) is_claimable: bool,
    pub(super) is_server_only: bool,
    pub(super) outlives_owner: bool,
    pub(super) per_client_max: usize,
}

/// A state group with a type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StateGroup {
    pub(super) name: String,
    pub(super) group: u8,
    pub(super) is_servers: bool,
    pub(super) value: ValueType,
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

impl Rates {
    pub(super) fn pace(self) -> Pace {
        Pace { interval_min: self.interval_min, interval_max: self.interval_max }
    }
}

impl Class {
    /// Returns a class of objects sent when `trigger` fires, predicted at constant velocity.
    pub fn new(trigger: Trigger) -> Self {
        Self {
            name: String::new(),
            creation: None,
            states: Vec::new(),
            server_groups: 0,
            has_motion: true,
            trigger,
            model: MotionKind::default(),
            sends_attitude: false,
            rates: Rates::default(),
            smoothing: Convergence::smooth(),
            is_claimable: false,
            is_server_only: false,
            outlives_owner: false,
            per_client_max: usize::MAX,
        }
    }

    /// Returns a class of moving objects: receivers are wrong by at most `threshold`, in world
    /// units, as long as updates arrive. Default model: constant velocity.
    pub fn within(threshold: f64) -> Self {
        Self::new(Trigger::within(threshold))
    }

    /// Returns a class of objects without a position, for state and calls only: a scoreboard, a
    /// team. Every client sees them, unless the [`Scope`](super::Scope) hides them.
    pub fn without_motion() -> Self {
        Self { has_motion: false, ..Self::new(Trigger::AnyOf(Vec::new())) }
    }

    /// Predicts circles, for objects that steer: cars, ships, tanks. Observe states with
    /// [`State::with_heading`](crate::State::with_heading): without a turn rate the prediction is
    /// linear.
    #[must_use]
    pub fn circular(self) -> Self {
        self.with_model(MotionKind::Circular)
    }

    /// Predicts constant acceleration, for objects whose acceleration the game knows: people on
    /// foot, and objects that brake, fall or are thrown. Observe states with
    /// [`State::with_acceleration`](crate::State::with_acceleration): without it the prediction is
    /// linear.
    #[must_use]
    pub fn quadratic(self) -> Self {
        self.with_model(MotionKind::Quadratic)
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

    /// Also sends the orientation, whenever receivers are wrong by more than `radians`.
    ///
    /// Too low: an object that turns unevenly is sent all the time. Too high: its nose visibly
    /// lags. Example: 0.3 for a ship whose nose turns without changing its course.
    #[must_use]
    pub fn facing_within(mut self, radians: f64) -> Self {
        self.trigger = Trigger::AnyOf(vec![self.trigger, Trigger::Angle { threshold: radians }]);
        self.with_attitude()
    }

    /// Sets the limits of the update rate.
    #[must_use]
    pub fn with_rates(mut self, rates: Rates) -> Self {
        self.rates = rates;
        self
    }

    /// Sets how corrections are smoothed where objects are drawn. Default
    /// [`Convergence::smooth`].
    #[must_use]
    pub fn with_smoothing(mut self, smoothing: Convergence) -> Self {
        self.smoothing = smoothing;
        self
    }

    /// Adds a state that the owner of an object sets: the newest value reaches every viewer.
    ///
    /// # Panics
    /// If the class has 32 states already, or one of this type or name.
    #[must_use]
    pub fn state<T: Value>(self, name: &str) -> Self {
        self.with_state::<T>(name, false)
    }

    /// Adds a state that the server sets, also for objects of clients: health, score.
    ///
    /// # Panics
    /// If the class has 32 states already, or one of this type or name.
    #[must_use]
    pub fn server_state<T: Value>(self, name: &str) -> Self {
        self.with_state::<T>(name, true)
    }

    /// Reserves a state group of plain bytes for the server, also for objects of clients.
    #[must_use]
    pub fn server_group(mut self, group: u8) -> Self {
        self.server_groups |= 1 << (usize::from(group) % GROUPS_MAX);
        self
    }

    fn with_state<T: Value>(mut self, name: &str, is_servers: bool) -> Self {
        let value = ValueType::of::<T>();
        let is_new = self.states.iter().all(|state| state.value != value && state.name != name);
        assert!(is_new, "{value:?} or the name {name} already identifies a state of the class");
        assert!(self.states.len() < GROUPS_MAX, "a class has at most {GROUPS_MAX} states");
        let group = self.states.len() as u8;
        self.states.push(StateGroup { name: name.into(), group, is_servers, value });
        if is_servers { self.server_group(group) } else { self }
    }

    /// Lets clients claim objects of the class: a ball, a door, a vehicle.
    ///
    /// A claim takes the object from its present owner at once, also from another client, unless
    /// the owner has changed since the claimer last heard of it
    /// ([`Refusal::ClaimLost`](super::Refusal::ClaimLost)). For other rules, such as a vehicle that
    /// stays with its driver or a ball within reach, install an
    /// [`Interceptor::check_claim`](super::Interceptor::check_claim).
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

    /// Sets how many of these one client may own. Default: no limit for the class.
    /// [`ServerConfig::objects_per_client_max`](super::ServerConfig::objects_per_client_max) limits
    /// all classes together.
    #[must_use]
    pub fn at_most(mut self, per_client_max: usize) -> Self {
        self.per_client_max = per_client_max;
        self
    }

    pub(super) fn state_group(&self, group: u8) -> Option<&StateGroup> {
        self.states.iter().find(|state| state.group == group)
    }

    /// Returns the typed state group with values of type `T`.
    pub(super) fn group_of<T: Value>(&self) -> Option<&StateGroup> {
        self.states.iter().find(|state| state.value == ValueType::of::<T>())
    }

    /// Returns whether the server sets this group, also for objects of clients.
    pub(super) fn is_servers(&self, group: u8) -> bool {
        self.server_groups >> group & 1 == 1
    }

    /// Returns what the fingerprint of the protocol covers of the class, besides names.
    pub(super) fn shape(&self) -> String {
        let Self { has_motion, sends_attitude, server_groups, creation, .. } = self;
        let model = match self.model {
            // How long its curve is belongs to each DR vector.
            MotionKind::Hermite { .. } => "Hermite".into(),
            other => format!("{other:?}"),
        };
        format!("{has_motion} {sends_attitude} {server_groups:x} {} {model}", creation.is_some())
    }
}
