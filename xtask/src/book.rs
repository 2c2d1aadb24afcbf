//! Renders the book with mdBook, which is installed below `target` where it is missing.

use std::process::{Command, ExitCode, Stdio};

use crate::steps::{Step, cargo, in_root, program, run_all};

/// The version that is installed where no mdBook is found.
const VERSION: &str = "^0.5";

/// `cargo xtask book`: writes the book to `target/book`.
pub(crate) fn render() -> ExitCode {
    let installed = in_root("target/tools/bin/mdbook");
    let mut steps: Vec<Step> = Vec::new();
    let mdbook = if runs("mdbook") {
        "mdbook".to_owned()
    } else {
        if !runs(&installed) {
            let folder = in_root("target/tools");
            // Without its web server, which nothing here uses and which takes longest to compile.
            let features = ["--no-default-features", "--features", "search"];
            let install = ["install", "mdbook", "--version", VERSION, "--locked", "--root", &folder];
            steps.push(
                cargo(install.into_iter().chain(features))
                    .named("installing mdbook below target/tools")
                    .help("install mdbook yourself: `cargo install mdbook`"),
            );
        }
        installed
    };
    let (source, target) = (in_root("docs"), in_root("target/book"));
    steps.push(program(&mdbook, ["build", &source, "--dest-dir", &target]).named("the book, in target/book"));
    run_all(steps)
}

fn runs(mdbook: &str) -> bool {
    let mut probe = Command::new(mdbook);
    let probe = probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}
