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

/// How much of an entity fits in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// All columns: 150 characters and the notes.
    Wide,
    /// The most important ones: 88 characters and the notes.
    Narrow,
    /// Error, pause and notes, for a terminal of 80 columns: 54 characters and the notes.
    Small,
}

impl Width {
    /// Returns what fits in a terminal with so many columns.
    pub(super) fn of_terminal(columns: usize) -> Self {
        match columns {
            150.. => Self::Wide,
            115.. => Self::Narrow,
            _ => Self::Small,
        }
    }

    /// Returns where the notes begin in a line.
    pub(super) fn notes_at(self) -> usize {
        self.head().find("notes").unwrap_or(0)
    }

    pub(super) fn head(self) -> String {
        let text = |words: &str| words.to_owned();
        self.line(&Cells {
            id: text("entity"),
            marking: text("marking"),
            kind: text("kind"),
            model: text("model"),
            rate: text("PDU/s"),
            last: text("off now"),
            rms: text("rms"),
            max: text("max"),
            allowed: text("allowed"),
            turn: text("turn"),
            pause: text("pause"),
            silent: text("silent"),
            jitter: text("jitter"),
            stamps: text("stamps"),
            notes: text("notes"),
        })
    }

    fn line(self, it: &Cells) -> String {
        let Cells { id, marking, kind, model, rate, last, rms, max, .. } = it;
        let Cells { allowed, turn, pause, silent, jitter, stamps, notes, .. } = it;
        match self {
            Self::Wide => format!(
                "{id:<17} {marking:<11} {kind:<19} {model:<8} {rate:>6} {last:>9} {rms:>8} {max:>9} {allowed:>7} \
                 {turn:>6} {pause:>6} {silent:>6} {jitter:>7}  {stamps:<8}  {notes}"
            ),
            Self::Narrow => format!(
                "{id:<17} {marking:<11} {model:<8} {last:>8} {max:>8} {allowed:>7} {pause:>5} {jitter:>6}  \
                 {stamps:<8}  {notes}"
            ),
            Self::Small => {
                format!("{id:<12} {marking:<11} {last:>7} {max:>7} {allowed:>7} {pause:>5}  {notes}")
            }
        }
    }

    /// What the columns mean, in lines of at most 80 characters.
    fn legend(self) -> &'static str {
        match self {
            Self::Wide | Self::Narrow => LEGEND,
            Self::Small => LEGEND_SMALL,
        }
    }
}

/// The cells of a line.
struct Cells {
    id: String,
    marking: String,
    kind: String,
    model: String,
    rate: String,
    last: String,
    rms: String,
    max: String,
    allowed: String,
    turn: String,
    pause: String,
    silent: String,
    jitter: String,
    stamps: String,
    notes: String,
}

const LEGEND: &str = "\
off: metres between where receivers reckoned the entity and where its next PDU
put it; turn: the same in degrees; pause: longest time between PDUs, s;
jitter: of their delays, ms; stamps: what they are worth";

const LEGEND_SMALL: &str = "\
off: metres between where receivers reckoned the entity and where its next PDU
put it; pause: longest time between PDUs, s; a wider window has more columns";

/// The head of a report: what was seen in so many seconds.
pub(super) fn summary(report: &Report, secs: f64, width: Width) -> String {
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
    if pdus == 0 {
        text.push_str("\nNothing has arrived. Are --port, --to, --interface and --exercise right?");
    }
    format!("{text}\n{}\n\n{}\n", width.legend(), width.head())
}

/// One line for each entity.
pub(super) fn rows(report: &Report, order: Order, width: Width) -> Vec<String> {
    let mut entities: Vec<&EntityReport> = report.entities.iter().collect();
    entities.sort_by(|a, b| {
        let by_error = b.error_max.total_cmp(&a.error_max);
        match order {
            Order::Id => a.id.cmp(&b.id),
            Order::Error => by_error,
            Order::Problems => b.problems.len().cmp(&a.problems.len()).then(by_error),
        }
    });
    entities.into_iter().map(|it| width.line(&cells(it))).collect()
}

fn cells(it: &EntityReport) -> Cells {
    let (secs, metres) = (|span: Span| format!("{:.1}", span.as_secs_f64()), |it: f64| format!("{it:.2}"));
    Cells {
        id: it.id.to_string(),
        marking: it.marking.clone(),
        kind: cut(&it.kind, 19),
        model: format!("{} {}", it.model.number(), it.model.name()),
        rate: format!("{:.2}", it.rate),
        last: metres(it.error_last),
        rms: metres(it.error_rms),
        max: metres(it.error_max),
        allowed: metres(it.threshold),
        turn: format!("{:.1}", it.angle_max),
        pause: secs(it.interval_max),
        silent: secs(it.silent_for),
        jitter: format!("{:.2}", it.jitter.as_millis_f64()),
        stamps: it.stamp_use.name().to_owned(),
        notes: it.problems.join(", "),
    }
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
