//! What goes wrong in a session: the peer's mistakes close a connection or are refused, the
//! caller's are returned.

use std::fmt;

use crate::number::EntityId;

macro_rules! coded {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $code:literal, $says:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$item_doc])* $item,)*
        }

        impl $name {
            /// All of them, by their codes.
            pub const ALL: &'static [Self] = &[$(Self::$item),*];

            /// What the wire carries.
            pub const fn code(self) -> u8 {
                match self {
                    $(Self::$item => $code,)*
                }
            }

            /// The one with this code.
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
    /// Why a connection was closed. The transport carries [`code`](Self::code) as its own reason, where it can.
    CloseReason {
        /// One side has left for good.
        Finished = 0, "the session is over";
        /// Bytes that no honest peer sends.
        Malformed = 1, "a message could not be read";
        /// A message that has no place here: a second greeting, or one that only the other side may send.
        OutOfPlace = 2, "a message that has no place there";
        /// Another version of the session protocol.
        WrongVersion = 3, "another version of the protocol";
        /// A world of another number of dimensions.
        WrongDimensions = 4, "another number of dimensions";
        /// Another precision of DR vectors.
        WrongPrecision = 5, "another precision";
        /// Not let in.
        NotAdmitted = 6, "not admitted";
        /// No room for another client.
        Full = 7, "the server is full";
        /// It did not say who it is.
        NoGreeting = 8, "no greeting came in time";
        /// The same session came back on another connection.
        Superseded = 9, "the session goes on on another connection";
        /// Nothing was heard for too long.
        Silent = 10, "nothing was heard for too long";
        /// More waits to be confirmed than may.
        OutboxFull = 11, "too much waits to be confirmed";
        /// More messages than may come.
        TooFast = 12, "too many messages in too short a time";
        /// The application did not fetch its events.
        Overloaded = 13, "the application does not keep up";
        /// The shared clock jumped: instants from before mean nothing any more.
        ClockJumped = 14, "the clock jumped";
        /// The application had enough of this peer.
        Dismissed = 15, "dismissed";
    }
}

coded! {
    /// Why something a client did was not accepted. Its connection stays open.
    Refusal {
        /// Somebody else owns the object, or did by the time this arrived.
        NotOwner = 0, "the object is somebody else's";
        /// There is no such object, or it is not to be seen.
        UnknownObject = 1, "no such object";
        /// There is no such class, or clients may not make one.
        UnknownClass = 2, "no such class, or not for clients";
        /// An id that was not granted, or is used already.
        UnknownId = 3, "an id that was not granted";
        /// The client or the server has as many objects as it may.
        TooManyObjects = 4, "too many objects";
        /// It may not change owners, or has changed owners since.
        NotClaimable = 5, "the object cannot be claimed";
        /// Somebody else's claim came first.
        ClaimLost = 6, "somebody else claimed it first";
        /// Faster than its kind can be, or than numbers can tell.
        TooFastMotion = 7, "faster than it can be";
        /// Farther than it can have come.
        Teleported = 8, "farther than it can have come";
        /// A time in the future, or another impossible one.
        ImpossibleTime = 9, "an impossible time";
        /// The game said no.
        Vetoed = 10, "vetoed by the game";
        /// Whoever was called has too much waiting already.
        CalleeBusy = 11, "whoever was called cannot take more";
        /// The game does not want this object to be.
        NotCreated = 12, "the game does not want it to be";
    }
}

impl CloseReason {
    /// Whether there is nothing to resume after this.
    pub const fn ends_session(self) -> bool {
        !matches!(self, Self::Superseded | Self::Silent | Self::NoGreeting)
    }

    /// Whether it says that the other side did what no honest one does.
    pub const fn accuses(self) -> bool {
        matches!(self, Self::Malformed | Self::OutOfPlace | Self::TooFast)
    }
}

impl std::error::Error for CloseReason {}
impl std::error::Error for Refusal {}

/// A call could not be made. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// There is no session, or no such client.
    NoSession,
    /// There is no such object here.
    UnknownObject(EntityId),
    /// Only the owner calls those who see an object.
    NotOwner(EntityId),
    /// Too many bytes for this delivery class.
    TooLong,
    /// Too much waits to be confirmed.
    Full,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSession => write!(f, "there is no session"),
            Self::UnknownObject(object) => write!(f, "there is no object {}", object.0),
            Self::NotOwner(object) => write!(f, "object {} is somebody else's", object.0),
            Self::TooLong => write!(f, "too many bytes for this delivery class"),
            Self::Full => write!(f, "too much waits to be confirmed"),
        }
    }
}

impl std::error::Error for CallError {}

/// Something could not be done with an object. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectError {
    /// There is no session yet.
    NoSession,
    /// There is no such object here.
    Unknown(EntityId),
    /// It is somebody else's.
    NotOwner(EntityId),
    /// No such class was configured.
    UnknownClass,
    /// No more ids for new objects at the moment: try again in a round trip.
    NoIds,
    /// As many objects as there may be.
    TooMany,
    /// State groups are numbered 0 to 31.
    NoSuchGroup(u8),
    /// Too many bytes for a group, or to create with.
    TooLong,
    /// The observed state holds a number that is not finite, or greater than
    /// [`NUMBER_MAX`](crate::motion::NUMBER_MAX).
    NotFinite(EntityId),
    /// Too much waits to be confirmed.
    Full,
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSession => write!(f, "there is no session yet"),
            Self::Unknown(object) => write!(f, "there is no object {}", object.0),
            Self::NotOwner(object) => write!(f, "object {} is somebody else's", object.0),
            Self::UnknownClass => write!(f, "no such class was configured"),
            Self::NoIds => write!(f, "no id is left for a new object at the moment"),
            Self::TooMany => write!(f, "there are as many objects as there may be"),
            Self::NoSuchGroup(group) => write!(f, "there is no state group {group}"),
            Self::TooLong => write!(f, "too many bytes"),
            Self::NotFinite(object) => {
                write!(f, "object {} was observed with a number that is not finite", object.0)
            }
            Self::Full => write!(f, "too much waits to be confirmed"),
        }
    }
}

impl std::error::Error for ObjectError {}
