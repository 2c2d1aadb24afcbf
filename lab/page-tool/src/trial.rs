//! Tests the page in a browser: every scene loads without errors, moves, reacts to its controls,
//! and shows the bits that the native library computes.

use std::path::Path;

use fairpath_page::report::RecordingEvaluation;
use fairpath_page::scene::{self, File, Scene};
use fairpath_page_server::PageServer;
use serde_json::json;

use crate::build::build;
use crate::chromium::{Chromium, Tab, Viewport};
use crate::{Done, Failed, access, live, points, regressions, root};

/// The parts of the test, by the word that selects one.
const PARTS: [&str; 8] = ["scenes", "files", "faults", "points", "access", "report", "bits", "network"];

/// Runs all parts, or one.
pub(crate) fn run(chosen: Option<&str>) -> Done {
    if let Some(word) = chosen.filter(|word| !PARTS.contains(word)) {
        return Err(Failed(format!("there is no part {word}; choose one of {}", PARTS.join(", "))));
    }
    let folder = root().join("target/page");
    let server = PageServer::bind(([127, 0, 0, 1], 0).into(), build(&folder)?)?;
    let page = format!("http://{}/", server.address());
    let mut browser = Chromium::start()?;
    for part in PARTS.into_iter().filter(|part| chosen.is_none_or(|word| word == *part)) {
        eprintln!("  {part}");
        try_part(&mut browser, &page, &folder, part)?;
    }
    Ok(())
}

fn try_part(browser: &mut Chromium, page: &str, folder: &Path, part: &str) -> Done {
    match part {
        "scenes" => scene::NAMES.into_iter().try_for_each(|name| {
            eprintln!("    {name}");
            try_scene(browser, page, name)
        }),
        "files" => {
            try_touch(browser, page)?;
            try_guess(browser, page)
        }
        "faults" => regressions::run(browser, page),
        "points" => points::run(browser, page),
        "access" => access::run(browser, page),
        "report" => try_report(browser, page),
        "bits" => compare_bits(browser, page),
        _ => live::run(browser, folder),
    }
}

/// Builds the page and serves it on a free port.
pub(crate) fn serve() -> Done<PageServer> {
    let files = build(&root().join("target/page"))?;
    Ok(PageServer::bind(([127, 0, 0, 1], 0).into(), files)?)
}

/// Prints the cost of a frame in the page. It is a bench and not a test: machines differ and stall.
pub(crate) fn cost() -> Done {
    const SCENES: [(&str, &str); 5] = [
        ("one tank, three screens", "?scene=screens"),
        ("who gets told, three receivers and three schedulers", "?scene=told"),
        ("guess the future, 16 players and six predictors", "?scene=guess&players=8"),
        ("guess the future, 16 players and all 18 predictors", "?scene=guess&players=8&predictors=262143"),
        ("play, six tanks, 300 ms, compensated", "?scene=play&prediction=1&driver=1"),
    ];
    let server = serve()?;
    let mut browser = Chromium::start()?;
    for (name, query) in SCENES {
        let tab = browser.open(&format!("http://{}/{query}", server.address()), Viewport::DESKTOP)?;
        browser.wait_for(&tab, "(window.fairpath?.show?.frames ?? 0) > 60")?;
        let costs = browser.evaluate(&tab, FRAME_COSTS)?;
        let millis = |number: usize| costs[number].as_f64().unwrap_or(f64::NAN);
        println!("{name}: simulation {:.2} ms, drawing {:.2} ms a frame", millis(0), millis(1));
        browser.close(tab)?;
    }
    first_paint(&mut browser, &server)
}

/// Measures simulation and drawing of a frame: the median of a hundred, in the quietest of six
/// rounds, so that other work on the machine does not count.
const FRAME_COSTS: &str = "(() => {
    const show = fairpath.show, best = [Infinity, Infinity];
    show.isPaused = true;
    for (let round = 0; round < 6; round += 1) {
        const costs = [[], []];
        for (let frame = 0; frame < 100; frame += 1) {
            const begun = performance.now();
            show.stage.step(1);
            while (show.stage.think());
            const numbers = show.stage.frame();
            const simulated = performance.now();
            show.view.draw(numbers, 1 / 60);
            costs[0].push(simulated - begun);
            costs[1].push(performance.now() - simulated);
        }
        costs.forEach((all, which) => (best[which] = Math.min(best[which], all.sort((a, b) => a - b)[50])));
    }
    return best;
})()";

