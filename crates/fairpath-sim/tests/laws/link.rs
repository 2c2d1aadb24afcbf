//! A link does what its configuration says, whatever the seed.
//!
//! Where chance decides, a law compares a mean of many packets with the configured value and allows
//! six standard errors: by chance alone that fails once in 500 million cases.

use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_sim::{Fate, IN_FLIGHT_MAX, Link, LinkConfig, LinkModel, Loss, LossCause, RttTrace};

const STANDARD_ERRORS: f64 = 6.0;

/// Any link at all.
pub(crate) fn config() -> impl Strategy<Value = LinkConfig> {
    let delay = (span_or_none(300), span_or_none(150), span_or_none(60), any::<bool>());
    let detour = (ratio(), span_or_none(100), ratio());
    let partitions = prop::collection::vec((0i64..3_000, 0i64..500), 0..3);
    let rate = prop::option::of((1_000u64..1_000_000, 1_000u64..50_000));
    let rest = (loss(), prop::collection::btree_set(1u64..100, 0..4), rate, partitions, trace());
    (delay, detour, rest).prop_map(
        |(
            (delay, uniform, normal, keep_order),
            (detours, extra, copies),
            (loss, drops, rate, cuts, trace),
        )| {
            let mut config = LinkConfig::default()
                .delay(delay)
                .jitter_uniform(uniform)
                .jitter_normal(normal)
                .keep_order(keep_order)
                .reorder(detours, extra)
                .duplicate_ratio(copies)
                .loss(loss);
            config = drops.into_iter().fold(config, LinkConfig::drop_nth);
            if let Some((bytes_per_sec, queue_bytes_max)) = rate {
                config = config.rate(bytes_per_sec, queue_bytes_max);
            }
            for (from, length) in cuts {
                let from = SharedInstant::from_millis(from);
                config = config.partition(from..from + Span::from_millis(length));
            }
            config.rtt_trace = trace;
            config
        },
    )
}

/// When packets are sent and how large they are: a few seconds at up to a thousand per second.
pub(crate) fn traffic(count_max: usize) -> impl Strategy<Value = Vec<(SharedInstant, u32)>> {
    prop::collection::vec((0i64..30_000, 20u32..1_500), 1..count_max).prop_map(|packets| {
        let mut now = SharedInstant::ZERO;
        packets
            .into_iter()
            .map(|(gap, size)| {
                now += Span::from_micros(gap);
                (now, size)
            })
            .collect()
    })
}

fn span_or_none(millis_max: i64) -> impl Strategy<Value = Span> {
    prop_oneof![1 => Just(Span::ZERO), 2 => (0..millis_max * 1_000).prop_map(Span::from_micros)]
}

fn ratio() -> impl Strategy<Value = f64> {
    prop_oneof![2 => Just(0.0), 3 => 0.0..0.5, 1 => Just(1.0)]
}

fn loss() -> impl Strategy<Value = Loss> {
    (0.0..=1.0, 0.0..=1.0, ratio(), ratio()).prop_map(|(good_to_bad, bad_to_good, in_good, in_bad)| Loss {
        good_to_bad,
        bad_to_good,
        in_good,
        in_bad,
    })
}

fn trace() -> impl Strategy<Value = Option<RttTrace>> {
    let rtts = prop::collection::vec(prop::option::weighted(0.9, 0i64..400), 1..30);
    prop::option::of(rtts.prop_map(|rtts| {
        let samples = rtts.into_iter().zip(0..);
        let samples = samples.map(|(rtt, index)| (Span::from_millis(50 * index), rtt.map(Span::from_millis)));
        RttTrace::from_samples(samples.collect()).expect("they increase")
    }))
}

fn fates(config: &LinkConfig, seed: u64, traffic: &[(SharedInstant, u32)]) -> Vec<Fate> {
    let mut link = LinkModel::new(config.clone(), Random::from_seed(seed));
    traffic.iter().map(|(now, size)| link.send(*now, *size)).collect()
}

/// One small packet per millisecond.
fn steady(count: i64) -> Vec<(SharedInstant, u32)> {
    (0..count).map(|millis| (SharedInstant::from_millis(millis), 100)).collect()
}

