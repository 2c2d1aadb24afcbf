//! The claims of the papers beside our numbers, for several seeds, as Markdown: the table of the
//! book's page on papers.

use std::fmt::Write;

use crate::experiment::Experiment;
use crate::experiments;
use crate::judge::Verdict;
use crate::outcome::{Claim, ClaimCount};
use crate::quantity::show;
use crate::results::Results;

/// What one seed gave.
#[derive(Clone, Debug)]
pub struct SeedResults {
    pub seed: u64,
    /// In the order of [`experiments_of_papers`].
    pub results: Vec<Results>,
}

/// The experiments that judge claims of papers and give the same numbers again.
pub fn experiments_of_papers() -> impl Iterator<Item = &'static dyn Experiment> {
    experiments::all().iter().copied().filter(|experiment| {
        let declaration = experiment.declaration();
        declaration.is_repeatable && declaration.alias.starts_with('X')
    })
}

/// Returns the counts by class, and a table of claims for each experiment. `command` repeats it.
///
/// # Panics
///
/// Panics if the seeds have different experiments or claims: which claims there are must not depend
/// on the seed.
pub fn to_markdown(seeds: &[SeedResults], command: &str) -> String {
    let mut text = format!("<!-- Written by `{command}`: run it again instead of editing. -->\n\n");
    text += &counts(seeds);
    let Some(first) = seeds.first() else { return text };
    for (place, results) in first.results.iter().enumerate() {
        let _ = writeln!(text, "\n### {} ({})\n", results.name, results.experiment);
        let _ = writeln!(text, "{}\n", results.source);
        let heads: Vec<String> = seeds.iter().map(|each| format!("seed {}", each.seed)).collect();
        let _ = writeln!(text, "| claim | class | reading | paper | {} |", heads.join(" | "));
        let _ = writeln!(text, "| --- | --- | --- | --- |{}", " --- |".repeat(seeds.len()));
        for (number, claim) in results.claims.iter().enumerate() {
            let of_seed = |each: &SeedResults| {
                let own = &each.results[place].claims[number];
                assert_eq!(own.id, claim.id, "every seed has the same claims");
                verdict(own)
            };
            let verdicts: Vec<String> = seeds.iter().map(of_seed).collect();
            let _ = writeln!(
                text,
                "| {} `{}` | {} | {} | {} | {} |",
                cell(&claim.text),
                claim.id,
                claim.class.as_str(),
                cell(claim.reading.as_deref().unwrap_or("")),
                cell(claim.paper.as_deref().unwrap_or("")),
                verdicts.join(" | ")
            );
        }
    }
    text
}

fn counts(seeds: &[SeedResults]) -> String {
    let mut text = String::from(
        "| class | seed | held | not held | does not apply |\n| --- | --- | --- | --- | --- |\n",
    );
    for each in seeds {
        let claims: Vec<Claim> = each.results.iter().flat_map(|results| results.claims.clone()).collect();
        for count in ClaimCount::of_all(&claims) {
            let ClaimCount { class, held, not_held, not_applicable } = count;
            let _ = writeln!(
                text,
                "| {} | {} | {held} | {not_held} | {not_applicable} |",
                class.as_str(),
                each.seed
            );
        }
    }
    text
}

/// Our number and whether the claim holds: `0.36 × 1/3 base: yes`.
fn verdict(claim: &Claim) -> String {
    let judgement = &claim.judgement;
    let word = match judgement.verdict {
        Verdict::Held => "yes",
        Verdict::NotHeld => "**no**",
        Verdict::NotApplicable => return "n/a".into(),
    };
    let Some(measured) = judgement.measured else { return word.into() };
    let unit = claim.unit.as_ref().map_or_else(String::new, |unit| format!(" {}", cell(unit)));
    format!("{}{unit}: {word}", show(measured))
}

/// Text that does not end its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Declaration, DeclaredExperiment, Settings};
    use crate::judge;
    use crate::outcome::{Outcome, Rows};

    static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
        declaration: Declaration { name: "try", alias: "X0", source: "Nobody 1999", ..Declaration::EMPTY },
        run: |_, _| Ok(Outcome::default()),
    };

    fn results(measured: f64) -> Results {
        let outcome = Outcome::new(Rows::default())
            .claim(
                Claim::new("X0.one", "a | b is far below", judge::far_below(measured, 1.0))
                    .paper("much lower"),
            )
            .claim(Claim::new("X0.two", "nothing", judge::not_applicable()));
        Results::new(&EXPERIMENT, &Settings::default(), "fairpath", &outcome)
    }

    #[test]
    fn every_claim_has_its_class_reading_and_a_verdict_for_every_seed() {
        let seeds = [(5, 0.2), (6, 0.4)]
            .map(|(seed, measured)| SeedResults { seed, results: vec![results(measured)] });
        let text = to_markdown(&seeds, "fairpath lab claims");
        for line in [
            "| our stricter reading | 5 | 1 | 0 | 0 |",
            "| our stricter reading | 6 | 0 | 1 | 0 |",
            "| ours alone | 6 | 0 | 0 | 1 |",
            "### try (X0)",
            "| claim | class | reading | paper | seed 5 | seed 6 |",
            "| a \\| b is far below `X0.one` | our stricter reading | far below is at most 0.3 times | much lower | 0.2: yes | 0.4: **no** |",
            "| nothing `X0.two` | ours alone |  |  | n/a | n/a |",
        ] {
            assert!(text.lines().any(|each| each == line), "{line:?} is not in\n{text}");
        }
    }

    #[test]
    fn experiments_in_real_time_and_without_a_paper_take_no_part() {
        let aliases: Vec<&str> = experiments_of_papers().map(|each| each.declaration().alias).collect();
        assert!(aliases.contains(&"X1") && aliases.contains(&"X17"));
        assert!(!aliases.contains(&"X9") && !aliases.contains(&"EI"), "{aliases:?}");
    }
}
