//! Every command line is parsed or refused with an error of one line, and a parsed one can be
//! applied.

use fairpath_laws::{law, proptest::prelude::*};
use fairpath_net::middleman::{Command, Links, SETTINGS, no_files};

/// Known words, numbers at the edges of their ranges, and arbitrary text.
fn word() -> impl Strategy<Value = String> {
    let words =
        "client up down partition heal rebind statistics quit keep free none 1 0 3s 127.0.0.1 [::1]:5 mobile";
    let words: Vec<String> = words.split(' ').map(String::from).collect();
    let settings: Vec<String> = SETTINGS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let numbers = prop::collection::vec(prop_oneof![0.0..1.0, -1e3..1e9, any::<f64>()], 1..5);
    prop_oneof![
        prop::sample::select(words),
        prop::sample::select(settings),
        numbers.prop_map(|numbers| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(",")),
        any::<String>(),
    ]
}

#[test]
fn every_line_is_refused_in_one_line_or_can_be_applied() {
    law!(prop::collection::vec(word(), 0..8), |words| {
        match Command::parse(&words.join(" "), no_files) {
            Err(error) => {
                let error = error.to_string();
                prop_assert!(!error.is_empty() && !error.contains('\n'), "{:?}", error);
            }
            Ok(Command::Change { clients, directions, settings }) => {
                let mut links = Links::default();
                let changed = links.change(clients, directions, |link| {
                    settings.iter().for_each(|setting| setting.apply(link));
                });
                prop_assert_eq!(changed, Ok(()), "{:?}", settings);
            }
            Ok(_) => {}
        }
        Ok(())
    });
}

/// Lines that are mostly settings, so that many are parsed.
#[test]
fn every_parsed_setting_can_be_applied() {
    let numbers = prop::collection::vec(prop_oneof![0.0..1.0, 0.0..1e6], 1..5);
    let setting = (prop::sample::select(SETTINGS.to_vec()), numbers).prop_map(|((name, ..), numbers)| {
        let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
        format!("{name} {}", numbers.join(","))
    });
    law!(prop::collection::vec(setting, 1..4), |settings| {
        let Ok(Command::Change { clients, directions, settings }) =
            Command::parse(&settings.join(" "), no_files)
        else {
            return Ok(());
        };
        let changed = Links::default()
            .change(clients, directions, |link| settings.iter().for_each(|setting| setting.apply(link)));
        prop_assert_eq!(changed, Ok(()), "{:?}", settings);
        Ok(())
    });
}
