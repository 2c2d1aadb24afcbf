//! Tests that each scene makes its point, not only that it moves.

use fairpath_page::scene;
use serde_json::json;

use crate::chromium::{Chromium, Tab, Viewport};
use crate::{Done, Failed};

pub(crate) fn run(browser: &mut Chromium, page: &str) -> Done {
    switches_of_play(browser, page)?;
    a_bot_shows_the_switches(browser, page)?;
    heats_are_the_laboratorys(browser, page)?;
    moments_are_restored(browser, page)?;
    everything_is_in_sight(browser, page)
}

fn open(browser: &mut Chromium, address: &str, viewport: Viewport) -> Done<Tab> {
    let tab = browser.open(address, viewport)?;
    browser.wait_for(&tab, "(window.fairpath?.show?.frames ?? 0) > 3")?;
    Ok(tab)
}

/// Switching prediction off at 300 ms makes the drawn tank lag its input by 300 ms, and on by at
/// most a frame. The keys 1 to 5 switch, and the hits that count follow the fifth switch.
fn switches_of_play(browser: &mut Chromium, page: &str) -> Done {
    const ANSWERS_AFTER: &str = "(() => {
        const { stage } = fairpath.show;
        const own = () => { const [x, y] = (({ x, y }) => [x, y])(read(stage.frame()).things.find(one => one.isOwn)); return `${x} ${y}`; };
        stage.steer(0, 0, false);
        stage.step(240);
        const before = own();
        stage.steer(0, 1, false);
        for (let tick = 1; tick < 120; tick += 1) { stage.step(1); if (own() !== before) return (1000 * tick) / 60; }
        return NaN;
    })()";
    let tab = open(browser, &format!("{page}?scene=play&paused=1"), Viewport::DESKTOP)?;
    browser.evaluate(
        &tab,
        "import('./scenes/play.js').then(({ read }) => { window.read = read; return true; })",
    )?;
    let answers = |browser: &mut Chromium, key: &str| -> Done<f64> {
        browser.key(&tab, key, true)?;
        browser.key(&tab, key, false)?;
        Ok(browser.evaluate(&tab, ANSWERS_AFTER)?.as_f64().unwrap_or(f64::NAN))
    };
    // Prediction is off at first: the first key switches it on, the second off.
    let on = answers(browser, "Digit1")?;
    let off = answers(browser, "Digit1")?;
    if !(on <= 17.0 && (270.0..=330.0).contains(&off)) {
        return Err(Failed(format!(
            "the tank answers after {on:.0} ms with prediction, {off:.0} ms without"
        )));
    }
    eprintln!("    the tank answers after {on:.0} ms with prediction and {off:.0} ms without");
    for (digit, knob) in [(2, "reconciliation"), (3, "interpolation"), (4, "smoothing"), (5, "rewinding")] {
        let key = format!("Digit{digit}");
        browser.key(&tab, &key, true)?;
        browser.key(&tab, &key, false)?;
        browser.wait_for(&tab, &format!("fairpath.show.controls.value('{knob}') === 0"))?;
    }
    browser.expect_no_complaints("the switches")?;
    browser.close(tab)
}

/// After three idle seconds a bot drives; any key gives the wheel and the settings back.
fn a_bot_shows_the_switches(browser: &mut Chromium, page: &str) -> Done {
    let tab = open(browser, &format!("{page}?scene=play"), Viewport::DESKTOP)?;
    browser.wait_for(&tab, "document.querySelector('.demo').hidden === false")?;
    browser.wait_for(&tab, "fairpath.show.controls.value('driver') === 1")?;
    if browser.evaluate(&tab, "location.search")? != json!("?scene=play") {
        return Err(Failed("the demonstration writes the address".into()));
    }
    browser.key(&tab, "KeyW", true)?;
    browser.key(&tab, "KeyW", false)?;
    browser.wait_for(
        &tab,
        "document.querySelector('.demo').hidden && fairpath.show.controls.value('driver') === 0 && fairpath.show.controls.value('prediction') === 0",
    )?;
    browser.close(tab)
}

