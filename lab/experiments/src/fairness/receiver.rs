use fairpath::random::Random;
use fairpath::time::Span;
use fairpath_sim::star::Spoke;
use fairpath_sim::{LinkConfig, Loss, RttTrace};

use super::lie::Lie;

/// A receiver, its link, and what its receipts say.
#[derive(Clone, Debug, PartialEq)]
pub struct Receiver {
    name: String,
    link: LinkConfig,
    lie: Lie,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Evenly, by up to this much to either side: how the papers' "±100 ms" is read.
    Uniform(Span),
    /// Normally, with this standard deviation, as network emulators do. No packet arrives before it
    /// was sent: the left tail of a wide one on a short link is cut off.
    Normal(Span),
}

impl Receiver {
    pub fn at(delay: Span, jitter: Jitter) -> Self {
        let link = LinkConfig::default().delay(delay);
        let link = match jitter {
            Jitter::Uniform(plus_minus) => link.jitter_uniform(plus_minus),
            Jitter::Normal(deviation) => link.jitter_normal(deviation),
        };
        Self { name: format!("{} ms", delay.as_millis_f64()), link, lie: Lie::Honest }
    }

    pub fn all_at(delays: &[Span], jitter: Jitter) -> Vec<Self> {
        delays.iter().map(|delay| Self::at(*delay, jitter)).collect()
    }

    /// Delays spaced evenly from `low` to `high` inclusive, longest first; one is in the middle.
    pub fn spaced(count: usize, low: Span, high: Span) -> Vec<Span> {
        let part = |number: usize| if count > 1 { number as f64 / (count - 1) as f64 } else { 0.5 };
        (0..count).rev().map(|number| low + (high - low).scaled(part(number))).collect()
    }

    /// Delays drawn evenly from `low` to `high`, to the millisecond.
    pub fn drawn(count: usize, low: Span, high: Span, seed: u64) -> Vec<Span> {
        let mut random = Random::from_seed(seed).fork(count as u64);
        let [low, high] = [low, high].map(Span::as_millis_f64);
        (0..count).map(|_| Span::from_secs_f64(random.between(low, high).round() * 1e-3)).collect()
    }

    /// A receiver with recorded round trips: half of each is one way. Order is kept, as queues do.
    pub fn recorded(name: impl Into<String>, trace: RttTrace) -> Self {
        let link = LinkConfig::default().rtt_trace(trace).keep_order(true);
        Self { name: name.into(), link, lie: Lie::Honest }
    }

    #[must_use]
    pub fn lying(mut self, lie: Lie) -> Self {
        self.lie = lie;
        self
    }

    /// The same, but of what is sent to it this share is lost.
    #[must_use]
    pub fn losing(mut self, share: f64) -> Self {
        self.link = self.link.loss(Loss::each(share));
        self
    }

    /// Begins a recorded link at any of its moments, so that no two games meet the same stall.
    pub(super) fn begin_anywhere(&mut self, random: &mut Random) {
        if let Some(trace) = self.link.rtt_trace.take() {
            let length = trace.samples().last().map_or(Span::ZERO, |sample| sample.at);
            self.link.rtt_trace = Some(trace.begun_at(length.scaled(random.unit())));
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn lie(&self) -> Lie {
        self.lie
    }

    /// This receiver in a star whose feedback is never lost, as the papers assume.
    pub(super) fn spoke(&self, transport_is_asked: bool, random: Random) -> Spoke {
        let spoke = Spoke::new(self.link.clone(), random).reliable_feedback();
        if transport_is_asked { spoke.transport_round_trips() } else { spoke }
    }
}

impl Jitter {
    pub const NONE: Self = Self::Uniform(Span::ZERO);

    /// In a word or two, for tables: `none`, `±100 ms`, `σ 100 ms`.
    pub fn shown(self) -> String {
        match self {
            Self::Uniform(Span::ZERO) | Self::Normal(Span::ZERO) => "none".into(),
            Self::Uniform(plus_minus) => format!("±{} ms", plus_minus.as_millis_f64()),
            Self::Normal(deviation) => format!("σ {} ms", deviation.as_millis_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_spaced_from_end_to_end() {
        let [low, high] = [20, 400].map(Span::from_millis);
        assert_eq!(Receiver::spaced(3, low, high), [400, 210, 20].map(Span::from_millis));
        assert_eq!(Receiver::spaced(1, low, high), [Span::from_millis(210)]);
        assert_eq!(Receiver::spaced(0, low, high), []);
    }
}
