//! The page that `serve` shows to browsers.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use fairpath_page_server::{PageFile, PageServer};
use serde_json::Value;

use super::address;
use crate::{BadInput, print};

/// A page for browsers.
#[derive(Args, Clone, Debug)]
pub(super) struct PageOptions {
    /// Serve the web page at this address [default: 127.0.0.1:7780]
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:7780")]
    page: Option<String>,
    /// A folder that `lab run` wrote, for the page's report [default: fairpath-out, if it exists]
    #[arg(long, value_name = "DIR", requires = "page")]
    results: Option<PathBuf>,
    /// Open the page in this machine's browser
    #[arg(long, requires = "page")]
    open: bool,
}

/// The files that the build took in; none in a plain build.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));
/// The file that names the results there are.
const RESULTS: &str = "results/index.json";
/// How much of a results folder is served. Each experiment writes a few hundred KB.
const RESULTS_BYTES_MAX: u64 = 64 << 20;

/// The file that tells the page about the server.
const SERVER: &str = "server.json";

impl PageOptions {
    /// Serves the page if asked for, with what it must know about the server to play there.
    pub(super) fn serve(&self, server: &Value) -> Result<Option<PageServer>, BadInput> {
        let Some(wished) = &self.page else { return Ok(None) };
        if FILES.is_empty() {
            return Err(BadInput(
                "this build has no page in it; build one that has with `cargo xtask demo`".into(),
            ));
        }
        let results = self.results()?;
        let mut files: Vec<PageFile> = FILES
            .iter()
            // On a plain web host there is no server: that is what its file says. The results that
            // come with the page are shown unless there are others.
            .filter(|(path, _)| *path != SERVER && (results.is_empty() || !path.starts_with("results/")))
            .map(|(path, bytes)| PageFile { path: (*path).into(), bytes: (*bytes).into() })
            .collect();
        files.push(PageFile { path: SERVER.into(), bytes: server.to_string().into_bytes().into() });
        files.extend(results);
        let page =
            PageServer::bind(address("--page", wished)?, files).map_err(|error| match error.kind() {
                ErrorKind::AddrInUse => {
                    BadInput::of("--page", wished, "address in use; pass --page with another port")
                }
                _ => BadInput::of("--page", wished, &error.to_string()),
            })?;
        let url = format!("http://{}/", page.address());
        print::note!("the page is at {url}");
        if self.open && !open(&url) {
            print::note!("no browser could be opened: visit {url}");
        }
        Ok(Some(page))
    }
}

impl PageOptions {
    /// What there is to be shown; a folder that was asked for must be one.
    fn results(&self) -> Result<Vec<PageFile>, BadInput> {
        let Some(wished) = &self.results else { return Ok(results_in(Path::new("fairpath-out"))) };
        if !wished.is_dir() {
            let fix = "no such folder; pass the folder that `lab run --out` wrote";
            return Err(BadInput::of("--results", &wished.display().to_string(), fix));
        }
        Ok(results_in(wished))
    }
}

/// Returns results and plots of every experiment in a folder and those below, and a list of the
/// results; nothing if there are none.
fn results_in(folder: &Path) -> Vec<PageFile> {
    let mut files = Vec::new();
    let mut names = Vec::new();
    let mut bytes_left = RESULTS_BYTES_MAX;
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut experiments: Vec<PathBuf> = entries(folder).map(|entry| entry.path()).collect();
    experiments.sort();
    experiments.insert(0, folder.to_owned());
    for experiment in experiments {
        for entry in entries(&experiment) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let size = entry.metadata().map_or(u64::MAX, |about| about.len());
            if !(name == "results.json" || name.ends_with(".svg")) || size > bytes_left {
                continue;
            }
            let Ok(bytes) = std::fs::read(entry.path()) else { continue };
            bytes_left -= size;
            let inside = experiment.strip_prefix(folder).unwrap_or(&experiment).join(&name);
            let path = inside.to_string_lossy().replace('\\', "/");
            files.push(PageFile { path: format!("results/{path}").into(), bytes: bytes.into() });
            names.extend((name == "results.json").then_some(path));
        }
    }
    if names.is_empty() {
        return Vec::new();
    }
    let index = serde_json::to_vec(&names).expect("strings are JSON");
    files.push(PageFile { path: RESULTS.into(), bytes: index.into() });
    files
}

/// Shows an address in whatever this machine calls its browser; false where it has none.
fn open(url: &str) -> bool {
    const WAYS: [(&str, &[&str]); 3] = [("xdg-open", &[]), ("open", &[]), ("cmd", &["/C", "start"])];
    let has_screen = cfg!(not(target_os = "linux"))
        || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    has_screen
        && WAYS.iter().any(|(program, before)| {
            let mut command = Command::new(program);
            command.args(*before).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_found_in_the_folder_and_in_folders_below() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("x4")).expect("a folder");
        for name in ["results.json", "plot.svg", "report.html", "x4/results.json"] {
            std::fs::write(folder.path().join(name), name).expect("a file");
        }
        let files = results_in(folder.path());
        let mut paths: Vec<&str> = files.iter().map(|file| &*file.path).collect();
        paths.sort_unstable();
        let expected =
            ["results/index.json", "results/plot.svg", "results/results.json", "results/x4/results.json"];
        assert_eq!(paths, expected);
        let index = files.iter().find(|file| file.path == RESULTS).expect("it is always there");
        assert_eq!(&*index.bytes, br#"["results.json","x4/results.json"]"#);
        assert_eq!(results_in(&folder.path().join("none")), [], "the page's own results stay");
    }
}
