//! What clients take from their server when they join, instead of configuring it themselves.

use std::collections::BTreeMap;

use super::class::{Class, ClassId, Rates};
use super::codec::{MessageError, Reader, put_varint};
use crate::converge::{Algorithm, Convergence};
use crate::time::Span;
use crate::trigger::{AdaptiveThreshold, Trigger};

/// The server's settings that a client follows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// How long replicas predict without an update.
    pub horizon: Span,
    /// The settings of each class, by ascending ids.
    pub classes: Vec<(ClassId, ClassSettings)>,
}

/// The settings of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassSettings {
    /// When an owner sends an update.
    pub trigger: Trigger,
    /// How often at least and at most.
    pub rates: Rates,
    /// How corrections are smoothed where objects are drawn.
    pub smoothing: Convergence,
}

/// Most classes of a game, and most rules of a trigger: limits of the message.
pub(super) const CLASSES_MAX: usize = 512;
pub(super) const RULES_MAX: usize = 16;

impl Settings {
    pub(super) fn of(horizon: Span, classes: &BTreeMap<ClassId, Class>) -> Self {
        let settings = |class: &Class| ClassSettings {
            trigger: class.trigger.clone(),
            rates: class.rates,
            smoothing: class.smoothing,
        };
        Self { horizon, classes: classes.iter().map(|(id, class)| (*id, settings(class))).collect() }
    }

    /// Replaces the settings of known classes.
    pub(super) fn apply(self, classes: &mut BTreeMap<ClassId, Class>) {
        for (id, settings) in self.classes {
            if let Some(class) = classes.get_mut(&id) {
                let ClassSettings { trigger, rates, smoothing } = settings;
                (class.trigger, class.rates, class.smoothing) = (trigger, rates, smoothing);
            }
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_span(out, self.horizon);
        put_varint(out, self.classes.len() as u64);
        for (id, class) in &self.classes {
            put_varint(out, id.0.into());
            let mut rules = Vec::new();
            flatten(&class.trigger, &mut rules);
            put_varint(out, rules.len() as u64);
            rules.into_iter().for_each(|rule| put_rule(out, rule));
            put_span(out, class.rates.interval_min);
            put_span(out, class.rates.interval_max);
            put_smoothing(out, &class.smoothing);
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, MessageError> {
        let horizon = span(reader)?;
        let mut classes: Vec<(ClassId, ClassSettings)> = Vec::new();
        for _ in 0..count(reader, CLASSES_MAX)? {
            let id = ClassId(reader.varint_u32()?);
            if classes.last().is_some_and(|(last, _)| *last >= id) {
                return Err(MessageError::NotCanonical);
            }
            let rules: Result<Vec<Trigger>, _> =
                (0..count(reader, RULES_MAX)?).map(|_| rule(reader)).collect();
            let trigger = Trigger::AnyOf(rules?);
            let rates = Rates { interval_min: span(reader)?, interval_max: span(reader)? };
            classes.push((id, ClassSettings { trigger, rates, smoothing: smoothing(reader)? }));
        }
        Ok(Self { horizon, classes })
    }
}

/// Returns the number of rules in a trigger.
pub(super) fn rules(trigger: &Trigger) -> usize {
    let mut rules = Vec::new();
    flatten(trigger, &mut rules);
    rules.len()
}

/// Collects the rules of nested lists: any of "any of" is the same as any of all.
fn flatten<'a>(trigger: &'a Trigger, rules: &mut Vec<&'a Trigger>) {
    match trigger {
        Trigger::AnyOf(inner) => inner.iter().for_each(|rule| flatten(rule, rules)),
        rule => rules.push(rule),
    }
}

fn put_rule(out: &mut Vec<u8>, rule: &Trigger) {
    match rule {
        Trigger::Distance { threshold } => put_numbers(out, 0, &[*threshold]),
        Trigger::CrossTrack { threshold } => put_numbers(out, 1, &[*threshold]),
        Trigger::Angle { threshold } => put_numbers(out, 2, &[*threshold]),
        Trigger::Every(interval) => {
            out.push(3);
            put_span(out, *interval);
        }
        Trigger::PreReckoning { angle, speed_min } => put_numbers(out, 4, &[*angle, *speed_min]),
        Trigger::Adaptive(AdaptiveThreshold { near, per_distance, far }) => {
            put_numbers(out, 5, &[*near, *per_distance, *far]);
        }
        Trigger::AnyOf(_) => unreachable!("flattened before"),
    }
}

fn rule(reader: &mut Reader<'_>) -> Result<Trigger, MessageError> {
    Ok(match reader.u8()? {
        0 => Trigger::Distance { threshold: number(reader)? },
        1 => Trigger::CrossTrack { threshold: number(reader)? },
        2 => Trigger::Angle { threshold: number(reader)? },
        3 => Trigger::Every(span(reader)?),
        4 => Trigger::PreReckoning { angle: number(reader)?, speed_min: number(reader)? },
        5 => Trigger::Adaptive(AdaptiveThreshold {
            near: number(reader)?,
            per_distance: number(reader)?,
            far: number(reader)?,
        }),
        other => return Err(MessageError::UnknownKind(other)),
    })
}

fn put_smoothing(out: &mut Vec<u8>, smoothing: &Convergence) {
    let code = Algorithm::ALL.iter().position(|algorithm| *algorithm == smoothing.algorithm);
    out.push(code.expect("ALL has every algorithm") as u8);
    put_span(out, smoothing.blend_min);
    put_span(out, smoothing.blend);
    out.extend(smoothing.snap_beyond.to_le_bytes());
}

fn smoothing(reader: &mut Reader<'_>) -> Result<Convergence, MessageError> {
    let code = reader.u8()?;
    let algorithm = *Algorithm::ALL.get(usize::from(code)).ok_or(MessageError::UnknownKind(code))?;
    let (blend_min, blend, snap_beyond) = (span(reader)?, span(reader)?, number(reader)?);
    let smoothing = Convergence { algorithm, blend_min, blend, snap_beyond };
    if smoothing.is_valid() { Ok(smoothing) } else { Err(MessageError::OutOfRange) }
}

fn put_numbers(out: &mut Vec<u8>, kind: u8, numbers: &[f64]) {
    out.push(kind);
    numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
}

/// Reads a number that is zero or more; infinity means no limit.
fn number(reader: &mut Reader<'_>) -> Result<f64, MessageError> {
    let number = f64::from_le_bytes(reader.array()?);
    if number >= 0.0 { Ok(number) } else { Err(MessageError::OutOfRange) }
}

fn put_span(out: &mut Vec<u8>, span: Span) {
    put_varint(out, span.max(Span::ZERO).as_micros() as u64);
}

fn span(reader: &mut Reader<'_>) -> Result<Span, MessageError> {
    let micros = i64::try_from(reader.varint()?).map_err(|_| MessageError::OutOfRange)?;
    Ok(Span::from_micros(micros))
}

fn count(reader: &mut Reader<'_>, count_max: usize) -> Result<u64, MessageError> {
    let count = reader.varint()?;
    if count <= count_max as u64 { Ok(count) } else { Err(MessageError::OutOfRange) }
}