/// Prints the time to the first paint and to the first frame of a scene: the best of five.
fn first_paint(browser: &mut Chromium, server: &PageServer) -> Done {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..5 {
        let tab = browser.open(&format!("http://{}/", server.address()), Viewport::DESKTOP)?;
        let names = ["first-contentful-paint", "scene"];
        let entry = |name: &str| format!("performance.getEntriesByName('{name}')[0]");
        for (name, best) in names.iter().zip(&mut best) {
            browser.wait_for(&tab, &format!("!!{}", entry(name)))?;
            let at = browser.evaluate(&tab, &format!("{}.startTime", entry(name)))?;
            *best = best.min(at.as_f64().unwrap_or(f64::NAN));
        }
        browser.close(tab)?;
    }
    println!("first paint after {:.0} ms, first frame of a scene after {:.0} ms", best[0], best[1]);
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
        browser.expect_no_complaints(&format!("scene {name}"))?;
        browser.close(tab)?;
    }
    Ok(())
}

/// Checks that a thumb on the stick drives.
fn try_touch(browser: &mut Chromium, page: &str) -> Done {
    let tab = browser.open(&format!("{page}?scene=play"), Viewport::PHONE)?;
    browser.wait_for(&tab, "(window.fairpath?.show?.frames ?? 0) > 3")?;
    browser.evaluate(
        &tab,
        "document.querySelector('.stick[data-axes=y]').scrollIntoView({ block: 'nearest' })",
    )?;
    let place = browser.evaluate(
        &tab,
        "(() => { const { left, top, width, height } = document.querySelector('.stick[data-axes=y]').getBoundingClientRect(); return [left + width / 2, top + height * 0.1]; })()",
    )?;
    let Some((x, y)) = place[0].as_f64().zip(place[1].as_f64()) else {
        return Err(Failed("the phone layout has no stick".into()));
    };
    browser.touch(&tab, Some((x, y)))?;
    browser.wait_for(&tab, "fairpath.show.hands.ahead > 0.5")?;
    browser.touch(&tab, None)?;
    browser.wait_for(&tab, "fairpath.show.hands.ahead === 0")?;
    browser.close(tab)
}

/// Checks that a click on a line explains it, that a dropped recording (gzipped, with breaks) is
/// shown to its end with the native library's bits, and that a wrong file gets an error message.
fn try_guess(browser: &mut Chromium, page: &str) -> Done {
    let tab = browser.open(&format!("{page}?scene=guess&seed=3&paused=1&at=12"), Viewport::DESKTOP)?;
    browser.wait_for(&tab, "(window.fairpath?.show?.frames ?? 0) > 10")?;
    let lonely = browser.evaluate(&tab, LONELIEST_END)?;
    let number = |place: usize| lonely[place].as_f64().unwrap_or(f64::NAN);
    browser.click(&tab, number(0), number(1))?;
    browser.wait_for(
        &tab,
        &format!(
            "fairpath.show.controls.value('player') === {} && fairpath.show.controls.value('focus') === {}",
            lonely[2], lonely[3]
        ),
    )?;
    let explains = "['It went by: ', 'What happened: '].every(one => document.querySelector('.reasons').textContent.includes(one))";
    browser.wait_for(&tab, explains)?;
    let (csv, breaks) = (recording(), BREAKS);
    let drop = format!(
        "(async () => {{
            const packed = await new Response(new Blob([{}]).stream().pipeThrough(new CompressionStream('gzip'))).blob();
            const dropped = new DataTransfer();
            dropped.items.add(new File([packed], 'walk.csv.gz'));
            dropped.items.add(new File([{}], 'walk.breaks.csv'));
            document.getElementById('scene').dispatchEvent(new DragEvent('drop', {{ dataTransfer: dropped, bubbles: true, cancelable: true }}));
        }})()",
        json!(csv),
        json!(breaks)
    );
    browser.evaluate(&tab, &drop)?;
    browser.wait_for(&tab, "document.querySelector('.says').textContent.startsWith('walk.csv.gz is shown, cut by walk.breaks.csv')")?;
    // To its end, with all predictors selected.
    browser.evaluate(&tab, "{ const at = document.querySelector('[name=at]'); at.value = at.max; at.dispatchEvent(new Event('input')); document.querySelectorAll('[name=predictors]').forEach(one => one.checked || one.click()); }")?;
    browser.wait_for(&tab, "fairpath.show.view.frame.seconds > 29 && !fairpath.show.stage.think()")?;
    let mut native = scene::scene("guess", 3).expect("the scene exists");
    let file = |name, text: &'static str| File { name, bytes: text.as_bytes() };
    native.read(File { name: "walk.csv", bytes: csv.as_bytes() }, Some(file("walk.breaks.csv", breaks)))?;
    for (knob, js) in [("player", "player"), ("focus", "focus"), ("predictors", "predictors"), ("at", "at")] {
        let value = browser.evaluate(&tab, &format!("fairpath.show.controls.value('{js}')"))?;
        scene::turn(native.as_mut(), knob, value.as_f64().unwrap_or(f64::NAN));
    }
    scene::finish_thinking(native.as_mut());
    let expected = scene::digest(native.as_ref()).to_string();
    if browser.evaluate(&tab, "fairpath.show.stage.digest()")? != json!(expected) {
        return Err(Failed("a dropped recording has another digest in the browser than natively".into()));
    }
    browser.evaluate(&tab, "fairpath.show.view.readFiles([new File(['t,entity,team,x,y\\n0,ann,1,zero,0\\n'], 'bad.csv')]).then(() => true)")?;
    browser.wait_for(&tab, "document.querySelector('.says').textContent.startsWith('bad.csv: row 2, column x: `zero` is not a number')")?;
    browser.expect_no_complaints("scene guess")?;
    browser.close(tab)
}

