//! The state that each end of a session keeps about its peer; client and server use the same.
//!
//! A channel outlives its transport. It counts and confirms messages, repeats them, drops
//! duplicates, fills datagrams within a byte budget and handles receipts. Client and server
//! interpret the messages.

use std::collections::{BTreeMap, VecDeque};

use super::byte_budget::ByteBudget;
use super::codec::put_varint;
use super::error::{CallError, CloseReason};
use super::filler::{Filler, Sending};
use super::limits::{
    CALL_BYTES_MAX, DATAGRAM_ITEM_BYTES_MAX, OUTBOX_MESSAGES_MAX, PAGE_BYTES, QUICKEST_BYTES_MAX,
    QUICKEST_WINDOW, UNRELIABLE_MAX,
};
use super::loss_protection::{LossGuard, LossProtection};
use super::message::{
    Announcement, Call, Confirmation, Datagram, Group, Message, Part, Received, UnorderedMessage,
};
use super::newest::{Newest, NewestReceived, Slot};
use super::outbox::{Inbox, Outbox, OutboxFull};
use super::packets::{Arrived, Content, Owed, SentValues};
use super::queues::Queues;
use super::quickest::Quickest;
use super::received_numbers::ReceivedNumbers;
use super::statistics::Statistics;
use super::undelivered::{Undelivered, UndeliveredTypes};
use super::urgent::Urgent;
use super::{Budget, ClassId, DatagramEffect, Delivery};
use crate::clock::{DelayEstimate, Reply, Request};
use crate::dr_vector::DrVector;
use crate::ledger::{CopyId, CopyRange};
use crate::link::SentPackets;
use crate::number::{EntityId, ReceiverId};
use crate::random::Random;
use crate::schedule::{Claim, Departure, DepartureKind, Dispatcher};
use crate::time::{LocalInstant, Now, SharedInstant, Span};
use crate::vector::Planar;
use crate::wire::{Header, Precision, StaleSet, decode_feedback, decode_updates};

/// One end's state of the connection to its peer; see the module.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    outbox: Outbox,
    inbox: Inbox,
    greetings: VecDeque<Message>,
    confirm_due: Option<LocalInstant>,
    newest: Newest,
    heard: NewestReceived,
    quickest: Quickest,
    quickest_seen: ReceivedNumbers,
    unreliable: VecDeque<Call>,
    /// Objects that the peer has not confirmed to know.
    announced: Announced,
    clock_requests: VecDeque<Request>,
    clock_replies: VecDeque<(Request, SharedInstant)>,
    sent: SentPackets<Content>,
    arrived: Arrived,
    budget: ByteBudget,
    /// Which of the copies leave that do not all fit.
    urgent: Urgent,
    round_trip: DelayEstimate,
    guard: LossGuard,
    statistics: Statistics,
    /// After an attempt at a datagram failed: no further attempt before this.
    not_before: LocalInstant,
    datagram_every: Span,
    datagram_at: LocalInstant,
}

/// Announced objects, each with the number of the announcing message and the DR vector in it.
pub(super) type Announced = BTreeMap<EntityId, (u64, Option<CopyId>)>;

/// The content of a received datagram.
#[derive(Debug)]
pub(super) struct Incoming<V: Planar> {
    pub(super) header: Header,
    pub(super) vectors: Vec<DrVector<V>>,
    pub(super) calls: Vec<(Call, Delivery)>,
    pub(super) states: Vec<(EntityId, Group)>,
    pub(super) clock: Vec<Reply>,
    owed: Option<Owed>,
}

impl<V: Planar> Incoming<V> {
    /// Returns what it may have made due, besides what receipts did.
    pub(super) fn effect(&self) -> DatagramEffect {
        if !self.vectors.is_empty() || !self.calls.is_empty() || !self.states.is_empty() {
            DatagramEffect::AnyConnection
        } else if self.owed.is_some() || !self.clock.is_empty() {
            DatagramEffect::SameConnection
        } else {
            DatagramEffect::Nothing
        }
    }
}

impl Channel {
    /// Longest wait of a confirmation: confirming each message at once would double the messages.
    const CONFIRM_WITHIN: Span = Span::from_millis(100);
    /// Time until an unconfirmed value is sent again, before the first round trip is known.
    const PATIENCE: Span = Span::from_millis(250);
    const PATIENCE_MIN: Span = Span::from_millis(30);
    const PATIENCE_MAX: Span = Span::from_secs(1);
    /// Bytes of a repeated DR vector, about, with its share of a datagram's overhead.
    const REPEAT_BYTES: f64 = 16.0;
    /// Pause after a failed attempt at a datagram.
    const TRY_AGAIN: Span = Span::from_millis(5);
    /// Clock requests answered in one datagram.
    const CLOCK_REPLIES_MAX: usize = 4;

