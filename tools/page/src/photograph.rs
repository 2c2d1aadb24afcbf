//! A picture of each scene, for the README and for whoever changes the page.

use std::path::Path;

use crate::Done;
use crate::chromium::{Chromium, Viewport};
use crate::trial::serve;

/// What is photographed: a file's name, an address, and after how many ticks there is something to see.
const PICTURES: [(&str, &str, u32); 8] = [
    ("screens", "?scene=screens&seed=4", 700),
    ("screens-global", "?scene=screens&seed=4&placement=2", 700),
    ("told", "?scene=told&seed=1", 4200),
    ("guess", "?scene=guess&seed=2&at=12", 60),
    ("play-tank", "?scene=play&driver=1&compensation=1", 900),
    ("play-jet-car", "?scene=play&game=1&driver=1&compensation=1&lag=400", 900),
    ("play-boat", "?scene=play&game=2&driver=1&lag=500", 900),
    ("play-race-car", "?scene=play&game=3&driver=1&lag=300", 900),
];

/// Writes every picture at a desk, light and dark, and on a phone.
pub(crate) fn run(folder: &Path) -> Done {
    let server = serve()?;
    let mut browser = Chromium::start()?;
    std::fs::create_dir_all(folder)?;
    for (name, address, ticks) in PICTURES {
        for (suffix, viewport) in [
            ("", Viewport::DESKTOP),
            ("-dark", Viewport::DESKTOP.dark()),
            ("-phone", Viewport::PHONE),
            ("-phone-dark", Viewport::PHONE.dark()),
        ] {
            let tab = browser.open(&format!("http://{}/{address}&paused=1", server.address()), viewport)?;
            browser.wait_for(&tab, "(window.fairpath?.show?.frames ?? 0) > 2")?;
            browser.evaluate(&tab, &format!("fairpath.show.stage.step({ticks}); Object.assign(fairpath.show.view, {{ slow: 0, isFirst: true }}); window.seen = fairpath.show.frames"))?;
            browser.wait_for(&tab, "fairpath.show.frames > seen + 20")?;
            let file = folder.join(format!("{name}{suffix}.png"));
            std::fs::write(&file, browser.photograph(&tab)?)?;
            eprintln!("  {}", file.display());
            browser.close(tab)?;
        }
    }
    Ok(())
}
