//! Builds the page, tests it in a browser, and takes screenshots. `cargo xtask` calls this program;
//! it is separate from `xtask` because its dependencies take a minute to compile.
#![forbid(unsafe_code)]

mod access;
mod build;
mod chromium;
mod live;
mod photograph;
mod points;
mod regressions;
mod tour;
mod trial;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
fairpath-page-tool build DIR         write the page's files to DIR
fairpath-page-tool try [PART]        build the page and test it in headless Chromium; PART is scenes, files,
                                     faults, points, access, report, bits or network
fairpath-page-tool cost              build the page and measure a frame of each scene in headless Chromium
fairpath-page-tool photograph DIR    build the page and write a screenshot of each scene to DIR
fairpath-page-tool tour DIR          build the page and write the README's moving picture to DIR
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["build", folder] => build::build(Path::new(folder)).map(|_| ()),
        ["try"] => trial::run(None),
        ["try", part] => trial::run(Some(part)),
        // Only for `try`: the server that is killed there.
        ["serve", folder, served_at, shown_at] => live::run_server(Path::new(folder), served_at, shown_at),
        ["cost"] => trial::cost(),
        ["photograph", folder] => photograph::run(Path::new(folder)),
        ["tour", folder] => tour::run(Path::new(folder)),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed(why)) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// What failed, and how to go on.
#[derive(Debug)]
struct Failed(String);

impl<E: std::fmt::Display> From<E> for Failed {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

type Done<T = ()> = Result<T, Failed>;

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this tool lies two folders below the root").to_owned()
}
