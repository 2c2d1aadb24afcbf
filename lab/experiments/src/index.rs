//! One page that links to the reports of many experiments.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::experiment::{CannotRun, Experiment};
use crate::files::{OutputError, OutputFile, write_together};
use crate::outcome::ClaimCount;
use crate::report::{escaped, page, tally as verdicts};
use crate::results::Results;
use crate::run::REPORT_FILE;

pub const INDEX_FILE: &str = "index.html";

/// One experiment of many. As JSON: its results, or `{experiment, name, title, passed_over}`.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum IndexEntry {
    /// The experiment ran; its report is in the folder of its name.
    Finished(Box<Results>),
    PassedOver {
        experiment: &'static str,
        name: &'static str,
        title: &'static str,
        #[serde(rename = "passed_over")]
        reason: String,
    },
}

impl IndexEntry {
    pub fn passed_over(experiment: &dyn Experiment, reason: &CannotRun) -> Self {
        Self::PassedOver {
            experiment: experiment.declaration().alias,
            name: experiment.declaration().name,
            title: experiment.declaration().title,
            reason: reason.to_string(),
        }
    }

    pub fn any_refuted(&self) -> bool {
        matches!(self, Self::Finished(results) if results.any_refuted())
    }

    fn row(&self) -> String {
        match self {
            Self::Finished(results) => {
                let name = escaped(results.name);
                format!(
                    "<tr><td><a href=\"{name}/{REPORT_FILE}\">{name}</a></td><td>{}</td><td>{}</td></tr>\n",
                    escaped(results.title),
                    tally(results)
                )
            }
            Self::PassedOver { name, title, reason, .. } => format!(
                "<tr><td>{}</td><td>{}</td><td>not run: {}</td></tr>\n",
                escaped(name),
                escaped(title),
                escaped(reason)
            ),
        }
    }
}

/// Writes the page beside the experiments' folders, and returns its path.
pub fn write(entries: &[IndexEntry], command: &str, out: &Path) -> Result<PathBuf, OutputError> {
    let file = OutputFile { name: INDEX_FILE.into(), bytes: to_html(entries, command).into_bytes() };
    write_together(out, &[file])?;
    Ok(out.join(INDEX_FILE))
}

pub fn to_json(entries: &[IndexEntry]) -> String {
    let mut json =
        serde_json::to_string_pretty(entries).expect("results hold only strings and finite numbers");
    json.push('\n');
    json
}

fn to_html(entries: &[IndexEntry], command: &str) -> String {
    let mut body = String::from(
        "<header>\n<p class=\"kicker\">Fairpath laboratory</p>\n<h1>All experiments</h1>\n</header>\n\
         <section>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">experiment</th>\
         <th scope=\"col\">about</th><th scope=\"col\">claims</th></tr></thead>\n<tbody>\n",
    );
    body.extend(entries.iter().map(IndexEntry::row));
    let _ = write!(
        body,
        "</tbody>\n</table></div>\n</section>\n<section>\n<h2>Repeat it</h2>\n<pre><code>{}</code></pre>\n</section>\n",
        escaped(command)
    );
    page("All experiments", &body)
}

/// The verdicts of one experiment: a line for each class of claims.
fn tally(results: &Results) -> String {
    let of_class = |count: &ClaimCount| format!("{}: {}", escaped(count.class.as_str()), verdicts(&[*count]));
    results.counts.iter().map(of_class).collect::<Vec<_>>().join("<br>")
}
