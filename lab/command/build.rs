//! Takes the page into the program, if there is one: `FAIRPATH_PAGE` names the folder that `cargo
//! xtask page` wrote.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=FAIRPATH_PAGE");
    let mut files = Vec::new();
    if let Some(folder) = std::env::var_os("FAIRPATH_PAGE").map(PathBuf::from) {
        let folder = folder
            .canonicalize()
            .unwrap_or_else(|error| panic!("FAIRPATH_PAGE {}: {error}", folder.display()));
        collect(&folder, "", &mut files);
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    files.sort();
    let mut table = String::from("&[\n");
    for (name, path) in files {
        println!("cargo::rerun-if-changed={}", path.display());
        writeln!(table, "    ({name:?}, include_bytes!({:?})),", path.display().to_string())
            .expect("a string");
    }
    table.push_str("]\n");
    let out = std::env::var_os("OUT_DIR").expect("cargo says where");
    std::fs::write(Path::new(&out).join("page.rs"), table).expect("cargo's folder can be written to");
}

/// Every file below a folder, with its name from there.
fn collect(folder: &Path, before: &str, files: &mut Vec<(String, PathBuf)>) {
    for entry in std::fs::read_dir(folder).expect("a folder that can be read").flatten() {
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else {
            files.push((name, entry.path()));
        }
    }
}
