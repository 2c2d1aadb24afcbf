//! Errors of a session: a peer's closes the connection or is refused, a caller's is returned.

use std::fmt;

use crate::number::EntityId;
use crate::owner::ObserveError;

macro_rules! coded {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $code:literal, $says:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$item_doc])* $item,)*
        }

        impl $name {
            /// All values, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$item),*];

            /// Returns the code on the wire.
            pub const fn code(self) -> u8 {
                match self {
                    $(Self::$item => $code,)*
                }
            }

            /// Returns the value with this code.
            pub fn from_code(code: u8) -> Option<Self> {
                Self::ALL.iter().copied().find(|item| item.code() == code)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$item => $says,)*
                })
            }
        }
    };
}

coded! {
    /// Why a connection was closed. The transport sends [`code`](Self::code) as its own reason,
    /// where it can.
    CloseReason {
        /// One end has left for good.
        Finished = 0, "the session has ended";
        /// A message could not be decoded; no honest peer sends such bytes.
        Malformed = 1, "a message could not be decoded";
        /// A message came at the wrong time or from the wrong end: a second greeting, for example.
        OutOfPlace = 2, "a message came at the wrong time or from the wrong end";
        /// The peer has another version of the session protocol.
        WrongVersion = 3, "the peer uses another version of the session protocol";
        /// The peer's world has another number of dimensions.
        WrongDimensions = 4, "the peer's world has another number of dimensions";
        /// The peer's [`Precision`](crate::wire::Precision) differs.
        WrongPrecision = 5, "the peer uses another precision; set the same PrecisionSettings at both ends";
        /// The server's [`Admission`](super::Admission) refused the client.
        NotAdmitted = 6, "the server did not admit the client";
        /// The server has no room for another client.
        Full = 7, "the server is full";
        /// No greeting arrived in time.
        NoGreeting = 8, "no greeting arrived in time";
        /// The session continues on another connection.
        Superseded = 9, "the session continues on another connection";
        /// The peer was silent for too long.
        Silent = 10, "the peer was silent for too long";
        /// Too many reliable messages are unconfirmed.
        OutboxFull = 11, "too many reliable messages are unconfirmed";
        /// The peer sent more messages than the limit.
        TooFast = 12, "too many messages per second";
        /// The application did not fetch its events.
        Overloaded = 13, "the application does not fetch its events";
        /// The shared clock jumped: earlier instants have no meaning any more.
        ClockJumped = 14, "the shared clock jumped";
        /// The application closed the connection.
        Dismissed = 15, "the application closed the connection";
        /// The server restarts. Clients reconnect by themselves: the same run resumes their
        /// sessions, another run begins new ones.
        Restarting = 16, "the server is restarting";
        /// The server runs another game.
        WrongGame = 17, "the server runs another game";
        /// The server runs another version of the game.
        WrongGameVersion = 18, "the server runs another version of the game; update the older one";
        /// Name and version of the game agree, but not its classes or calls.
        WrongProtocol = 19, "the server's classes or calls differ; build server and client from one Protocol";
    }
}

coded! {
    /// Why a server refused an action of a client. The connection stays open.
    Refusal {
        /// The client does not own the object, or did not any more when the message arrived. Honest
        /// clients cause it with every change of owner: their last updates are on the way.
        NotOwner = 0, "another peer owns the object";
        /// The object does not exist, or the client does not see it.
        UnknownObject = 1, "the object does not exist or is not visible";
        /// The class does not exist, or clients may not create its objects.
        UnknownClass = 2, "the class does not exist, or clients may not create its objects";
        /// The id was not granted, or is already used.
        UnknownId = 3, "the id was not granted";
        /// The client or the server has as many objects as it may have.
        TooManyObjects = 4, "the limit of objects is reached";
        /// The class does not allow claims.
        NotClaimable = 5, "objects of this class cannot be claimed";
        /// The owner changed before the claim arrived: another claim came first, or the server gave
        /// the object away. Honest clients cause it.
        ClaimLost = 6, "another change of owner came first";
        /// The object is faster than [`SpeedCheck`](super::SpeedCheck) allows, or a number of it is
        /// greater than [`NUMBER_MAX`](crate::motion::NUMBER_MAX).
        TooFastMotion = 7, "the object moves faster than allowed";
        /// The object moved farther than [`TeleportCheck`](super::TeleportCheck) allows.
        Teleported = 8, "the object moved farther than allowed";
        /// The time of the update lies in the future or is otherwise impossible.
        ImpossibleTime = 9, "the time of the update is impossible";
        /// An [`Interceptor`](super::Interceptor) of the game refused the update.
        Vetoed = 10, "the game refused the update";
        /// The called peer has too many calls waiting.
        CalleeBusy = 11, "the called peer has too many calls waiting";
        /// An [`Interceptor`](super::Interceptor) of the game refused to create the object, or a
        /// value of it is not of the type that the [`Protocol`](super::Protocol) gives it.
        NotCreated = 12, "the game refused to create the object, or a value of it has the wrong type";
        /// The parent of the object does not exist, is not visible to the client, is carried by the
        /// object itself, or has too many parents ([`PARENTS_MAX`](super::limits::PARENTS_MAX)).
        BadParent = 13, "the parent does not exist, is not visible, or the chain of parents is a cycle or too long";
        /// A state or the argument of a call is not of the type that the
        /// [`Protocol`](super::Protocol) gives it.
        WrongType = 14, "a value is not of the type that the protocol gives it";
    }
}

