//! Headless Chromium, driven through the DevTools protocol.
//!
//! The protocol uses a pipe: JSON messages, each ended by a zero byte. A shell moves the pipe to
//! the descriptors that the browser expects (3 and 4), without WebSocket or port.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Done, Failed};

/// The time limit of any operation: generous, because machines stall and no test may fail then.
const PATIENCE: Duration = Duration::from_secs(180);
/// The pause between two checks of a condition.
const PAUSE: Duration = Duration::from_millis(50);

/// A running browser, which ends when it is dropped.
pub(crate) struct Chromium {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    asked: u64,
    /// Errors and warnings of the pages.
    pub(crate) complaints: Vec<String>,
    _profile: TempDir,
}

/// The device that shows a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Viewport {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) is_dark: bool,
    pub(crate) is_phone: bool,
}

/// A part of a page, in page pixels, and the scale of its picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageClip {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) scale: f64,
}

pub(crate) struct Tab {
    session: String,
    target: String,
}

impl Viewport {
    pub(crate) const DESKTOP: Self = Self { width: 1280, height: 800, is_dark: false, is_phone: false };
    pub(crate) const WIDE: Self = Self { width: 1920, height: 1080, ..Self::DESKTOP };
    pub(crate) const LANDSCAPE: Self = Self { width: 844, height: 390, ..Self::PHONE };
    pub(crate) const PHONE: Self = Self { width: 390, height: 844, is_dark: false, is_phone: true };

    pub(crate) fn dark(self) -> Self {
        Self { is_dark: true, ..self }
    }
}

