//! The track: a centre line with a width to either side, and walls where the width ends.
//!
//! Everything on a track has a [`Place`]: the distance along the centre line, and the offset to the
//! left of it. The centre line is stored as nodes about a metre apart, so a place is looked up by
//! index, and a point is projected by searching only the nodes near its last place.
//!
//! | module | contents |
//! | --- | --- |
//! | `survey` | from a few points with widths to evenly spaced nodes |
//! | `generate` | tracks from a seed |
//! | `preset` | named tracks |
//! | `csv` | tracks from a file |

mod csv;
mod generate;
mod preset;
mod survey;

pub use csv::{TrackCsvError, TrackCsvProblem};
pub use preset::Preset;
pub use survey::{LENGTH_MAX, LENGTH_MIN, SECTIONS_MAX, Section, TrackError, WIDTH_MAX, WIDTH_MIN};

use fairpath::vector::{Vec2, Vector};

use survey::Node;

/// A walled track, closed or from a start to a finish.
///
/// ```
/// use fairpath_games::race::{Preset, Track};
///
/// let track = Track::preset(Preset::Oval);
/// let place = track.find(track.position_at(100.0));
/// assert!((place.along - 100.0).abs() < 1e-6 && place.offset.abs() < 1e-6);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    name: String,
    shape: Shape,
    /// Metres from node to node.
    spacing: f64,
    nodes: Vec<Node>,
}

/// Whether a track is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Closed: one lap after the other, start and finish on the same line.
    Circuit,
    /// Open: one run from the start line to the finish line, as in Jawad 2017.
    Stage,
}

/// A position on a track.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// Metres along the centre line. On a circuit from 0 up to the length, exclusive.
    pub along: f64,
    /// Metres to the left of the centre line, negative to the right.
    pub offset: f64,
}

/// How far around its last place [`Track::project`] looks, in metres. A car moves about one metre
/// per tick; on the inside of the tightest bend that is a few metres along the centre line.
pub const REACH: f64 = 12.0;
/// The start line of a stage, in metres from the beginning of the track: room for the grid.
pub(super) const STAGE_START: f64 = 90.0;
/// The finish line of a stage, in metres before the end of the track. A car moves at most 1.2 m per
/// tick, so it crosses the line before it reaches the end.
const STAGE_RUN_OUT: f64 = 12.0;

