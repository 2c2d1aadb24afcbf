//! Takes screenshots of each scene at four sizes, light and dark: for the book and for reviews.

use std::path::Path;

use serde_json::json;

use crate::Done;
use crate::chromium::{Chromium, Viewport};
use crate::trial::{recording, serve};

/// The screenshots: file name, address, ticks until something shows, and a condition to wait for.
const PICTURES: [(&str, &str, u32, &str); 8] = [
    ("screens", "?scene=screens&seed=3", 600, FAR_OFF),
    ("screens-global", "?scene=screens&seed=3&placement=2", 600, "stage.frame()[47] > 2"),
    ("told", "?scene=told&seed=1", 4200, "true"),
    ("guess", "?scene=guess&seed=2&at=11&player=3&focus=4", 60, "true"),
    ("play-tank", "?scene=play&driver=1&prediction=1", 900, "true"),
    ("play-jet-car", "?scene=play&game=1&driver=1&prediction=1&lag=400", 900, "true"),
    ("play-boat", "?scene=play&game=2&driver=1&lag=500", 900, "true"),
    ("play-race-car", "?scene=play&game=3&driver=1&lag=300", 900, "true"),
];

/// The error of the far screen is two and a half tanks.
const FAR_OFF: &str = "stage.frame()[47] > 19";

/// Writes every screenshot: two desktops, and a phone upright and turned, light and dark.
pub(crate) fn run(folder: &Path) -> Done {
    let server = serve()?;
    let mut browser = Chromium::start()?;
    std::fs::create_dir_all(folder)?;
    for (name, address, ticks, until) in PICTURES {
        for (suffix, viewport) in looks() {
            let tab = browser.open(&format!("http://{}/{address}&paused=1", server.address()), viewport)?;
            browser.wait_for(&tab, "(window.fairpath?.show?.frames ?? 0) > 2")?;
            browser.evaluate(&tab, &format!("{{ const stage = fairpath.show.stage; fairpath.show.step({ticks}); for (let tick = 0; tick < 600 && !({until}); tick += 1) fairpath.show.step(1); while (stage.think()); Object.assign(fairpath.show.view, {{ slow: 0, isFirst: true }}); window.seen = fairpath.show.frames; }}"))?;
            browser.wait_for(&tab, "fairpath.show.frames > seen + 20")?;
            let file = folder.join(format!("{name}{suffix}.png"));
            std::fs::write(&file, browser.photograph(&tab)?)?;
            eprintln!("  {}", file.display());
            browser.close(tab)?;
        }
    }
    photograph_report(&mut browser, &server.address().to_string(), folder)
}

/// Returns the viewports with the suffixes of their file names.
fn looks() -> impl Iterator<Item = (String, Viewport)> {
    let sizes = [
        ("", Viewport::DESKTOP),
        ("-wide", Viewport::WIDE),
        ("-phone", Viewport::PHONE),
        ("-landscape", Viewport::LANDSCAPE),
    ];
    sizes
        .into_iter()
        .flat_map(|(size, viewport)| [(size.to_owned(), viewport), (format!("{size}-dark"), viewport.dark())])
}

/// Takes screenshots of the report, which has no ticks: scores of predictors on a recording.
fn photograph_report(browser: &mut Chromium, server: &str, folder: &Path) -> Done {
    for (suffix, viewport) in looks() {
        let tab = browser.open(&format!("http://{server}/?scene=report"), viewport)?;
        browser.wait_for(&tab, "!!window.fairpath?.page")?;
        let read = format!(
            "fairpath.page.readFiles([new File([{}], 'walk.csv')]).then(() => true)",
            json!(recording())
        );
        browser.evaluate(&tab, &read)?;
        browser.wait_for(&tab, "fairpath.page.isEvaluated === true")?;
        let file = folder.join(format!("report{suffix}.png"));
        std::fs::write(&file, browser.photograph(&tab)?)?;
        eprintln!("  {}", file.display());
        browser.close(tab)?;
    }
    Ok(())
}
