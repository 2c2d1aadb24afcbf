//! What goes to the terminal.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use fairpath_lab::experiment::Experiment;
use fairpath_lab::index::Entry;
use fairpath_lab::judge::Verdict;
use fairpath_lab::outcome::{Claim, Rows};
use fairpath_lab::run::Finished;
use fairpath_lab::show;

/// Writes to stdout. A reader that has seen enough (`| head`) is no error.
pub(crate) fn to_stdout(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// What was found: heading, numbers, claims, and where to read more.
pub(crate) fn results(finished: &Finished) -> String {
    let results = &finished.results;
    let mut text = format!("{}: {} ({})\n", results.experiment, results.title, results.source);
    if let Some(motion) = &results.motion {
        let _ = writeln!(
            text,
            "{}: {} entities, {} clean stretches, {} s",
            motion.file,
            motion.entities,
            motion.stretches,
            show(motion.secs)
        );
    }
    if !results.rows.is_empty() {
        text += "\n";
        text += &table(&results.rows);
    }
    if !results.claims.is_empty() {
        text += "\n";
    }
    for each in &results.claims {
        text += &claim(each);
    }
    let _ = writeln!(text, "\nreport: {}", finished.report.display());
    text
}

/// One experiment among all: its heading and its claims.
pub(crate) fn entry(entry: &Entry) -> String {
    match entry {
        Entry::Finished(results) => {
            let claims: String = results.claims.iter().map(claim).collect();
            format!("{}: {} ({})\n{claims}", results.experiment, results.title, results.source)
        }
        Entry::PassedOver { experiment, reason, .. } => format!("{experiment}: passed over: {reason}\n"),
    }
}

/// The experiments there are, one per line.
pub(crate) fn list(experiments: &[&dyn Experiment]) -> String {
    let line = |each: &&dyn Experiment| format!("{:<4} {}  ({})\n", each.id(), each.title(), each.source());
    experiments.iter().map(line).collect()
}

/// Columns side by side: words to the left, numbers to the right.
fn table(rows: &Rows) -> String {
    let headings: Vec<String> = rows
        .columns()
        .iter()
        .map(|column| match &column.unit {
            Some(unit) => format!("{} ({unit})", column.label),
            None => column.label.clone(),
        })
        .collect();
    let shown = rows.shown();
    let width = |column: usize| {
        let cells = shown.iter().map(|row| row[column].chars().count());
        cells.chain([headings[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("  ");
    let mut text = String::new();
    for line in [headings].iter().chain(&shown) {
        let cells = line.iter().zip(rows.columns()).zip(&widths).map(|((cell, column), &width)| {
            if column.is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{}", line.trim_end());
        if text.lines().count() == 1 {
            let _ = writeln!(text, "{rule}");
        }
    }
    text
}

fn claim(claim: &Claim) -> String {
    let (sign, judgement) = (sign(claim.judgement.verdict), &claim.judgement);
    let mut text = format!("{sign} {:<8}  {} [{}]\n", judgement.verdict.as_str(), claim.text, claim.id);
    let mut facts = Vec::new();
    if let Some(measured) = judgement.measured {
        let unit = claim.unit.as_ref().map_or_else(String::new, |unit| format!(" {unit}"));
        facts.push(format!("measured {}{unit}", show(measured)));
    }
    if judgement.verdict != Verdict::NotApplicable {
        facts.push(format!("expected {}", judgement.expected));
    }
    facts.extend(claim.paper.as_ref().map(|paper| format!("paper: {paper}")));
    facts.extend(claim.remark.clone());
    if !facts.is_empty() {
        let _ = writeln!(text, "            {}", facts.join("; "));
    }
    text
}

fn sign(verdict: Verdict) -> char {
    match verdict {
        Verdict::Held => '✓',
        Verdict::NotHeld => '✗',
        Verdict::NotApplicable => '–',
    }
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=+,@%~".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
