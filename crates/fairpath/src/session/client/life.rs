//! The beginning, loss and end of the session.

use super::{Client, ClientEvent, Phase, SERVER, dispatcher};
use crate::number::EntityId;
use crate::session::CloseReason;
use crate::session::attach::Attachments;
use crate::session::channel::Channel;
use crate::session::limits::RESUME_WITHIN;
use crate::session::undelivered::UndeliveredTypes;
use crate::time::LocalInstant;
use crate::vector::Planar;

impl<V: Planar> Client<V> {
    /// Returns whether [`poll_event`](Self::poll_event) would return an event.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    pub(super) fn close(&mut self, reason: CloseReason, now: LocalInstant) {
        if matches!(self.phase, Phase::Greeting | Phase::Established) {
            self.closing = Some(reason);
            self.detach(Some(reason), now);
        }
    }

    pub(super) fn detach(&mut self, reason: Option<CloseReason>, now: LocalInstant) {
        let was_connected = self.phase == Phase::Established;
        if self.identity.is_some() {
            self.phase = Phase::Detached;
            self.detached_at = self.detached_at.or(Some(now));
        } else {
            self.phase = Phase::Idle;
        }
        self.channel.drop_greetings();
        self.early_unordered.clear();
        self.dispatcher.leave(SERVER);
        // An unanswered greeting is no news for a client without a connection.
        if was_connected || reason.is_some_and(|reason| reason != CloseReason::Silent) {
            self.events.push_back(ClientEvent::Disconnected(reason));
        }
    }

    pub(super) fn resumable_until(&self) -> Option<LocalInstant> {
        self.detached_at.map(|since| since + RESUME_WITHIN)
    }

    /// Gives the session up after the deadline. With a greeting under way the server decides.
    pub(super) fn forget_if_too_late(&mut self, now: LocalInstant) {
        if self.phase != Phase::Greeting && self.resumable_until().is_some_and(|until| until <= now) {
            self.lose_session();
        }
    }

    /// Discards everything of the old session.
    pub(super) fn lose_session(&mut self) {
        let fresh = self.new_channel();
        let channel = std::mem::replace(&mut self.channel, fresh);
        let objects = std::mem::take(&mut self.objects);
        self.attachments = Attachments::default();
        self.resting.clear();
        self.adrift.clear();
        self.early.clear();
        self.ids.clear();
        self.dispatcher = dispatcher(self.horizon, self.config.liveness, &self.random);
        if self.phase == Phase::Detached {
            self.phase = Phase::Idle;
        }
        self.detached_at = None;
        self.clock_due = None;
        let was_connected = std::mem::take(&mut self.is_synchronised);
        if self.identity.take().is_some() && was_connected {
            let class_of = |object: EntityId| objects.get(&object).map(|known| known.class);
            let types = UndeliveredTypes { protocol: &self.config.protocol, class_of };
            let undelivered = channel.into_undelivered(&types);
            self.events.push_back(ClientEvent::SessionLost { undelivered });
        }
    }

    /// Returns a channel with unused nonces.
    pub(super) fn new_channel(&mut self) -> Channel {
        let stream = self.random.bits();
        let random = self.random.fork(stream);
        let config = &self.config;
        Channel::new(config.budget, config.datagram_every, config.loss_protection, random)
    }
}
