//! Events come out in the order of time, those of one instant in the order they went in, cancelled
//! ones never.

use fairpath::time::SharedInstant;
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_sim::EventQueue;

fn at(micros: i64) -> SharedInstant {
    SharedInstant::from_micros(micros)
}

#[test]
fn the_queue_is_a_stable_sort() {
    // Few distinct instants, so that ties are common.
    law!(prop::collection::vec(-5i64..5, 0..60), |instants| {
        let mut queue = EventQueue::starting_at(at(-5));
        for (index, micros) in instants.iter().enumerate() {
            queue.schedule(at(*micros), index);
        }
        let mut sorted: Vec<(i64, usize)> = instants.into_iter().zip(0..).collect();
        sorted.sort();
        let popped: Vec<(i64, usize)> =
            std::iter::from_fn(|| queue.pop()).map(|(t, index)| (t.as_micros(), index)).collect();
        prop_assert_eq!(popped, sorted);
        Ok(())
    });
}

#[test]
fn cancelling_takes_out_that_event_and_no_other() {
    let cases = prop::collection::vec((0i64..5, any::<bool>()), 0..60);
    law!(cases, |events| {
        let mut queue = EventQueue::new();
        let ids: Vec<_> =
            events.iter().zip(0..).map(|((t, _), index)| queue.schedule(at(*t), index)).collect();
        for (index, (_, is_cancelled)) in events.iter().enumerate().filter(|(_, (_, cancelled))| *cancelled) {
            prop_assert!(*is_cancelled);
            prop_assert_eq!(queue.cancel(ids[index]), Some(index));
            prop_assert_eq!(queue.cancel(ids[index]), None, "it was cancelled before");
        }
        let mut kept: Vec<usize> = std::iter::from_fn(|| queue.pop()).map(|(_, index)| index).collect();
        kept.sort();
        let expected: Vec<usize> = (0..events.len()).filter(|index| !events[*index].1).collect();
        prop_assert_eq!(kept, expected);
        Ok(())
    });
}

#[test]
fn now_never_runs_backwards() {
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Schedule(i64),
        Pop,
        PopUntil(i64),
    }
    let step = prop_oneof![
        (-50i64..50).prop_map(Step::Schedule),
        Just(Step::Pop),
        (-50i64..50).prop_map(Step::PopUntil),
    ];
    law!(prop::collection::vec(step, 0..80), |steps| {
        let mut queue = EventQueue::new();
        for step in steps {
            let before = queue.now();
            let happened = match step {
                Step::Schedule(t) => {
                    queue.schedule(at(t), ());
                    None
                }
                Step::Pop => queue.pop(),
                Step::PopUntil(t) => queue.pop_until(at(t)),
            };
            prop_assert!(queue.now() >= before);
            prop_assert!(happened.is_none_or(|(t, ())| t == queue.now()));
            prop_assert!(queue.next_at().is_none_or(|next| next >= queue.now()));
        }
        Ok(())
    });
}
