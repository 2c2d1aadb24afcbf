//! Goal: whatever a link does to datagrams and feedback, what arrived is booked, once and when it
//! arrived; and whoever acknowledges what it never got books nothing. Method: an entity that is
//! told of over links that lose, reorder and duplicate both ways, drawn at random, and receivers
//! that guess.

use fairpath::DrVector;
use fairpath::ledger::CopyRange;
use fairpath::link::{ReceiptBook, Refused, SentPackets};
use fairpath::motion::{Linear, Motion};
use fairpath::number::{EntityId, Generation, Life, PacketNumber, ReceiverId, WirePacketNumber};
use fairpath::random::Random;
use fairpath::schedule::{Broadcast, Dispatcher, DispatcherConfig, FeedbackOutcome};
use fairpath::time::{SharedInstant, Span};
use fairpath::trigger::TriggerReason;
use fairpath::vector::Vec2;
use fairpath::wire::{Feedback, Header, Nonce, Receipt, StaleSet, decode_feedback};
use fairpath_laws::law;
use fairpath_laws::proptest::collection;
use fairpath_laws::proptest::prelude::*;

const ENTITY: EntityId = EntityId(1);
const ANNA: ReceiverId = ReceiverId(1);
const INTERVAL: Span = Span::from_millis(30);

#[test]
fn whatever_arrived_is_booked_once_however_feedback_travels() {
    law!((0..u64::MAX, collection::vec((fate(), fate()), 1..120)), |(seed, fates)| {
        let mut sender = Sender::new(seed);
        let (mut back, mut book) = (SentPackets::new(Random::from_seed(!seed)), ReceiptBook::default());
        let (mut events, mut arrived) = (Agenda::default(), 0);
        for (step, (down, up)) in (0..).zip(fates) {
            let now = at(step);
            for header in sender.send(now) {
                arrived += usize::from(!down.is_empty());
                down.iter().for_each(|delay| events.add(now + *delay, Event::Updates(header)));
            }
            let mut bytes = Vec::new();
            let header = back.header(now);
            let packed = book.pack(&header, 60, &mut bytes).expect("sound receipts");
            prop_assert!(bytes.len() <= 60 || packed == 0);
            back.on_sent(&header, CopyRange::EMPTY);
            up.iter().for_each(|delay| events.add(now + *delay, Event::Feedback(bytes.clone())));
            for (when, event) in events.until(at(step + 1)) {
                sender.happen(event, &mut book, when)?;
            }
        }
        // The link heals: everything under way arrives, and a little later all is told and
        // confirmed.
        for (when, event) in events.until(at(10_000)) {
            sender.happen(event, &mut book, when)?;
        }
        let end = at(300);
        while !book.is_empty() {
            let mut bytes = Vec::new();
            let header = back.header(end);
            book.pack(&header, 60, &mut bytes).expect("sound receipts");
            back.on_sent(&header, CopyRange::EMPTY);
            sender.happen(Event::Feedback(bytes), &mut book, end)?;
            book.on_confirmed(sender.sent.header(end).confirmed.expect("feedback has come"));
        }
        prop_assert_eq!(sender.booked, arrived);
        Ok(())
    });
}

#[test]
fn who_acknowledges_what_it_never_got_books_nothing() {
    law!((0..u64::MAX, 2..60u64, any::<u8>(), 0..1_000u64), |(seed, count, guess, ahead)| {
        let mut sender = Sender::new(seed);
        let headers: Vec<Header> = (0..count).flat_map(|step| sender.send(at(step as i64))).collect();
        let now = at(count as i64);
        let (got, missed) = (&headers[..headers.len() / 2], &headers[headers.len() / 2..]);
        let proof = Nonce::of_all(got.iter().map(|header| header.nonce));
        let right = Nonce::of_all(missed.iter().map(|header| header.nonce).chain([proof]));
        let guess = Nonce(guess);
        prop_assume!(guess != right);
        let before = sender.standing();
        let told = sender.tell(&all(0..headers.len() as u64, guess, now), now);
        prop_assert_eq!(told, Err(Refused::WrongNonce));
        prop_assert_eq!(sender.standing(), before);
        // And a second try with what it should have said comes too late.
        let told = sender.tell(&all(0..headers.len() as u64, right, now), now);
        prop_assert_eq!(told, Ok(FeedbackOutcome::default()));
        prop_assert_eq!(sender.standing(), before);
        let unsent = headers.len() as u64 + ahead;
        prop_assert_eq!(sender.tell(&all(unsent..unsent + 1, guess, now), now), Err(Refused::NeverSent));
        Ok(())
    });
}

