//! The moving picture of README.md: a tank on three screens, placed locally, then by shared clock.

use std::fs::File;
use std::path::Path;

use gif::{Encoder, Frame, Repeat};

use crate::chromium::{Chromium, PageClip, Tab, Viewport};
use crate::trial::serve;
use crate::{Done, Failed};

/// The two halves of the picture: local placement, then placement by a shared clock.
const HALVES: [&str; 2] = ["?scene=screens&seed=3", "?scene=screens&seed=3&placement=2"];
/// Counts the ticks until the far screen is two and a half tanks off with local placement: a moment
/// worth showing. The first ten seconds are left out, because averages still jump.
const TICKS_UNTIL_FAR_OFF: &str = "(() => {
    const stage = fairpath.show.stage;
    let ticks = 600;
    stage.step(ticks);
    for (; ticks < 6000 && stage.frame()[47] <= 19; ticks += 1) stage.step(1);
    return ticks;
})()";
/// The picture begins so many ticks before that moment.
const LEAD: u64 = 100;
/// Three seconds for each half.
const FRAMES: u32 = 30;
/// Ten frames a second: a tick is 1/60 s.
const TICKS_PER_FRAME: u64 = 6;
/// Hundredths of a second between frames, as GIF counts.
const FRAME_DELAY: u16 = 10;
/// The headline, the field and the choice of placement, at the width of a README's column.
const CLIP: PageClip = PageClip { x: 12, y: 52, width: 1256, height: 512, scale: 0.68 };
/// A README loads quickly below this.
const BYTES_MAX: u64 = 1_500_000;

/// Writes `tour.gif` into `folder`.
pub(crate) fn run(folder: &Path) -> Done {
    let server = serve()?;
    let mut browser = Chromium::start()?;
    std::fs::create_dir_all(folder)?;
    let file = folder.join("tour.gif");
    let mut picture = Picture::default();
    let page = |address| format!("http://{}/{address}&paused=1", server.address());
    let tab = open(&mut browser, &page(HALVES[0]))?;
    let moment = browser.evaluate(&tab, TICKS_UNTIL_FAR_OFF)?.as_u64().unwrap_or_default();
    browser.close(tab)?;
    for half in HALVES {
        let tab = open(&mut browser, &page(half))?;
        step(&mut browser, &tab, moment.saturating_sub(LEAD))?;
        for _ in 0..FRAMES {
            step(&mut browser, &tab, TICKS_PER_FRAME)?;
            picture.add(&browser.photograph_clip(&tab, CLIP)?)?;
        }
        browser.close(tab)?;
    }
    picture.write(&file)?;
    let bytes = std::fs::metadata(&file)?.len();
    eprintln!("  {} ({} kB)", file.display(), bytes / 1000);
    if bytes > BYTES_MAX {
        return Err(Failed(format!("tour.gif takes {bytes} bytes; make it smaller than {BYTES_MAX}")));
    }
    Ok(())
}

fn open(browser: &mut Chromium, address: &str) -> Done<Tab> {
    let tab = browser.open(address, Viewport::DESKTOP)?;
    browser.wait_for(&tab, "(window.fairpath?.show?.frames ?? 0) > 2")?;
    Ok(tab)
}

/// Lets ticks pass and waits until the result is drawn.
fn step(browser: &mut Chromium, tab: &Tab, ticks: u64) -> Done {
    let step = format!("fairpath.show.stage.step({ticks}); window.seen = fairpath.show.frames;");
    browser.evaluate(tab, &step)?;
    browser.wait_for(tab, "fairpath.show.frames > seen + 1")
}

/// Frames of one size, each stored as what changed since the one before.
#[derive(Default)]
struct Picture {
    size: (u16, u16),
    last: Vec<u8>,
    frames: Vec<Frame<'static>>,
}

impl Picture {
    fn add(&mut self, png: &[u8]) -> Done {
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info()?;
        let mut pixels = vec![0; reader.output_buffer_size().ok_or("the screenshot is too large")?];
        let info = reader.next_frame(&mut pixels)?;
        let channels = info.color_type.samples();
        let opaque = |pixel: &[u8]| [pixel[0], pixel[1], pixel[2], 255];
        let pixels: Vec<u8> = pixels[..info.buffer_size()].chunks_exact(channels).flat_map(opaque).collect();
        self.size = (u16::try_from(info.width)?, u16::try_from(info.height)?);
        let mut changed = pixels.clone();
        for (now, before) in changed.chunks_exact_mut(4).zip(self.last.chunks_exact(4)) {
            if now == before {
                now.fill(0);
            }
        }
        let mut frame = Frame::from_rgba_speed(self.size.0, self.size.1, &mut changed, 10);
        frame.delay = FRAME_DELAY;
        frame.dispose = gif::DisposalMethod::Keep;
        self.frames.push(frame);
        self.last = pixels;
        Ok(())
    }

    fn write(self, file: &Path) -> Done {
        let mut encoder = Encoder::new(File::create(file)?, self.size.0, self.size.1, &[])?;
        encoder.set_repeat(Repeat::Infinite)?;
        for frame in &self.frames {
            encoder.write_frame(frame)?;
        }
        Ok(())
    }
}
