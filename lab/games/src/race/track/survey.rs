//! From a few points with widths to evenly spaced nodes.

use std::fmt;

use fairpath::vector::{Vec2, Vector};

use super::Shape;

/// One surveyed point of the centre line, and its distances to the walls, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Section {
    pub position: Vec2,
    pub left: f64,
    pub right: f64,
}

/// The least distance of a wall from the centre line, in metres: a car there always has room.
pub const WIDTH_MIN: f64 = 1.5;
/// The largest distance of a wall from the centre line, in metres. No race track is wider.
pub const WIDTH_MAX: f64 = 100.0;
/// The shortest track, in metres: several times [`REACH`](super::REACH).
pub const LENGTH_MIN: f64 = 150.0;
/// The longest track, in metres. The Nordschleife has 21 km; 50 km take a few megabytes.
pub const LENGTH_MAX: f64 = 50_000.0;
/// The most points of a track: one every quarter of a metre of the longest.
pub const SECTIONS_MAX: usize = 200_000;
const _: () = assert!(LENGTH_MIN > 8.0 * super::REACH);
const _: () = assert!(LENGTH_MIN > super::STAGE_START + super::STAGE_RUN_OUT);

/// The largest coordinate, in metres: map coordinates fit, squared distances are exact to < 1 mm.
const COORDINATE_MAX: f64 = 1e7;
/// The approximate distance between nodes, in metres: a chord is 1.3 cm off a bend of 10 m.
const SPACING: f64 = 1.0;
/// The distance between the points that measure arc length, in metres.
const FINE_SPACING: f64 = 0.25;
/// Nodes to either side over which curvature is averaged: surveyed points are accurate to
/// centimetres, and over one metre a centimetre is a bend.
const CURVATURE_NODES: usize = 3;
/// Points of the centre line nearer than this count as one point, in metres.
const SAME_POINT: f64 = 0.01;

/// One node of the centre line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) position: Vec2,
    /// Unit length.
    pub(super) tangent: Vec2,
    /// 1/metre, positive to the left.
    pub(super) curvature: f64,
    pub(super) left: f64,
    pub(super) right: f64,
}

/// The reason why there is no track through some points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrackError {
    /// There are fewer than four different points.
    TooFewPoints,
    /// There are more than [`SECTIONS_MAX`] points.
    TooManyPoints,
    /// The point of this number, from zero, is not finite or not within 10 000 km of the origin.
    BadPosition { point: usize },
    /// At the point of this number, from zero, a wall is not [`WIDTH_MIN`] to [`WIDTH_MAX`] away.
    BadWidth { point: usize },
    /// The track is shorter than [`LENGTH_MIN`].
    TooShort,
    /// The track is longer than [`LENGTH_MAX`].
    TooLong,
}

impl fmt::Display for TrackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewPoints => write!(f, "a track needs at least four different points"),
            Self::TooManyPoints => write!(f, "a track has at most {SECTIONS_MAX} points"),
            Self::BadPosition { point } => write!(f, "point {point} is not within 10 000 km of the origin"),
            Self::BadWidth { point } => {
                write!(
                    f,
                    "at point {point} a wall is not between {WIDTH_MIN} and {WIDTH_MAX} m from the centre line"
                )
            }
            Self::TooShort => write!(f, "a track is at least {LENGTH_MIN} m long"),
            Self::TooLong => write!(f, "a track is at most {LENGTH_MAX} m long"),
        }
    }
}

impl std::error::Error for TrackError {}

pub(super) fn is_position(coordinate: f64) -> bool {
    coordinate.abs() <= COORDINATE_MAX
}

pub(super) fn is_width(width: f64) -> bool {
    (WIDTH_MIN..=WIDTH_MAX).contains(&width)
}

/// Returns the track through some sections: the distance between nodes in metres, and the nodes.
pub(super) fn nodes(shape: Shape, sections: &[Section]) -> Result<(f64, Vec<Node>), TrackError> {
    check(sections)?;
    let knots = distinct(shape, sections);
    if knots.len() < 4 {
        return Err(TrackError::TooFewPoints);
    }
    let chords: f64 = spans(shape, &knots).map(|(one, other)| one.position.distance(other.position)).sum();
    if chords > LENGTH_MAX {
        return Err(TrackError::TooLong);
    }
    let fine = refine(shape, &knots);
    let length: f64 = fine.windows(2).map(|pair| pair[0].position.distance(pair[1].position)).sum();
    match length {
        _ if length < LENGTH_MIN => Err(TrackError::TooShort),
        _ if length > LENGTH_MAX => Err(TrackError::TooLong),
        _ => {
            let segments = (length / SPACING).round().max(1.0) as usize;
            let spacing = length / segments as f64;
            let evened = evenly(&fine, spacing, segments + usize::from(shape == Shape::Stage));
            Ok((spacing, with_bends(shape, spacing, &evened)))
        }
    }
}

fn check(sections: &[Section]) -> Result<(), TrackError> {
    if sections.len() > SECTIONS_MAX {
        return Err(TrackError::TooManyPoints);
    }
    for (point, section) in sections.iter().enumerate() {
        if !(is_position(section.position.x) && is_position(section.position.y)) {
            return Err(TrackError::BadPosition { point });
        }
        if !(is_width(section.left) && is_width(section.right)) {
            return Err(TrackError::BadWidth { point });
        }
    }
    Ok(())
}

