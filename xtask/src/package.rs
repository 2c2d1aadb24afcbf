//! Packages every published crate and builds a program outside the workspace against the packages.
//!
//! A user gets what `cargo package` puts into the archive, not what the repository holds: a file
//! that is missing there, or a dependency that leads back into the laboratory, shows only here.

use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};

use crate::full::{CheckResult, all_of};
use crate::steps::{cargo, root};

/// The published crates, in the order of their dependencies.
pub(crate) const PUBLISHED: [&str; 8] = [
    "fairpath",
    "fairpath-predict",
    "fairpath-compensate",
    "fairpath-sim",
    "fairpath-cluster",
    "fairpath-net",
    "fairpath-dis",
    "fairpath-bzflag",
];

/// Packages the crates, which builds each from its archive, then builds and runs README.md's
/// program against the archives.
pub(crate) fn check() -> CheckResult {
    let names = PUBLISHED.iter().flat_map(|name| ["--package", name]);
    let package = cargo(["package", "--allow-dirty"].into_iter().chain(names)).named("packages");
    let result = all_of(vec![package]);
    let CheckResult::Passed = result else { return result };
    match write_stranger() {
        Ok(folder) => {
            let manifest = folder.join("Cargo.toml").display().to_string();
            let build = cargo(["run", "--manifest-path", &manifest]).named("a program outside the workspace");
            all_of(vec![build])
        }
        Err(error) => CheckResult::Failed(format!("cannot write the program outside the workspace: {error}")),
    }
}

/// Writes a package that depends on the archives as a stranger's would: by version, resolved to the
/// unpacked archives instead of the registry. Its program is the first Rust sample of README.md.
fn write_stranger() -> Result<PathBuf> {
    let folder = root().join("target/stranger");
    let version = env!("CARGO_PKG_VERSION");
    fs::create_dir_all(folder.join("src"))?;
    let mut manifest = "[package]\nname = \"stranger\"\nedition = \"2024\"\n\n[workspace]\n".to_owned();
    manifest += "\n[dependencies]\nserde = { version = \"1\", features = [\"derive\"] }\n";
    PUBLISHED.iter().for_each(|name| manifest += &format!("{name} = \"{version}\"\n"));
    manifest += "\n[patch.crates-io]\n";
    for name in PUBLISHED {
        let unpacked = root().join("target/package").join(format!("{name}-{version}"));
        manifest += &format!("{name} = {{ path = {:?} }}\n", unpacked.display().to_string());
    }
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/main.rs"), program(&root().join("README.md"))?)?;
    Ok(folder)
}

/// Returns the first Rust sample of a document as a program.
fn program(document: &Path) -> Result<String> {
    let text = fs::read_to_string(document)?;
    let sample = text.split("```rust").nth(1).and_then(|rest| Some(rest.split_once('\n')?.1));
    let sample = sample.and_then(|rest| Some(rest.split_once("\n```")?.0)).unwrap_or_default();
    let is_shown = |line: &str| line.strip_prefix("# ").unwrap_or(line).to_owned();
    let lines: Vec<String> = sample.lines().map(is_shown).collect();
    let sample = lines.join("\n");
    if sample.contains("fn main()") {
        return Ok(sample);
    }
    Ok(format!("fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{sample}\n}}\n"))
}
