//! Commands run one after the other, each with a name; the first that fails ends it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Instant;

/// A command with a name a person understands.
pub(crate) struct Step {
    name: String,
    command: Command,
    help: Option<&'static str>,
    stays: bool,
}

/// A command that has no name yet.
pub(crate) struct Unnamed(Command);

/// A program of this repository that an earlier step has built.
pub(crate) fn built(profile: &str, program: &str) -> Unnamed {
    let target = root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let file = target.join(profile).join(program).with_extension(std::env::consts::EXE_EXTENSION);
    let mut command = Command::new(file);
    command.current_dir(root());
    Unnamed(command)
}

/// `cargo` with these arguments, in the repository's root.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Unnamed {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    Unnamed(command)
}

/// A program with these arguments, in the repository's root.
pub(crate) fn program<'a>(path: &str, arguments: impl IntoIterator<Item = &'a str>) -> Unnamed {
    let mut command = Command::new(path);
    command.args(arguments).current_dir(root());
    Unnamed(command)
}

impl Unnamed {
    pub(crate) fn args(mut self, arguments: &[String]) -> Self {
        self.0.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    pub(crate) fn named(self, name: &str) -> Step {
        Step { name: name.to_owned(), command: self.0, help: None, stays: false }
    }
}

impl Step {
    /// What to do when it fails.
    pub(crate) fn help(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }

    /// It takes our place, so that Ctrl-C and its exit code are its own: nobody is left to wait for
    /// it.
    pub(crate) fn that_stays(mut self) -> Self {
        self.stays = true;
        self
    }
}

/// Runs the steps in order; the first that fails ends it.
pub(crate) fn run_all(steps: Vec<Step>) -> ExitCode {
    for mut step in steps {
        eprintln!("── {}", step.name);
        let started = Instant::now();
        let run = if step.stays { stay(&mut step.command) } else { step.command.status() };
        let status = match run {
            Ok(status) => status,
            Err(error) => {
                eprintln!("error: cannot start {:?}: {error}", step.command.get_program());
                return ExitCode::from(2);
            }
        };
        if !status.success() {
            eprintln!("error: {} failed ({status})", step.name);
            if let Some(help) = step.help {
                eprintln!("help: {help}");
            }
            // The command's own exit code says more than ours would; a signal has none.
            return ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
        }
        eprintln!("   {} done in {:.0} s", step.name, started.elapsed().as_secs_f64());
    }
    ExitCode::SUCCESS
}

/// Becomes the command, where that is possible; comes back only if it is not.
#[cfg(unix)]
fn stay(command: &mut Command) -> std::io::Result<ExitStatus> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

#[cfg(not(unix))]
fn stay(command: &mut Command) -> std::io::Result<ExitStatus> {
    command.status()
}

/// Whether `cargo` knows this subcommand.
pub(crate) fn is_installed(arguments: [&str; 2]) -> bool {
    let mut probe = cargo(arguments).0;
    probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The names of the fuzz targets: one file each.
pub(crate) fn fuzz_targets() -> Vec<String> {
    let folder = root().join("lab/fuzz/fuzz_targets");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// A folder of the repository, from anywhere.
pub(crate) fn in_root(folder: &str) -> String {
    root().join(folder).display().to_string()
}

pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the repository's root").to_owned()
}
