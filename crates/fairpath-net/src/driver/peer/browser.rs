//! The part of a connection that only a browser's has: HTTP/3 between QUIC and the session.

use std::time::Instant;

use bytes::Bytes;
use fairpath::session::CloseReason;
use fairpath::time::SharedInstant;
use fairpath::vector::Planar;
use quinn_proto::{ConnectionError, StreamEvent, StreamId};

use super::super::web::{NO_ERROR, Sorted, Web, WebEnded};
use super::{Peer, Stage, has_chosen};
use crate::connection::ALPN_WEB;
use crate::problem::ConnectionProblem;
use crate::served::{Served, ServedSession};

impl Peer {
    /// Sends HTTP/3's settings to a browser. Returns false: a session has nothing to do yet.
    pub(super) fn greet_browser<V: Planar>(&mut self, shared: &ServedSession<V>, now: Instant) -> bool {
        if has_chosen(&self.connection, ALPN_WEB) {
            self.web = Web::open(&mut self.connection).map(Box::new);
            if self.web.is_none() {
                self.close(CloseReason::Malformed, shared, now);
            }
        }
        false
    }

    /// Finds out what a browser's streams are: the new ones, or a readable one.
    pub(super) fn sort_streams<V: Planar>(
        &mut self,
        event: &StreamEvent,
        shared: &ServedSession<V>,
        served: &mut Served<V>,
        at: SharedInstant,
        now: Instant,
    ) {
        let Some(web) = &mut self.web else { return };
        let had_session = web.has_session();
        let ids = match event {
            StreamEvent::Opened { dir } => web.accept(&mut self.connection, *dir),
            StreamEvent::Readable { id } => vec![*id],
            _ => return,
        };
        let is_on = self.sort_each(&ids, shared, served, at, now);
        let Some(web) = &self.web else { return };
        if is_on && !had_session && web.has_session() {
            // Streams of the session may have overtaken its request.
            let ids = web.unsorted();
            self.sort_each(&ids, shared, served, at, now);
        }
    }

    /// Returns false if the connection is over.
    fn sort_each<V: Planar>(
        &mut self,
        ids: &[StreamId],
        shared: &ServedSession<V>,
        served: &mut Served<V>,
        at: SharedInstant,
        now: Instant,
    ) -> bool {
        ids.iter().all(|id| {
            let Some(web) = &mut self.web else { return false };
            match web.sort(&mut self.connection, *id) {
                Ok(sorted) => self.on_sorted(sorted, shared, served, at, now),
                Err(WebEnded) => self.on_web_ended(shared, served, at, now),
            }
            !matches!(self.stage, Stage::Ended)
        })
    }

    fn on_sorted<V: Planar>(
        &mut self,
        sorted: Sorted,
        shared: &ServedSession<V>,
        served: &mut Served<V>,
        at: SharedInstant,
        now: Instant,
    ) {
        let violation = match sorted {
            Sorted::Nothing => None,
            Sorted::Ordered(id, first) => self.begin_web_session(id, &first, shared, served, at, now),
            Sorted::Unordered(id, first) => {
                let Stage::Session(link) = &mut self.stage else { return };
                link.unordered_unread.insert(id, first);
                self.read(id, &mut served.session, at)
            }
            Sorted::Message(bytes) => {
                if let Some(id) = self.id() {
                    served.session.handle_unordered(id, &bytes, at);
                }
                None
            }
        };
        if let Some(reason) = violation {
            self.on_violation(reason, shared, served, at, now);
        }
    }

    fn begin_web_session<V: Planar>(
        &mut self,
        ordered: StreamId,
        first: &[u8],
        shared: &ServedSession<V>,
        served: &mut Served<V>,
        at: SharedInstant,
        now: Instant,
    ) -> Option<CloseReason> {
        if !matches!(self.stage, Stage::Greeting(..)) {
            // Further streams stay unread, and flow control bounds what they hold.
            return None;
        }
        self.begin_session(ordered, shared, served, at, now)?;
        served.session.handle_stream(self.id()?, first, at);
        let violation = self.read(ordered, &mut served.session, at);
        self.deliver_datagrams(&mut served.session, at, now);
        violation
    }

    /// The browser has closed its session, or broke HTTP/3.
    fn on_web_ended<V: Planar>(
        &mut self,
        shared: &ServedSession<V>,
        served: &mut Served<V>,
        at: SharedInstant,
        now: Instant,
    ) {
        let session = self.id();
        self.connection.close(now, NO_ERROR, Bytes::new());
        self.end(ConnectionProblem::of_quic(&ConnectionError::LocallyClosed, None, false), shared);
        if let Some(id) = session {
            served.session.handle_disconnected(id, None, at);
        }
    }
}
