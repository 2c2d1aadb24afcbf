//! Lists every document whose samples are compiled: README.md and all pages of the book.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let book = root.join("docs/src");
    let mut pages = vec![root.join("README.md")];
    collect(&book, &mut pages);
    pages.sort();

    let mut list = String::new();
    for page in &pages {
        let (name, path) = (module_name(page, &root), page.display());
        let _ = writeln!(list, "#[doc = include_str!({:?})]\npub mod {name} {{}}", path.to_string());
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rerun-if-changed={}", book.display());
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    std::fs::write(folder.join("pages.rs"), list).expect("OUT_DIR can be written");
}

/// Adds every Markdown file below `folder`.
fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// Returns the page's path as a module name, so that a failing sample names its page.
fn module_name(page: &Path, root: &Path) -> String {
    let relative = page.strip_prefix(root).expect("pages lie below the root").with_extension("");
    let name = relative.display().to_string().to_lowercase();
    name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }).collect()
}
