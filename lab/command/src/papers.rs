//! `fairpath lab claims` and `fairpath lab teach`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use fairpath_eval::learned::{Taught, own_matches};
use fairpath_experiments::experiment::Settings;
use fairpath_experiments::files::{OutputFile, write_together};
use fairpath_experiments::papers::{SeedResults, experiments_of_papers, to_markdown};
use fairpath_experiments::results::Results;

use crate::BadInput;
use crate::lab::ProgressLine;
use crate::print;

/// Judge every claim of the papers with several seeds, as one table
#[derive(Args)]
#[command(after_help = "Examples:\n  \
        fairpath lab claims --seeds 1,2\n  \
        fairpath lab claims --seeds 60221,14142 --out docs/src/papers-claims.inc\n\n\
        Writes Markdown: how many claims of each class hold, and a table of claims for each experiment. Takes \
        minutes. Experiments in real time, and those without a paper, take no part.\n\n\
        Exit code: 0 done, 2 bad input.")]
pub(crate) struct Claims {
    /// The seeds, separated by commas
    #[arg(long, value_name = "N,…", value_delimiter = ',', required = true)]
    seeds: Vec<u64>,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "fairpath-out/claims.md")]
    out: PathBuf,
}

/// Teach the learned predictors of `lab eval` by matches of our own bots
#[derive(Args)]
#[command(after_help = "Examples:\n  \
        fairpath lab teach\n  \
        fairpath lab teach --seed 1 --out lab/eval/src/learned/taught.txt\n\n\
        The same options write the same bytes. The predictors are compiled with the file in lab/eval: build again \
        to use a new one.\n\n\
        Exit code: 0 done, 2 bad input.")]
pub(crate) struct Teach {
    /// Matches and weights follow from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The number of matches: two of Ethereal, one of tanks, and so on
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u64).range(1..=100))]
    matches: u64,
    /// The length of a match in seconds
    #[arg(long, value_name = "S", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "fairpath-out/taught.txt")]
    out: PathBuf,
}

impl Claims {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        let command = format!("fairpath lab claims --seeds {} --out {}", seeds.join(","), self.out.display());
        let mut all = Vec::new();
        for seed in &self.seeds {
            all.push(SeedResults { seed: *seed, results: run_all(*seed)? });
        }
        write(&self.out, to_markdown(&all, &command))
    }
}

fn run_all(seed: u64) -> Result<Vec<Results>, BadInput> {
    let mut all = Vec::new();
    for experiment in experiments_of_papers() {
        let declaration = experiment.declaration();
        let settings = Settings { seed, ..Settings::default() }.limited_to(declaration);
        let outcome = experiment.run(&settings, &ProgressLine::new(declaration.name))?;
        let command = format!("fairpath lab run {} --seed {seed}", declaration.name);
        let results = Results::new(experiment, &settings, &command, &outcome);
        print::note!("seed {seed}, {}:\n{}", results.name, print::counts(&results.counts).trim_end());
        all.push(results);
    }
    Ok(all)
}

impl Teach {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let plays = own_matches(self.seed, self.matches, self.seconds)
            .ok_or_else(|| BadInput::of("--seed", &self.seed.to_string(), "give another one"))?;
        write(&self.out, Taught::by(&plays, self.seed).to_string())
    }
}

fn write(out: &Path, text: String) -> Result<ExitCode, BadInput> {
    let name = out.file_name().and_then(|name| name.to_str());
    let Some(name) = name else {
        return Err(BadInput::of("--out", &out.display().to_string(), "give the name of a file"));
    };
    let folder =
        out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    write_together(folder, &[OutputFile { name: name.into(), bytes: text.into_bytes() }])?;
    print::to_stdout(&format!("{}\n", out.display()))?;
    Ok(ExitCode::SUCCESS)
}
