//! Breaks the library on purpose, one line at a time, and shows that the campaign notices.
//!
//! Each mutant is a change of one line in a copy of the repository below `target/mutants`, built
//! there. The copy is made anew every time; nothing is ever changed in the repository itself, so it
//! can be interrupted at any time.

use std::io::Result;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::steps::root;

/// One line that is wrong.
struct Mutant {
    /// What is broken.
    name: &'static str,
    file: &'static str,
    right: &'static str,
    wrong: &'static str,
}

const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "ledger: corrections have the wrong sign",
        file: "crates/fairpath/src/ledger/pair.rs",
        right: "(self.accumulated + (after - before)).max(0.0)",
        wrong: "(self.accumulated + (before - after)).max(0.0)",
    },
    Mutant {
        name: "ledger: what is overdue and not reported is believed to have come",
        file: "crates/fairpath/src/ledger/pair.rs",
        right: "matches!(copy.fate, Fate::Expected(at) if at < until)",
        wrong: "matches!(copy.fate, Fate::Expected(at) if at > until)",
    },
    Mutant {
        name: "packer: what leaves is not paid for",
        file: "crates/fairpath/src/session/channel.rs",
        right: "self.budget.spend(bytes as f64);",
        wrong: "self.budget.spend(0.0 * bytes as f64);",
    },
    Mutant {
        name: "packer: copies leave sooner than they may",
        file: "crates/fairpath/src/session/manifest.rs",
        right: "if item.earliest() > now {",
        wrong: "if item.earliest() > now + item.rates.interval_min {",
    },
    Mutant {
        name: "replica: older information is believed",
        file: "crates/fairpath/src/place/replica.rs",
        right: "std::cmp::Ordering::Less => Acceptance::Stale,",
        wrong: "std::cmp::Ordering::Less => Acceptance::Used,",
    },
    Mutant {
        name: "clock: it heads for one end of what is possible",
        file: "crates/fairpath/src/clock/bounds.rs",
        right: "Span::from_micros(width.as_micros() / 2)",
        wrong: "Span::from_micros(width.as_micros())",
    },
    Mutant {
        name: "clock: it jumps instead of slewing",
        file: "crates/fairpath/src/clock/slew.rs",
        right: "self.offset + self.correction.clamp(-reach, reach)",
        wrong: "self.offset + self.correction.clamp(-reach.scaled(50.0), reach.scaled(50.0))",
    },
    Mutant {
        name: "session: letters that overtake the greeting are dropped",
        file: "crates/fairpath/src/session/client.rs",
        right: "return self.keep_letter(bytes, now);",
        wrong: "return;",
    },
    Mutant {
        name: "session: a new transport is not handed what the old one had",
        file: "crates/fairpath/src/session/outbox.rs",
        right: "self.letters_waiting = self.letters.keys().copied().collect();",
        wrong: "self.letters_waiting.retain(|number| self.letters.contains_key(number));",
    },
];

/// Seeds after which a mutant has got away.
const SEEDS_MAX: &str = "2000";

/// Hunts all mutants whose names hold one of these words; fails if one gets away.
pub(crate) fn hunt(words: &[String]) -> ExitCode {
    let is_meant = |mutant: &&Mutant| words.is_empty() || words.iter().any(|word| mutant.name.contains(word));
    match MUTANTS.iter().filter(is_meant).map(hunt_one).collect::<Result<Vec<bool>>>() {
        Ok(caught) if caught.iter().all(|is_caught| *is_caught) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn hunt_one(mutant: &Mutant) -> Result<bool> {
    let place = root().join("target/mutants");
    let tree = place.join("tree");
    copy_tree(&root(), &tree)?;
    let file = tree.join(mutant.file);
    let text = std::fs::read_to_string(&file)?;
    assert_eq!(text.matches(mutant.right).count(), 1, "{}: the line has changed", mutant.name);
    std::fs::write(&file, text.replace(mutant.right, mutant.wrong))?;

    let mut campaign = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Unoptimised builds are quick to make again, and a mutant is caught within seconds.
    campaign.args([
        "run",
        "--quiet",
        "--package",
        "fairpath-campaign",
        "--",
        "--first",
        "--seeds",
        SEEDS_MAX,
    ]);
    let output = campaign.current_dir(&tree).env("CARGO_TARGET_DIR", place.join("build")).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_caught = said.starts_with("caught");
    println!("{}: {}", mutant.name, said.lines().take(2).collect::<Vec<_>>().join("; "));
    if said.is_empty() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(is_caught)
}

/// Copies what is tracked, and only what differs, so that cargo builds only that again.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    const NOT_COPIED: [&str; 3] = [".git", "target", "fairpath-out"];
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let (source, name) =
            (entry.as_ref().map(std::fs::DirEntry::path), entry.as_ref().map(|it| it.file_name()));
        let (Ok(source), Ok(name)) = (source, name) else { continue };
        if NOT_COPIED.iter().any(|skip| name == *skip) {
            continue;
        }
        let target: PathBuf = to.join(&name);
        if source.is_dir() {
            copy_tree(&source, &target)?;
        } else if std::fs::read(&target).ok() != Some(std::fs::read(&source)?) {
            std::fs::copy(&source, &target)?;
        }
    }
    Ok(())
}