/// Finds the most isolated end of a prediction: x and y on the page, player and predictor.
const LONELIEST_END: &str = "(() => {
    const view = fairpath.show.view, { players, horizon } = view.frame, at = 2 * horizon;
    const ends = players.flatMap((player, number) => player.isThere ? player.answers.filter(one => one.isKnown).map(one => [...view.camera.point(one.places[at], one.places[at + 1]), number, one.number]) : []);
    const others = players.filter(one => one.isThere).map(one => view.camera.point(one.x, one.y)).concat(ends);
    const room = end => Math.min(...others.filter(one => one !== end).map(one => Math.hypot(one[0] - end[0], one[1] - end[1])));
    const { left, top, width, height } = view.field.getBoundingClientRect();
    const best = ends.filter(end => end[0] > 5 && end[1] > 5 && end[0] < width - 5 && end[1] < height - 5).reduce((a, b) => room(b) > room(a) ? b : a);
    return [best[0] + left, best[1] + top, best[2], best[3]];
})()";

/// Ann teleports after ten seconds.
const BREAKS: &str = "t,entity,reason\n10,ann,teleport\n";

/// Checks that dropped results show, and a dropped recording gets the native evaluator's bits.
fn try_report(browser: &mut Chromium, page: &str) -> Done {
    let tab = browser.open(&format!("{page}?scene=report"), Viewport::DESKTOP)?;
    browser.wait_for(&tab, "!!window.fairpath?.page")?;
    // It never opens empty: results come with the page.
    browser.wait_for(
        &tab,
        "document.querySelector('.verdict').textContent.startsWith('1 experiment: ') && document.querySelectorAll('.results img').length > 0",
    )?;
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
        "[...document.querySelectorAll('.results td:nth-child(2)')].some(cell => cell.textContent === '<b>one</b> is one')",
    )?;
    let csv = recording();
    browser.evaluate(&tab, &read("walk.csv", &csv))?;
    browser.wait_for(&tab, "fairpath.page.isEvaluated === true")?;
    let seen = browser.evaluate(&tab, "fairpath.page.scores.map(one => one && [...one])")?;
    let native = RecordingEvaluation::of(File { name: "walk.csv", bytes: csv.as_bytes() }, None)?;
    let expected: Vec<_> =
        (0..RecordingEvaluation::names().count()).map(|number| native.score(number)).collect();
    if seen != json!(expected) {
        return Err(Failed(format!("the browser's evaluator computes {seen}, the native one {expected:?}")));
    }
    browser.evaluate(&tab, &read("nonsense.csv", "hello"))?;
    browser.wait_for(
        &tab,
        "document.querySelector('.evaluation .failed')?.textContent.startsWith('nonsense.csv: row 1: unknown header `hello`')",
    )?;
    for (name, text, wrong) in [
        ("results.json", "{", "results.json: it is not JSON"),
        ("results.json", "{}", "results.json: it has no \"experiment\""),
        ("picture.png", "", "picture.png: neither results nor a recording"),
    ] {
        browser.evaluate(&tab, &read(name, text))?;
        let says = format!("document.querySelector('.wrong').textContent.startsWith({})", json!(wrong));
        browser.wait_for(&tab, &says)?;
    }
    browser.expect_no_complaints("the report")?;
    browser.close(tab)
}