impl Refusal {
    /// Returns whether honest clients cause this refusal in a normal game, because their messages
    /// cross with others: the object or its parent has a new owner or is gone, or a queue is full.
    /// Do not count it against a player.
    ///
    /// The others need a modified client, a mistake in the game, or a check that is too strict:
    /// [`Teleported`](Self::Teleported) after a collision, for example.
    /// [`Vetoed`](Self::Vetoed) is the game's own: it knows what it refuses.
    pub const fn is_innocent(self) -> bool {
        matches!(
            self,
            Self::NotOwner | Self::UnknownObject | Self::ClaimLost | Self::CalleeBusy | Self::BadParent
        )
    }
}

impl CloseReason {
    /// Returns whether the session cannot be resumed after this.
    pub const fn ends_session(self) -> bool {
        !matches!(self, Self::Superseded | Self::Silent | Self::NoGreeting | Self::Restarting)
    }

    /// Returns whether the reason accuses the peer of something that no honest peer does.
    pub const fn accuses(self) -> bool {
        matches!(self, Self::Malformed | Self::OutOfPlace | Self::TooFast)
    }
}

impl std::error::Error for CloseReason {}
impl std::error::Error for Refusal {}

/// Why a call could not be made. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// There is no session, or no such client.
    NoSession,
    /// The object does not exist here.
    UnknownObject(EntityId),
    /// Only the owner may call the viewers of an object.
    NotOwner(EntityId),
    /// The call has too many bytes for this delivery class.
    TooLong,
    /// Too many messages are unconfirmed.
    Full,
    /// Too many calls in a short time: at most [`CALLS_PER_SEC`](super::limits::CALLS_PER_SEC).
    TooFast,
    /// The protocol has no call with a value of this Rust type.
    NotInProtocol(&'static str),
    /// The value cannot be encoded: its `Serialize` failed.
    NotEncodable(&'static str),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSession => write!(f, "there is no session, or no such client"),
            Self::UnknownObject(object) => write!(f, "object {} does not exist here", object.0),
            Self::NotOwner(object) => write!(f, "another peer owns object {}", object.0),
            Self::TooLong => write!(f, "the call has too many bytes for its delivery class"),
            Self::Full => write!(f, "too many messages are unconfirmed; try again later"),
            Self::TooFast => write!(f, "too many calls in a short time; try again later"),
            Self::NotInProtocol(name) => {
                write!(f, "the protocol has no call with a {name}; add it with Protocol::call")
            }
            Self::NotEncodable(name) => write!(f, "cannot encode a {name}: its Serialize failed"),
        }
    }
}

impl std::error::Error for CallError {}