impl Track {
    /// Returns a smooth track through these points; on a circuit the last connects to the first.
    pub fn new(name: &str, shape: Shape, sections: &[Section]) -> Result<Self, TrackError> {
        let (spacing, nodes) = survey::nodes(shape, sections)?;
        Ok(Self { name: name.to_owned(), shape, spacing, nodes })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the length of the centre line in metres: of one round, or from end to end.
    pub fn length(&self) -> f64 {
        self.spacing * self.segments() as f64
    }

    /// Returns the start line's distance along the track.
    pub fn start_line(&self) -> f64 {
        match self.shape {
            Shape::Circuit => 0.0,
            Shape::Stage => STAGE_START,
        }
    }

    /// Returns the distance from the start line to the finish line.
    pub fn lap_length(&self) -> f64 {
        match self.shape {
            Shape::Circuit => self.length(),
            Shape::Stage => self.length() - STAGE_RUN_OUT - STAGE_START,
        }
    }

    /// Returns the point of the centre line at `along`; beyond the ends of a stage, its end.
    pub fn position_at(&self, along: f64) -> Vec2 {
        let (here, next, share) = self.between(along);
        mix(here.position, next.position, share)
    }

    /// Returns the direction of the track at `along`, as a unit vector.
    pub fn tangent_at(&self, along: f64) -> Vec2 {
        let (here, next, share) = self.between(along);
        mix(here.tangent, next.tangent, share).normalize_or_zero()
    }

    /// Returns the unit vector to the left of the track at `along`.
    pub fn normal_at(&self, along: f64) -> Vec2 {
        self.tangent_at(along).perpendicular()
    }

    /// Returns the curvature at `along`, 1/metre, positive to the left, averaged over some metres.
    pub fn curvature_at(&self, along: f64) -> f64 {
        let (here, next, share) = self.between(along);
        here.curvature + (next.curvature - here.curvature) * share
    }

    /// Returns the distance of the left wall from the centre line at `along`, in metres.
    pub fn left_at(&self, along: f64) -> f64 {
        let (here, next, share) = self.between(along);
        here.left + (next.left - here.left) * share
    }

    /// Returns the distance of the right wall from the centre line at `along`, in metres.
    pub fn right_at(&self, along: f64) -> f64 {
        let (here, next, share) = self.between(along);
        here.right + (next.right - here.right) * share
    }

    /// Returns the point of a place.
    pub fn position_of(&self, place: Place) -> Vec2 {
        self.position_at(place.along) + self.normal_at(place.along) * place.offset
    }

    /// Returns `place` moved sideways until it is at least `room` metres from both walls.
    #[must_use]
    pub fn limited(&self, place: Place, room: f64) -> Place {
        let left = (self.left_at(place.along) - room).max(0.0);
        let right = (self.right_at(place.along) - room).max(0.0);
        Place { offset: place.offset.clamp(-right, left), ..place }
    }

    /// Returns the place of `point` that is nearest within [`REACH`] of `near` along the track.
    pub fn project(&self, point: Vec2, near: f64) -> Place {
        self.project_within(point, near, REACH)
    }

    /// Returns the place of `point` that is nearest within `reach` metres of `near` along the
    /// track. Where a track crosses itself, the result stays on its own part.
    pub fn project_within(&self, point: Vec2, near: f64, reach: f64) -> Place {
        let segments = self.segments() as i64;
        let (near, reach) = (self.wrap(near), reach.min(self.length()));
        let first = ((near - reach) / self.spacing).floor() as i64;
        let last = ((near + reach) / self.spacing).ceil() as i64;
        match self.shape {
            Shape::Circuit if last - first < segments => self.nearest(point, first..last),
            Shape::Circuit => self.find(point),
            Shape::Stage => {
                let first = first.clamp(0, segments - 1);
                self.nearest(point, first..last.clamp(first + 1, segments))
            }
        }
    }

    /// Returns the nearest place of `point` on the whole track. Visits every node.
    pub fn find(&self, point: Vec2) -> Place {
        self.nearest(point, 0..self.segments() as i64)
    }

    /// Returns `along` wrapped into one round of a circuit, or clamped to the ends of a stage.
    pub fn wrap(&self, along: f64) -> f64 {
        match self.shape {
            Shape::Circuit => {
                let wrapped = along.rem_euclid(self.length());
                // A tiny negative number plus the length rounds to the length.
                if wrapped < self.length() { wrapped } else { 0.0 }
            }
            Shape::Stage => along.clamp(0.0, self.length()),
        }
    }

    /// Returns the distance along the track, the shorter way round; negative is backwards.
    pub fn way(&self, from: f64, to: f64) -> f64 {
        let way = to - from;
        match self.shape {
            Shape::Circuit => way - self.length() * (way / self.length()).round(),
            Shape::Stage => way,
        }
    }

    /// Returns the left wall, one point per node; on a circuit the last connects to the first.
    pub fn left_wall(&self) -> impl Iterator<Item = Vec2> {
        self.nodes.iter().map(|node| node.position + node.tangent.perpendicular() * node.left)
    }

    /// Returns the right wall, one point per node; on a circuit the last connects to the first.
    pub fn right_wall(&self) -> impl Iterator<Item = Vec2> {
        self.nodes.iter().map(|node| node.position + node.tangent.perpendicular() * -node.right)
    }

    /// Returns the centre line, one point per node; on a circuit the last connects to the first.
    pub fn centre_line(&self) -> impl Iterator<Item = Vec2> {
        self.nodes.iter().map(|node| node.position)
    }

    /// Returns whether every bend is wide enough for its inner wall, and different parts of the
    /// track are at least `gap` metres apart. Some real tracks are not: they cross over a bridge.
    ///
    /// Two nodes belong to different parts if the distance between them along the track is longer
    /// than the half circle that just keeps the gap. So every bend that is wide enough passes, and
    /// all parts that are not neighbours are compared.
    pub fn is_clear_of_itself(&self, gap: f64) -> bool {
        /// The share of a bend's radius that the inner half of the track may take.
        const FOLD: f64 = 0.85;
        let folds = |node: &Node| {
            let inner = if node.curvature > 0.0 { node.left } else { node.right };
            node.curvature.abs() * inner > FOLD
        };
        if self.nodes.iter().any(folds) {
            return false;
        }
        let numbered = || (0u32..).zip(&self.nodes);
        !numbered().any(|(number, node)| {
            numbered().skip(number as usize + 1).any(|(other_number, other)| {
                let apart = self.widest(node) + self.widest(other) + gap;
                let way = self.way(0.0, f64::from(other_number - number) * self.spacing).abs();
                way > std::f64::consts::FRAC_PI_2 * apart
                    && (node.position - other.position).length_squared() < apart * apart
            })
        })
    }

    fn widest(&self, node: &Node) -> f64 {
        node.left.max(node.right)
    }

    fn segments(&self) -> usize {
        match self.shape {
            Shape::Circuit => self.nodes.len(),
            Shape::Stage => self.nodes.len() - 1,
        }
    }

    /// Returns the nodes around `along`, and the share of the distance between them, 0 to 1.
    fn between(&self, along: f64) -> (&Node, &Node, f64) {
        let scaled = self.wrap(along) / self.spacing;
        // NaN becomes zero; the end of a stage belongs to its last segment.
        let here = (scaled as usize).min(self.segments() - 1);
        let next = if here + 1 == self.nodes.len() { 0 } else { here + 1 };
        (&self.nodes[here], &self.nodes[next], (scaled - here as f64).clamp(0.0, 1.0))
    }

    /// Returns the nearest place among some segments. Their numbers may be rounds ahead or behind.
    fn nearest(&self, point: Vec2, segments: std::ops::Range<i64>) -> Place {
        let count = self.segments();
        let mut here = segments.start.rem_euclid(count as i64) as usize;
        let (mut best_squared, mut best) = (f64::INFINITY, (0, 0.0, Vec2::ZERO, Vec2::ZERO));
        for _ in segments {
            let next = if here + 1 == self.nodes.len() { 0 } else { here + 1 };
            let start = self.nodes[here].position;
            let step = self.nodes[next].position - start;
            let share = ((point - start).dot(step) / step.length_squared()).clamp(0.0, 1.0);
            let away = point - start - step * share;
            if away.length_squared() < best_squared {
                best_squared = away.length_squared();
                best = (here, share, step, away);
            }
            here = if here + 1 == count { 0 } else { here + 1 };
        }
        let (here, share, step, away) = best;
        let side = step.x * away.y - step.y * away.x;
        let offset = if side < 0.0 { -away.length() } else { away.length() };
        Place { along: self.wrap((here as f64 + share) * self.spacing), offset }
    }
}

fn mix(here: Vec2, next: Vec2, share: f64) -> Vec2 {
    here + (next - here) * share
}