#[test]
fn three_wrong_proofs_are_enough_not_to_be_believed() {
    let mut sender = Sender::new(7);
    for step in 0..4 {
        let header = sender.send(at(step))[0];
        let wrong = Nonce(header.nonce.0 ^ 1);
        let told = sender.tell(&all(step as u64..step as u64 + 1, wrong, at(step)), at(step + 1));
        assert_eq!(told, Err(Refused::WrongNonce));
    }
    let header = sender.send(at(5))[0];
    let told = sender.tell(&all(4..5, header.nonce, at(6)), at(7));
    assert_eq!(
        told,
        Ok(FeedbackOutcome { receipts: 1, corrected: 1, lost: 0 }),
        "booked at half the round trip"
    );
}

#[test]
fn losses_are_seen_in_the_numbers_and_unseen_when_the_lost_turns_up() {
    let mut sender = Sender::new(3);
    let headers: Vec<Header> = (0..6).flat_map(|step| sender.send(at(step))).collect();
    let nonces = |numbers: &[usize]| Nonce::of_all(numbers.iter().map(|number| headers[*number].nonce));
    let told = sender.tell(&all(3..5, nonces(&[3, 4]), at(6)), at(10));
    assert_eq!(
        told,
        Ok(FeedbackOutcome { receipts: 2, corrected: 0, lost: 2 }),
        "0 and 1, but 2 may be late"
    );
    let told = sender.tell(&all(1..2, nonces(&[1]), at(6)), at(10));
    assert_eq!(told.map(|heard| heard.receipts), Ok(1));
    assert_eq!(sender.sent.lost(), 1);
}

#[test]
fn what_is_remembered_is_bounded_and_what_is_forgotten_is_nobodys_fault() {
    let mut sender = Sender::new(9);
    let first = sender.send(at(0))[0];
    let mut book = ReceiptBook::default();
    for step in 1..2_000 {
        let header = sender.send(at(step))[0];
        book.on_updates(&header, StaleSet::NONE, at(step));
    }
    assert_eq!(book.len(), 255);
    let told = sender.tell(&all(0..1, first.nonce, at(2_000)), at(2_000));
    assert_eq!(told, Err(Refused::Forgotten));
    let mut bytes = Vec::new();
    book.pack(&Header { sent_at: at(2_000), ..Header::default() }, 1_200, &mut bytes)
        .expect("sound receipts");
    let feedback = decode_feedback(at(2_000), sender.sent.newest(), &bytes).expect("what was encoded");
    assert!(!feedback.is_complete, "it has given up what nobody confirmed");
    assert_eq!(sender.tell(&feedback, at(2_000)).map(|heard| heard.receipts), Ok(255));
}

#[test]
fn no_numbers_that_a_peer_may_choose_keep_feedback_from_being_written() {
    law!(collection::vec(any::<u16>(), 1..300), |numbers| {
        let mut book = ReceiptBook::default();
        for (step, number) in (0..).zip(numbers) {
            let header = Header { packet: WirePacketNumber(number), sent_at: at(0), ..Header::default() };
            book.on_updates(&header, StaleSet::NONE, at(step));
            let packed = book.pack(&Header { sent_at: at(step), ..header }, 60, &mut Vec::new());
            prop_assert!(packed.is_ok(), "{packed:?}");
        }
        Ok(())
    });
}

/// What a link does to a datagram: nothing for a loss, else how late it arrives, more than once if
/// it is duplicated.
fn fate() -> impl Strategy<Value = Vec<Span>> {
    let delay = || (1..400i64).prop_map(Span::from_millis);
    prop_oneof![
        3 => Just(vec![]),
        6 => delay().prop_map(|delay| vec![delay]),
        1 => (delay(), delay()).prop_map(|(one, other)| vec![one, other]),
    ]
}

