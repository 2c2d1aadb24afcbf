//! The page in a browser: every scene loads without complaint, moves, answers to its controls, and shows the bits that the
//! native library computes.

use fairpath_net::PageServer;
use fairpath_web::report::Evaluation;
use fairpath_web::scene::{self, File, Scene};
use serde_json::json;

use crate::build::build;
use crate::chromium::{Chromium, Tab, Viewport};
use crate::{Done, Failed, live, root};

pub(crate) fn run() -> Done {
    let files = build(&root().join("target/page"))?;
    let server = PageServer::bind(([127, 0, 0, 1], 0).into(), files.clone())?;
    let page = format!("http://{}/", server.address());
    let mut browser = Chromium::start()?;
    for name in scene::NAMES {
        eprintln!("  scene {name}");
        try_scene(&mut browser, &page, name)?;
    }
    eprintln!("  report");
    try_report(&mut browser, &page)?;
    eprintln!("  bits");
    compare_bits(&mut browser, &page)?;
    eprintln!("  the real network");
    live::run(&mut browser, &files)?;
    Ok(())
}

/// Builds the page and serves it on a free port.
pub(crate) fn serve() -> Done<PageServer> {
    let files = build(&root().join("target/page"))?;
    Ok(PageServer::bind(([127, 0, 0, 1], 0).into(), files)?)
}

/// What a frame costs, as the page itself measures it. A bench, and no test: machines differ and stall.
pub(crate) fn cost() -> Done {
    const SCENES: [(&str, &str); 4] = [
        ("one tank, three screens", "?scene=screens"),
        ("who gets told, three receivers and three schedulers", "?scene=told"),
        ("guess the future, 16 players and six predictors", "?scene=guess&players=8"),
        ("play, six tanks, 300 ms, compensated", "?scene=play&compensation=1&driver=1"),
    ];
    let server = serve()?;
    let mut browser = Chromium::start()?;
    for (name, query) in SCENES {
        let tab = browser.open(&format!("http://{}/{query}", server.address()), Viewport::DESKTOP)?;
        // Smoothed over thirty frames: after three hundred nothing of the start is left in it.
        browser.wait_for(&tab, "(window.fairpath?.show?.frames ?? 0) > 300")?;
        let costs =
            browser.evaluate(&tab, "[fairpath.show.costs.simulation, fairpath.show.costs.drawing]")?;
        let millis = |number: usize| costs[number].as_f64().unwrap_or(f64::NAN);
        println!("{name}: simulation {:.2} ms, drawing {:.2} ms a frame", millis(0), millis(1));
        browser.close(tab)?;
    }
    Ok(())
}

fn try_scene(browser: &mut Chromium, page: &str, name: &str) -> Done {
    for viewport in [Viewport::DESKTOP, Viewport::PHONE.dark()] {
        let tab = browser.open(&format!("{page}?scene={name}&seed=3"), viewport)?;
        browser.wait_for(&tab, &format!("window.fairpath?.show?.name === '{name}'"))?;
        it_moves(browser, &tab)?;
        it_pauses(browser, &tab)?;
        it_fits(browser, &tab)?;
        it_answers_to_its_controls(browser, &tab, name)?;
        let complaints = browser.complaints();
        if !complaints.is_empty() {
            return Err(Failed(format!("scene {name} complains: {}", complaints.join("\n"))));
        }
        browser.close(tab)?;
    }
    Ok(())
}

