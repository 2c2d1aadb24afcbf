//! Goal: an operator sees what a server does, and players cannot make the numbers many. Method:
//! scrape a server with clients; compare dashboard and book with the names that it writes.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use fairpath::session::Budget;
use fairpath_net::{Limits, MetricsListener, ServerMetrics};
use fairpath_sim::LinkConfig;
use serde_json::Value;

use super::arena::{World, any_port, server_session};

const DASHBOARD: &str = include_str!("../../../../docs/grafana-dashboard.json");
const PAGE: &str = include_str!("../../../../docs/src/guides/operations.md");

fn scrape(listener: &MetricsListener) -> String {
    let mut stream = TcpStream::connect(listener.address()).expect("it listens");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: it\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer.split_once("\r\n\r\n").expect("a body").1.to_owned()
}

/// The value of a series.
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find(|line| line.split_once(' ').is_some_and(|(name, _)| name == series));
    line.and_then(|line| line.rsplit_once(' '))
        .unwrap_or_else(|| panic!("no {series} in {text}"))
        .1
        .parse()
        .expect("a number")
}

/// The names of all metrics, without the suffixes of histograms.
fn names(text: &str) -> BTreeSet<&str> {
    text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect()
}

fn series(text: &str) -> usize {
    text.lines().filter(|line| !line.starts_with('#')).count()
}

#[test]
fn the_numbers_of_a_server_are_scraped_and_do_not_grow_with_its_players() {
    let limits = Limits { per_address_max: 3, ..Limits::default() };
    let mut world = World::with(LinkConfig::default(), server_session(), |config| config.limits = limits);
    let listener = MetricsListener::start(any_port()).expect("a port");
    let mut metrics = ServerMetrics::new(Budget::default());
    world.join();
    world.until("it flies", |world| world.pilots[0].ship.is_some());
    metrics.observe(&world.server);
    let alone = series(&metrics.to_text());
    for _ in 0..4 {
        world.join();
    }
    world.until("three are in and others are refused", |world| {
        world.pilots.iter().filter(|pilot| pilot.ship.is_some()).count() == 3
            && world.server.admission_statistics().refused > 0
    });
    world.play_for(Duration::from_secs(1));
    world.events.iter().for_each(|event| metrics.on_event(event));
    metrics.on_tick(Duration::from_millis(3));
    metrics.observe(&world.server);
    listener.publish(metrics.to_text());
    let text = scrape(&listener);
    assert_eq!(series(&text), alone, "{text}");
    assert_eq!(value(&text, "fairpath_sessions{state=\"connected\"}"), 3.0);
    assert!(value(&text, "fairpath_connections_refused_total{reason=\"address\"}") > 0.0);
    assert!(value(&text, "fairpath_udp_bytes_total{direction=\"sent\"}") > 1_000.0);
    assert!(value(&text, "fairpath_dr_vectors_total{direction=\"received\"}") > 0.0);
    assert_eq!(value(&text, "fairpath_tick_late_seconds_bucket{le=\"0.005\"}"), 1.0);
    assert!(value(&text, "fairpath_round_trip_seconds_count") >= 3.0);
    for name in names(&text) {
        assert!(text.contains(&format!("# HELP {name} ")), "{name} has no help");
    }
}

/// Every expression below a value.
fn expressions<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("expr").and_then(Value::as_str));
            fields.values().for_each(|value| expressions(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

#[test]
fn the_dashboard_and_the_book_name_every_metric_and_no_other() {
    let text = ServerMetrics::new(Budget::default()).to_text();
    let names = names(&text);
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("valid JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(dashboard["title"].is_string() && dashboard["schemaVersion"].is_u64());
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().expect("an id")).collect();
    assert_eq!(ids.len(), panels.len(), "every panel has an id of its own");
    for panel in panels {
        let place = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().expect("a place"));
        assert!(place[0] + place[2] <= 24 && !panel["description"].as_str().expect("text").is_empty());
        assert!(panel["targets"].as_array().is_some_and(|targets| !targets.is_empty()), "{panel}");
    }
    let mut found = Vec::new();
    expressions(&dashboard, &mut found);
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let shown: BTreeSet<&str> = found
        .iter()
        .flat_map(|expression| expression.split(|character| !is_name(character)))
        .filter(|word| word.starts_with("fairpath_"))
        .map(|word| word.strip_suffix("_bucket").unwrap_or(word))
        .collect();
    assert_eq!(shown, names);
    let explained: BTreeSet<&str> =
        PAGE.split('`').filter(|word| word.starts_with("fairpath_") && word.chars().all(is_name)).collect();
    assert_eq!(explained, names);
}
