//! What a link says about itself is what it did.

use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_sim::{Fate, LinkModel};

use crate::link::{config, traffic};

#[test]
fn the_books_balance() {
    law!((config(), traffic(200), any::<u64>()), |(config, traffic, seed)| {
        let mut link = LinkModel::new(config, Random::from_seed(seed));
        let fates: Vec<(Fate, u64)> =
            traffic.iter().map(|(now, size)| (link.send(*now, *size), u64::from(*size))).collect();
        let arrived = |fate: &Fate| fate.arrivals().next().is_some();
        let count =
            |wanted: &dyn Fn(&Fate) -> bool| fates.iter().filter(|(fate, _)| wanted(fate)).count() as u64;

        let statistics = link.statistics();
        prop_assert_eq!(statistics.sent, traffic.len() as u64);
        prop_assert_eq!(statistics.sent, statistics.delivered + statistics.lost.total());
        prop_assert_eq!(statistics.delivered, count(&arrived));
        prop_assert_eq!(statistics.duplicated, count(&|fate| matches!(fate, Fate::Duplicated { .. })));
        prop_assert_eq!(statistics.sent_bytes, fates.iter().map(|(_, size)| size).sum::<u64>());
        let delivered_bytes: u64 = fates.iter().filter(|(fate, _)| arrived(fate)).map(|(_, size)| size).sum();
        prop_assert_eq!(statistics.delivered_bytes, delivered_bytes);
        prop_assert_eq!(statistics.delays.count(), statistics.delivered);
        Ok(())
    });
}

#[test]
fn overtaking_is_counted() {
    law!((config(), traffic(100), any::<u64>()), |(config, traffic, seed)| {
        let mut link = LinkModel::new(config, Random::from_seed(seed));
        let arrivals: Vec<SharedInstant> =
            traffic.iter().filter_map(|(now, size)| link.send(*now, *size).arrivals().next()).collect();
        let overtakes = |index: usize| arrivals[..index].iter().any(|earlier| *earlier > arrivals[index]);
        let expected = (0..arrivals.len()).filter(|index| overtakes(*index)).count() as u64;
        prop_assert_eq!(link.statistics().reordered, expected);
        Ok(())
    });
}

#[test]
fn delays_are_summarised_to_a_sixtieth() {
    law!((config(), traffic(300), any::<u64>(), 0.0..=1.0f64), |(config, traffic, seed, share)| {
        let mut link = LinkModel::new(config, Random::from_seed(seed));
        let mut delays: Vec<Span> = traffic
            .iter()
            .filter_map(|(now, size)| Some(link.send(*now, *size).arrivals().next()? - *now))
            .collect();
        delays.sort();
        let summary = &link.statistics().delays;
        prop_assert_eq!(summary.min(), delays.first().copied());
        prop_assert_eq!(summary.max(), delays.last().copied());
        if !delays.is_empty() {
            let sum: i64 = delays.iter().map(|delay| delay.as_micros()).sum();
            prop_assert_eq!(summary.mean(), Some(Span::from_micros(sum / delays.len() as i64)));
            let rank = ((share * delays.len() as f64).ceil() as usize).max(1);
            let (exact, told) = (delays[rank - 1], summary.quantile(share).expect("something arrived"));
            let allowed = exact.as_micros() as f64 / 60.0;
            prop_assert!((told - exact).abs().as_micros() as f64 <= allowed, "{:?} for {:?}", told, exact);
        }
        Ok(())
    });
}
