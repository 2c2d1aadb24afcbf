use std::io::{self, IsTerminal, Write};
use std::sync::Once;
use std::time::Instant;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::style::{Color, ResetColor, SetForegroundColor};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{cursor, execute, queue};

use super::canvas::TextCanvas;
use crate::BadInput;

/// The terminal while a game has it. Restored however that ends: by a key, an error or a panic.
pub(super) struct Terminal {
    out: io::Stdout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    Left,
    Right,
    Character(char),
    /// q, Escape or Ctrl-C.
    Quit,
}

impl Terminal {
    pub(super) fn open() -> Result<Self, BadInput> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            return Err(BadInput(
                "play needs a terminal to draw in and keys to read: do not redirect it".into(),
            ));
        }
        restore_before_panics();
        enable_raw_mode()?;
        // From here on dropping it puts things back.
        let mut terminal = Self { out: io::stdout() };
        execute!(terminal.out, EnterAlternateScreen, cursor::Hide)?;
        Ok(terminal)
    }

    /// The next key that goes down before `deadline`, if one does.
    pub(super) fn key_until(&mut self, deadline: Instant) -> io::Result<Option<Key>> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if !event::poll(left)? {
                return Ok(None);
            }
            if let Event::Key(key) = event::read()?
                && let Some(key) = meaning(key)
            {
                return Ok(Some(key));
            }
        }
    }

    pub(super) fn canvas(&self) -> io::Result<TextCanvas> {
        let (width, height) = size()?;
        Ok(TextCanvas::new(width, height))
    }

    /// Shows a canvas, all at once where the terminal can do that.
    pub(super) fn show(&mut self, canvas: &TextCanvas) -> io::Result<()> {
        queue!(self.out, BeginSynchronizedUpdate)?;
        let mut colour = Color::Reset;
        queue!(self.out, ResetColor)?;
        for (row, cells) in (0..).zip(canvas.rows()) {
            queue!(self.out, cursor::MoveTo(0, row))?;
            for cell in cells {
                if cell.colour != colour {
                    colour = cell.colour;
                    queue!(self.out, SetForegroundColor(colour))?;
                }
                write!(self.out, "{}", cell.character)?;
            }
        }
        queue!(self.out, ResetColor, EndSynchronizedUpdate)?;
        self.out.flush()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // In a panic the hook did it already; twice would put the cursor back over the panic's
        // words.
        if !std::thread::panicking() {
            restore();
        }
    }
}

/// Restores the terminal. An error here cannot be reported any more.
fn restore() {
    let _ = execute!(io::stdout(), EndSynchronizedUpdate, ResetColor, cursor::Show, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}

/// Restores the terminal before a panic's message, which would vanish with the other screen.
fn restore_before_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let say = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            say(panic);
        }));
    });
}

fn meaning(KeyEvent { code, modifiers, kind, .. }: KeyEvent) -> Option<Key> {
    if kind == KeyEventKind::Release {
        return None;
    }
    match code {
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Quit),
        KeyCode::Char('q') | KeyCode::Esc => Some(Key::Quit),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::Left => Some(Key::Left),
        KeyCode::Right => Some(Key::Right),
        KeyCode::Char(character) => Some(Key::Character(character.to_ascii_lowercase())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_three_ways_to_quit_and_letting_a_key_go_is_none() {
        let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
        for key in [
            plain(KeyCode::Char('q')),
            plain(KeyCode::Esc),
            KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL),
        ] {
            assert_eq!(meaning(key), Some(Key::Quit), "{key:?}");
        }
        assert_eq!(meaning(plain(KeyCode::Char('C'))), Some(Key::Character('c')));
        let released = KeyEvent { kind: KeyEventKind::Release, ..plain(KeyCode::Char('q')) };
        assert_eq!(meaning(released), None);
    }
}
