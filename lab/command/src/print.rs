//! What goes to the terminal.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;

use fairpath_experiments::experiment::ExperimentGroup;
use fairpath_experiments::experiments;
use fairpath_experiments::index::IndexEntry;
use fairpath_experiments::judge::Verdict;
use fairpath_experiments::outcome::{Claim, ClaimCount, Column, Rows};
use fairpath_experiments::record::Written;
use fairpath_experiments::run::Finished;
use fairpath_experiments::show;
use fairpath_sim::trace::Trace;

/// Writes a line to stderr, as `eprintln!` does, which panics if nothing reads stderr any more: a
/// launcher that closes it must not end a server.
macro_rules! note {
    ($($line:tt)*) => { $crate::print::to_stderr(format_args!($($line)*)) };
}
pub(crate) use note;

/// Writes a line to stderr, if anything reads it.
pub(crate) fn to_stderr(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

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
    let mut text =
        format!("{} ({}): {} ({})\n", results.name, results.experiment, results.title, results.source);
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
    let rows = results.headline.as_ref().unwrap_or(&results.rows);
    if !rows.is_empty() {
        text += "\n";
        text += &table(rows);
    }
    if !results.claims.is_empty() {
        text += "\n";
    }
    for each in &results.claims {
        text += &claim(each);
    }
    text += &counts(&results.counts);
    let _ = writeln!(text, "\nreport: {}", finished.report.display());
    text
}

/// What was recorded, where it is, and what to do with it.
pub(crate) fn recorded(written: &Written) -> String {
    let Trace { metadata, states, inputs, .. } = &written.trace;
    let secs = states.last().map_or(0.0, |state| state.at().as_secs_f64());
    let mut text = format!(
        "{}, seed {}: {} s, {} states, {} inputs\n",
        metadata.title,
        metadata.seed,
        show(secs),
        states.len(),
        inputs.len()
    );
    for file in &written.files {
        let _ = writeln!(text, "  {}", file.display());
    }
    if let Some(file) = written.files.last() {
        let _ =
            writeln!(text, "\nnext: fairpath lab run placement --motion {}", quoted(&file.to_string_lossy()));
    }
    text
}

/// One experiment among all: its heading and its claims.
pub(crate) fn entry(entry: &IndexEntry) -> String {
    match entry {
        IndexEntry::Finished(results) => {
            let claims: String = results.claims.iter().map(claim).collect();
            let counts = counts(&results.counts);
            format!("{} ({}): {}\n{claims}{counts}", results.name, results.experiment, results.title)
        }
        IndexEntry::PassedOver { name, experiment, reason, .. } => {
            format!("{name} ({experiment}): not run: {reason}\n")
        }
    }
}

/// The experiments, one per line, by group.
pub(crate) fn list(groups: &[ExperimentGroup]) -> String {
    let mut text = String::new();
    for group in groups {
        let _ = writeln!(text, "{}", group.heading());
        let declarations = experiments::all().iter().map(|experiment| experiment.declaration());
        for each in declarations.filter(|declaration| declaration.group == *group) {
            let _ = writeln!(text, "  {:<21} {:<6} {}", each.name, each.alias, each.title);
        }
    }
    text + "\nRun one by its name or alias: fairpath lab run deterministic-budget\n"
}

/// Columns side by side: words left, numbers right; headings wrapped to about a column's width.
fn table(rows: &Rows) -> String {
    let shown = rows.shown();
    let cell_width = |column: usize| shown.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut headings: Vec<Vec<String>> =
        (0..).zip(rows.columns()).map(|(index, column)| heading(column, cell_width(index))).collect();
    let height = headings.iter().map(Vec::len).max().unwrap_or(0);
    for lines in &mut headings {
        lines.splice(0..0, vec![String::new(); height - lines.len()]);
    }
    let width = |column: usize| {
        let heading = headings[column].iter().map(|line| line.chars().count());
        heading.chain([cell_width(column)]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let heads = (0..height).map(|line| headings.iter().map(|lines| lines[line].clone()).collect());
    let rule = widths.iter().map(|width| "─".repeat(*width)).collect();
    let mut text = String::new();
    for line in heads.chain([rule]).chain(shown.iter().cloned()) {
        let line: Vec<String> = line;
        let cells = line.iter().zip(rows.columns()).zip(&widths).map(|((cell, column), &width)| {
            if column.is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

/// A column's label and unit, in lines hardly wider than `cell_width`.
fn heading(column: &Column, cell_width: usize) -> Vec<String> {
    /// Below this, lines of a heading would hold a single short word each.
    const WIDTH_MIN: usize = 10;
    let mut lines: Vec<String> = Vec::new();
    for word in column.label.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= cell_width.max(WIDTH_MIN) => {
                *line += " ";
                *line += word;
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.extend(column.unit.clone());
    lines
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
    facts.push(claim.class.as_str().into());
    facts.extend(claim.reading.as_ref().map(|reading| format!("read as: {reading}")));
    facts.extend(claim.paper.as_ref().map(|paper| format!("paper: {paper}")));
    facts.extend(claim.remark.clone());
    if !facts.is_empty() {
        let _ = writeln!(text, "            {}", facts.join("; "));
    }
    text
}

/// How many claims of each class hold: a line for each class.
pub(crate) fn counts(counts: &[ClaimCount]) -> String {
    let mut text = String::new();
    for count in counts {
        let not_applicable = match count.not_applicable {
            0 => String::new(),
            n => format!(", {n} n/a"),
        };
        let _ = writeln!(
            text,
            "{:<20}  {} held, {} not held{not_applicable}",
            count.class.as_str(),
            count.held,
            count.not_held
        );
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

pub(crate) fn all_quoted(paths: &[PathBuf]) -> String {
    let words: Vec<String> = paths.iter().map(|path| quoted(&path.to_string_lossy())).collect();
    words.join(" ")
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
