//! Goal: worlds of many servers keep their laws whatever fails. Method: play worlds drawn from
//! seeds with the real zones, a bad store, a bad bus and bad clocks; checkers outside know the
//! truth.

use std::collections::BTreeMap;

use fairpath_campaign::worlds::{WorldLaw, play, replay_line};
use rayon::prelude::*;

#[test]
fn two_hundred_worlds_keep_every_law() {
    // Other seeds than a long campaign begins with.
    let seeds = (1_u64 << 32)..(1 << 32) + 200;
    let outcomes: Vec<_> = seeds.into_par_iter().map(|seed| (seed, play(seed))).collect();
    let mut looked: BTreeMap<WorldLaw, u64> = BTreeMap::new();
    for (seed, outcome) in &outcomes {
        if let Some(violation) = &outcome.violation {
            panic!("{violation}\nreplay: {}", replay_line(*seed));
        }
        outcome.looked.iter().for_each(|(law, times)| *looked.entry(*law).or_default() += times);
    }
    for law in WorldLaw::ALL.into_iter().filter(|law| *law != WorldLaw::Panic) {
        assert!(looked.get(&law).is_some_and(|times| *times > 100), "{law:?} was hardly checked: {looked:?}");
    }
    let sum = |count: fn(&fairpath_campaign::worlds::WorldOutcome) -> u64| {
        outcomes.iter().map(|(_, outcome)| count(outcome)).sum::<u64>()
    };
    assert!(sum(|outcome| outcome.entered.offered) > 200, "hardly any hand-over");
    assert!(sum(|outcome| outcome.entered.taken) > 100, "hardly any takeover");
    assert!(sum(|outcome| outcome.crashes) > 50 && sum(|outcome| outcome.drained) > 10);
}
