//! Writes events of `tracing` to stderr, one line each.

use std::fmt::{Debug, Write as _};

use clap::ValueEnum;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::print;

/// What is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// Nothing
    #[default]
    Off,
    /// What ends the program
    Error,
    /// What was refused, and why
    Warn,
    /// Every connection that ended, too
    Debug,
}

impl LogLevel {
    /// Logs to stderr from now on.
    pub(crate) fn begin(self) {
        let level = match self {
            Self::Off => return,
            Self::Error => Level::ERROR,
            Self::Warn => Level::WARN,
            Self::Debug => Level::DEBUG,
        };
        // Only a second call can fail, and the first one holds.
        let _ = tracing::subscriber::set_global_default(Lines { level });
    }
}

struct Lines {
    level: Level,
}

impl Subscriber for Lines {
    /// QUIC and others use `tracing`, too, with lines for each packet.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("fairpath") && *metadata.level() <= self.level
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        print::note!("{} {}: {}{}", metadata.level(), metadata.target(), fields.message, fields.others);
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    others: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.others, " {name}={value:?}"),
        };
    }
}
