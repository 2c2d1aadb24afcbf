//! A recorded trace answers with what was recorded, and says what is wrong with what it cannot
//! read.

use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_sim::{Fate, LinkConfig, LinkModel, LossCause, RttTrace};

type Sample = (Span, Option<Span>);

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let gap_and_rtt = (1i64..500_000, prop::option::weighted(0.9, 0i64..2_000_000));
    (-1_000_000i64..1_000_000, prop::collection::vec(gap_and_rtt, 1..50)).prop_map(|(start, gaps)| {
        let mut at = Span::from_micros(start);
        gaps.into_iter()
            .map(|(gap, rtt)| {
                at += Span::from_micros(gap);
                (at, rtt.map(Span::from_micros))
            })
            .collect()
    })
}

/// The newest sample at or before `t`, found the slow way; the first if there is none.
fn newest_at(samples: &[Sample], t: Span) -> Option<Span> {
    samples.iter().rev().find(|(at, _)| *at <= t).unwrap_or(&samples[0]).1
}

#[test]
fn the_newest_sample_holds_and_the_last_one_for_ever() {
    law!((samples(), -3_000_000i64..60_000_000), |(samples, micros)| {
        let trace = RttTrace::from_samples(samples.clone()).expect("they increase").held_at_end();
        let expected = newest_at(&samples, Span::from_micros(micros));
        prop_assert_eq!(trace.rtt_at(SharedInstant::from_micros(micros)), expected);
        Ok(())
    });
}

#[test]
fn a_looping_trace_repeats() {
    law!((samples(), 0i64..10_000_000, 0i64..50), |(samples, micros, rounds)| {
        let first = samples[0].0;
        let (count, length) = (samples.len() as i64, (samples[samples.len() - 1].0 - first).as_micros());
        let period = if count == 1 { 1_000_000 } else { length + length / (count - 1) };
        let trace = RttTrace::from_samples(samples).expect("they increase");
        let once = SharedInstant::ZERO + first + Span::from_micros(micros);
        prop_assert_eq!(trace.rtt_at(once), trace.rtt_at(once + Span::from_micros(rounds * period)));
        Ok(())
    });
}

#[test]
fn a_link_takes_half_the_round_trip_of_the_send_time() {
    law!((samples(), prop::collection::vec(0i64..100_000, 1..40)), |(samples, gaps)| {
        let trace = RttTrace::from_samples(samples).expect("they increase");
        let config = LinkConfig::default().rtt_trace(trace.clone()).delay(Span::from_millis(3));
        let mut link = LinkModel::new(config, Random::from_seed(1));
        let mut now = SharedInstant::from_micros(-500_000);
        for gap in gaps {
            now += Span::from_micros(gap);
            let expected = match trace.rtt_at(now) {
                Some(rtt) => Fate::Delivered { at: now + Span::from_micros(3_000 + rtt.as_micros() / 2) },
                None => Fate::Lost(LossCause::Trace),
            };
            prop_assert_eq!(link.send(now, 100), expected);
        }
        Ok(())
    });
}

#[test]
fn text_and_samples_make_the_same_trace() {
    law!(samples(), |samples| {
        let mut text = String::from("t,rtt_ms\r\n");
        for (at, rtt) in &samples {
            let rtt = rtt.map_or(String::new(), |rtt| rtt.as_millis_f64().to_string());
            text += &format!("{},{rtt}\r\n", at.as_secs_f64());
        }
        prop_assert_eq!(RttTrace::from_csv(text.as_bytes()), Ok(RttTrace::from_samples(samples).unwrap()));
        Ok(())
    });
}

#[test]
fn no_bytes_make_it_panic() {
    let almost = prop::collection::vec(prop::sample::select(&b"0123456789.,-eNa\n\r \xff"[..]), 0..80)
        .prop_map(|mut bytes| {
            bytes.splice(0..0, *b"t,rtt_ms\n");
            bytes
        });
    law!(prop_oneof![almost, prop::collection::vec(any::<u8>(), 0..80)], |bytes| {
        if let Ok(trace) = RttTrace::from_csv(&bytes) {
            let _ = trace.rtt_at(SharedInstant::from_micros(i64::MAX));
            let _ = trace.rtt_at(SharedInstant::from_micros(i64::MIN));
        }
        Ok(())
    });
}
