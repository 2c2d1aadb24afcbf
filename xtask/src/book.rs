//! Renders the book with mdBook, which is installed below `target` where it is missing.

use crate::steps::{TaskStep, cargo, in_root, program, succeeds};

/// The version that is installed where no mdBook is found.
const VERSION: &str = "^0.5";

/// The steps of `cargo xtask book`, which write the book to `target/book`.
pub(crate) fn steps() -> Vec<TaskStep> {
    let installed = in_root("target/tools/bin/mdbook");
    let mut steps: Vec<TaskStep> = Vec::new();
    let mdbook = if succeeds("mdbook", &["--version"]) {
        "mdbook".to_owned()
    } else {
        if !succeeds(&installed, &["--version"]) {
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
    steps
}
