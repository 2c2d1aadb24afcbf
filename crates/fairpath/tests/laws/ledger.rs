//! The ledger equals an omniscient observer once receipts are in, and says so when it cannot.

use std::collections::BTreeSet;

use fairpath::error::{self, Path};
use fairpath::ledger::{CopyId, LATENESS_MAX, Ledger};
use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, Generation, Life, ReceiverId};
use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::{DrVector, State};
use fairpath_laws::{law, proptest::prelude::*};

const RECEIVER: ReceiverId = ReceiverId(7);
const HORIZON: Span = Span::from_secs(3);

fn secs(secs: f64) -> Span {
    Span::from_secs_f64(secs)
}

/// What really happened, for the observer who sees both sides.
struct Story {
    vectors: Vec<DrVector<Vec2>>,
    /// In which of the entity's lives, without wrapping.
    lives: Vec<u32>,
    /// Which vector was sent when, and when it arrived if it did.
    copies: Vec<Sent>,
    end: SharedInstant,
}

struct Sent {
    index: usize,
    at: SharedInstant,
    arrives: Option<SharedInstant>,
    /// When the sender hears of the arrival.
    reported: Option<SharedInstant>,
}

/// A minute of an entity that turns now and then and sometimes jumps, told through a bad link.
fn story(seed: u64, kind: MotionKind, receipt_late_max: f64, lost_receipts: f64) -> Story {
    let mut random = Random::from_seed(seed);
    let mut now = SharedInstant::from_millis(5);
    let mut life = 0;
    let (mut vectors, mut lives, mut copies) = (Vec::new(), Vec::new(), Vec::new());
    let mut generation = Generation::default();
    // Half of all receivers read only now and then: what has come meanwhile arrives at one instant.
    let reads_every = random.chance(0.5).then(|| secs(random.between(0.1, 1.5)));
    let read = |came: SharedInstant| match reads_every {
        Some(every) => {
            let turns = came.as_micros() / every.as_micros() + 1;
            SharedInstant::from_micros(turns * every.as_micros())
        }
        None => came,
    };
    // Some are sent every DR vector several times, against loss.
    let copies_max = if random.chance(0.3) { 7 } else { 2 };
    while now < SharedInstant::from_millis(60_000) {
        let mut draw = |limit: f64| random.between(-limit, limit);
        let state = State::moving(Vec2::new(draw(50.0), draw(50.0)), Vec2::new(draw(25.0), draw(25.0)))
            .with_heading(draw(3.0), draw(0.8));
        if random.chance(0.05) {
            life += 1;
        }
        lives.push(life);
        vectors.push(DrVector {
            entity: EntityId(1),
            life: Life::new(life as u8),
            generation,
            generated_at: now,
            motion: kind.from_state(&state),
            attitude: None,
            parent: None,
        });
        generation = generation.next();
        for _ in 0..random.below(copies_max + 1) {
            let at = now + secs(random.between(0.0, 0.05));
            let arrives = random.chance(0.7).then(|| read(at + secs(0.05 + random.exponential() * 0.3)));
            let reported = arrives.filter(|_| !random.chance(lost_receipts));
            let late = random.between(0.0, 1.0) * random.between(0.0, receipt_late_max);
            let reported = reported.map(|arrives| arrives + secs(late));
            copies.push(Sent { index: vectors.len() - 1, at, arrives, reported });
        }
        now += secs(0.06 + random.exponential() * 0.3).rounded_to(Span::from_millis(1));
    }
    copies.sort_by_key(|copy| copy.at);
    Story { vectors, lives, copies, end: now + LATENESS_MAX + LATENESS_MAX }
}

impl Story {
    /// The integral up to `until` by one who knows everything.
    fn omniscient(&self, until: SharedInstant) -> f64 {
        let arrivals = self.copies.iter().filter_map(|copy| copy.arrives);
        let cuts = self.cuts(arrivals, SharedInstant::ZERO, until);
        let piece = |cut: &[SharedInstant]| {
            let arrived = self.copies.iter().filter(|copy| copy.arrives.is_some_and(|at| at <= cut[0]));
            arrived.map(|copy| copy.index).max().map_or(0.0, |belief| self.error(belief, cut[0], cut[1]))
        };
        cuts.windows(2).map(piece).sum()
    }

    /// What the books of `now` may be off by: since the receiver last reported everything, it may
    /// follow any copy it was sent and has not reported, or the newest that it has.
    fn doubt(&self, now: SharedInstant) -> f64 {
        let is_reported = |copy: &&Sent| copy.reported.is_some_and(|at| at <= now);
        let reported = || self.copies.iter().filter(is_reported);
        let sure_until = self.complete_at(last_feedback(now));
        let changes =
            self.copies.iter().map(|copy| copy.at).chain(reported().filter_map(|copy| copy.arrives));
        let cuts = self.cuts(changes, sure_until, now);
        let piece = |cut: &[SharedInstant]| {
            let (from, to) = (cut[0], cut[1]);
            let surely = reported().filter(|copy| copy.arrives <= Some(from)).map(|copy| copy.index).max();
            let sent = self.copies.iter().filter(|copy| copy.at <= from).map(|copy| copy.index);
            let perhaps: BTreeSet<usize> = sent.filter(|index| Some(*index) > surely).collect();
            if perhaps.is_empty() {
                return 0.0;
            }
            surely.into_iter().chain(perhaps).map(|belief| self.error(belief, from, to)).sum()
        };
        cuts.windows(2).map(piece).sum()
    }