    /// Nonces are drawn from `random`. Two datagrams are at least `datagram_every` apart.
    pub(super) fn new(
        budget: Budget,
        datagram_every: Span,
        protection: LossProtection,
        random: Random,
    ) -> Self {
        Self {
            outbox: Outbox::default(),
            inbox: Inbox::default(),
            greetings: VecDeque::new(),
            confirm_due: None,
            newest: Newest::default(),
            heard: NewestReceived::default(),
            quickest: Quickest::default(),
            quickest_seen: ReceivedNumbers::default(),
            unreliable: VecDeque::new(),
            announced: Announced::new(),
            clock_requests: VecDeque::new(),
            clock_replies: VecDeque::new(),
            sent: SentPackets::with_content(random),
            arrived: Arrived::default(),
            budget: ByteBudget::new(budget, datagram_every),
            urgent: Urgent::default(),
            round_trip: DelayEstimate::default(),
            guard: LossGuard::new(protection),
            statistics: Statistics::default(),
            not_before: LocalInstant::from_micros(i64::MIN),
            datagram_every,
            datagram_at: LocalInstant::from_micros(i64::MIN),
        }
    }

    /// Limits what is sent to a share of the budget's rate.
    pub(super) fn set_budget_share(&mut self, share: f64, now: LocalInstant) {
        self.budget.slow_down(share, now);
    }

    // ── sending ──

    /// Sends a greeting, which is not counted and leaves first.
    pub(super) fn greet(&mut self, message: Message) {
        self.greetings.push_back(message);
    }

    /// Sends a counted message on the ordered stream.
    pub(super) fn send(&mut self, message: Message) -> Result<(), OutboxFull> {
        self.outbox.push(message).map(drop)
    }

    /// Announces an object. Its states and calls by datagram wait until the peer knows it.
    pub(super) fn announce(&mut self, message: Message, object: EntityId) -> Result<(), OutboxFull> {
        let bytes = self.outbox.bytes();
        let number = self.outbox.push(message)?;
        self.budget.on_announced(self.outbox.bytes() - bytes);
        self.announced.insert(object, (number, None));
        Ok(())
    }

    /// The last announcement of an object carries a copy that is booked as sent.
    pub(super) fn on_copy_announced(&mut self, object: EntityId, copy: CopyId) {
        if let Some((_, carried)) = self.announced.get_mut(&object) {
            *carried = Some(copy);
        }
    }

    /// Returns whether to announce another object now.
    pub(super) fn has_room_for_page(&mut self, now: Now) -> bool {
        self.has_room_in_outbox() && self.budget.has_room_for_birth(now.local)
    }

    /// Returns when to announce another object; `None` before the peer confirms earlier ones.
    pub(super) fn page_at(&self, now: Now) -> Option<LocalInstant> {
        self.has_room_in_outbox().then(|| self.budget.birth_at(now.local))
    }

    fn has_room_in_outbox(&self) -> bool {
        self.outbox.bytes() < PAGE_BYTES && self.outbox.messages() < OUTBOX_MESSAGES_MAX / 2
    }

    /// Numbers the groups of an announcement, so that the peer can tell newer values from older.
    pub(super) fn number_groups(&mut self, groups: &BTreeMap<u8, Vec<u8>>) -> Vec<Group> {
        let number = self.newest.number();
        groups.iter().map(|(group, bytes)| Group { group: *group, number, bytes: bytes.clone() }).collect()
    }

    /// Records the groups of a received announcement as the newest known.
    pub(super) fn hear_groups(&mut self, announcement: &Announcement) {
        for group in &announcement.groups {
            // Only calls can exceed the number of slots.
            let _ = self.heard.is_news(Slot::State(announcement.object, group.group), group.number);
        }
    }

    pub(super) fn set_state(&mut self, object: EntityId, group: u8, bytes: Vec<u8>) {
        self.newest.set_state(object, group, bytes);
    }