fn at(step: i64) -> SharedInstant {
    SharedInstant::ZERO + Span::from_micros(step * INTERVAL.as_micros())
}

/// Feedback that says that all of these have arrived just now.
fn all(packets: std::ops::Range<u64>, nonce: Nonce, now: SharedInstant) -> Feedback {
    let receipt = |packet| Receipt {
        packet: PacketNumber(packet),
        received_at: now,
        delay: Span::ZERO,
        stale: StaleSet::NONE,
    };
    let header = Header { sent_at: now, nonce, ..Header::default() };
    Feedback { header, is_complete: false, receipts: packets.map(receipt).collect() }
}

struct Sender {
    dispatcher: Dispatcher<Vec2>,
    sent: SentPackets,
    booked: usize,
}

impl Sender {
    fn new(seed: u64) -> Self {
        let random = Random::from_seed(seed);
        let mut dispatcher =
            Dispatcher::new(DispatcherConfig::default(), Box::new(Broadcast), random.fork(0));
        dispatcher.join(ANNA, at(0));
        Self { dispatcher, sent: SentPackets::new(random.fork(1)), booked: 0 }
    }

    /// Cuts a DR vector and sends it; the headers of the datagrams.
    fn send(&mut self, now: SharedInstant) -> Vec<Header> {
        let position = Vec2::new((now.as_micros() / 1_000 % 97) as f64, 0.0);
        let vector = DrVector {
            entity: ENTITY,
            life: Life::default(),
            generation: Generation::default(),
            generated_at: now,
            motion: Motion::Linear(Linear { position, velocity: Vec2::new(1.0, 0.0) }),
            attitude: None,
            parent: None,
        };
        self.dispatcher.on_generated(&vector, TriggerReason::Distance, now);
        let departures = self.dispatcher.poll_departures(Some(ANNA), now);
        let headers = departures.iter().map(|departure| {
            let header = self.sent.header(now);
            let copy = self.dispatcher.on_departed(&departure.claim, now, 1.0).expect("it has joined");
            self.sent.on_sent(&header, copy.into());
            header
        });
        headers.collect()
    }

    fn tell(&mut self, feedback: &Feedback, now: SharedInstant) -> Result<FeedbackOutcome, Refused> {
        self.dispatcher.on_feedback(ANNA, self.sent.settle(feedback), now)
    }

    fn happen(
        &mut self,
        event: Event,
        book: &mut ReceiptBook,
        now: SharedInstant,
    ) -> Result<(), TestCaseError> {
        match event {
            Event::Updates(header) => {
                book.on_updates(&header, StaleSet::NONE, now);
                header.confirmed.into_iter().for_each(|confirmed| book.on_confirmed(confirmed));
            }
            Event::Feedback(bytes) => {
                let feedback = decode_feedback(now, self.sent.newest(), &bytes).expect("what was encoded");
                let heard = self.tell(&feedback, now);
                prop_assert!(heard.is_ok(), "{heard:?}");
                self.booked += heard.map_or(0, |heard| heard.receipts);
            }
        }
        Ok(())
    }

    fn standing(&self) -> (f64, bool, bool) {
        let ledger = self.dispatcher.ledger(ENTITY).expect("it was generated");
        let standing = ledger.standing(ANNA).expect("it has joined");
        (standing.accumulated, standing.has_acknowledged, ledger.is_settled(ANNA))
    }
}

#[derive(Clone, Debug)]
enum Event {
    Updates(Header),
    Feedback(Vec<u8>),
}

#[derive(Default)]
struct Agenda(Vec<(SharedInstant, Event)>);

impl Agenda {
    fn add(&mut self, when: SharedInstant, event: Event) {
        self.0.push((when, event));
    }

    /// What is due before this, in order.
    fn until(&mut self, end: SharedInstant) -> Vec<(SharedInstant, Event)> {
        self.0.sort_by_key(|(when, _)| *when);
        let due = self.0.partition_point(|(when, _)| *when < end);
        self.0.drain(..due).collect()
    }
}
