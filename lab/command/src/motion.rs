use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fairpath_experiments::experiment::{Half, Recorded};
use fairpath_experiments::files::open_recording;

use crate::BadInput;
use crate::print::quoted;

/// The options about recorded motion, the same for all commands that take it.
#[derive(Args)]
pub(crate) struct MotionOptions {
    /// A recording to use instead of generated motion: CSV, plain or gzipped, or Parquet
    #[arg(long, value_name = "FILE")]
    motion: Option<PathBuf>,
    /// Ignore the height in the recording: predict, send and compare only x and y
    #[arg(long)]
    flat: bool,
    /// Use only every other stretch of the recording: tune on one half, judge on the other
    #[arg(long, value_enum)]
    half: Option<HalfChoice>,
}

impl MotionOptions {
    pub(crate) fn is_recorded(&self) -> bool {
        self.motion.is_some()
    }

    pub(crate) fn open(&self) -> Result<Option<Recorded>, BadInput> {
        let Some(path) = &self.motion else {
            return match (self.flat, self.half) {
                (true, _) => Err("--flat needs a recording; pass --motion FILE".into()),
                (_, Some(_)) => Err("--half needs a recording; pass --motion FILE".into()),
                _ => Ok(None),
            };
        };
        let mut recorded = open_recording(path)?;
        if self.flat {
            recorded.recording = recorded.recording.without_height();
        }
        if let Some(half) = self.half {
            recorded = recorded.only(half.half());
            if recorded.recording.stretches.is_empty() {
                return Err(format!("--half leaves no stretch of {}; leave --half out", recorded.file).into());
            }
        }
        Ok(Some(recorded))
    }

    /// The options as a command line repeats them, with a space before each word.
    pub(crate) fn words(&self) -> String {
        let mut words = String::new();
        if let Some(motion) = &self.motion {
            words += &format!(" --motion {}", quoted(&motion.to_string_lossy()));
        }
        if self.flat {
            words += " --flat";
        }
        if let Some(half) = self.half {
            words += if half == HalfChoice::Odd { " --half odd" } else { " --half even" };
        }
        words
    }
}

/// Every other stretch of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HalfChoice {
    /// The first stretch, the third, …
    Odd,
    /// The second stretch, the fourth, …
    Even,
}

impl HalfChoice {
    fn half(self) -> Half {
        match self {
            Self::Odd => Half::Odd,
            Self::Even => Half::Even,
        }
    }
}
