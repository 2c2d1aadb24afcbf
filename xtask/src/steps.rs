//! Commands that run one after the other, each with a name a person understands.

use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Instant;

/// A named command.
pub(crate) struct TaskStep {
    name: String,
    command: Command,
    help: Option<&'static str>,
    stays: bool,
}

/// A command that has no name yet.
pub(crate) struct Unnamed(Command);

/// Returns a program of this repository that an earlier step has built.
pub(crate) fn built(profile: &str, program: &str) -> Unnamed {
    let file = target().join(profile).join(program).with_extension(std::env::consts::EXE_EXTENSION);
    let mut command = Command::new(file);
    command.current_dir(root());
    Unnamed(command)
}

/// Returns `cargo` with these arguments, to run in the repository's root.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Unnamed {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    Unnamed(command)
}

/// Returns a program with these arguments, to run in the repository's root.
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

    pub(crate) fn named(self, name: &str) -> TaskStep {
        TaskStep { name: name.to_owned(), command: self.0, help: None, stays: false }
    }
}

impl TaskStep {
    /// Adds a line that is printed when the step fails.
    pub(crate) fn help(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }

    /// Replaces this process by the command, so that Ctrl-C and the exit code are the command's
    /// own.
    pub(crate) fn that_stays(mut self) -> Self {
        self.stays = true;
        self
    }
}

/// Why a step did not succeed, and the exit code to pass on.
pub(crate) struct StepFailure {
    what: String,
    code: u8,
}

impl Display for StepFailure {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

/// Runs the steps in order, up to the first that fails, and prints the failure.
pub(crate) fn run_all(steps: Vec<TaskStep>) -> ExitCode {
    match run(steps) {
        Ok(()) => ExitCode::SUCCESS,
        Err(StepFailure { code, .. }) => ExitCode::from(code),
    }
}

/// Runs the steps in order, up to the first that fails.
pub(crate) fn run(steps: Vec<TaskStep>) -> Result<(), StepFailure> {
    for mut step in steps {
        eprintln!("── {}", step.name);
        let started = Instant::now();
        let status = if step.stays { stay(&mut step.command) } else { step.command.status() };
        let failure = match status {
            Ok(status) if status.success() => {
                eprintln!("   {} done in {:.0} s", step.name, started.elapsed().as_secs_f64());
                continue;
            }
            // The command's own exit code says more than ours would; a signal has none.
            Ok(status) => StepFailure {
                what: format!("{} failed ({status})", step.name),
                code: status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
            },
            Err(error) => {
                let program = step.command.get_program();
                StepFailure { what: format!("cannot start {program:?}: {error}"), code: 2 }
            }
        };
        eprintln!("error: {failure}");
        if let Some(help) = step.help {
            eprintln!("help: {help}");
        }
        return Err(failure);
    }
    Ok(())
}

/// Replaces this process by the command. Returns only if that fails.
#[cfg(unix)]
fn stay(command: &mut Command) -> std::io::Result<ExitStatus> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

#[cfg(not(unix))]
fn stay(command: &mut Command) -> std::io::Result<ExitStatus> {
    command.status()
}

/// Returns whether `cargo` has this subcommand.
pub(crate) fn is_installed(arguments: [&str; 2]) -> bool {
    is_silent_success(&mut cargo(arguments).0)
}

/// Returns whether a program exists and succeeds with these arguments. Its output is dropped.
pub(crate) fn succeeds(path: &str, arguments: &[&str]) -> bool {
    is_silent_success(&mut program(path, arguments.iter().copied()).0)
}

fn is_silent_success(command: &mut Command) -> bool {
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// Returns the names of the fuzz targets, one per file.
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

/// Returns the absolute path of a folder of the repository.
pub(crate) fn in_root(folder: &str) -> String {
    root().join(folder).display().to_string()
}

/// Returns the folder of everything that is built or installed.
pub(crate) fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Returns the repository's root.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the repository's root").to_owned()
}