/// Returns the sections without repeated points; a circuit must not end with its first one.
fn distinct(shape: Shape, sections: &[Section]) -> Vec<Section> {
    let is_same = |one: &Section, other: &Section| one.position.distance(other.position) < SAME_POINT;
    let mut knots: Vec<Section> = Vec::with_capacity(sections.len());
    for section in sections {
        if !knots.last().is_some_and(|last| is_same(last, section)) {
            knots.push(*section);
        }
    }
    while shape == Shape::Circuit && knots.len() > 1 && is_same(&knots[0], &knots[knots.len() - 1]) {
        knots.pop();
    }
    knots
}

/// Returns every knot with the next one.
fn spans(shape: Shape, knots: &[Section]) -> impl Iterator<Item = (&Section, &Section)> {
    let closing = (shape == Shape::Circuit).then(|| (&knots[knots.len() - 1], &knots[0]));
    knots.windows(2).map(|pair| (&pair[0], &pair[1])).chain(closing)
}

/// Returns closely spaced points on a smooth curve through the knots: cubic pieces by chord length,
/// with the slope at a knot of the parabola through it and its neighbours. On a circuit the first
/// point is repeated at the end.
fn refine(shape: Shape, knots: &[Section]) -> Vec<Section> {
    let count = knots.len();
    let slope = |number: usize| {
        let (before, after) = match shape {
            Shape::Circuit => ((number + count - 1) % count, (number + 1) % count),
            Shape::Stage => (number.saturating_sub(1), (number + 1).min(count - 1)),
        };
        let arriving = knots[number].position - knots[before].position;
        let leaving = knots[after].position - knots[number].position;
        let (near, far) = (arriving.length(), leaving.length());
        let share = near / (near + far);
        arriving.normalize_or_zero() * (1.0 - share) + leaving.normalize_or_zero() * share
    };
    let mut fine = vec![knots[0]];
    for (number, (from, to)) in spans(shape, knots).enumerate() {
        let chord = from.position.distance(to.position);
        let (leaving, arriving) = (slope(number) * chord, slope((number + 1) % count) * chord);
        let pieces = (chord / FINE_SPACING).ceil().max(1.0) as u32;
        fine.extend((1..=pieces).map(|piece| {
            let share = f64::from(piece) / f64::from(pieces);
            Section {
                position: hermite(from.position, leaving, to.position, arriving, share),
                left: from.left + (to.left - from.left) * share,
                right: from.right + (to.right - from.right) * share,
            }
        }));
    }
    fine
}

fn hermite(from: Vec2, leaving: Vec2, to: Vec2, arriving: Vec2, share: f64) -> Vec2 {
    let rest = 1.0 - share;
    from * (rest * rest * (1.0 + 2.0 * share))
        + leaving * (share * rest * rest)
        + to * (share * share * (1.0 + 2.0 * rest))
        + arriving * (-share * share * rest)
}

/// Returns `count` points, `spacing` apart along the fine ones.
fn evenly(fine: &[Section], spacing: f64, count: usize) -> Vec<Section> {
    let mut evened = Vec::with_capacity(count);
    let (mut travelled, mut piece) = (0.0, 0);
    for number in 0..count {
        let wanted = number as f64 * spacing;
        let mut step = fine[piece].position.distance(fine[piece + 1].position);
        while travelled + step < wanted && piece + 2 < fine.len() {
            travelled += step;
            piece += 1;
            step = fine[piece].position.distance(fine[piece + 1].position);
        }
        let (from, to) = (&fine[piece], &fine[piece + 1]);
        let share = if step > 0.0 { ((wanted - travelled) / step).clamp(0.0, 1.0) } else { 0.0 };
        evened.push(Section {
            position: from.position + (to.position - from.position) * share,
            left: from.left + (to.left - from.left) * share,
            right: from.right + (to.right - from.right) * share,
        });
    }
    evened
}

fn with_bends(shape: Shape, spacing: f64, sections: &[Section]) -> Vec<Node> {
    let count = sections.len();
    let neighbour = |number: usize, back: usize, ahead: usize| match shape {
        Shape::Circuit => (number + count - back + ahead) % count,
        Shape::Stage => (number + ahead).saturating_sub(back).min(count - 1),
    };
    let tangent = |number: usize| {
        let ahead = sections[neighbour(number, 0, 1)].position - sections[neighbour(number, 1, 0)].position;
        // A hairpin folded onto itself has no direction; use any.
        if ahead.length() > 0.0 { ahead.normalize_or_zero() } else { Vec2::new(1.0, 0.0) }
    };
    let tangents: Vec<Vec2> = (0..count).map(tangent).collect();
    let curvature = |number: usize| {
        let (from, to) = (neighbour(number, CURVATURE_NODES, 0), neighbour(number, 0, CURVATURE_NODES));
        let (before, after) = (tangents[from], tangents[to]);
        let turn = libm::atan2(before.x * after.y - before.y * after.x, before.dot(after));
        turn / (2.0 * CURVATURE_NODES as f64 * spacing)
    };
    sections
        .iter()
        .enumerate()
        .map(|(number, section)| Node {
            position: section.position,
            tangent: tangents[number],
            curvature: curvature(number),
            left: section.left,
            right: section.right,
        })
        .collect()
}
