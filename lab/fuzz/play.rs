//! What the applications of both ends do with values that have types. Errors are valid results.

use fairpath::session::{ClientFrame, Party, ServerFrame};
use fairpath::time::Span;
use fairpath::vector::Vec2;

use crate::Entropy;

/// Lets a client create a flag, observe it, set its states, or call.
pub fn play(mut frame: ClientFrame<'_, Vec2>, source: &mut Entropy<'_>) {
    let (object, at) = (source.entity(), frame.now() + source.lead());
    match source.below(7) {
        0 | 1 => drop(frame.create(&source.text(), source.state(), at)),
        2 => drop(frame.observe(object, source.state(), at)),
        3 => drop(frame.set(object, &(source.take(2) as u16))),
        // The server's state: always an error.
        4 => drop(frame.set(object, &(source.take(2) as u32))),
        5 => drop(frame.call_server(&source.text())),
        _ => drop(frame.call_owner(object, &source.text())),
    }
    let _ = (frame.creation::<String>(object), frame.get::<u16>(object), frame.get::<u32>(object));
}

/// Lets a server do the same, and give an object to a client.
pub fn host(mut frame: ServerFrame<'_, Vec2>, source: &mut Entropy<'_>) {
    let (object, at) = (source.entity(), frame.now() + source.lead());
    let client = frame.clients().get(source.below(4) as usize).copied();
    match source.below(8) {
        0 => drop(frame.create(&source.text(), source.state(), at)),
        1 => drop(frame.observe(object, source.state(), at)),
        2 => drop(frame.set(object, &(source.take(2) as u16))),
        3 | 4 => drop(frame.set(object, &(source.take(2) as u32))),
        5 => drop(frame.call_all(&source.text())),
        6 => drop(frame.call_viewers(object, &source.text())),
        _ => drop(frame.give(object, client.map_or(Party::Server, Party::Client))),
    }
    let _ = (frame.creation::<String>(object), frame.get::<u16>(object), frame.get::<u32>(object));
}

impl Entropy<'_> {
    /// Returns a short text, or one too long for anything.
    fn text(&mut self) -> String {
        "x".repeat(if self.below(16) == 0 { self.take(2) as usize } else { self.below(24) as usize })
    }

    /// Returns a time from 1.5 s before the frame to 0.2 s after it: some are refused.
    fn lead(&mut self) -> Span {
        Span::from_millis(200 - self.take(2) as i64 % 1700)
    }
}
