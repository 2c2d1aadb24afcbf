use std::collections::BTreeMap;

use crate::clock::ClockConfig;
use crate::session::limits::SILENCE_MAX;
use crate::session::{Budget, Class, ClassId};
use crate::time::Span;
use crate::wire::Precision;

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The classes of objects. Must equal the server's.
    pub classes: BTreeMap<ClassId, Class>,
    /// How numbers are rounded on the wire. Must equal the server's.
    pub precision: Precision,
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
    /// How long replicas predict without an update. Default
    /// [`Replica::HORIZON`](crate::Replica::HORIZON); must equal the horizon of the server's
    /// dispatcher.
    pub horizon: Span,
    /// Time without data after which the server counts as lost. Default [`SILENCE_MAX`].
    pub silence_max: Span,
}

impl ClientConfig {
    /// Returns the default settings for these classes.
    pub fn new(classes: impl IntoIterator<Item = (ClassId, Class)>) -> Self {
        Self {
            classes: classes.into_iter().collect(),
            precision: Precision::default(),
            authentication: Vec::new(),
            clock: ClockConfig::default(),
            budget: Budget::default(),
            datagram_every: Span::ZERO,
            horizon: Span::from_secs(3),
            silence_max: SILENCE_MAX,
        }
    }
}
