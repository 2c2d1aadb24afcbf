//! Households, and who gives up a place when there are too few.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The clients behind one way to the network. The driver chooses the number: `fairpath-net` derives
/// it from an IPv4 address or the /64 prefix of an IPv6 address. A session only compares it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Household(pub u128);

/// How households share places of which there are too few: seats, handshakes, relays.
///
/// While a place is free, any household may take it. When none is, the household with the most
/// places gives one up for a newcomer that has at least two fewer, but never one of the first
/// [`kept`](Self::kept). So one household can fill everything while no other wants it, and cannot
/// keep another out.
///
/// ```
/// use fairpath::session::{Household, Shares};
///
/// let (school, player) = (Household(1), Household(2));
/// let taken = [school; 64];
/// assert_eq!(Shares { kept: 8 }.loser(player, taken), Some(school));
/// assert_eq!(Shares { kept: 8 }.loser(school, taken), None);
/// assert_eq!(Shares { kept: 64 }.loser(player, taken), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Places that a household keeps, whoever else wants them.
    pub kept: usize,
}

impl Shares {
    /// Returns the household that gives up a place for the newcomer, if one has to. `taken` has the
    /// household of every place.
    pub fn loser(self, newcomer: Household, taken: impl IntoIterator<Item = Household>) -> Option<Household> {
        let counts = count(taken);
        let own = counts.get(&newcomer).copied().unwrap_or_default();
        let (most, household) = largest(&counts)?;
        (most > self.kept && most >= own + 2).then_some(household)
    }
}

/// How many places each household has.
pub(super) fn count(taken: impl IntoIterator<Item = Household>) -> BTreeMap<Household, usize> {
    let mut counts = BTreeMap::new();
    for household in taken {
        *counts.entry(household).or_default() += 1;
    }
    counts
}

fn largest(counts: &BTreeMap<Household, usize>) -> Option<(usize, Household)> {
    let by_count = counts.iter().map(|(household, count)| (*count, Reverse(*household)));
    by_count.max().map(|(count, Reverse(household))| (count, household))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn shares_converge_to_equal_ones_and_nobody_loses_what_it_keeps() {
        let mut random = Random::from_seed(5);
        for _ in 0..50 {
            let (places, households) = (1 + random.below(40) as usize, 1 + random.below(8));
            let shares = Shares { kept: random.below(6) as usize };
            let mut taken: Vec<Household> = Vec::new();
            for _ in 0..2_000 {
                let newcomer = Household(random.below(households).into());
                if taken.len() < places {
                    taken.push(newcomer);
                } else if let Some(loser) = shares.loser(newcomer, taken.iter().copied()) {
                    let before = count(taken.iter().copied());
                    assert!(before[&loser] > shares.kept && loser != newcomer);
                    let place = taken.iter().position(|it| *it == loser).expect("it has one");
                    taken[place] = newcomer;
                }
            }
            let counts = count(taken.iter().copied());
            let most = counts.values().copied().max().unwrap_or_default();
            for household in 0..households {
                let own = counts.get(&Household(household.into())).copied().unwrap_or_default();
                assert!(most <= shares.kept.max(own + 1), "{counts:?}, {shares:?}, {places} places");
            }
        }
    }

    #[test]
    fn equal_households_take_nothing_from_each_other() {
        let taken = (0..8).map(Household);
        assert_eq!(Shares { kept: 0 }.loser(Household(9), taken.clone()), None);
        assert_eq!(Shares { kept: 0 }.loser(Household(9), taken.chain([Household(3)])), Some(Household(3)));
        assert_eq!(Shares { kept: 0 }.loser(Household(9), []), None);
    }
}