/// Returns a recording of three walkers, made without random numbers.
pub(crate) fn recording() -> String {
    let mut rows = String::from("t,entity,team,x,y\n");
    for sample in 0..600_u32 {
        for (entity, phase) in [("ann", 0), ("bob", 71), ("cleo", 153)] {
            // Back and forth along one axis, in steps along the other.
            let (turn, leg) = ((sample + phase) % 160, (sample + phase) / 160);
            let x = f64::from(if turn < 80 { turn } else { 160 - turn }) * 0.2;
            rows += &format!("{},{entity},{},{x},{}\n", f64::from(sample) * 0.05, 1 + phase % 2, leg * 2);
        }
    }
    rows
}

/// Checks that frames come, time passes, and the picture changes.
fn it_moves(browser: &mut Chromium, tab: &Tab) -> Done {
    browser.evaluate(
        tab,
        "window.before = { digest: fairpath.show.stage.digest(), frames: fairpath.show.frames }",
    )?;
    browser.wait_for(tab, "fairpath.show.stage.digest() !== before.digest")?;
    browser.wait_for(tab, "fairpath.show.frames > before.frames + 3")?;
    // Something is drawn: not all pixels are the same.
    browser.wait_for(
        tab,
        "[...document.querySelectorAll('canvas')].filter(c => c.width > 0).every(c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; return d.some((v, i) => v !== d[i % 4]) })",
    )
}

fn it_pauses(browser: &mut Chromium, tab: &Tab) -> Done {
    browser.key(tab, "KeyP", true)?;
    browser.key(tab, "KeyP", false)?;
    // Deferred work may still finish, but then nothing changes.
    browser.wait_for(tab, "fairpath.show.isPaused && !fairpath.show.stage.think()")?;
    let before = browser.evaluate(tab, "[fairpath.show.stage.digest(), fairpath.show.frames]")?;
    browser.wait_for(tab, &format!("fairpath.show.frames > {} + 5", before[1]))?;
    if browser.evaluate(tab, "fairpath.show.stage.digest()")? != before[0] {
        return Err(Failed("time passes although the scene is paused".into()));
    }
    browser.wait_for(tab, "new URLSearchParams(location.search).get('paused') === '1'")?;
    browser.evaluate(tab, "fairpath.show.controls.togglePause()")?;
    Ok(())
}

/// Checks that nothing is wider than the window, on desktop and phone.
fn it_fits(browser: &mut Chromium, tab: &Tab) -> Done {
    let widths = browser.evaluate(tab, "[document.documentElement.scrollWidth, innerWidth]")?;
    if widths[0].as_f64() > widths[1].as_f64() {
        return Err(Failed(format!("the page is {} pixels wide in a window of {}", widths[0], widths[1])));
    }
    Ok(())
}

/// Checks that every control turns its knob in Rust, and that the address stores it.
fn it_answers_to_its_controls(browser: &mut Chromium, tab: &Tab, name: &str) -> Done {
    let native = scene::scene(name, 1).expect("the scene exists");
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
    browser.evaluate(tab, "window.isOld = true")?;
    browser.reload(tab)?;
    browser.wait_for(tab, "!window.isOld && (window.fairpath?.show?.frames ?? 0) > 3")?;
    for knob in native.knobs().iter() {
        let value = if knob.usual == knob.high { knob.low } else { knob.high };
        browser.wait_for(tab, &format!("fairpath.show.controls.value('{}') === {value}", knob.name))?;
    }
    Ok(())
}

/// Compares digests of every scene, native and in the browser, with equal seed, knobs and input.
fn compare_bits(browser: &mut Chromium, page: &str) -> Done {
    let tab = browser.open(page, Viewport::DESKTOP)?;
    browser.wait_for(&tab, "!!window.fairpath")?;
    for name in scene::NAMES {
        let mut native = scene::scene(name, SEED.into()).expect("the scene exists");
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
            return Err(Failed(format!(
                "{name}: the browser computes {seen}, the native library {expected:?}"
            )));
        }
        eprintln!("    {name}: {} digests are the same", expected.len());
    }
    browser.close(tab)
}

const SEED: u32 = 11;
/// Ticks between two turns of a knob: three seconds.
const TICKS: u32 = 180;

/// Returns each knob turned to another value and back to its default.
fn turns(scene: &dyn Scene) -> Vec<(&'static str, f64)> {
    let up_and_back = scene.knobs().into_owned().into_iter().flat_map(|knob| {
        let other = if knob.usual == knob.high { knob.low } else { knob.high };
        [(knob.name, other), (knob.name, knob.usual)]
    });
    up_and_back.collect()
}
