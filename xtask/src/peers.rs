//! Installs libraries of others below the target folder, for tests beside them.

use crate::full::{CheckResult, all_of};
use crate::steps::{self, Unnamed, cargo, succeeds};

/// The versions that the tests were written for.
const OPENDIS: &str = "opendis==1.0";
const OPEN_DIS: &str = "open-dis@1.3.6";

/// Tells a test command where PyPI's opendis is. Where it cannot be installed, the tests beside it
/// are skipped, which on CI they report as a failure.
pub(crate) fn with_opendis(tests: Unnamed) -> Unnamed {
    let folder = steps::target().join("tools/opendis").display().to_string();
    let is_there = || {
        succeeds("python3", &["-c", &format!("import sys; sys.path.insert(0, {folder:?}); import opendis")])
    };
    let install = ["-m", "pip", "install", "--quiet", "--target", &folder, OPENDIS];
    if is_there() || (succeeds("python3", &install) && is_there()) {
        return tests.env("FAIRPATH_OPENDIS", &folder);
    }
    eprintln!("── DIS PDUs beside PyPI's opendis\n   skipped: `python3 {}` failed", install.join(" "));
    tests
}

/// The tests beside npm's open-dis.
pub(crate) fn open_dis() -> CheckResult {
    let folder = steps::target().join("tools/open-dis").display().to_string();
    let install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", &folder, OPEN_DIS];
    if !succeeds("node", &["--version"]) || !succeeds("npm", &install) {
        return CheckResult::Skipped(format!("`npm {}` failed", install.join(" ")));
    }
    let tests = cargo(["test", "--package", "fairpath-dis", "--test", "peers", "open_dis"]);
    all_of(vec![tests.env("FAIRPATH_OPEN_DIS", &folder).named("DIS PDUs beside npm's open-dis")])
}
