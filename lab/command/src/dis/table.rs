//! What a DIS network does, as text.

use std::fmt::Write as _;

use fairpath::Span;
use fairpath_dis::{EntityReport, Report};
use serde_json::json;

/// The order of the entities in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Those with problems first, then by error.
    Problems,
    /// Greatest error of the prediction first.
    Error,
    /// By id.
    Id,
}

pub(super) const HEAD: &str = "entity         marking     kind                model   PDU/s  \
    off now      rms      max  allowed  turn  pause  silent  jitter  stamps    notes";
const LEGEND: &str = "off: metres between where a receiver reckoned the entity and where its next PDU put it; \
    turn: degrees;\npause: longest time between PDUs, s; jitter: of the PDUs' delays, ms; \
    stamps: how their time can be used.";

/// The head of a report: what was seen in so many seconds.
pub(super) fn summary(report: &Report, secs: f64) -> String {
    let pdus: u64 = report.kinds.values().sum();
    let bad: u64 = report.errors.values().sum();
    let troubled = report.entities.iter().filter(|it| !it.problems.is_empty()).count();
    let mut text = format!(
        "{} entities, {troubled} with notes; {pdus} PDUs and {:.0} bytes/s in {secs:.1} s",
        report.entities.len(),
        report.bytes as f64 / secs.max(1e-3),
    );
    if report.other_exercises > 0 {
        let _ = write!(text, "; {} PDUs of other exercises", report.other_exercises);
    }
    if bad > 0 {
        let reasons: Vec<String> =
            report.errors.iter().map(|(error, count)| format!("{count} × {error}")).collect();
        let _ = write!(text, "\nunreadable: {}", reasons.join(", "));
    }
    format!("{text}\n{LEGEND}\n\n{HEAD}\n")
}

/// One line for each entity.
pub(super) fn rows(report: &Report, order: Order) -> Vec<String> {
    let mut entities: Vec<&EntityReport> = report.entities.iter().collect();
    entities.sort_by(|a, b| {
        let by_error = b.error_max.total_cmp(&a.error_max);
        match order {
            Order::Id => a.id.cmp(&b.id),
            Order::Error => by_error,
            Order::Problems => b.problems.len().cmp(&a.problems.len()).then(by_error),
        }
    });
    entities.into_iter().map(row).collect()
}

fn row(it: &EntityReport) -> String {
    let secs = |span: Span| format!("{:.1}", span.as_secs_f64());
    format!(
        "{:<14} {:<11} {:<19} {} {:<4} {:>6.2} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>5.1} {:>6} {:>7} {:>7.2}  {:<8}  {}",
        it.id.to_string(),
        it.marking,
        cut(&it.kind, 19),
        it.model.number(),
        cut(it.model.name(), 4),
        it.rate,
        it.error_last,
        it.error_rms,
        it.error_max,
        it.threshold,
        it.angle_max,
        secs(it.interval_max),
        secs(it.silent_for),
        it.jitter.as_millis_f64(),
        it.stamp_use.name(),
        it.problems.join(", "),
    )
}

pub(super) fn cut(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

pub(super) fn as_json(report: &Report, secs: f64) -> serde_json::Value {
    let entities: Vec<serde_json::Value> = report
        .entities
        .iter()
        .map(|it| {
            json!({
                "id": it.id.to_string(),
                "marking": it.marking,
                "kind": it.kind,
                "model": it.model.number(),
                "pdus": it.pdus,
                "rate": it.rate,
                "error_rms_m": it.error_rms,
                "error_max_m": it.error_max,
                "angle_max_deg": it.angle_max,
                "interval_max_s": it.interval_max.as_secs_f64(),
                "jitter_ms": it.jitter.as_millis_f64(),
                "stamps": it.stamp_use.name(),
                "stamp_uncertainty_ms": it.stamp_uncertainty.as_millis_f64(),
                "latitude": it.place.latitude,
                "longitude": it.place.longitude,
                "height_m": it.place.height,
                "speed_mps": it.speed,
                "notes": it.problems,
            })
        })
        .collect();
    let errors: Vec<String> =
        report.errors.iter().map(|(error, count)| format!("{count} × {error}")).collect();
    json!({ "seconds": secs, "bytes": report.bytes, "unreadable": errors, "entities": entities })
}
