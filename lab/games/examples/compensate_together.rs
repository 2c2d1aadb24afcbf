//! Three ways for several peers to agree: buckets (every peer waits 100 ms and plays together),
//! local lag (only shots wait), and trailing states (no peer waits, and late inputs are repaired).
//!
//! `cargo run --release -p fairpath-games --example compensate_together`

use std::collections::BTreeMap;

use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath_compensate::{
    BucketConfig, BucketOutcome, Buckets, LocalLag, Presentation, Simulate, TrailingStates,
};

fn main() {
    buckets();
    presentation();
    local_lag();
    trailing_states();
}

/// Two players 30 and 90 ms apart from a third see the same at the same instant.
fn buckets() {
    let seen_by = |delays: [i64; 2]| {
        let mut buckets = Buckets::new(BucketConfig::default());
        let mut seen = Vec::new();
        for now in 0..600 {
            seen.extend(std::iter::from_fn(|| buckets.poll(SharedInstant::from_millis(now))));
            for (player, delay) in (0..).zip(delays) {
                let issued = now - delay;
                if issued >= 0 && issued % 100 == 0 {
                    let filed = buckets.file(player, SharedInstant::from_millis(issued), issued);
                    assert!(matches!(filed, BucketOutcome::Bucket(_)), "within 100 ms no peer is late");
                }
            }
        }
        seen
    };
    let (here, there) = (seen_by([0, 90]), seen_by([30, 0]));
    assert_eq!(here, there);
    let full = here.iter().filter(|bucket| bucket.fresh.len() == 2).count();
    println!("buckets: {full} of {} had a word from both, on both machines the same", here.len());
}

/// An announcement is shown 100 ms after it was made, near and far.
fn presentation() {
    let made = SharedInstant::from_millis(1_000);
    let shown_at = |travelled: i64| {
        let mut presentation = Presentation::new();
        (1_000..2_000).map(SharedInstant::from_millis).find(|now| {
            if *now == made + Span::from_millis(travelled) {
                presentation.receive(made, "goal");
            }
            presentation.poll(*now, Span::from_millis(100)).is_some()
        })
    };
    assert_eq!(shown_at(5), shown_at(95));
    println!("presentation: shown at {:?} near and far", shown_at(5).map(SharedInstant::as_secs_f64));
}

/// Steering counts at once; a shot leaves the barrel 50 ms later, when the others have heard of it.
fn local_lag() {
    let mut hands = LocalLag::new().with("fire", Span::from_millis(50));
    let mut applied = Vec::new();
    for millis in 0..100 {
        let now = LocalInstant::from_millis(millis);
        if millis == 10 {
            hands.push(now, "fire", ());
            hands.push(now, "steer", ());
        }
        applied.extend(std::iter::from_fn(|| hands.poll(now)).map(|(kind, ())| (kind, millis)));
    }
    assert_eq!(applied, [("steer", 10), ("fire", 60)]);
    println!("local lag: {applied:?}");
}

/// Two players grab for one thing. On one machine the second word comes first, and is put right.
fn trailing_states() {
    /// Whose it is: the first to grab has it.
    struct Grab;
    impl Simulate for Grab {
        type State = Option<u32>;
        type Input = BTreeMap<u32, ()>;
        fn step(&self, owner: &mut Option<u32>, grabs: &BTreeMap<u32, ()>, ticks: u32) {
            for _ in 0..ticks {
                *owner = owner.or_else(|| grabs.keys().next().copied());
            }
        }
    }
    let mut world = TrailingStates::<Grab, ()>::new(None, &[0, 10]);
    (0..6).for_each(|_| world.advance(&Grab));
    world.command(6, 2, ());
    world.advance(&Grab);
    assert_eq!(*world.leading(), Some(2), "as far as is known");
    world.command(4, 1, ()); // Player 1 had grabbed two ticks before; the word took longer.
    (0..10).for_each(|_| world.advance(&Grab));
    assert_eq!(*world.leading(), Some(1));
    println!("trailing states: {:?}", world.statistics());
}

#[test]
fn it_runs_as_written() {
    main();
}
