//! From sources to files that any web host can serve.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fairpath_page_server::PageFile;
use wasm_bindgen_cli_support::Bindgen;

use crate::{Done, Failed, root};

const TARGET: &str = "wasm32-unknown-unknown";
/// What a browser may have to download for the library: a goal of the project, and a build that
/// misses it fails.
const WASM_BYTES_MAX: u64 = 1_500_000;

/// Builds the page into `folder`, which is made if it is not there, and hands out its files.
pub(crate) fn build(folder: &Path) -> Done<Vec<PageFile>> {
    need_target()?;
    compile()?;
    std::fs::create_dir_all(folder)?;
    copy(&bind()?, folder)?;
    copy(&root().join("lab/page/page"), folder)?;
    report_size(&folder.join("fairpath_bg.wasm"))?;
    eprintln!("the page is in {}", folder.display());
    files(folder)
}

/// All files in a folder, those in folders below too.
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

/// The compiler's own files for the browser, fetched where they are missing.
fn need_target() -> Done {
    let sysroot = Command::new(rustc()).args(["--print", "sysroot"]).output()?;
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout)?.trim());
    if sysroot.join("lib/rustlib").join(TARGET).exists() {
        return Ok(());
    }
    eprintln!("the target {TARGET} is missing: fetching it with rustup");
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    match added {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Failed(format!("the page needs `rustup target add {TARGET}`, and that did not work here"))),
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
        // What cargo says about our own package is not about this one.
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .stdin(Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err(Failed("the page's library does not compile".into())) }
}

/// Cuts the bindings out of the module, and says in which folder both are.
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

/// Copies what is below a folder, but nothing that is there already: a program with the page in it
/// is compiled anew whenever a file of the page is newer.
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
        "the library is {:.0} KB of WebAssembly (at most {} KB)",
        bytes as f64 / 1e3,
        WASM_BYTES_MAX / 1000
    );
    if bytes > WASM_BYTES_MAX {
        return Err(Failed(format!("{bytes} bytes of WebAssembly are more than {WASM_BYTES_MAX}")));
    }
    Ok(())
}
