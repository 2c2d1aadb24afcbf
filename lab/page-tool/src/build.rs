//! Builds the page: from sources to files that any web host can serve.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fairpath_page_server::PageFile;
use wasm_bindgen_cli_support::Bindgen;

use crate::{Done, Failed, root};

const TARGET: &str = "wasm32-unknown-unknown";
/// The largest WebAssembly file, a goal of the project. A larger build fails.
const WASM_BYTES_MAX: u64 = 1_500_000;
/// The largest page: all files together.
const PAGE_BYTES_MAX: usize = 3_000_000;

/// Builds the page into `folder`, which is created if it is missing, and returns its files.
pub(crate) fn build(folder: &Path) -> Done<Vec<PageFile>> {
    need_target()?;
    compile()?;
    std::fs::create_dir_all(folder)?;
    copy(&bind()?, folder)?;
    copy(&root().join("lab/page/page"), folder)?;
    report_size(&folder.join("fairpath_bg.wasm"))?;
    let files = files(folder)?;
    let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
    eprintln!("the page is in {}: {} KB of {} KB", folder.display(), bytes / 1000, PAGE_BYTES_MAX / 1000);
    if bytes > PAGE_BYTES_MAX {
        return Err(Failed(format!("the page takes {bytes} bytes, more than {PAGE_BYTES_MAX}")));
    }
    Ok(files)
}

pub(crate) fn files(folder: &Path) -> Done<Vec<PageFile>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder)?.to_string_lossy().replace('\\', "/");
                found.push(PageFile { path: name.into(), bytes: std::fs::read(&path)?.into() });
            }
        }
    }
    Ok(found)
}

/// Adds the compiler's WebAssembly target if it is missing.
fn need_target() -> Done {
    let sysroot = Command::new(rustc()).args(["--print", "sysroot"]).output()?;
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout)?.trim());
    if sysroot.join("lib/rustlib").join(TARGET).exists() {
        return Ok(());
    }
    eprintln!("the target {TARGET} is missing; adding it with rustup");
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    match added {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Failed(format!("`rustup target add {TARGET}` failed; install that target and try again"))),
    }
}

fn rustc() -> String {
    std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into())
}

fn compile() -> Done {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--package", "fairpath-page", "--lib", "--profile", "web", "--target", TARGET])
        .current_dir(root())
        // Cargo sets this for the running tool; it must not apply to the page.
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .stdin(Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err(Failed("the page's library does not compile".into())) }
}

/// Generates the JavaScript bindings and returns the folder that holds them and the module.
fn bind() -> Done<PathBuf> {
    let target = root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let folder = target.join(TARGET).join("web/bound");
    let module = target.join(TARGET).join("web/fairpath_page.wasm");
    let mut bindgen = Bindgen::new();
    let made = bindgen
        .input_path(&module)
        .out_name("fairpath")
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .web(true);
    made.and_then(|bindgen| bindgen.generate(&folder)).map_err(|error| Failed(format!("{error:#}")))?;
    Ok(folder)
}

/// Copies the files below a folder, except those that are the same already: a program that contains
/// the page is recompiled whenever a file of the page is newer.
fn copy(from: &Path, to: &Path) -> Done {
    for entry in std::fs::read_dir(from)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if path.is_dir() {
            std::fs::create_dir_all(to.join(&name))?;
            copy(&path, &to.join(&name))?;
        } else {
            let bytes = std::fs::read(&path)?;
            if std::fs::read(to.join(&name)).ok().as_ref() != Some(&bytes) {
                std::fs::write(to.join(&name), bytes)?;
            }
        }
    }
    Ok(())
}

fn report_size(module: &Path) -> Done {
    let bytes = std::fs::metadata(module)?.len();
    eprintln!(
        "the library takes {:.0} KB of WebAssembly (limit {} KB)",
        bytes as f64 / 1e3,
        WASM_BYTES_MAX / 1000
    );
    if bytes > WASM_BYTES_MAX {
        return Err(Failed(format!("{bytes} bytes of WebAssembly are more than {WASM_BYTES_MAX}")));
    }
    Ok(())
}