    /// The instants between two others at which something changes, and these two.
    fn cuts(
        &self,
        changes: impl Iterator<Item = SharedInstant>,
        from: SharedInstant,
        to: SharedInstant,
    ) -> Vec<SharedInstant> {
        let generated = self.vectors.iter().map(|vector| vector.generated_at);
        let between = generated.chain(changes).filter(|at| from < *at && *at < to);
        let mut cuts: Vec<SharedInstant> = between.chain([from, to.max(from)]).collect();
        cuts.sort();
        cuts
    }

    /// The error of somebody who follows one of the vectors while another is the newest: none of
    /// either changes.
    fn error(&self, belief: usize, from: SharedInstant, to: SharedInstant) -> f64 {
        let Some(exported) = self.vectors.iter().rposition(|vector| vector.generated_at <= from) else {
            return 0.0;
        };
        if self.lives[belief] != self.lives[exported] {
            return 0.0;
        }
        let placed = &self.vectors[belief];
        let placed = Path::from(placed).frozen_from(placed.generated_at + HORIZON);
        error::accumulated(&Path::from(&self.vectors[exported]), &placed, from, to).value
    }

    /// Until when everything that arrived has been reported by `now`.
    fn complete_at(&self, now: SharedInstant) -> SharedInstant {
        let unreported = self.copies.iter().filter(|copy| copy.reported.is_none_or(|at| at > now));
        unreported.filter_map(|copy| copy.arrives).min().map_or(now, |arrives| arrives.min(now))
    }

    /// The ledger's view of the same up to `until`, told in the order the sender hears of it.
    /// Feedback repeats everything, so receipts also come twice.
    fn ledger(&self, feedback_says_complete: bool, until: SharedInstant) -> Ledger<Vec2> {
        enum Event {
            Generated(usize),
            Departed(usize),
            Receipt(usize),
            Complete,
        }
        let mut events: Vec<(SharedInstant, Event)> = Vec::new();
        for (index, vector) in self.vectors.iter().enumerate() {
            events.push((vector.generated_at, Event::Generated(index)));
        }
        for (index, copy) in self.copies.iter().enumerate() {
            events.push((copy.at, Event::Departed(index)));
            if let Some(reported) = copy.reported {
                events.push((reported, Event::Receipt(index)));
                events.push((reported + secs(0.1), Event::Receipt(index)));
            }
        }
        let mut feedback = SharedInstant::ZERO;
        while feedback_says_complete && feedback < self.end {
            events.push((feedback, Event::Complete));
            feedback += FEEDBACK;
        }
        events.sort_by_key(|(at, _)| *at);
        let mut ledger = Ledger::new(HORIZON);
        ledger.join(RECEIVER, SharedInstant::ZERO);
        let mut ids: Vec<Option<CopyId>> = vec![None; self.copies.len()];
        let mut newest = 0;
        for (at, event) in events.into_iter().take_while(|(at, _)| *at <= until) {
            match event {
                Event::Generated(index) => {
                    newest = index;
                    ledger.on_generated(&self.vectors[index]);
                }
                // A copy that leaves after the next trigger carries the newer DR vector in this
                // story's book.
                Event::Departed(copy) if self.copies[copy].index == newest => {
                    ids[copy] = ledger.on_departed(RECEIVER, &self.vectors[newest], at, Some(secs(0.3)));
                }
                Event::Departed(_) => {}
                Event::Complete => {
                    ledger.on_complete(RECEIVER, self.complete_at(at), secs(2.0));
                }
                Event::Receipt(copy) => {
                    let arrives = self.copies[copy].arrives.expect("only what arrived is reported");
                    if let Some(id) = ids[copy] {
                        ledger.on_receipt(RECEIVER, id, arrives);
                    }
                }
            }
        }
        ledger.advance(until);
        ledger
    }
}

/// How often the receiver says that it has reported everything up to some instant.
const FEEDBACK: Span = Span::from_millis(500);

/// When it last did.
fn last_feedback(now: SharedInstant) -> SharedInstant {
    SharedInstant::from_micros(now.as_micros() / FEEDBACK.as_micros() * FEEDBACK.as_micros())
}

#[test]
fn once_receipts_are_in_the_ledger_equals_an_omniscient_observer() {
    let kinds = prop_oneof![Just(MotionKind::Linear), Just(MotionKind::Circular)];
    law!((any::<u64>(), kinds, 0.0..9.0f64), |(seed, kind, late)| {
        let story = story(seed, kind, late, 0.0);
        let ledger = story.ledger(true, story.end);
        let truth = story.omniscient(story.end);
        let standing = ledger.standing(RECEIVER).unwrap();
        let error = (standing.accumulated - truth).abs();
        prop_assert!(error < 1e-6 * (1.0 + truth), "ledger {} truth {truth}", standing.accumulated);
        prop_assert_eq!(standing.unsettled, 0);
        prop_assert!(ledger.is_settled(RECEIVER));
        Ok(())
    });
}