/// Why an action on an object failed. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectError {
    /// There is no session yet.
    NoSession,
    /// The object does not exist here.
    Unknown(EntityId),
    /// The object of this handle is gone. Another object may have its id now.
    Stale(EntityId),
    /// Another peer owns the object.
    NotOwner(EntityId),
    /// The class is not configured.
    UnknownClass,
    /// No id is left for a new object: try again in a round trip.
    NoIds,
    /// The limit of objects is reached.
    TooMany,
    /// The state group does not exist. Groups are numbered 0 to 31.
    NoSuchGroup(u8),
    /// The value of a group, or the creation bytes, are too long.
    TooLong,
    /// The observed state has a number that is not finite, or greater than
    /// [`NUMBER_MAX`](crate::motion::NUMBER_MAX).
    NotFinite(EntityId),
    /// The state is true for an instant more than
    /// [`OBSERVED_LATE_MAX`](crate::owner::OBSERVED_LATE_MAX) ago. The observation was ignored.
    TooOld(EntityId),
    /// The state is true for an instant more than
    /// [`OBSERVED_AHEAD_MAX`](crate::owner::OBSERVED_AHEAD_MAX) ahead. The observation was ignored.
    TooFarAhead(EntityId),
    /// The state is true for an instant before the last observation. The observation was ignored.
    OutOfOrder(EntityId),
    /// This object cannot be the parent: it does not exist here, is carried by the object itself,
    /// or has too many parents ([`PARENTS_MAX`](super::limits::PARENTS_MAX)). Attach the object
    /// to another parent or to none.
    BadParent(EntityId),
    /// Too many messages are unconfirmed.
    Full,
    /// Too many objects were created, destroyed, claimed or released in a short time: at most
    /// [`REQUESTS_PER_SEC`](super::limits::REQUESTS_PER_SEC).
    TooFast,
    /// The server sets this state group, or the owner of the object does.
    NotYourGroup(EntityId, u8),
    /// The protocol has no class, or the object's class no state, of this Rust type.
    NotInProtocol(&'static str),
    /// The value cannot be encoded: its `Serialize` failed.
    NotEncodable(&'static str),
    /// The bytes are not a value of the type that the [`Protocol`](super::Protocol) gives them.
    WrongType,
    /// The class has motion and needs a first state, or has none and takes no state.
    WrongMotion,
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSession => write!(f, "there is no session yet"),
            Self::Unknown(object) => write!(f, "object {} does not exist here", object.0),
            Self::Stale(object) => write!(
                f,
                "the object that had the id {} is gone; forget the handle, the id may be another object's",
                object.0
            ),
            Self::NotOwner(object) => write!(f, "another peer owns object {}", object.0),
            Self::UnknownClass => write!(f, "the class is not configured"),
            Self::NoIds => write!(f, "no id is left for a new object; try again in a round trip"),
            Self::TooMany => write!(f, "the limit of objects is reached"),
            Self::NoSuchGroup(group) => {
                write!(f, "state group {group} does not exist; groups are numbered 0 to 31")
            }
            Self::TooLong => write!(f, "the value is too long"),
            Self::NotFinite(object) => {
                write!(f, "the observed state of object {} has a number that is not finite", object.0)
            }
            Self::TooOld(object) => {
                write!(f, "the observed state of object {} is more than a second old", object.0)
            }
            Self::TooFarAhead(object) => {
                write!(f, "the observed state of object {} lies more than 100 ms in the future", object.0)
            }
            Self::OutOfOrder(object) => {
                write!(f, "a later state of object {} was observed before", object.0)
            }
            Self::BadParent(parent) => write!(
                f,
                "object {} cannot be the parent: it does not exist here, or the chain of parents would be a \
                 cycle or too long; attach to another parent or to none",
                parent.0
            ),
            Self::Full => write!(f, "too many messages are unconfirmed; try again later"),
            Self::TooFast => {
                write!(f, "too many objects created or destroyed in a short time; try again later")
            }
            Self::NotYourGroup(object, group) => {
                write!(f, "another peer sets state group {group} of object {}", object.0)
            }
            Self::NotInProtocol(name) => write!(
                f,
                "the protocol has no {name} here; add it with Protocol::class, Class::state or \
                 Class::server_state"
            ),
            Self::NotEncodable(name) => write!(f, "cannot encode a {name}: its Serialize failed"),
            Self::WrongType => write!(f, "the bytes are not of the type that the protocol gives them"),
            Self::WrongMotion => write!(
                f,
                "a class with motion needs a first state (create), a class without motion takes none \
                 (create_motionless)"
            ),
        }
    }
}

impl std::error::Error for ObjectError {}

impl From<ObserveError> for ObjectError {
    fn from(error: ObserveError) -> Self {
        match error {
            ObserveError::NotFinite(object) => Self::NotFinite(object),
            ObserveError::Older { entity, .. } => Self::OutOfOrder(entity),
        }
    }
}
