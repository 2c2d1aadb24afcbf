use std::collections::BTreeMap;
use std::fmt::Debug;

use super::super::limits::{RESUME_WITHIN, SILENCE_MAX};
use super::super::{Budget, Class, ClassId};
use crate::place::Placement;
use crate::schedule::DispatcherConfig;
use crate::time::Span;
use crate::wire::Precision;

/// How a server runs its sessions.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// What kinds of objects there are.
    pub classes: BTreeMap<ClassId, Class>,
    /// How finely motion is spelt.
    pub precision: Precision,
    /// How updates are placed, here and at the clients. Default [`Placement::Global`].
    pub placement: Placement,
    /// What may be sent to each client. Default [`Budget::default`].
    pub budget: Budget,
    /// No two datagrams to one client in less than this; what is due meanwhile leaves with the
    /// next. Default zero: at once.
    ///
    /// With many clients who all speak when they like, a datagram for each of their DR vectors is
    /// mostly header: at one tick of the game (50 ms at 20 Hz) a client who sees 32 tanks is
    /// sent 20 datagrams a second and not 60, half the bytes at a third of the server's time,
    /// and hears of everything 25 ms later on average.
    pub datagram_every: Span,
    /// How updates are spread.
    pub dispatcher: DispatcherConfig,
    /// How many clients may have a session. Default 64; each can cost an outbox of 256 KiB when it
    /// is absent.
    pub clients_max: usize,
    /// A client that is silent for this long loses its connection, not its session. Default
    /// [`SILENCE_MAX`].
    pub silence_max: Span,
    /// For how long a session without a connection can be resumed. Default [`RESUME_WITHIN`].
    pub resume_within: Span,
    /// How often it is looked at who sees what. Default 100 ms: at 25 u/s that is 2.5 units late.
    /// It costs clients times objects each time; from 64 clients on they are looked at in
    /// parts, one after the other.
    pub scope_every: Span,
    /// Which run of the server this is: another number after every start, so that nobody resumes
    /// what is gone.
    pub epoch: u64,
}

impl ServerConfig {
    /// The usual, for these kinds of objects, in this run of the server.
    pub fn new(classes: impl IntoIterator<Item = (ClassId, Class)>, epoch: u64) -> Self {
        Self {
            classes: classes.into_iter().collect(),
            precision: Precision::default(),
            placement: Placement::default(),
            budget: Budget::default(),
            datagram_every: Span::ZERO,
            dispatcher: DispatcherConfig::default(),
            clients_max: 64,
            silence_max: SILENCE_MAX,
            resume_within: RESUME_WITHIN,
            scope_every: Span::from_millis(100),
            epoch,
        }
    }
}

/// Decides who is let in.
pub trait Admission: Debug + Send {
    /// Whether somebody who proves to be who they are with this is let in.
    fn admits(&mut self, authentication: &[u8]) -> bool;
}

/// Lets everybody in.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdmitAll;

impl Admission for AdmitAll {
    fn admits(&mut self, _: &[u8]) -> bool {
        true
    }
}