/// Somebody's results are shown, and somebody's recording is evaluated to the native evaluator's bits.
fn try_report(browser: &mut Chromium, page: &str) -> Done {
    let tab = browser.open(&format!("{page}?scene=report"), Viewport::DESKTOP)?;
    browser.wait_for(&tab, "!!window.fairpath?.page")?;
    let results = json!({
        "schema": 1, "experiment": "X0", "title": "A trial", "source": "nowhere", "seed": 7, "command": "none", "rows": [{ "x": 1.5 }],
        "claims": [{ "id": "X0.a", "text": "<b>one</b> is one", "held": true, "measured": 1.0, "unit": null, "expected": "1", "paper": null }],
        "figures": [], "notes": ["a note"],
    });
    let read = |name: &str, text: &str| {
        format!("fairpath.page.readFiles([new File([{}], '{name}')]).then(() => true)", json!(text))
    };
    browser.evaluate(&tab, &read("results.json", &results.to_string()))?;
    browser.wait_for(
        &tab,
        "document.querySelector('.results td:nth-child(2)')?.textContent === '<b>one</b> is one'",
    )?;
    let csv = recording();
    browser.evaluate(&tab, &read("walk.csv", &csv))?;
    browser.wait_for(&tab, "fairpath.page.isEvaluated === true")?;
    let seen = browser.evaluate(&tab, "fairpath.page.scores.map(one => one && [...one])")?;
    let native = Evaluation::of(File { name: "walk.csv", bytes: csv.as_bytes() }, None)?;
    let expected: Vec<_> = (0..Evaluation::names().count()).map(|number| native.score(number)).collect();
    if seen != json!(expected) {
        return Err(Failed(format!("the browser's evaluator says {seen}, natively it is {expected:?}")));
    }
    browser.evaluate(&tab, &read("nonsense.csv", "hello"))?;
    browser.wait_for(&tab, "document.querySelector('.evaluation').textContent.includes('nonsense.csv')")?;
    let complaints = browser.complaints();
    if !complaints.is_empty() {
        return Err(Failed(format!("the report complains: {}", complaints.join("\n"))));
    }
    browser.close(tab)
}

/// Three who walk about, by a rule that needs no dice.
pub(crate) fn recording() -> String {
    let mut rows = String::from("t,entity,team,x,y\n");
    for sample in 0..600_u32 {
        for (entity, phase) in [("ann", 0), ("bob", 71), ("cleo", 153)] {
            // To and fro along one axis, in steps along the other.
            let (turn, leg) = ((sample + phase) % 160, (sample + phase) / 160);
            let x = f64::from(if turn < 80 { turn } else { 160 - turn }) * 0.2;
            rows += &format!("{},{entity},{},{x},{}\n", f64::from(sample) * 0.05, 1 + phase % 2, leg * 2);
        }
    }
    rows
}

/// Frames come, time passes, and the picture changes.
fn it_moves(browser: &mut Chromium, tab: &Tab) -> Done {
    browser.evaluate(
        tab,
        "window.before = { digest: fairpath.show.stage.digest(), frames: fairpath.show.frames }",
    )?;
    browser.wait_for(tab, "fairpath.show.stage.digest() !== before.digest")?;
    browser.wait_for(tab, "fairpath.show.frames > before.frames + 3")?;
    // Something is drawn: not all pixels are alike.
    browser.wait_for(
        tab,
        "[...document.querySelectorAll('canvas')].filter(c => c.width > 0).every(c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; return d.some((v, i) => v !== d[i % 4]) })",
    )
}

fn it_pauses(browser: &mut Chromium, tab: &Tab) -> Done {
    browser.key(tab, "KeyP", true)?;
    browser.key(tab, "KeyP", false)?;
    browser.wait_for(tab, "fairpath.show.isPaused")?;
    let before = browser.evaluate(tab, "[fairpath.show.stage.digest(), fairpath.show.frames]")?;
    browser.wait_for(tab, &format!("fairpath.show.frames > {} + 5", before[1]))?;
    if browser.evaluate(tab, "fairpath.show.stage.digest()")? != before[0] {
        return Err(Failed("time passes although the scene is paused".into()));
    }
    browser.wait_for(tab, "new URLSearchParams(location.search).get('paused') === '1'")?;
    browser.evaluate(tab, "fairpath.show.controls.togglePause()")?;
    Ok(())
}

/// Nothing sticks out to the side, on a desk or on a phone.
fn it_fits(browser: &mut Chromium, tab: &Tab) -> Done {
    let widths = browser.evaluate(tab, "[document.documentElement.scrollWidth, innerWidth]")?;
    if widths[0].as_f64() > widths[1].as_f64() {
        return Err(Failed(format!("the page is {} wide in a window of {}", widths[0], widths[1])));
    }
    Ok(())
}