#[test]
fn before_receipts_are_in_the_ledger_is_off_by_no_more_than_is_in_doubt() {
    let kinds = prop_oneof![Just(MotionKind::Linear), Just(MotionKind::Circular)];
    law!((any::<u64>(), kinds, 0.0..9.0f64, 1.0..60.0f64), |(seed, kind, late, when)| {
        let story = story(seed, kind, late, 0.0);
        let now = SharedInstant::ZERO + secs(when);
        let ledger = story.ledger(true, now);
        let (truth, doubt) = (story.omniscient(now), story.doubt(now));
        let believed = ledger.standing(RECEIVER).unwrap().accumulated;
        let error = (believed - truth).abs();
        prop_assert!(error <= doubt + 1e-6 * (1.0 + truth), "off by {error}, in doubt {doubt}");
        Ok(())
    });
}

#[test]
fn what_can_never_be_known_is_counted_and_the_estimate_stands() {
    law!(any::<u64>(), |seed| {
        let story = story(seed, MotionKind::Linear, 1.0, 0.5);
        let silent = story.copies.iter().filter(|copy| copy.reported.is_none()).count() as u32;
        let ledger = story.ledger(false, story.end);
        let standing = ledger.standing(RECEIVER).unwrap();
        prop_assert_eq!(standing.unsettled, silent, "every copy without a receipt is given up on");
        prop_assert!(!ledger.is_settled(RECEIVER));
        prop_assert!(standing.accumulated.is_finite() && standing.accumulated >= 0.0);
        Ok(())
    });
}

#[test]
fn impossible_receipts_change_nothing() {
    let mut ledger = Ledger::<Vec2>::new(HORIZON);
    let story = story(3, MotionKind::Linear, 0.0, 0.0);
    let unheard_of = ledger.on_departed(RECEIVER, &story.vectors[0], SharedInstant::ZERO, None);
    assert_eq!(unheard_of, None, "nothing generated, no page");
    ledger.join(RECEIVER, SharedInstant::ZERO);
    ledger.on_generated(&story.vectors[0]);
    let sent = story.vectors[0].generated_at + secs(0.01);
    let copy = ledger.on_departed(RECEIVER, &story.vectors[0], sent, Some(secs(0.2))).unwrap();
    assert!(!ledger.on_receipt(RECEIVER, copy, sent - secs(0.001)), "received before it was sent");
    assert!(!ledger.on_receipt(ReceiverId(8), copy, sent), "somebody else's");
    assert!(ledger.on_receipt(RECEIVER, copy, sent + secs(0.3)));
    assert!(!ledger.on_receipt(RECEIVER, copy, sent + secs(0.4)), "twice");
    assert!(ledger.standing(RECEIVER).unwrap().has_acknowledged);
}

#[test]
fn memory_is_bounded_however_silent_a_receiver_is() {
    let mut ledger = Ledger::<Vec2>::new(HORIZON);
    ledger.join(RECEIVER, SharedInstant::ZERO);
    let story = story(5, MotionKind::Linear, 0.0, 0.0);
    for tick in 0..20_000i64 {
        let generated_at = SharedInstant::from_millis(tick);
        let vector = DrVector { generated_at, ..story.vectors[0] };
        ledger.on_generated(&vector);
        ledger.on_departed(RECEIVER, &vector, generated_at, Some(secs(0.2)));
    }
    let standing = ledger.standing(RECEIVER).unwrap();
    assert!(standing.unsettled > 10_000, "given up on: {}", standing.unsettled);
}

/// Whoever still follows a DR vector that the exported path has long forgotten keeps it, and is
/// booked exactly.
#[test]
fn who_is_told_once_is_booked_exactly_long_after_the_path_has_forgotten() {
    law!((any::<u64>(), 0.1..40.0f64), |(seed, pause)| {
        let mut story = story(seed, MotionKind::Circular, 0.5, 0.0);
        // One life, told of once, and then a pause and as much again: more than a minute and a half
        // in all.
        story.lives.fill(0);
        story.vectors.iter_mut().for_each(|vector| vector.life = Life::default());
        let first = story.vectors[0].generated_at;
        let shift = story.end - first + secs(pause).rounded_to(Span::from_millis(1));
        let later: Vec<_> = story
            .vectors
            .iter()
            .map(|vector| DrVector { generated_at: vector.generated_at + shift, ..*vector })
            .collect();
        story.lives.extend(later.iter().map(|_| 0));
        story.vectors.extend(later);
        let arrives = Some(first + secs(0.2));
        story.copies = vec![Sent { index: 0, at: first, arrives, reported: Some(first + secs(0.4)) }];
        story.end += shift;
        let books = story.ledger(true, story.end).standing(RECEIVER).unwrap().accumulated;
        let truth = story.omniscient(story.end);
        prop_assert!((books - truth).abs() < 1e-6 * (1.0 + truth), "ledger {books} truth {truth}");
        Ok(())
    });
}