    pub(super) fn call(&mut self, call: Call, delivery: Delivery) -> Result<(), CallError> {
        let bytes_max = match delivery {
            Delivery::ReliableOrdered | Delivery::ReliableUnordered => CALL_BYTES_MAX,
            Delivery::Unreliable | Delivery::Newest => DATAGRAM_ITEM_BYTES_MAX,
            Delivery::Quickest => QUICKEST_BYTES_MAX,
        };
        if call.bytes.len() > bytes_max {
            return Err(CallError::TooLong);
        }
        let has_room = match delivery {
            Delivery::ReliableOrdered => self.outbox.push(Message::Call(call)).is_ok(),
            Delivery::ReliableUnordered => self.outbox.push_unordered(call).is_ok(),
            Delivery::Newest => self.newest.set_call(call),
            Delivery::Quickest => self.quickest.push(call),
            Delivery::Unreliable => {
                if self.unreliable.len() >= UNRELIABLE_MAX {
                    self.unreliable.pop_front();
                }
                self.unreliable.push_back(call);
                true
            }
        };
        if has_room { Ok(()) } else { Err(CallError::Full) }
    }

    pub(super) fn ask_time(&mut self, request: Request) {
        self.clock_requests.push_back(request);
    }

    /// Stops sending states of an object: the peer owns it now, or another client.
    pub(super) fn disown(&mut self, object: EntityId) {
        self.newest.forget(object);
    }

    /// Forgets an object that the peer no longer sees.
    pub(super) fn forget(&mut self, object: EntityId) {
        self.newest.forget(object);
        self.heard.forget(object);
        self.announced.remove(&object);
    }

    // ── streams ──

    /// Handles a message from the ordered stream: processes confirmations, returns the others.
    pub(super) fn handle_ordered<V: Planar>(
        &mut self,
        message: Message,
        dispatcher: &mut Dispatcher<V>,
        receiver: ReceiverId,
        now: Now,
    ) -> Result<Option<Message>, CloseReason> {
        if let Message::Confirm(confirmation) = &message {
            let is_possible = self.confirm(confirmation, |copy, arrived_at| {
                dispatcher.on_announcement_confirmed(receiver, copy, arrived_at, now.shared);
            });
            return if is_possible { Ok(None) } else { Err(CloseReason::OutOfPlace) };
        }
        if message.is_counted() {
            self.inbox.count(&message, now.shared);
            self.owe_confirmation(now);
        }
        Ok(Some(message))
    }

    /// Handles an independent message. Returns its call if it arrives for the first time.
    pub(super) fn handle_unordered(&mut self, bytes: &[u8], now: Now) -> Result<Option<Call>, CloseReason> {
        self.statistics.bytes_received += bytes.len() as u64;
        let message = UnorderedMessage::decode(bytes).map_err(|_| CloseReason::Malformed)?;
        let is_new = self.inbox.accept_unordered(message.number).ok_or(CloseReason::OutOfPlace)?;
        self.owe_confirmation(now);
        Ok(is_new.then_some(message.call))
    }

    /// Returns bytes for the ordered stream before the session begins.
    pub(super) fn poll_greeting(&mut self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.greetings.pop_front()?.frame(&mut bytes);
        self.on_message_sent(bytes.len());
        Some(bytes)
    }

    pub(super) fn has_greeting(&self) -> bool {
        !self.greetings.is_empty()
    }

    /// Drops greetings of a transport that was lost.
    pub(super) fn drop_greetings(&mut self) {
        self.greetings.clear();
    }

    pub(super) fn poll_stream(&mut self, now: Now) -> Option<Vec<u8>> {
        if let Some(greeting) = self.poll_greeting() {
            return Some(greeting);
        }
        let mut bytes = Vec::new();
        if self.confirm_due.is_some_and(|due| due <= now.local) {
            self.confirm_due = None;
            Message::Confirm(self.inbox.confirm()).frame(&mut bytes);
            self.on_message_sent(bytes.len());
            return Some(bytes);
        }
        let message = self.outbox.poll()?;
        message.frame(&mut bytes);
        if message.announcement().is_some() {
            self.statistics.bytes_sent += bytes.len() as u64;
            self.budget.on_announcement_sent(bytes.len());
        } else {
            self.on_message_sent(bytes.len());
        }
        Some(bytes)
    }

    pub(super) fn poll_unordered(&mut self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.outbox.poll_unordered()?.encode(&mut bytes);
        self.on_message_sent(bytes.len());
        Some(bytes)
    }

    pub(super) fn received(&self) -> Received {
        self.inbox.received()
    }

