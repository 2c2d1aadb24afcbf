//! Which recorded motion is played, and what of it.

use std::path::PathBuf;

use clap::Args;
use fairpath_experiments::experiment::{Half, Recorded};
use fairpath_experiments::files::open_recording;

use crate::BadInput;
use crate::print::quoted;

/// The options about recorded motion, the same for all that take it.
#[derive(Args)]
pub(crate) struct MotionOptions {
    /// Recorded motion instead of our own: CSV, plain or gzipped, or Parquet
    #[arg(long, value_name = "FILE")]
    motion: Option<PathBuf>,
    /// Leave out the height of recorded motion: only x and y are predicted, sent and compared
    #[arg(long)]
    flat: bool,
    /// Play only every other stretch of recorded motion, odd or even: tune on one half, judge on
    /// the other
    #[arg(long, value_name = "WHICH")]
    half: Option<String>,
}

impl MotionOptions {
    /// Whether a recording was asked for.
    pub(crate) fn is_recorded(&self) -> bool {
        self.motion.is_some()
    }

    /// Opens the recording, if one was asked for.
    pub(crate) fn open(&self) -> Result<Option<Recorded>, BadInput> {
        let half = self.half.as_deref().map(half).transpose()?;
        let Some(path) = &self.motion else {
            return match (self.flat, &self.half) {
                (true, _) => Err("--flat: give a recording with --motion, our own tanks are flat".into()),
                (_, Some(_)) => Err("--half: give a recording with --motion".into()),
                _ => Ok(None),
            };
        };
        let mut recorded = open_recording(path)?;
        if self.flat {
            recorded.recording = recorded.recording.without_height();
        }
        if let Some(half) = half {
            recorded = recorded.only(half);
            if recorded.recording.stretches.is_empty() {
                return Err(format!("--half: nothing is left of {}, play all of it", recorded.file).into());
            }
        }
        Ok(Some(recorded))
    }

    /// What repeats it on a command line, with a space before each word.
    pub(crate) fn words(&self) -> String {
        let mut words = String::new();
        if let Some(motion) = &self.motion {
            words += &format!(" --motion {}", quoted(&motion.to_string_lossy()));
        }
        if self.flat {
            words += " --flat";
        }
        if let Some(half) = &self.half {
            words += &format!(" --half {}", quoted(half));
        }
        words
    }
}

fn half(text: &str) -> Result<Half, BadInput> {
    match text.trim().to_ascii_lowercase().as_str() {
        "odd" => Ok(Half::Odd),
        "even" => Ok(Half::Even),
        _ => Err(BadInput::of("--half", text, "give odd or even")),
    }
}
