//! Tests of faults that readers of the page have found: each names the fault that must not return.

use fairpath_page_server::PageServer;
use serde_json::{Value, json};

use crate::build::files;
use crate::chromium::{Chromium, Tab, Viewport};
use crate::{Done, Failed, root};

pub(crate) fn run(browser: &mut Chromium, page: &str) -> Done {
    keys_drive_after_a_click(browser, page)?;
    addresses_are_checked(browser, page)?;
    a_new_heat_keeps_the_address(browser, page)?;
    pausing_moves_nothing(browser, page)?;
    a_finger_without_pressure_drives(browser, page)?;
    the_report_survives_its_server(browser)
}

const HAS_FRAMES: &str = "(window.fairpath?.show?.frames ?? 0) > 3";

fn open(browser: &mut Chromium, address: &str, viewport: Viewport) -> Done<Tab> {
    let tab = browser.open(address, viewport)?;
    browser.wait_for(&tab, HAS_FRAMES)?;
    Ok(tab)
}

fn expect(browser: &mut Chromium, tab: &Tab, expression: &str, expected: &Value, what: &str) -> Done {
    let seen = browser.evaluate(tab, expression)?;
    if seen == *expected { Ok(()) } else { Err(Failed(format!("{what}: {seen} instead of {expected}"))) }
}

/// Arrow keys used to change the choice that was clicked last.
fn keys_drive_after_a_click(browser: &mut Chromium, page: &str) -> Done {
    let tab = open(browser, &format!("{page}?scene=play"), Viewport::DESKTOP)?;
    browser.click_on(&tab, "main [name=prediction]")?;
    browser.wait_for(&tab, "fairpath.show.controls.value('prediction') === 1")?;
    for code in ["ArrowUp", "ArrowLeft"] {
        browser.key(&tab, code, true)?;
    }
    browser.wait_for(&tab, "fairpath.show.hands.ahead === 1 && fairpath.show.hands.right === -1")?;
    expect(
        browser,
        &tab,
        "fairpath.show.controls.value('prediction')",
        &json!(1),
        "arrow keys turn a clicked control",
    )?;
    for code in ["ArrowUp", "ArrowLeft"] {
        browser.key(&tab, code, false)?;
    }
    browser.close(tab)
}

/// `speed=1000000` used to hang the tab, and −3 was accepted.
fn addresses_are_checked(browser: &mut Chromium, page: &str) -> Done {
    const KNOB: &str = "fairpath.show.controls.value";
    for (query, expression, expected, corrected) in [
        ("scene=play&speed=1000000", "fairpath.show.speed", json!(1), "?scene=play"),
        ("scene=play&speed=-3", "fairpath.show.speed", json!(1), "?scene=play"),
        ("scene=play&speed=0.5", "fairpath.show.speed", json!(0.5), "?scene=play&speed=0.5"),
        ("scene=play&lag=", &format!("{KNOB}('lag')"), json!(300), "?scene=play"),
        ("scene=play&lag=1e9", &format!("{KNOB}('lag')"), json!(1000), "?scene=play&lag=1000"),
        ("scene=play&lag=123.4", &format!("{KNOB}('lag')"), json!(120), "?scene=play&lag=120"),
        ("scene=play&game=1.5", &format!("{KNOB}('game')"), json!(2), "?scene=play&game=2"),
        ("scene=play&seed=-5", "fairpath.show.seed", json!(0), "?scene=play&seed=0"),
        ("scene=play&seed=x", "fairpath.show.seed", json!(1), "?scene=play"),
        ("scene=play&paused=yes", "fairpath.show.isPaused", json!(false), "?scene=play"),
        ("scene=nowhere", "fairpath.show.name", json!("screens"), ""),
        ("scene=play&moment=9999999", "fairpath.show.isPaused", json!(false), "?scene=play"),
        ("scene=play&moment=60~10_lag", "fairpath.show.isPaused", json!(false), "?scene=play"),
        ("scene=screens&threshold=NaN", &format!("{KNOB}('threshold')"), json!(0.3), "?scene=screens"),
    ] {
        let tab = open(browser, &format!("{page}?{query}"), Viewport::DESKTOP)?;
        expect(browser, &tab, expression, &expected, query)?;
        expect(browser, &tab, "location.search", &json!(corrected), query)?;
        browser.close(tab)?;
    }
    browser.expect_no_complaints("a wrong address")
}

/// The scene starts another heat by itself; the address kept that seed as if the reader had asked.
fn a_new_heat_keeps_the_address(browser: &mut Chromium, page: &str) -> Done {
    let tab = open(browser, &format!("{page}?scene=told"), Viewport::DESKTOP)?;
    browser.evaluate(&tab, "fairpath.show.step(7200); fairpath.show.view.over = 60;")?;
    browser.wait_for(&tab, "fairpath.show.seed === 2")?;
    expect(browser, &tab, "location.search", &json!("?scene=told"), "a new heat writes the address")?;
    browser.close(tab)
}

/// The button's other label used to be wider, and the panel beside the stage moved.
fn pausing_moves_nothing(browser: &mut Chromium, page: &str) -> Done {
    const PLACES: &str = "JSON.stringify([...document.querySelectorAll('main button, main select, main input, main h2')].map(one => { const { left, top, width } = one.getBoundingClientRect(); return [left, top, width]; }))";
    let tab = open(browser, &format!("{page}?scene=screens&lag=0"), Viewport::DESKTOP)?;
    let before = browser.evaluate(&tab, PLACES)?;
    browser.evaluate(&tab, "fairpath.show.controls.togglePause()")?;
    expect(browser, &tab, PLACES, &before, "pausing moves controls")?;
    browser.close(tab)
}

/// Many touch screens report no pressure; the stick used to ignore such fingers once they moved.
fn a_finger_without_pressure_drives(browser: &mut Chromium, page: &str) -> Done {
    let tab = open(browser, &format!("{page}?scene=play"), Viewport::PHONE)?;
    let centre = browser.centre_of(&tab, ".stick[data-axes=y]")?;
    browser.touch(&tab, Some(centre))?;
    browser.touch_move(&tab, (centre.0, centre.1 - 40.0))?;
    browser.wait_for(&tab, "fairpath.show.hands.ahead > 0.3")?;
    browser.touch(&tab, None)?;
    browser.wait_for(&tab, "fairpath.show.hands.ahead === 0")?;
    browser.close(tab)
}

/// Opening the report after its server had ended used to throw.
fn the_report_survives_its_server(browser: &mut Chromium) -> Done {
    let server = PageServer::bind(([127, 0, 0, 1], 0).into(), files(&root().join("target/page"))?)?;
    let tab = open(browser, &format!("http://{}/", server.address()), Viewport::DESKTOP)?;
    drop(server);
    browser.complaints.clear();
    browser.evaluate(&tab, "document.querySelector('nav a[data-scene=report]').click()")?;
    browser.wait_for(&tab, "document.querySelector('.verdict')?.textContent.includes('does not answer')")?;
    // The browser itself logs the failed request.
    let thrown = std::mem::take(&mut browser.complaints);
    if let Some(error) = thrown.iter().find(|one| !one.contains("Failed to load resource")) {
        return Err(Failed(format!("the report throws without its server: {error}")));
    }
    browser.close(tab)
}