/// Every control turns its knob in Rust, and the address remembers it.
fn it_answers_to_its_controls(browser: &mut Chromium, tab: &Tab, name: &str) -> Done {
    let native = scene::scene(name, 1).expect("it has a name");
    for knob in native.knobs().iter() {
        let value = if knob.usual == knob.high { knob.low } else { knob.high };
        let input = format!("document.querySelector('main [name=\"{}\"]')", knob.name);
        let is_there = browser.evaluate(tab, &format!("{input} !== null"))?;
        if is_there != json!(true) {
            return Err(Failed(format!("{name} has no control for {}", knob.name)));
        }
        let operate = format!(
            "(() => {{ const all = [...document.querySelectorAll('main [name=\"{}\"]')];
                if (all[0].type === 'checkbox') {{ all.forEach(one => (Math.floor({value} / one.value) % 2 === 1) !== one.checked && one.click()); return; }}
                if (all.length > 1) {{ all.find(one => one.value === '{value}').click(); return; }}
                all[0].value = '{value}';
                all[0].dispatchEvent(new Event(all[0].tagName === 'SELECT' ? 'change' : 'input', {{ bubbles: true }})); }})()",
            knob.name
        );
        browser.evaluate(tab, &operate)?;
        browser.wait_for(tab, &format!("fairpath.show.controls.value('{}') === {value}", knob.name))?;
        browser.wait_for(
            tab,
            &format!("Number(new URLSearchParams(location.search).get('{}')) === {value}", knob.name),
        )?;
    }
    // A reload shows the same controls, and the scene still runs.
    browser.evaluate(tab, "window.isOld = true; location.reload()")?;
    browser.wait_for(tab, "!window.isOld && (window.fairpath?.show?.frames ?? 0) > 3")?;
    for knob in native.knobs().iter() {
        let value = if knob.usual == knob.high { knob.low } else { knob.high };
        browser.wait_for(tab, &format!("fairpath.show.controls.value('{}') === {value}", knob.name))?;
    }
    Ok(())
}

/// Plays every scene in both worlds, with the same seed, knobs and hands, and compares digests.
fn compare_bits(browser: &mut Chromium, page: &str) -> Done {
    let tab = browser.open(page, Viewport::DESKTOP)?;
    browser.wait_for(&tab, "!!window.fairpath")?;
    for name in scene::NAMES {
        let mut native = scene::scene(name, SEED.into()).expect("it has a name");
        let mut play =
            format!("(() => {{ const stage = fairpath.Stage.of('{name}', {SEED}); const seen = [];");
        let mut expected = Vec::new();
        for (knob, value) in turns(native.as_ref()) {
            scene::turn(native.as_mut(), knob, value);
            native.steer(0.5, 1.0, true);
            (0..TICKS).for_each(|_| native.tick());
            scene::finish_thinking(native.as_mut());
            expected.push(json!(scene::digest(native.as_ref()).to_string()));
            play += &format!(
                "stage.turn('{knob}', {value}); stage.steer(0.5, 1, true); stage.step({TICKS}); while (stage.think()); seen.push(stage.digest());"
            );
        }
        play += "stage.free(); return seen; })()";
        let seen = browser.evaluate(&tab, &play)?;
        if seen != json!(expected) {
            return Err(Failed(format!("{name}: the browser computes {seen}, natively it is {expected:?}")));
        }
        eprintln!("    {name}: {} digests are the same", expected.len());
    }
    browser.close(tab)
}

const SEED: u32 = 11;
/// Between two turns of a knob: three seconds.
const TICKS: u32 = 180;

/// Every knob once up and back again.
fn turns(scene: &dyn Scene) -> Vec<(&'static str, f64)> {
    let up_and_back = scene.knobs().into_owned().into_iter().flat_map(|knob| {
        let other = if knob.usual == knob.high { knob.low } else { knob.high };
        [(knob.name, other), (knob.name, knob.usual)]
    });
    up_and_back.collect()
}
