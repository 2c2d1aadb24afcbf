//! Audits every scene with axe-core, walks the tour with the keyboard alone, and checks names.
//!
//! axe-core comes from npm when the audit runs first; nothing of it is in the page.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::chromium::{Chromium, Tab, Viewport};
use crate::{Done, Failed, root};

const AXE: &str = "axe-core@4.14.1";
/// The scenes and states to audit.
const PAGES: [&str; 6] = [
    "?scene=screens&paused=1",
    "?scene=told&paused=1",
    "?scene=guess&paused=1",
    "?scene=play&paused=1",
    "?scene=play&game=2&paused=1",
    "?scene=report",
];

pub(crate) fn run(browser: &mut Chromium, page: &str) -> Done {
    let axe = axe()?;
    for query in PAGES {
        for viewport in [Viewport::DESKTOP, Viewport::DESKTOP.dark(), Viewport::PHONE] {
            let tab = browser.open(&format!("{page}{query}"), viewport)?;
            browser.wait_for(&tab, "(window.fairpath?.show?.frames ?? 0) > 3 || !!window.fairpath?.page")?;
            audit(browser, &tab, &axe, &format!("{query} as {viewport:?}"))?;
            has_names(browser, &tab, query)?;
            browser.close(tab)?;
        }
    }
    walk_the_tour(browser, page, &axe)
}

/// Installs axe-core below the target folder, unless it is there, and returns its text.
fn axe() -> Done<String> {
    let folder: PathBuf = root().join("target/page-tool");
    let file = folder.join("node_modules/axe-core/axe.min.js");
    if !file.exists() {
        std::fs::create_dir_all(&folder)?;
        let status = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"])
            .arg(&folder)
            .arg(AXE)
            .stdin(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(Failed(format!("`npm install {AXE}` failed; the audit needs npm and its registry")));
        }
    }
    Ok(std::fs::read_to_string(file)?)
}

/// Fails on violations that axe-core calls serious or critical.
fn audit(browser: &mut Chromium, tab: &Tab, axe: &str, what: &str) -> Done {
    browser.evaluate(tab, &format!("{axe}; true"))?;
    let found = browser.evaluate(
        tab,
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
            .filter(({ impact }) => impact === 'serious' || impact === 'critical')
            .map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => target.join(' ') + ' ' + failureSummary).slice(0, 4).join(' | ')}`))",
    )?;
    match found.as_array().map(Vec::as_slice) {
        Some([]) => Ok(()),
        _ => Err(Failed(format!("axe-core finds in {what}: {found}"))),
    }
}

/// Every control and every chart has a name that assistive programs read.
fn has_names(browser: &mut Chromium, tab: &Tab, what: &str) -> Done {
    let nameless = browser.evaluate(
        tab,
        "[...document.querySelectorAll('main input, main select, main button, main canvas, main [role=slider]')]
            .filter(one => one.offsetParent !== null)
            .filter(one => !(one.getAttribute('aria-label') || one.textContent.trim() || [...(one.labels ?? [])].some(label => label.textContent.trim())))
            .map(one => one.outerHTML.slice(0, 120))",
    )?;
    if nameless == json!([]) {
        Ok(())
    } else {
        Err(Failed(format!("{what} has controls without a name: {nameless}")))
    }
}

/// What each step of the tour shows: its scene, a knob and its value.
const STEPS: [(&str, &str, f64); 5] = [
    ("screens", "placement", 0.0),
    ("screens", "threshold", 1.5),
    ("screens", "placement", 2.0),
    ("told", "budget", 1.0),
    ("play", "prediction", 1.0),
];

/// Walks the tour with Tab and Enter, and checks the knobs and the effect of each step.
fn walk_the_tour(browser: &mut Chromium, page: &str, axe: &str) -> Done {
    let tab = browser.open(page, Viewport::DESKTOP)?;
    browser.wait_for(&tab, "document.getElementById('tour')?.hidden === false")?;
    browser.wait_for(&tab, "(window.fairpath?.show?.frames ?? 0) > 3")?;
    // To the first button of the card, as a keyboard gets there.
    for _ in 0..80 {
        if browser.evaluate(&tab, "document.activeElement?.className === 'next'")? == json!(true) {
            break;
        }
        browser.press(&tab, "Tab", "Tab", 9)?;
    }
    let mut seen = Vec::new();
    for (number, (scene, knob, value)) in STEPS.into_iter().enumerate() {
        let at = format!(
            "fairpath.tour.number === {number} && fairpath.show?.name === '{scene}' && fairpath.show.frames > 2"
        );
        browser.wait_for(&tab, &at)?;
        let set = browser.evaluate(&tab, &format!("fairpath.show.controls.value('{knob}')"))?;
        if set.as_f64() != Some(value) {
            return Err(Failed(format!("step {} of the tour sets {knob} to {set}", number + 1)));
        }
        browser.wait_for(&tab, "document.querySelectorAll('.lit').length === 1")?;
        seen.push(effect(browser, &tab, number)?);
        audit(browser, &tab, axe, &format!("step {} of the tour", number + 1))?;
        browser.press(&tab, "Enter", "Enter", 13)?;
    }
    browser.wait_for(&tab, "document.getElementById('tour').hidden && !document.querySelector('.lit')")?;
    let [late, _, shared, ..] = seen[..] else { return Err(Failed("the tour has five steps".into())) };
    if shared >= late {
        return Err(Failed(format!("a shared clock leaves an error of {shared}, against {late} on arrival")));
    }
    let rates = (seen[0], seen[1]);
    eprintln!("    the tour was walked with the keyboard; effects {rates:?} {:?}", &seen[2..]);
    browser.expect_no_complaints("the tour")?;
    browser.close(tab)
}

/// Measures what a step is about, after a minute of simulated time.
fn effect(browser: &mut Chromium, tab: &Tab, number: usize) -> Done<f64> {
    const ERROR: &str = "fairpath.show.view.frame.screens[2].ways";
    const MESSAGES: &str = "fairpath.show.view.frame.vectors";
    let (ticks, measured) = match number {
        0 => (3600, format!("{ERROR}[0].mean")),
        1 => (600, MESSAGES.to_owned()),
        2 => (3600, format!("{ERROR}[2].mean")),
        3 => (
            3600,
            "fairpath.show.view.frame.lanes[2].spread / fairpath.show.view.frame.lanes[0].spread".into(),
        ),
        _ => (60, "fairpath.show.view.frame.own".into()),
    };
    browser.evaluate(tab, &format!("fairpath.show.step({ticks}); window.seen = fairpath.show.frames"))?;
    browser.wait_for(tab, "fairpath.show.frames > seen + 1")?;
    let value: Value = browser.evaluate(tab, &measured)?;
    value.as_f64().ok_or_else(|| Failed(format!("step {} has no effect to measure", number + 1)))
}
