//! The page that `serve` shows to browsers.

use std::io::ErrorKind;
use std::process::{Command, Stdio};

use clap::Args;
use fairpath_net::{PageFile, PageServer};
use serde_json::Value;

use super::address;
use crate::BadInput;

/// A page for browsers.
#[derive(Args, Clone, Debug)]
pub(super) struct Page {
    /// Also serve the page to browsers there, or at 127.0.0.1:7780
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:7780")]
    page: Option<String>,
    /// And open it in this machine's browser
    #[arg(long, requires = "page")]
    open: bool,
}

/// The files that the build took in; none in a plain build.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The file that tells the page about the server.
const SERVER: &str = "server.json";

impl Page {
    /// Serves it if it was asked for, and with it what a page must know about the server to play there.
    pub(super) fn serve(&self, server: &Value) -> Result<Option<PageServer>, BadInput> {
        let Some(wished) = &self.page else { return Ok(None) };
        if FILES.is_empty() {
            return Err(BadInput(
                "this build has no page in it: `cargo xtask demo` makes one that has, `cargo xtask page` writes the page's files".into(),
            ));
        }
        let mut files: Vec<PageFile> = FILES
            .iter()
            // On a plain web host there is no server: that is what its file says.
            .filter(|(path, _)| *path != SERVER)
            .map(|(path, bytes)| PageFile { path: (*path).into(), bytes: (*bytes).into() })
            .collect();
        files.push(PageFile { path: SERVER.into(), bytes: server.to_string().into_bytes().into() });
        let page =
            PageServer::bind(address("--page", wished)?, files).map_err(|error| match error.kind() {
                ErrorKind::AddrInUse => {
                    BadInput::of("--page", wished, "somebody listens there already; try port 0")
                }
                _ => BadInput::of("--page", wished, &error.to_string()),
            })?;
        let url = format!("http://{}/", page.address());
        eprintln!("the page is at {url}");
        if self.open && !open(&url) {
            eprintln!("no browser could be opened: visit {url}");
        }
        Ok(Some(page))
    }
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
