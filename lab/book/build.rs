//! Lists every document whose samples are compiled: README.md and all pages of the book.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let book = root.join("docs/src");
    let mut pages = vec![root.join("README.md")];
    collect(&book, &mut pages);
    pages.sort();

    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut list = String::new();
    for page in &pages {
        let name = module_name(page, &root);
        println!("cargo::rerun-if-changed={}", page.display());
        let path = with_included_files(page, &folder.join(&name)).display().to_string();
        let _ = writeln!(list, "#[doc = include_str!({path:?})]\npub mod {name} {{}}");
    }
    println!("cargo::rerun-if-changed={}", book.display());
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

/// Returns a page in which every `{{#include FILE}}` is replaced by the file, as mdBook does: the page
/// itself if it has none, else `copy`.
fn with_included_files(page: &Path, copy: &Path) -> PathBuf {
    let text = std::fs::read_to_string(page).expect("a page is text");
    let mut parts = text.split("{{#include ");
    let mut expanded = parts.next().unwrap_or_default().to_owned();
    if expanded.len() == text.len() {
        return page.to_owned();
    }
    for part in parts {
        let (file, rest) = part.split_once("}}").expect("an include is closed by }}");
        let file = page.parent().expect("a page lies in a folder").join(file);
        println!("cargo::rerun-if-changed={}", file.display());
        let included = std::fs::read_to_string(&file);
        let included = included.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        expanded += included.trim_end();
        expanded += rest;
    }
    std::fs::write(copy, expanded).expect("OUT_DIR can be written");
    copy.to_owned()
}

/// Returns the page's path as a module name, so that a failing sample names its page.
fn module_name(page: &Path, root: &Path) -> String {
    let relative = page.strip_prefix(root).expect("pages lie below the root").with_extension("");
    let name = relative.display().to_string().to_lowercase();
    name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }).collect()
}