    /// Resumes on a new transport; `received` is what the peer has. False if that is impossible.
    pub(super) fn resume(&mut self, received: &Received) -> bool {
        // The old transport may have delivered more than the last confirmation says.
        let confirmation = Confirmation { received: received.clone(), arrivals: Vec::new() };
        if !self.confirm(&confirmation, |_, _| {}) {
            return false;
        }
        self.outbox.rewind();
        self.inbox.rewind();
        self.newest.rewind();
        self.clock_requests.clear();
        self.clock_replies.clear();
        true
    }

    pub(super) fn count_received(&mut self, bytes: usize) {
        self.statistics.bytes_received += bytes as u64;
    }

    /// Removes what the peer has received, and passes on the DR vectors in confirmed announcements
    /// with their arrivals, as far as the peer says when that was.
    fn confirm(
        &mut self,
        confirmation: &Confirmation,
        mut on_arrived: impl FnMut(CopyId, Option<SharedInstant>),
    ) -> bool {
        let is_possible = self.outbox.confirm(&confirmation.received);
        let (outbox, arrivals) = (&self.outbox, &confirmation.arrivals);
        self.announced.retain(|_, (number, copy)| {
            let is_confirmed = outbox.is_confirmed(*number);
            if let Some(copy) = copy.filter(|_| is_confirmed) {
                let arrival = arrivals.binary_search_by_key(number, |arrival| arrival.number);
                on_arrived(copy, arrival.ok().map(|place| arrivals[place].at));
            }
            !is_confirmed
        });
        is_possible
    }

    /// Returns the objects whose announcements are sent again on a new transport.
    pub(super) fn announced(&self) -> impl Iterator<Item = EntityId> {
        self.announced.keys().copied()
    }

    /// Returns whether the peer knows `one` before an announced object, or knows it already.
    pub(super) fn announces_before(&self, one: EntityId, object: EntityId) -> bool {
        let numbers = self.announced.get(&one).zip(self.announced.get(&object));
        numbers.is_none_or(|((one, _), (object, _))| one < object)
    }

    /// Replaces the motion in an object's announcement, which is sent again on a new transport.
    pub(super) fn renew_announcement(&mut self, object: EntityId, motion: Vec<u8>) {
        if let Some((number, copy)) = self.announced.get_mut(&object) {
            *copy = None;
            self.outbox.renew_motion(*number, motion);
        }
    }

    fn owe_confirmation(&mut self, now: Now) {
        self.confirm_due = self.confirm_due.or(Some(now.local + Self::CONFIRM_WITHIN));
    }

    fn on_message_sent(&mut self, bytes: usize) {
        self.statistics.bytes_sent += bytes as u64;
        self.budget.on_message_sent(bytes);
    }

    /// An object ended before it was announced to the peer.
    pub(super) fn on_birth_missed(&mut self) {
        self.budget.on_birth_missed();
    }

    /// A DR vector was generated that broadcast would send to the peer.
    pub(super) fn on_broadcast(&mut self, now: Now) {
        self.budget.on_broadcast(now.local);
    }

    // ── the send step ──

