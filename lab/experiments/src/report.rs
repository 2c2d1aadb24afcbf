//! One page a person likes to look at: everything in it, nothing fetched, no script. Follows the
//! reader's light or dark setting and prints well; plots stay on white paper.

use std::fmt::Write;

use crate::experiment::{Declaration, RunOption};
use crate::judge::Verdict;
use crate::outcome::{Claim, ClaimCount, Outcome, Rows};
use crate::quantity::show;
use crate::results::Results;

pub(crate) struct Report<'a> {
    pub(crate) declaration: &'a Declaration,
    pub(crate) results: &'a Results,
    pub(crate) outcome: &'a Outcome,
    /// The outcome's figures as SVG.
    pub(crate) drawings: &'a [String],
}

impl Report<'_> {
    pub(crate) fn to_html(&self) -> String {
        let mut body = String::new();
        for part in
            [self.header(), self.claims(), self.figures(), self.numbers(), self.notes(), self.repeat()]
        {
            body.push_str(&part);
        }
        page(&format!("{}: {}", self.declaration.name, self.declaration.title), &body)
    }

    fn header(&self) -> String {
        let of_class = |count: &ClaimCount| {
            let badges = tally(&[*count]);
            format!("<li>{}: {badges}</li>", escaped(count.class.as_str()))
        };
        let tally: String = self.results.counts.iter().map(of_class).collect();
        let motion = self.results.motion.as_ref().map_or_else(
            || "the experiment’s own motion".into(),
            |motion| {
                format!(
                    "the recording <b>{}</b>: {} entities, {} clean stretches, {} s",
                    escaped(&motion.file),
                    motion.entities,
                    motion.stretches,
                    show(motion.secs)
                )
            },
        );
        // An experiment without a seed reads files, which the command names.
        let facts = if self.declaration.takes(RunOption::Seed) {
            format!("Seed {} on {motion}.", self.results.seed)
        } else {
            format!("Nothing is random. Input: {}", escaped(&self.results.command))
        };
        format!(
            "<header>\n<p class=\"kicker\">Fairpath laboratory · {} · {}</p>\n<h1>{}</h1>\n<p class=\"about\">{}</p>\n\
             <p class=\"facts\">{facts}</p>\n<ul class=\"tally\">{tally}</ul>\n</header>\n",
            escaped(&format!("{} ({})", self.declaration.name, self.declaration.alias)),
            escaped(self.declaration.source),
            escaped(self.declaration.title),
            escaped(self.declaration.about),
        )
    }

    fn claims(&self) -> String {
        if self.results.claims.is_empty() {
            return String::new();
        }
        let claims: String = self.results.claims.iter().map(claim).collect();
        format!("<section>\n<h2>Claims</h2>\n<ol class=\"claims\">\n{claims}</ol>\n</section>\n")
    }

    fn figures(&self) -> String {
        if self.drawings.is_empty() {
            return String::new();
        }
        let mut html = String::from("<section>\n<h2>Plots</h2>\n");
        for (figure, svg) in self.outcome.figures.iter().zip(self.drawings) {
            let _ = write!(html, "<figure>\n{svg}");
            if !figure.caption.is_empty() {
                let _ = writeln!(html, "<figcaption>{}</figcaption>", escaped(&figure.caption));
            }
            html.push_str("</figure>\n");
        }
        html + "</section>\n"
    }

    fn numbers(&self) -> String {
        if self.outcome.rows.is_empty() {
            return String::new();
        }
        let headline = self.outcome.headline.as_ref().map_or_else(String::new, table);
        format!("<section>\n<h2>Numbers</h2>\n{headline}{}</section>\n", table(&self.outcome.rows))
    }

    fn notes(&self) -> String {
        if self.results.notes.is_empty() {
            return String::new();
        }
        let notes: String =
            self.results.notes.iter().map(|note| format!("<p>{}</p>\n", escaped(note))).collect();
        format!("<section>\n<h2>Notes</h2>\n{notes}</section>\n")
    }

    fn repeat(&self) -> String {
        let again = if self.declaration.is_repeatable {
            "The same command gives the same numbers to the bit."
        } else {
            "The experiment runs in real time: the same command gives similar numbers."
        };
        format!(
            "<section>\n<h2>Repeat it</h2>\n<pre><code>{}</code></pre>\n\
             <p class=\"facts\">fairpath {}, seed {}. {again} \
             For machines: <a href=\"{file}\">{file}</a>.</p>\n</section>\n",
            escaped(&self.results.command),
            escaped(self.results.version),
            self.results.seed,
            file = crate::run::RESULTS_FILE,
        )
    }
}