fn delays(config: &LinkConfig, seed: u64, count: i64) -> Vec<f64> {
    let traffic = steady(count);
    let fates = fates(config, seed, &traffic);
    let arrived =
        traffic.iter().zip(fates).filter_map(|((now, _), fate)| Some((*now, fate.arrivals().next()?)));
    arrived.map(|(now, at)| (at - now).as_millis_f64()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn squared(number: f64) -> f64 {
    number * number
}

#[test]
fn nothing_arrives_before_it_was_sent() {
    law!((config(), traffic(100), any::<u64>()), |(config, traffic, seed)| {
        for ((now, _), fate) in traffic.iter().zip(fates(&config, seed, &traffic)) {
            prop_assert!(fate.arrivals().all(|at| at >= *now));
        }
        Ok(())
    });
}

#[test]
fn a_seed_is_a_run() {
    law!((config(), traffic(100), any::<u64>()), |(config, traffic, seed)| {
        prop_assert_eq!(fates(&config, seed, &traffic), fates(&config, seed, &traffic));
        Ok(())
    });
}

#[test]
fn a_perfect_link_does_nothing() {
    law!((traffic(50), any::<u64>()), |(traffic, seed)| {
        for ((now, _), fate) in traffic.iter().zip(fates(&LinkConfig::default(), seed, &traffic)) {
            prop_assert_eq!(fate, Fate::Delivered { at: *now });
        }
        Ok(())
    });
}

#[test]
fn kept_order_is_kept() {
    law!((config(), traffic(100), any::<u64>()), |(config, traffic, seed)| {
        let config = config.keep_order(true).reorder(0.0, Span::ZERO);
        let mut latest = SharedInstant::from_micros(i64::MIN);
        for fate in fates(&config, seed, &traffic) {
            for at in fate.arrivals() {
                prop_assert!(at >= latest, "overtaken");
                latest = at;
            }
        }
        Ok(())
    });
}

#[test]
fn losing_some_changes_nothing_for_the_others() {
    // Unless they share a queue: so no rate and no kept order.
    law!((config(), traffic(100), any::<u64>(), loss()), |(config, traffic, seed, loss)| {
        let lossy = LinkConfig { rate: None, ..config.keep_order(false) }.loss(loss).drop_nth(3);
        let calm =
            LinkConfig { drop_nth: Vec::new(), partitions: Vec::new(), ..lossy.clone().loss(Loss::NONE) };
        for (with, without) in fates(&lossy, seed, &traffic).into_iter().zip(fates(&calm, seed, &traffic)) {
            prop_assert!(matches!(with, Fate::Lost(_)) || with == without);
        }
        Ok(())
    });
}

#[test]
fn nothing_passes_a_partition_and_everything_beside_it() {
    let cut = (0i64..2_000, 0i64..2_000);
    law!((cut, traffic(200), any::<bool>()), |((from, length), traffic, by_hand)| {
        let from = SharedInstant::from_millis(from);
        let cut = from..from + Span::from_millis(length);
        let config = LinkConfig::default();
        let config = if by_hand { config } else { config.partition(cut.clone()) };
        let mut link = LinkModel::new(config, Random::from_seed(1));
        for (now, size) in traffic {
            if by_hand && cut.contains(&now) {
                link.partition();
            } else {
                link.repair();
            }
            let is_cut = cut.contains(&now);
            prop_assert_eq!(link.is_partitioned(now), is_cut);
            let expected =
                if is_cut { Fate::Lost(LossCause::Partition) } else { Fate::Delivered { at: now } };
            prop_assert_eq!(link.send(now, size), expected);
        }
        Ok(())
    });
}

#[test]
fn chosen_packets_are_lost_and_no_others() {
    law!(prop::collection::btree_set(1u64..60, 0..10), |chosen| {
        let config = chosen.iter().copied().rev().fold(LinkConfig::default(), LinkConfig::drop_nth);
        for (fate, number) in fates(&config, 1, &steady(60)).into_iter().zip(1..) {
            prop_assert_eq!(fate == Fate::Lost(LossCause::Chosen), chosen.contains(&number));
        }
        Ok(())
    });
}

#[test]
fn uniform_jitter_stays_in_its_bounds_and_is_centred() {
    law!((0i64..300_000, 1i64..200_000, any::<u64>()), |(delay, jitter, seed)| {
        let (delay, jitter) = (delay.max(jitter), jitter);
        let config =
            LinkConfig::default().delay(Span::from_micros(delay)).jitter_uniform(Span::from_micros(jitter));
        let count = 4_000;
        let delays = delays(&config, seed, count);
        let (delay, jitter) = (delay as f64 * 1e-3, jitter as f64 * 1e-3);
        prop_assert!(delays.iter().all(|taken| (taken - delay).abs() <= jitter + 1e-9));
        // n equally likely microseconds have the variance (n² − 1)/12.
        let deviation = ((squared(2e3 * jitter + 1.0) - 1.0) / 12.0).sqrt() * 1e-3;
        let allowed = STANDARD_ERRORS * deviation / (count as f64).sqrt();
        prop_assert!((mean(&delays) - delay).abs() <= allowed, "mean {} for {}", mean(&delays), delay);
        Ok(())
    });
}

#[test]
fn normal_jitter_has_its_mean_and_deviation() {
    law!((1i64..20_000, any::<u64>()), |(deviation_us, seed)| {
        // Ten deviations away from zero, where nothing is cut off.
        let deviation = Span::from_micros(deviation_us);
        let config = LinkConfig::default().delay(deviation.scaled(10.0)).jitter_normal(deviation);
        let count = 4_000;
        let delays = delays(&config, seed, count);
        let expected = deviation.as_millis_f64();
        let centre = mean(&delays);
        let squares: Vec<f64> = delays.iter().map(|taken| squared(taken - centre)).collect();
        let deviation = mean(&squares).sqrt();
        let standard_error = expected / (count as f64).sqrt();
        // Rounding to whole microseconds moves the mean by less than one of them.
        let allowed = STANDARD_ERRORS * standard_error + 1e-3;
        prop_assert!((centre - 10.0 * expected).abs() <= allowed);
        prop_assert!((deviation - expected).abs() <= allowed);
        Ok(())
    });
}

#[test]
fn loss_in_the_long_run_is_the_stationary_one() {
    let chain = (0.01..=1.0, 0.01..=1.0, 0.0..=1.0f64, 0.0..=1.0f64, any::<u64>());
    law!(chain, |(good_to_bad, bad_to_good, in_good, in_bad, seed)| {
        let loss = Loss { good_to_bad, bad_to_good, in_good, in_bad };
        let count = 20_000;
        let mut link = LinkModel::new(LinkConfig::default().loss(loss), Random::from_seed(seed));
        for (now, size) in steady(count) {
            link.send(now, size);
        }
        // The variance of the mean: each packet's own dice, and the state, whose spells make
        // neighbours
        // alike.
        let bad = good_to_bad / (good_to_bad + bad_to_good);
        let alike = 1.0 - good_to_bad - bad_to_good;
        let own = bad * in_bad * (1.0 - in_bad) + (1.0 - bad) * in_good * (1.0 - in_good);
        let state = bad * (1.0 - bad) * squared(in_bad - in_good) * (1.0 + alike) / (1.0 - alike);
        let allowed = STANDARD_ERRORS * ((own + state) / count as f64).sqrt() + 2.0 / count as f64;
        let expected = in_good + (in_bad - in_good) * bad;
        prop_assert!((loss.mean_ratio() - expected).abs() < 1e-12);
        let measured = link.statistics().loss_ratio();
        prop_assert_eq!(link.statistics().lost.random, link.statistics().lost.total());
        prop_assert!((measured - expected).abs() <= allowed, "lost {} for {}", measured, expected);
        Ok(())
    });
}

#[test]
fn a_link_starts_in_the_middle_of_things() {
    // The first packet is lost as often as any: short runs are as lossy as long ones.
    law!((0.01..=1.0, 0.01..=1.0f64), |(good_to_bad, bad_to_good)| {
        let loss = Loss { good_to_bad, bad_to_good, in_good: 0.0, in_bad: 1.0 };
        let config = LinkConfig::default().loss(loss);
        let count = 2_000;
        let is_lost = |seed| matches!(fates(&config, seed, &steady(1))[0], Fate::Lost(_));
        let lost = (0..count).filter(|seed| is_lost(*seed)).count() as f64;
        let (expected, count) = (loss.mean_ratio(), count as f64);
        let allowed = STANDARD_ERRORS * (expected * (1.0 - expected) / count).sqrt() + 1.0 / count;
        prop_assert!((lost / count - expected).abs() <= allowed, "{} for {}", lost / count, expected);
        Ok(())
    });
}

#[test]
fn bursts_are_as_long_as_asked() {
    law!((0.01..0.4f64, 1.0..20.0f64, any::<u64>()), |(ratio, length, seed)| {
        let config = LinkConfig::default().loss(Loss::bursts(ratio, length));
        prop_assert!((config.loss.mean_ratio() - ratio).abs() < 1e-12);
        let is_lost: Vec<bool> =
            fates(&config, seed, &steady(20_000)).iter().map(|fate| matches!(fate, Fate::Lost(_))).collect();
        let bursts = is_lost.chunk_by(|one, next| one == next).filter(|run| run[0]).map(<[bool]>::len);
        let (count, lost) = bursts.fold((0.0, 0.0), |(count, lost), len| (count + 1.0, lost + len as f64));
        // Burst lengths are geometric: their variance is length·(length − 1).
        prop_assume!(count > 30.0);
        let allowed = STANDARD_ERRORS * (length * (length - 1.0) / count).sqrt() + 2.0 * length / count;
        prop_assert!((lost / count - length).abs() <= allowed, "{} for {}", lost / count, length);
        Ok(())
    });
}

#[test]
fn copies_and_detours_are_as_frequent_as_asked() {
    law!((0.0..=1.0f64, 0.0..=1.0f64, any::<u64>()), |(copies, detours, seed)| {
        let extra = Span::from_millis(10);
        let config = LinkConfig::default().duplicate_ratio(copies).reorder(detours, extra);
        let (traffic, count) = (steady(4_000), 4_000.0);
        let fates = fates(&config, seed, &traffic);
        let copied = fates.iter().filter(|fate| matches!(fate, Fate::Duplicated { .. })).count() as f64;
        let takes_detour = |(now, fate): (SharedInstant, &Fate)| fate.arrivals().next() == Some(now + extra);
        let sent_at = traffic.iter().map(|(now, _)| *now);
        let detoured = sent_at.zip(&fates).filter(|packet| takes_detour(*packet)).count() as f64;
        for (seen, ratio) in [(copied, copies), (detoured, detours)] {
            let allowed = STANDARD_ERRORS * (ratio * (1.0 - ratio) / count).sqrt() + 1.0 / count;
            prop_assert!((seen / count - ratio).abs() <= allowed, "{} for {}", seen / count, ratio);
        }
        Ok(())
    });
}

#[test]
fn the_rate_is_never_exceeded_over_any_window() {
    let rate = (1_000u64..2_000_000, 1_500u64..100_000);
    law!((rate, traffic(80)), |((bytes_per_sec, queue_bytes_max), traffic)| {
        let config = LinkConfig::default().delay(Span::from_millis(20)).rate(bytes_per_sec, queue_bytes_max);
        let fates = fates(&config, 1, &traffic);
        let arrived: Vec<(SharedInstant, u32)> = fates
            .iter()
            .zip(&traffic)
            .filter_map(|(fate, (_, size))| Some((fate.arrivals().next()?, *size)))
            .collect();
        for first in 0..arrived.len() {
            let mut bytes = 0.0;
            for (at, size) in &arrived[first + 1..] {
                bytes += f64::from(*size);
                // Arrivals are rounded up to whole microseconds: a window may look one shorter than
                // it is.
                let window = (*at - arrived[first].0 + Span::from_micros(1)).as_secs_f64();
                prop_assert!(bytes <= bytes_per_sec as f64 * window * (1.0 + 1e-12));
            }
        }
        Ok(())
    });
}

#[test]
fn the_queue_delays_up_to_its_length_and_drops_beyond() {
    let rate = (1_000u64..2_000_000, 1_500u64..100_000);
    law!((rate, traffic(200)), |((bytes_per_sec, queue_bytes_max), traffic)| {
        let config = LinkConfig::default().rate(bytes_per_sec, queue_bytes_max);
        let full_us = (queue_bytes_max as f64 * 1e6 / bytes_per_sec as f64).ceil();
        let mut free_at = SharedInstant::ZERO;
        for (fate, (now, size)) in fates(&config, 1, &traffic).into_iter().zip(&traffic) {
            let waits = (free_at - *now).max(Span::ZERO).as_secs_f64();
            match fate {
                Fate::Delivered { at } => {
                    prop_assert!((at - *now).as_micros() as f64 <= full_us);
                    prop_assert!(at >= free_at);
                    free_at = at;
                }
                fate => {
                    prop_assert_eq!(fate, Fate::Lost(LossCause::QueueFull));
                    let waiting = waits * bytes_per_sec as f64;
                    prop_assert!(waiting + f64::from(*size) > queue_bytes_max as f64 * (1.0 - 1e-9));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn a_busy_bottleneck_is_used_to_the_last_byte() {
    // At 10 packets per microsecond-and-a-bit, rounding each packet up would lose a tenth of the
    // rate.
    law!((1_000_000u64..2_000_000_000, 20u32..1_500), |(bytes_per_sec, size)| {
        let config = LinkConfig::default().rate(bytes_per_sec, u64::MAX);
        let traffic = vec![(SharedInstant::ZERO, size); 1_000];
        let last = fates(&config, 1, &traffic)[999].arrivals().next().expect("nothing is lost");
        let exact_us = 1e3 * f64::from(size) * 1e6 / bytes_per_sec as f64;
        prop_assert!((last.as_micros() as f64 - exact_us).abs() <= 1.0);
        Ok(())
    });
}

#[test]
fn a_link_delivers_exactly_what_its_model_says() {
    law!((config(), traffic(100), any::<u64>()), |(config, traffic, seed)| {
        let fates = fates(&config, seed, &traffic);
        let mut expected: Vec<(SharedInstant, usize)> = fates
            .iter()
            .enumerate()
            .flat_map(|(index, fate)| fate.arrivals().map(move |at| (at, index)))
            .collect();
        expected.sort();

        let mut link = Link::new(config, Random::from_seed(seed));
        let mut delivered = Vec::new();
        for (index, (now, size)) in traffic.iter().enumerate() {
            // Poll before every send, as a real loop would.
            while let Some(arrival) = link.poll(*now) {
                prop_assert!(arrival.at <= *now && arrival.sent_at <= arrival.at);
                delivered.push((arrival.at, arrival.payload));
            }
            link.send(*now, *size, index);
        }
        while let Some(due) = link.poll_deadline() {
            let arrival = link.poll(due).expect("it is due");
            prop_assert_eq!(arrival.at, due);
            delivered.push((arrival.at, arrival.payload));
        }
        let in_time_order = delivered.is_sorted_by_key(|(at, _)| *at);
        prop_assert!(in_time_order);
        delivered.sort();
        prop_assert_eq!(delivered, expected);
        Ok(())
    });
}

#[test]
fn a_flood_is_lost_beyond_the_bound() {
    let mut link =
        Link::new(LinkConfig::default().delay(Span::from_secs(1)).duplicate_ratio(0.5), Random::from_seed(1));
    for packet in 0..2 * IN_FLIGHT_MAX {
        link.send(SharedInstant::ZERO, 100, packet);
    }
    assert!(link.model().statistics().lost.queue_full > 0);
    let in_flight = std::iter::from_fn(|| link.poll(SharedInstant::from_millis(1_000))).count();
    assert!((IN_FLIGHT_MAX - 1..=IN_FLIGHT_MAX).contains(&in_flight), "{in_flight}");
    let next = link.send(SharedInstant::from_millis(1_000), 100, 0);
    assert!(next.arrivals().next().is_some(), "there is room again: {next:?}");
}