/// The digests of the heats that the page plays are those of the native scene, which a unit test
/// holds to the laboratory's own function.
fn heats_are_the_laboratorys(browser: &mut Chromium, page: &str) -> Done {
    const HEATS: u64 = 32;
    const TICKS: u32 = 7200;
    let tab = open(browser, &format!("{page}?scene=told&paused=1"), Viewport::DESKTOP)?;
    browser.wait_for(&tab, &format!("fairpath.show.view.heats.length === {HEATS}"))?;
    let seen = browser.evaluate(&tab, "fairpath.show.view.heats.map(({ digest }) => digest)")?;
    let native = (1..=HEATS).map(|seed| {
        let mut told = scene::scene("told", seed).expect("the scene exists");
        (0..TICKS).for_each(|_| told.tick());
        scene::digest(told.as_ref()).to_string()
    });
    let expected: Vec<String> = native.collect();
    if seen != json!(expected) {
        return Err(Failed("the page's heats have other digests than the native ones".into()));
    }
    browser.wait_for(&tab, "document.querySelector('.heats').textContent.startsWith('32 heats')")?;
    let says = browser.evaluate(&tab, "document.querySelector('.heats').textContent")?;
    eprintln!("    {says}");
    browser.close(tab)
}

/// A copied link and the slider show the very moment, by digest.
fn moments_are_restored(browser: &mut Chromium, page: &str) -> Done {
    for scene in ["screens", "told", "play"] {
        let tab = open(browser, &format!("{page}?scene={scene}&seed=5&paused=1"), Viewport::DESKTOP)?;
        let link = browser.evaluate(
            &tab,
            "(() => { const { show } = fairpath; show.step(100); show.log.steer(0.5, 1, false, show.stage); show.step(50); show.controls.set('loss', 20); show.step(200);
                window.then = show.stage.digest(); window.tick = show.tick; return show.transport.address().text; })()",
        )?;
        let digest = browser.evaluate(&tab, "then")?;
        browser.evaluate(&tab, "fairpath.show.step(300); fairpath.show.seek(tick);")?;
        if browser.evaluate(&tab, "fairpath.show.stage.digest()")? != digest {
            return Err(Failed(format!("{scene}: the slider restores another moment")));
        }
        let other = open(browser, link.as_str().unwrap_or_default(), Viewport::DESKTOP)?;
        if browser.evaluate(&other, "fairpath.show.stage.digest()")? != digest {
            return Err(Failed(format!("{scene}: the link {link} restores another moment")));
        }
        browser.wait_for(&other, "fairpath.show.isPaused && fairpath.show.controls.value('loss') === 20")?;
        browser.expect_no_complaints("a link to a moment")?;
        browser.close(other)?;
        browser.close(tab)?;
    }
    Ok(())
}

/// The stage, the controls of time and the two decisive controls are within one viewport.
fn everything_is_in_sight(browser: &mut Chromium, page: &str) -> Done {
    const DECISIVE: [(&str, &str, &str); 4] = [
        ("screens", ".monitors", "[name=placement]"),
        ("told", ".lanes", "[name=third]"),
        ("guess", ".field", "[name=horizon]"),
        ("play", ".views .own", "[name=prediction]"),
    ];
    for (scene, stage, control) in DECISIVE {
        for viewport in [Viewport::DESKTOP, Viewport::WIDE, Viewport::PHONE, Viewport::LANDSCAPE] {
            let tab = open(browser, &format!("{page}?scene={scene}&paused=1"), viewport)?;
            let outside = browser.evaluate(
                &tab,
                &format!(
                    "['{stage}', '{control}', '.pause'].filter(one => {{ const {{ top, bottom, height }} = document.querySelector('main ' + one).getBoundingClientRect(); return top < 0 || height < 8 || (one === '.pause' && innerHeight > 600 && innerWidth < 600 ? false : bottom > innerHeight + 1); }})"
                ),
            )?;
            if outside != json!([]) {
                return Err(Failed(format!("{scene} at {viewport:?}: below the fold: {outside}")));
            }
            browser.close(tab)?;
        }
    }
    Ok(())
}