/// A whole page of ours around `body`.
pub(crate) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escaped(title),
    )
}

fn claim(claim: &Claim) -> String {
    let fact = |name: &str, text: &str| format!("<div><dt>{name}</dt> <dd>{}</dd></div>", escaped(text));
    let measured = claim.judgement.measured.map(|number| {
        let unit = claim.unit.as_ref().map_or_else(String::new, |unit| format!(" {unit}"));
        fact("measured", &(show(number) + &unit))
    });
    let expected = (claim.judgement.verdict != Verdict::NotApplicable)
        .then(|| fact("expected", &claim.judgement.expected));
    let class = fact("class", claim.class.as_str());
    let reading = claim.reading.as_ref().map(|reading| fact("reading", reading));
    let paper = claim.paper.as_ref().map(|paper| fact("paper", paper));
    let remark = claim.remark.as_ref().map(|remark| format!("<p class=\"remark\">{}</p>", escaped(remark)));
    format!(
        "<li>{}<div><p>{} <code>{}</code></p><dl>{class}{}{}{}{}</dl>{}</div></li>\n",
        badge(claim.judgement.verdict),
        escaped(&claim.text),
        escaped(&claim.id),
        measured.unwrap_or_default(),
        expected.unwrap_or_default(),
        paper.unwrap_or_default(),
        reading.unwrap_or_default(),
        remark.unwrap_or_default(),
    )
}

/// The verdicts that occur, each with its number.
pub(crate) fn tally(counts: &[ClaimCount]) -> String {
    let sum = |of: fn(&ClaimCount) -> usize| counts.iter().map(of).sum::<usize>();
    let verdicts = [
        (Verdict::Held, sum(|count| count.held)),
        (Verdict::NotHeld, sum(|count| count.not_held)),
        (Verdict::NotApplicable, sum(|count| count.not_applicable)),
    ];
    let occurs = verdicts.into_iter().filter(|(_, count)| *count > 0);
    let badges: Vec<String> = occurs.map(|(verdict, count)| format!("{} {count}", badge(verdict))).collect();
    badges.join(" ")
}

/// A mark that says the verdict by sign, word and colour.
pub(crate) fn badge(verdict: Verdict) -> String {
    let (class, sign) = match verdict {
        Verdict::Held => ("held", "✓"),
        Verdict::NotHeld => ("not-held", "✗"),
        Verdict::NotApplicable => ("not-applicable", "–"),
    };
    format!(
        "<span class=\"badge {class}\"><span aria-hidden=\"true\">{sign}</span> {}</span>",
        verdict.as_str()
    )
}

fn table(rows: &Rows) -> String {
    let class = |index: usize| if rows.columns()[index].is_number { " class=\"number\"" } else { "" };
    let mut html = String::from("<div class=\"scroll\"><table>\n<thead><tr>");
    for (index, column) in rows.columns().iter().enumerate() {
        let unit =
            column.unit.as_ref().map_or_else(String::new, |u| format!(" <small>{}</small>", escaped(u)));
        let _ = write!(html, "<th scope=\"col\"{}>{}{unit}</th>", class(index), escaped(&column.label));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in rows.shown() {
        html.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let _ = write!(html, "<td{}>{}</td>", class(index), escaped(cell));
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody>\n</table></div>\n"
}

/// Text that means only itself inside HTML, SVG and quoted attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

const STYLE: &str = include_str!("report.css");
