use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::style::{Attribute, Color, ResetColor, SetAttribute, SetForegroundColor};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{cursor, execute, queue};
use fairpath_dis::stamp::Instants;
use fairpath_dis::{Monitor, Report, net};

use super::table::{self, Order, Width};
use super::{ExerciseOptions, NetworkOptions, local};
use crate::live::SummaryOptions;
use crate::{BadInput, print};

/// Show the entities of a DIS network: prediction errors, heartbeats, jitter, stamps
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    network: NetworkOptions,
    #[command(flatten)]
    exercise: ExerciseOptions,
    #[command(flatten)]
    reporting: SummaryOptions,
}

const EXAMPLES: &str = "\
Examples:
  fairpath dis view
  fairpath dis view --to 239.1.2.3 --interface 10.0.0.4
  fairpath dis view --for 30s --json

In a terminal the table is live: arrows scroll, n orders by notes, e by error, i by entity, q ends.
Otherwise it is printed once at the end. It only listens; nothing is sent.
Exit code: 0 done, 2 bad input.";

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let socket = self.network.open()?;
        let mut monitor = Monitor::new(self.exercise.config()?);
        let end = self.reporting.end()?;
        let is_live = io::stdout().is_terminal() && io::stdin().is_terminal() && !self.reporting.json;
        let mut screen = if is_live { Some(Screen::open()?) } else { None };
        let start = Instant::now();
        let now = || local(net::unix_us());
        let mut drawn_at = None::<Instant>;
        while !end.is_here() && !screen.as_ref().is_some_and(|screen| screen.is_over) {
            if let Some(it) = socket.receive(Duration::from_millis(30)) {
                let at = Instants { local: local(it.unix_us), unix_us: it.unix_us };
                monitor.handle_datagram(&it.bytes, at);
            }
            if let Some(screen) = &mut screen {
                let is_pressed = screen.read_keys()?;
                if is_pressed || drawn_at.is_none_or(|at| at.elapsed() > Duration::from_millis(500)) {
                    drawn_at = Some(Instant::now());
                    screen.draw(&monitor.report(now()), start.elapsed().as_secs_f64())?;
                }
            }
        }
        drop(screen);
        if !is_live {
            let (report, secs) = (monitor.report(now()), start.elapsed().as_secs_f64());
            let text = if self.reporting.json {
                format!("{}\n", table::as_json(&report, secs))
            } else {
                let rows = table::rows(&report, Order::Problems, Width::Wide).join("\n");
                format!("{}{rows}\n", table::summary(&report, secs, Width::Wide))
            };
            print::to_stdout(&text)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The terminal while the table has it. Dropping it puts things back.
struct Screen {
    out: io::Stdout,
    order: Order,
    first: usize,
    is_over: bool,
}

impl Screen {
    fn open() -> Result<Self, BadInput> {
        enable_raw_mode()?;
        let mut screen = Self { out: io::stdout(), order: Order::Problems, first: 0, is_over: false };
        execute!(screen.out, EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }

    /// Takes the keys that were pressed, and returns whether there were any.
    fn read_keys(&mut self) -> io::Result<bool> {
        let mut is_pressed = false;
        while event::poll(Duration::ZERO)? {
            let Event::Key(key) = event::read()? else { continue };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            is_pressed = true;
            match key.code {
                KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => self.is_over = true,
                KeyCode::Char('q') | KeyCode::Esc => self.is_over = true,
                KeyCode::Char('n') => self.order = Order::Problems,
                KeyCode::Char('e') => self.order = Order::Error,
                KeyCode::Char('i') => self.order = Order::Id,
                KeyCode::Down => self.first += 1,
                KeyCode::Up => self.first = self.first.saturating_sub(1),
                KeyCode::PageDown => self.first += 20,
                KeyCode::PageUp => self.first = self.first.saturating_sub(20),
                _ => {}
            }
        }
        Ok(is_pressed)
    }

    fn draw(&mut self, report: &Report, secs: f64) -> io::Result<()> {
        let (width, height) = size()?;
        let (width, height) = (usize::from(width), usize::from(height));
        let layout = Width::of_terminal(width);
        let head = table::summary(report, secs, layout);
        let head: Vec<&str> = head.lines().collect();
        let rows = table::rows(report, self.order, layout);
        let room = height.saturating_sub(head.len() + 1);
        self.first = self.first.min(rows.len().saturating_sub(room));
        queue!(self.out, BeginSynchronizedUpdate, cursor::MoveTo(0, 0), ResetColor)?;
        for line in &head {
            let is_title = line.starts_with("entity ");
            if is_title {
                queue!(self.out, SetAttribute(Attribute::Reverse))?;
            }
            let line = if is_title { format!("{line:<width$}") } else { (*line).to_owned() };
            write!(self.out, "{}", table::cut(&line, width))?;
            queue!(self.out, SetAttribute(Attribute::Reset), Clear(ClearType::UntilNewLine))?;
            write!(self.out, "\r\n")?;
        }
        for row in rows.iter().skip(self.first).take(room) {
            // Notes follow the stamps; an entity with one is in colour.
            let has_notes = row.trim_end().len() > layout.notes_at();
            if has_notes {
                queue!(self.out, SetForegroundColor(Color::Yellow))?;
            }
            write!(self.out, "{}", table::cut(row, width))?;
            queue!(self.out, ResetColor, Clear(ClearType::UntilNewLine))?;
            write!(self.out, "\r\n")?;
        }
        queue!(
            self.out,
            Clear(ClearType::FromCursorDown),
            cursor::MoveTo(0, height.saturating_sub(1) as u16)
        )?;
        let keys = format!(
            "{} to {} of {}   ↑ ↓ scroll   n notes first   e error first   i by entity   q ends",
            (self.first + 1).min(rows.len()),
            (self.first + room).min(rows.len()),
            rows.len()
        );
        write!(self.out, "{}", table::cut(&keys, width))?;
        queue!(self.out, Clear(ClearType::UntilNewLine), EndSynchronizedUpdate)?;
        self.out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = execute!(self.out, cursor::Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}