impl Chromium {
    /// Starts the browser. Installs Debian's Chromium first if there is none.
    pub(crate) fn start() -> Done<Self> {
        let program = find()?;
        let profile = TempDir::new()?;
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-extensions",
            "--disable-background-networking",
            "--disable-background-timer-throttling",
            "--disable-renderer-backgrounding",
            "--no-first-run",
            "--hide-scrollbars",
            "--mute-audio",
            "--remote-debugging-pipe",
        ];
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$@" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null"#, "sh", &program])
            .args(arguments)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let to = child.stdin.take().expect("it is piped");
        let out = child.stdout.take().expect("it is piped");
        let (tell, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(out).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { return };
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, to, from, asked: 0, complaints: Vec::new(), _profile: profile })
    }

    /// Opens an address in a new tab.
    pub(crate) fn open(&mut self, address: &str, viewport: Viewport) -> Done<Tab> {
        let target = self.ask(None, "Target.createTarget", json!({ "url": "about:blank" }))?;
        let target = target["targetId"].as_str().unwrap_or_default().to_owned();
        let attach = json!({ "targetId": target, "flatten": true });
        let session = self.ask(None, "Target.attachToTarget", attach)?;
        let tab = Tab { session: session["sessionId"].as_str().unwrap_or_default().to_owned(), target };
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            self.ask(Some(&tab), domain, json!({}))?;
        }
        self.look_as(&tab, viewport)?;
        self.ask(Some(&tab), "Page.navigate", json!({ "url": address }))?;
        Ok(tab)
    }

    pub(crate) fn look_as(&mut self, tab: &Tab, viewport: Viewport) -> Done {
        let Viewport { width, height, is_dark, is_phone } = viewport;
        let scale = if is_phone { 2 } else { 1 };
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": is_phone });
        self.ask(Some(tab), "Emulation.setDeviceMetricsOverride", metrics)?;
        let touch = json!({ "enabled": is_phone });
        self.ask(Some(tab), "Emulation.setTouchEmulationEnabled", touch)?;
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.ask(Some(tab), "Emulation.setEmulatedMedia", features)?;
        Ok(())
    }

    pub(crate) fn close(&mut self, tab: Tab) -> Done {
        self.ask(None, "Target.closeTarget", json!({ "targetId": tab.target })).map(|_| ())
    }

    /// Evaluates an expression in the page. Promises are awaited.
    pub(crate) fn evaluate(&mut self, tab: &Tab, expression: &str) -> Done<Value> {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.ask(Some(tab), "Runtime.evaluate", parameters)?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            let text = thrown["exception"]["description"].as_str().or_else(|| thrown["text"].as_str());
            return Err(Failed(format!("`{expression}`: {}", text.unwrap_or("an exception"))));
        }
        Ok(answer["result"]["value"].clone())
    }

    pub(crate) fn wait_for(&mut self, tab: &Tab, expression: &str) -> Done {
        let begun = Instant::now();
        while !self.is_true(tab, expression)? {
            if begun.elapsed() > PATIENCE {
                let complaints = self.complaints.join("; ");
                return Err(Failed(format!(
                    "timed out waiting for `{expression}`; the page logged: {complaints:?}"
                )));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Returns whether an expression is true; false on a page that is navigating.
    fn is_true(&mut self, tab: &Tab, expression: &str) -> Done<bool> {
        match self.evaluate(tab, expression) {
            Ok(value) => Ok(value == json!(true)),
            Err(Failed(why)) if why.contains("navigated") || why.contains("context") => Ok(false),
            Err(failed) => Err(failed),
        }
    }

    pub(crate) fn reload(&mut self, tab: &Tab) -> Done {
        self.ask(Some(tab), "Page.reload", json!({})).map(|_| ())
    }

    pub(crate) fn key(&mut self, tab: &Tab, code: &str, is_down: bool) -> Done {
        let kind = if is_down { "rawKeyDown" } else { "keyUp" };
        let event = json!({ "type": kind, "code": code, "key": code });
        self.ask(Some(tab), "Input.dispatchKeyEvent", event).map(|_| ())
    }

    /// Presses and releases a key that the browser itself acts on, such as Tab and Enter.
    pub(crate) fn press(&mut self, tab: &Tab, key: &str, code: &str, number: u32) -> Done {
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" { "\r" } else { "" };
            let event = json!({
                "type": kind, "key": key, "code": code, "text": text,
                "windowsVirtualKeyCode": number, "nativeVirtualKeyCode": number,
            });
            self.ask(Some(tab), "Input.dispatchKeyEvent", event)?;
        }
        Ok(())
    }

    /// Clicks the mouse at a point, in page pixels.
    pub(crate) fn click(&mut self, tab: &Tab, x: f64, y: f64) -> Done {
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.ask(Some(tab), "Input.dispatchMouseEvent", event)?;
        }
        Ok(())
    }

    /// Returns the centre of the first element that a selector finds, scrolled into sight.
    pub(crate) fn centre_of(&mut self, tab: &Tab, selector: &str) -> Done<(f64, f64)> {
        let centre = self.evaluate(
            tab,
            &format!(
                "(() => {{ const one = document.querySelector({}); one.scrollIntoView({{ block: 'nearest', behavior: 'instant' }});
                    const {{ left, top, width, height }} = one.getBoundingClientRect(); return [left + width / 2, top + height / 2]; }})()",
                json!(selector)
            ),
        )?;
        let place = centre[0].as_f64().zip(centre[1].as_f64());
        place.ok_or_else(|| Failed(format!("the page has no {selector}")))
    }

    /// Clicks the mouse on the first element that a selector finds.
    pub(crate) fn click_on(&mut self, tab: &Tab, selector: &str) -> Done {
        let (x, y) = self.centre_of(tab, selector)?;
        self.click(tab, x, y)
    }

    /// Moves the finger that is down, without pressure.
    pub(crate) fn touch_move(&mut self, tab: &Tab, (x, y): (f64, f64)) -> Done {
        let points = json!([{ "x": x, "y": y, "force": 0 }]);
        let event = json!({ "type": "touchMove", "touchPoints": points });
        self.ask(Some(tab), "Input.dispatchTouchEvent", event).map(|_| ())
    }

    /// Puts a finger down at a point, or lifts it if there is no point.
    pub(crate) fn touch(&mut self, tab: &Tab, place: Option<(f64, f64)>) -> Done {
        let kind = if place.is_some() { "touchStart" } else { "touchEnd" };
        let points: Vec<Value> = place.iter().map(|(x, y)| json!({ "x": x, "y": y })).collect();
        let event = json!({ "type": kind, "touchPoints": points });
        self.ask(Some(tab), "Input.dispatchTouchEvent", event).map(|_| ())
    }

    /// Returns a PNG of the viewport.
    pub(crate) fn photograph(&mut self, tab: &Tab) -> Done<Vec<u8>> {
        self.capture(tab, json!({ "format": "png" }))
    }

    pub(crate) fn photograph_clip(&mut self, tab: &Tab, clip: PageClip) -> Done<Vec<u8>> {
        let PageClip { x, y, width, height, scale } = clip;
        let clip = json!({ "x": x, "y": y, "width": width, "height": height, "scale": scale });
        self.capture(tab, json!({ "format": "png", "clip": clip }))
    }

    fn capture(&mut self, tab: &Tab, parameters: Value) -> Done<Vec<u8>> {
        let answer = self.ask(Some(tab), "Page.captureScreenshot", parameters)?;
        decode_base64(answer["data"].as_str().unwrap_or_default())
            .ok_or_else(|| Failed("Chromium sent a screenshot that is not base64".into()))
    }

    /// Fails if a page has logged an error or a warning since the last check.
    pub(crate) fn expect_no_complaints(&mut self, what: &str) -> Done {
        let complaints = std::mem::take(&mut self.complaints);
        if complaints.is_empty() {
            return Ok(());
        }
        Err(Failed(format!("{what} logs errors: {}", complaints.join("\n"))))
    }

    fn ask(&mut self, tab: Option<&Tab>, method: &str, parameters: Value) -> Done<Value> {
        self.asked += 1;
        let mut message = json!({ "id": self.asked, "method": method, "params": parameters });
        if let Some(tab) = tab {
            message["sessionId"] = json!(tab.session);
        }
        self.to.write_all(message.to_string().as_bytes())?;
        self.to.write_all(&[0])?;
        self.to.flush()?;
        loop {
            let Ok(message) = self.from.recv_timeout(PATIENCE) else {
                return Err(Failed(format!("Chromium does not answer {method}; it may have crashed")));
            };
            if message["id"] == json!(self.asked) {
                return match message.get("error") {
                    Some(error) => Err(Failed(format!("{method}: {error}"))),
                    None => Ok(message["result"].clone()),
                };
            }
            self.note(&message);
        }
    }

    fn note(&mut self, message: &Value) {
        let parameters = &message["params"];
        let complaint = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                parameters["exceptionDetails"]["exception"]["description"].clone()
            }
            Some("Runtime.consoleAPICalled")
                if parameters["type"] == "error" || parameters["type"] == "warning" =>
            {
                parameters["args"].clone()
            }
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => parameters["entry"].clone(),
            _ => return,
        };
        self.complaints.push(complaint.to_string());
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The browser is asked first, so that it ends its own children; then it is killed.
        let close = json!({ "id": 0, "method": "Browser.close" }).to_string();
        let is_asked = self.to.write_all(close.as_bytes()).and_then(|()| self.to.write_all(&[0])).is_ok();
        let begun = Instant::now();
        while is_asked && begun.elapsed() < Duration::from_secs(10) {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(PAUSE);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn find() -> Done<String> {
    const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let is_there = |name: &&str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    if let Ok(chosen) = std::env::var("CHROMIUM") {
        return Ok(chosen);
    }
    if let Some(name) = NAMES.iter().find(|name| is_there(name)) {
        return Ok((*name).into());
    }
    eprintln!("Chromium is not installed; installing Debian's package");
    let install = "apt-get update --quiet && apt-get install --yes --quiet --no-install-recommends chromium";
    let installed = Command::new("sh").args(["-c", install]).stdin(Stdio::null()).status();
    if installed.is_ok_and(|status| status.success()) && is_there(&NAMES[0]) {
        return Ok(NAMES[0].into());
    }
    Err(Failed(
        "cannot find Chromium: install it (Debian: `apt-get install chromium` as root), or set its path with \
         CHROMIUM=/path/to/chromium"
            .into(),
    ))
}

/// Decodes plain base64 with padding, the protocol's format for pictures.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let mut bits = 0u32;
        for byte in four {
            bits = bits << 6 | u32::from(value(*byte)?);
        }
        let count = four.len() * 6 / 8;
        bits <<= 32 - 6 * four.len();
        bytes.extend_from_slice(&bits.to_be_bytes()[..count]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_known_texts() {
        assert_eq!(decode_base64("aGVsbG8gd29ybGQ=").as_deref(), Some(&b"hello world"[..]));
        assert_eq!(decode_base64("aGVsbG8=").as_deref(), Some(&b"hello"[..]));
        assert_eq!(decode_base64("aGVs").as_deref(), Some(&b"hel"[..]));
        assert_eq!(decode_base64("a*Vs"), None);
    }
}
