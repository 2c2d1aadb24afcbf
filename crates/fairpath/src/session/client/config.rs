use crate::clock::ClockConfig;
use crate::schedule::Liveness;
use crate::session::limits::{OBJECTS_PER_CLIENT_MAX, SILENCE_MAX};
use crate::session::{Budget, LossProtection, Protocol};
use crate::time::Span;
use crate::vector::Planar;

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct ClientConfig<V: Planar> {
    /// The description of the game. The server must use the same.
    pub protocol: Protocol<V>,
    /// Proof of the player's identity, checked by the server's
    /// [`Admission`](crate::session::Admission). Default empty.
    pub authentication: Vec<u8>,
    /// Settings of the clock synchronisation.
    pub clock: ClockConfig,
    /// Limit of the bytes sent to the server. Default [`Budget::default`].
    pub budget: Budget,
    /// Least time between two datagrams to the server; data that becomes due meanwhile leaves with
    /// the next. Default zero: datagrams leave at once.
    ///
    /// At one frame, receipts travel with the updates of the next frame.
    pub datagram_every: Span,
    /// Most objects that this client creates. Default
    /// [`OBJECTS_PER_CLIENT_MAX`](crate::session::limits::OBJECTS_PER_CLIENT_MAX), 256. The server
    /// refuses more than its own
    /// [`objects_per_client_max`](crate::session::ServerConfig::objects_per_client_max).
    pub objects_max: usize,
    /// What the server is guaranteed about the objects of this client. Default
    /// [`Liveness::default`]: every object is sent at least every 2 s. With a longer `silence_max`
    /// objects that keep to their prediction cost less; the server's horizon must be longer still.
    pub liveness: Liveness,
    /// Further copies of DR vectors that are sent to the server if its link loses datagrams.
    /// Default [`LossProtection::default`].
    pub loss_protection: LossProtection,
    /// Time without data after which the server counts as lost. Default [`SILENCE_MAX`].
    pub silence_max: Span,
}

impl<V: Planar> ClientConfig<V> {
    /// Returns the default settings for this game.
    pub fn new(protocol: impl Into<Protocol<V>>) -> Self {
        Self {
            protocol: protocol.into(),
            authentication: Vec::new(),
            clock: ClockConfig::default(),
            budget: Budget::default(),
            datagram_every: Span::ZERO,
            objects_max: OBJECTS_PER_CLIENT_MAX,
            liveness: Liveness::default(),
            loss_protection: LossProtection::default(),
            silence_max: SILENCE_MAX,
        }
    }
}