    /// Appends the next datagram to `out`, filled as late as possible, and returns whether there is
    /// one. Call it when a datagram can leave at once, because it is booked as sent. The order, as
    /// far as there is room: the time, quickest calls, receipts, values that the peer does not
    /// have, unreliable calls; then DR vectors by weight in all the room left.
    pub(super) fn poll_datagram<V: Planar>(
        &mut self,
        sending: Sending<'_, V>,
        receiver: ReceiverId,
        now: Now,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> bool {
        let Sending { dispatcher, filler, precision } = sending;
        if now.local < self.datagram_at {
            return false;
        }
        let Some(room) = self.budget.room(now.local).map(|room| room.min(bytes_max as f64)) else {
            return false;
        };
        let repeats_max = self.repeats_max(now);
        dispatcher.poll_packet(receiver, now.shared, repeats_max, &mut filler.departures);
        if filler.departures.is_empty() && !self.must_speak(now.local) {
            return false;
        }
        let mut draft = Draft::new(room as usize - HEAD_BYTES);
        self.put_time(&mut draft, now);
        self.put_quickest(&mut draft, now);
        self.put_receipts(&mut draft, now);
        self.put_newest(&mut draft, now);
        self.put_unreliable(&mut draft);
        let start = out.len();
        let fitting = self.put_vectors(&draft, filler, dispatcher, precision, now, out);
        if !draft.has_news && fitting == 0 {
            // The due items do not fit beside the repeated ones, or into the rest of the budget.
            out.truncate(start);
            self.put_back(&filler.departures, dispatcher, now);
            self.not_before = now.local + Self::TRY_AGAIN;
            return false;
        }
        let (left, kept) = filler.departures.split_at(fitting);
        // The channel's budget is in bytes, a scheduler's is in DR vectors.
        let copies = dispatcher.on_packet_departed(receiver, left, now.shared, 1.0);
        self.statistics.vectors_sent += left.len() as u64;
        if repeats_max > 0 {
            let repeats = left.iter().filter(|it| it.kind == DepartureKind::Repeat).count();
            self.statistics.vectors_repeated += repeats as u64;
        }
        self.put_back(kept, dispatcher, now);
        self.budget.on_content_sent(fitting, out.len() - start, draft.parts.len());
        out.extend_from_slice(&draft.parts);
        self.on_departed(draft, copies, now);
        self.statistics.bytes_sent += (out.len() - start) as u64;
        self.budget.on_datagram_sent(out.len() - start);
        true
    }

    /// How many DR vectors may be repeated in a datagram that leaves now. Repeats use what the
    /// budget has left beyond half of a burst, so that they never delay anything else.
    fn repeats_max(&mut self, now: Now) -> usize {
        if !self.guard.is_on() {
            return 0;
        }
        let spare = self.budget.spare(now.local);
        (spare.max(0.0) / Self::REPEAT_BYTES) as usize
    }

    /// When [`poll_datagram`](Self::poll_datagram) has something to send besides claims.
    pub(super) fn poll_deadline(&self, now: Now) -> Option<LocalInstant> {
        let at_once = LocalInstant::from_micros(i64::MIN);
        let has_small =
            !self.unreliable.is_empty() || !self.clock_requests.is_empty() || !self.clock_replies.is_empty();
        let parts = [
            has_small.then_some(at_once),
            self.quickest.poll_deadline(),
            self.arrived.poll_deadline(),
            self.newest_deadline(),
        ];
        let datagram = parts.into_iter().flatten().min();
        let datagram = datagram.map(|at| at.max(self.speaks_at(now)));
        let stream = (!self.greetings.is_empty() || self.outbox.has_waiting()).then_some(at_once);
        [datagram, stream, self.confirm_due].into_iter().flatten().min()
    }

    /// Whether there is something to send by now, if the dispatcher `has_vectors` for the peer.
    pub(super) fn is_due(&self, has_vectors: bool, now: Now) -> bool {
        (has_vectors && self.speaks_at(now) <= now.local)
            || self.poll_deadline(now).is_some_and(|at| at <= now.local)
    }

    /// When the next datagram may leave: the budget must allow it, and the last one lie back far
    /// enough.
    pub(super) fn speaks_at(&self, now: Now) -> LocalInstant {
        self.budget.room_at(now.local).max(self.not_before).max(self.datagram_at)
    }

    /// Returns whether a datagram must leave even without DR vectors.
    fn must_speak(&self, now: LocalInstant) -> bool {
        let is_due = |deadline: Option<LocalInstant>| deadline.is_some_and(|at| at <= now);
        !self.unreliable.is_empty()
            || !self.clock_requests.is_empty()
            || !self.clock_replies.is_empty()
            || is_due(self.quickest.poll_deadline())
            || is_due(self.arrived.poll_deadline())
            || is_due(self.newest_deadline())
    }

    fn put_time(&self, draft: &mut Draft, now: Now) {
        if self.clock_requests.is_empty() && self.clock_replies.is_empty() {
            return;
        }
        let requests = self.clock_requests.iter().map(|request| Part::ClockRequest(*request));
        let replies = self.clock_replies.iter();
        let replies = replies.map(|(request, at)| Part::ClockReply(request.answer(*at, now.shared)));
        for part in requests.chain(replies) {
            if draft.put(&part) {
                draft.has_news = true;
                draft.values.tells_time |= part.wants_receipt();
            }
        }
    }

    fn put_quickest(&self, draft: &mut Draft, now: Now) {
        for (number, call) in self.quickest.waiting() {
            if draft.put(&Part::Quickest(number, call.clone())) {
                draft.has_news |= self.quickest.poll_deadline().is_some_and(|at| at <= now.local);
                draft.values.quickest.push(number);
            }
        }
    }

    /// All unconfirmed receipts, in at most a third of the room.
    fn put_receipts(&mut self, draft: &mut Draft, now: Now) {
        let header = self.sent.header(now.shared);
        let Some(bytes) = self.arrived.pack(&header, draft.left() / 3) else { return };
        if draft.put(&Part::Feedback(bytes)) {
            draft.has_receipts = true;
            draft.has_news |= self.arrived.poll_deadline().is_some_and(|at| at <= now.local);
        }
    }

    /// Values about objects that the peer knows, in at most half of the room left; at least one.
    fn put_newest(&self, draft: &mut Draft, now: Now) {
        let keep = draft.left() / 2;
        for (slot, number, part) in self.newest.due(self.patience(), &self.announced, now.local) {
            let has_room = draft.left() > keep || draft.values.newest.is_empty();
            if has_room && draft.put(part) {
                draft.values.newest.push((slot, number));
                draft.has_news = true;
            }
        }
    }

    fn put_unreliable(&self, draft: &mut Draft) {
        for call in &self.unreliable {
            if !draft.put(&Part::Unreliable(call.clone())) {
                return;
            }
            draft.unreliable += 1;
            draft.has_news = true;
        }
    }

    /// Appends a message with the DR vectors of the filler's departures, all if they fit, else the
    /// most urgent. Returns how many fit: these departures come first, in the order of entity ids.
    fn put_vectors<V: Planar>(
        &mut self,
        draft: &Draft,
        filler: &mut Filler,
        dispatcher: &Dispatcher<V>,
        precision: &Precision,
        now: Now,
        out: &mut Vec<u8>,
    ) -> usize {
        let header = self.sent.header(now.shared);
        let Filler { departures, bodies } = filler;
        let mut fitting = departures.len();
        let room = draft.left() + HEAD_BYTES - LENGTH_BYTES_MAX;
        let all = bodies.find_or_encode(dispatcher, precision, now.shared, departures).ok();
        let all = all.filter(|place| bodies.at(*place).bytes_with(&header) <= room);
        let place = all.unwrap_or_else(|| {
            fitting = self.urgent.choose(departures, dispatcher, precision, &header, room);
            let some = bodies.find_or_encode(dispatcher, precision, now.shared, &departures[..fitting]);
            some.expect("what fits was encoded before")
        });
        let body = bodies.at(place);
        let bytes = body.bytes_with(&header);
        out.reserve(bytes + draft.parts.len() + LENGTH_BYTES_MAX);
        put_varint(out, bytes as u64);
        body.write::<V>(&header, out);
        fitting
    }

    /// Puts back departures that did not fit. They gain weight by waiting.
    fn put_back<V: Planar>(&self, departures: &[Departure], dispatcher: &mut Dispatcher<V>, now: Now) {
        let room_at = self.budget.room_at(now.local);
        let until = now.shared + (room_at - now.local).max(Span::ZERO);
        for departure in departures {
            let claim = Claim { due: departure.claim.due.max(until), ..departure.claim };
            dispatcher.put_back(Departure { claim, ..*departure });
        }
    }

    fn on_departed(&mut self, draft: Draft, copies: CopyRange, now: Now) {
        let header = self.sent.header(now.shared);
        self.clock_requests.clear();
        self.clock_replies.clear();
        self.unreliable.drain(..draft.unreliable);
        if !draft.values.quickest.is_empty() {
            self.quickest.on_sent(now.local);
        }
        if draft.has_receipts {
            self.arrived.on_told();
        }
        for (slot, number) in &draft.values.newest {
            self.newest.on_sent(*slot, *number, now.local);
        }
        self.statistics.datagrams_sent += 1;
        self.datagram_at = now.local + self.datagram_every;
        let values = (!draft.values.is_empty()).then(|| Box::new(draft.values));
        let wants_receipt = !copies.is_empty() || values.is_some();
        let content = Content { left_at: now.local, values };
        self.sent.on_sent_with(&header, copies, content, wants_receipt);
    }

    /// Returns how long to wait for a receipt before a value counts as lost.
    fn patience(&self) -> Span {
        self.round_trip.high().unwrap_or(Self::PATIENCE).clamp(Self::PATIENCE_MIN, Self::PATIENCE_MAX)
    }

    fn newest_deadline(&self) -> Option<LocalInstant> {
        self.newest.poll_deadline(self.patience(), &self.announced)
    }

    // ── the receive step ──

    /// Decodes a datagram and handles what concerns the channel alone; `None` for a duplicate. The
    /// caller handles the rest and then calls [`owe_receipt`](Self::owe_receipt).
    pub(super) fn handle_datagram<V: Planar>(
        &mut self,
        dispatcher: &mut Dispatcher<V>,
        receiver: ReceiverId,
        precision: &Precision,
        bytes: &[u8],
        now: Now,
    ) -> Result<Option<Incoming<V>>, CloseReason> {
        let datagram = Datagram::decode(bytes).map_err(|_| CloseReason::Malformed)?;
        let updates = decode_updates::<V>(precision, now.shared, datagram.updates);
        let updates = updates.map_err(|_| CloseReason::Malformed)?;
        self.statistics.bytes_received += bytes.len() as u64;
        if !self.arrived.accept(updates.header.packet) {
            self.statistics.datagrams_repeated += 1;
            return Ok(None);
        }
        if let Some(confirmed) = updates.header.confirmed {
            self.arrived.on_confirmed(confirmed);
        }
        self.statistics.vectors_received += updates.vectors.len() as u64;
        let owed = match datagram.parts.iter().any(Part::wants_receipt) {
            true => Some(Owed::Soon),
            false => (!updates.vectors.is_empty()).then_some(Owed::AtLeisure),
        };
        let mut incoming = Incoming {
            header: updates.header,
            vectors: updates.vectors,
            calls: Vec::new(),
            states: Vec::new(),
            clock: Vec::new(),
            owed,
        };
        for part in datagram.parts {
            match part {
                Part::Feedback(bytes) => self.handle_feedback(&bytes, receiver, dispatcher, now)?,
                other => self.handle_part(other, &mut incoming, now)?,
            }
        }
        Ok(Some(incoming))
    }

    /// Returns the clock replies in a datagram, for a client without a clock good enough to use
    /// the rest. The datagram gets no receipt, so the rest is sent again.
    pub(super) fn handle_time_only(&mut self, bytes: &[u8]) -> Result<Vec<Reply>, CloseReason> {
        let datagram = Datagram::decode(bytes).map_err(|_| CloseReason::Malformed)?;
        let reply = |part| if let Part::ClockReply(reply) = part { Some(reply) } else { None };
        Ok(datagram.parts.into_iter().filter_map(reply).collect())
    }

    /// Books a receipt for a handled datagram; `stale` names its outdated DR vectors.
    pub(super) fn owe_receipt<V: Planar>(&mut self, incoming: &Incoming<V>, stale: StaleSet, now: Now) {
        if let Some(owed) = incoming.owed {
            self.arrived.owe(&incoming.header, stale, owed, now);
        }
    }

    /// Returns whether this value is newer than all before, and remembers it.
    pub(super) fn is_news(&mut self, object: EntityId, group: &Group) -> bool {
        self.heard.is_news(Slot::State(object, group.group), group.number) == Ok(true)
    }

    fn handle_part<V: Planar>(
        &mut self,
        part: Part,
        incoming: &mut Incoming<V>,
        now: Now,
    ) -> Result<(), CloseReason> {
        match part {
            Part::ClockRequest(request) => {
                if self.clock_replies.len() < Self::CLOCK_REPLIES_MAX {
                    self.clock_replies.push_back((request, now.shared));
                }
            }
            Part::ClockReply(reply) => incoming.clock.push(reply),
            Part::Feedback(_) => unreachable!("feedback is handled above"),
            Part::Quickest(number, call) => {
                let is_new = self.quickest_seen.insert(number, QUICKEST_WINDOW);
                if is_new.map_err(|_| CloseReason::OutOfPlace)? {
                    incoming.calls.push((call, Delivery::Quickest));
                }
            }
            Part::Unreliable(call) => incoming.calls.push((call, Delivery::Unreliable)),
            Part::State(object, group) => incoming.states.push((object, group)),
            Part::Newest(number, call) => {
                let is_news = self.heard.is_news(Slot::Call(call.target, call.method), number);
                if is_news.map_err(|_| CloseReason::TooFast)? {
                    incoming.calls.push((call, Delivery::Newest));
                }
            }
        }
        Ok(())
    }

    /// Books receipts with the ledger, and stops repeating what has arrived.
    fn handle_feedback<V: Planar>(
        &mut self,
        bytes: &[u8],
        receiver: ReceiverId,
        dispatcher: &mut Dispatcher<V>,
        now: Now,
    ) -> Result<(), CloseReason> {
        let feedback = decode_feedback(now.shared, self.sent.newest(), bytes);
        let feedback = feedback.map_err(|_| CloseReason::Malformed)?;
        let settled = self.sent.settle(&feedback);
        let arrived = settled.as_ref().map_or(&[][..], |settled| settled.arrived);
        for values in arrived.iter().filter_map(|packet| packet.content.values.as_ref()) {
            values.quickest.iter().for_each(|number| self.quickest.on_confirmed(*number));
            values.newest.iter().for_each(|(slot, number)| self.newest.on_confirmed(*slot, *number));
        }
        if let Some(newest) = arrived.last() {
            // Without the time that the peer held it.
            let held = (feedback.header.sent_at - newest.received_at).max(Span::ZERO);
            let round_trip = now.local - newest.content.left_at - held;
            self.round_trip.handle_sample(round_trip.max(Span::ZERO));
            self.guard.on_round_trip(round_trip.max(Span::ZERO));
        }
        let booked = dispatcher.on_feedback(receiver, settled, now.shared);
        let before = self.guard.plan();
        self.guard.on_loss(self.sent.loss());
        // The dispatcher forgets the plan when the peer's transport is lost: said again each time.
        if before.copies() > 0 || self.guard.plan().copies() > 0 {
            dispatcher.set_copy_plan(receiver, self.guard.plan());
        }
        self.statistics.feedback_refused += u64::from(booked.is_err());
        Ok(())
    }

    // ── getters ──

    /// Returns the estimated one-way delay: half a round trip on this end's clock.
    pub(super) fn one_way(&self) -> Span {
        self.round_trip.mean().map_or(Span::ZERO, |round_trip| round_trip.scaled(0.5))
    }

    /// Adds a round trip that was measured elsewhere.
    pub(super) fn on_round_trip(&mut self, round_trip: Span) {
        self.round_trip.handle_sample(round_trip);
    }

    pub(super) fn statistics(&self) -> Statistics {
        let (came, sent) = self.arrived.counts();
        Statistics {
            round_trip: self.round_trip.mean(),
            round_trip_deviation: self.round_trip.deviation(),
            datagrams_received: came,
            datagrams_lost: sent.saturating_sub(came),
            outbox_bytes: self.outbox.bytes() as u64,
            ..self.statistics
        }
    }

    pub(super) fn queues(&self) -> Queues {
        Queues {
            outbox_bytes: self.outbox.bytes(),
            outbox_messages: self.outbox.messages(),
            quickest: self.quickest.waiting().count(),
            newest_calls: self.newest.calls(),
            unreliable: self.unreliable.len(),
            datagrams_open: self.sent.open(),
            ..Queues::default()
        }
    }

    /// Returns the reliable messages that will never be delivered.
    pub(super) fn into_undelivered<V: Planar>(
        self,
        types: &UndeliveredTypes<'_, V, impl Fn(EntityId) -> Option<ClassId>>,
    ) -> Vec<Undelivered> {
        let (messages, unordered) = self.outbox.into_undelivered();
        let unordered = unordered.into_iter().map(|call| types.call(call, Delivery::ReliableUnordered));
        let quickest = self.quickest.into_undelivered().into_iter();
        let quickest = quickest.map(|call| types.call(call, Delivery::Quickest));
        let newest = self.newest.into_undelivered().into_iter().filter_map(|part| types.part(part));
        let ordered = messages.into_iter().filter_map(|message| types.message(message));
        ordered.chain(unordered).chain(quickest).chain(newest).collect()
    }
}

/// Bytes of a message without DR vectors, and of its length.
const HEAD_BYTES: usize = 16;
/// Most bytes of the length of the DR vectors: enough for two megabytes.
const LENGTH_BYTES_MAX: usize = 3;

/// A datagram being filled.
#[derive(Debug)]
struct Draft {
    bytes_max: usize,
    parts: Vec<u8>,
    values: SentValues,
    has_receipts: bool,
    unreliable: usize,
    /// Whether it contains something that had to leave now, besides DR vectors.
    has_news: bool,
}

impl Draft {
    fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            parts: Vec::new(),
            values: SentValues::default(),
            has_receipts: false,
            unreliable: 0,
            has_news: false,
        }
    }

    fn left(&self) -> usize {
        self.bytes_max - self.parts.len()
    }

    /// Adds a part, and returns whether it fitted.
    fn put(&mut self, part: &Part) -> bool {
        let before = self.parts.len();
        part.encode(&mut self.parts);
        if self.parts.len() <= self.bytes_max {
            return true;
        }
        self.parts.truncate(before);
        false
    }
}
