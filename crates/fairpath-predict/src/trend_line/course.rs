use fairpath::vector::{Vec2, Vector};

use super::LapShape;

/// A smooth line in the plane by arc length, and its usual speed. Nodes are evenly spaced and
/// joined by cubics with equal slope and curvature where they meet. All queries use tables and take
/// about the same time for any length.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Course {
    shape: LapShape,
    /// Distance between nodes, and its inverse.
    spacing: f64,
    nodes_per_length: f64,
    length: f64,
    nodes: Vec<Node>,
    /// Seconds from the start to each node; a circuit has one more entry, for the whole round.
    times: Vec<f64>,
    /// Segment of a drive after each equal part of the whole time, to avoid a search.
    segments_by_time: Vec<u32>,
    buckets_per_sec: f64,
    blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Node {
    position: Vec2,
    /// Second derivative by arc length.
    bend: Vec2,
    /// Direction of the line, of any length.
    way: Vec2,
    speed: f64,
    /// Least distance to any part of the line more than [`NEIGHBOURS`] nodes away along it.
    clearance: f64,
}

/// Neighbouring nodes and a circle around them, to skip most nodes in a search for the nearest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Block {
    centre: Vec2,
    radius: f64,
}

/// The foot of a perpendicular to the line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Foot {
    /// Distance along the line to the foot. On a circuit from 0 to below the length.
    pub along: f64,
    /// Distance of the place to the left of the line; negative to the right.
    pub offset: f64,
}

const BLOCK: usize = 16;
/// Nodes to either side within which the line is one piece. 5 nodes 2 m apart are 10 m: a place
/// less than half of that beside the line is found by looking at these alone, like most cars.
const NEIGHBOURS: usize = 5;
/// Nodes to either side of the last foot that are searched first.
const WINDOW: usize = 2 * NEIGHBOURS;
/// Minimum number of nodes of a line: the window must not overlap itself.
pub(super) const NODES_MIN: usize = 2 * WINDOW + 2;
/// Least usual speed, as a part of the mean speed. Otherwise laps that stopped would stop time.
const SPEED_MIN: f64 = 0.05;
/// Nodes beyond the ends of a closed spline's solution: their influence is 0.27⁴⁰ ≈ 10⁻²³.
const OVERLAP: usize = 40;

impl Course {
    /// Creates the line through evenly spaced nodes with the usual speed at each.
    pub(super) fn new(shape: LapShape, positions: &[Vec2], speeds: &[f64]) -> Self {
        let spacing = spacing(shape, positions);
        let bends = bends(shape, positions, spacing);
        let mean_speed = speeds.iter().sum::<f64>() / speeds.len() as f64;
        let slowest = (SPEED_MIN * mean_speed).max(f64::MIN_POSITIVE);
        let nodes = positions.iter().zip(bends).zip(speeds).map(|((position, bend), speed)| Node {
            position: *position,
            bend,
            way: Vec2::ZERO,
            speed: speed.max(slowest),
            clearance: f64::INFINITY,
        });
        let mut course = Self {
            shape,
            spacing,
            nodes_per_length: 1.0 / spacing,
            length: 0.0,
            nodes: nodes.collect(),
            times: Vec::new(),
            segments_by_time: Vec::new(),
            buckets_per_sec: 0.0,
            blocks: Vec::new(),
        };
        course.length = spacing * course.segments() as f64;
        course.reckon_ways();
        course.reckon_times();
        course.reckon_blocks();
        course.reckon_clearances();
        course
    }

    pub(super) fn shape(&self) -> LapShape {
        self.shape
    }

    pub(super) fn spacing(&self) -> f64 {
        self.spacing
    }

    pub(super) fn length(&self) -> f64 {
        self.length
    }

    /// Returns the time of the whole line at its usual speed.
    pub(super) fn secs(&self) -> f64 {
        self.times[self.segments()]
    }

    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the position; beyond the ends of a stage the line is straight.
    pub(super) fn position_at(&self, along: f64) -> Vec2 {
        self.position(&self.place(along))
    }

    pub(super) fn tangent_at(&self, along: f64) -> Vec2 {
        self.slope(&self.place(along)).normalize_or_zero()
    }

    /// Returns the position and its derivative by arc length, about a unit vector.
    pub(super) fn position_and_slope_at(&self, along: f64) -> (Vec2, Vec2) {
        let place = self.place(along);
        (self.position(&place), self.slope(&place))
    }

    /// Returns the curvature in radians per unit of length, positive to the left.
    pub(super) fn curvature_at(&self, along: f64) -> f64 {
        let place = self.place(along);
        if place.beyond != 0.0 {
            return 0.0;
        }
        self.slope(&place).normalize_or_zero().perpendicular().dot(place.bend())
    }

    pub(super) fn speed_at(&self, along: f64) -> f64 {
        let Place { here, next, share, .. } = self.place(along);
        here.speed * (1.0 - share) + next.speed * share
    }

    /// Returns the change of the usual speed per unit of length.
    pub(super) fn speed_slope_at(&self, along: f64) -> f64 {
        let Place { here, next, beyond, .. } = self.place(along);
        if beyond != 0.0 { 0.0 } else { (next.speed - here.speed) * self.nodes_per_length }
    }

    /// Returns the seconds after which a drive at the usual speed is there.
    pub(super) fn time_at(&self, along: f64) -> f64 {
        let (segment, share, beyond) = self.segment(along);
        let (from, to) = (self.times[segment], self.times[segment + 1]);
        from + (to - from) * (share + beyond * self.nodes_per_length)
    }

    /// Returns where a drive at the usual speed is after `time` seconds: the inverse of
    /// [`time_at`](Self::time_at). On a circuit it counts on round after round.
    pub(super) fn along_at(&self, time: f64) -> f64 {
        let (whole, rounds) = (self.secs(), self.rounds(time));
        let time = time - rounds * whole;
        let part = time * self.buckets_per_sec;
        let bucket = (part.max(0.0) as usize).min(self.segments_by_time.len() - 1);
        let mut segment = self.segments_by_time[bucket] as usize;
        while segment + 1 < self.segments() && self.times[segment + 1] <= time {
            segment += 1;
        }
        let (from, to) = (self.times[segment], self.times[segment + 1]);
        let share = (time - from) / (to - from);
        rounds * self.length() + (segment as f64 + share) * self.spacing
    }

    fn rounds(&self, time: f64) -> f64 {
        match self.shape {
            LapShape::Circuit if (0.0..self.secs()).contains(&time) => 0.0,
            LapShape::Circuit => (time / self.secs()).floor(),
            LapShape::Stage => 0.0,
        }
    }

    /// Returns the foot of the perpendicular: the nearest at which the line does not run against
    /// `way`, because a road driven out and back is two lines side by side. If `way` is zero, or
    /// the whole line runs against it, returns the nearest of all. `before` is an earlier foot: the
    /// search is faster if the new one is near it. The result is the same.
    pub(super) fn foot(&self, place: Vec2, way: Vec2, before: Option<f64>) -> Foot {
        let node = before.and_then(|along| self.nearest_around(place, way, along)).unwrap_or_else(|| {
            let nearest = self.nearest(place, |node| self.goes_with(node, way));
            if nearest.1 < f64::INFINITY { nearest.0 } else { self.nearest(place, |_| true).0 }
        });
        self.foot_at(node, place)
    }

    #[inline]
    fn goes_with(&self, node: usize, way: Vec2) -> bool {
        self.nodes[node].way.dot(way) >= 0.0
    }

    /// Returns the nearest node that runs along `way`, if the neighbourhood of `along` proves it.
    fn nearest_around(&self, place: Vec2, way: Vec2, along: f64) -> Option<usize> {
        let (segment, ..) = self.segment(along);
        let mut nearest = (0, 0, f64::INFINITY);
        for steps in 0..=2 * WINDOW {
            let Some(node) = self.step(segment, steps as isize - WINDOW as isize) else { continue };
            let distance = (self.nodes[node].position - place).length_squared();
            if distance < nearest.2 && self.goes_with(node, way) {
                nearest = (node, steps.abs_diff(WINDOW), distance);
            }
        }
        let (node, steps, distance) = nearest;
        // Every node outside the window is more than NEIGHBOURS nodes from it, so at least the
        // clearance minus the distance from the place.
        let is_sure = steps < WINDOW - NEIGHBOURS && distance.sqrt() < 0.5 * self.nodes[node].clearance;
        is_sure.then_some(node)
    }

    /// Returns the nearest of the wanted nodes and its distance.
    fn nearest(&self, place: Vec2, is_wanted: impl Fn(usize) -> bool) -> (usize, f64) {
        let mut nearest = (0, f64::INFINITY);
        for (number, block) in self.blocks.iter().enumerate() {
            if block.centre.distance(place) - block.radius > nearest.1 {
                continue;
            }
            let first = number * BLOCK;
            let nodes = &self.nodes[first..(first + BLOCK).min(self.nodes.len())];
            for (node, there) in (first..).zip(nodes) {
                let distance = there.position.distance(place);
                if distance < nearest.1 && is_wanted(node) {
                    nearest = (node, distance);
                }
            }
        }
        nearest
    }

    /// Returns the foot between the two neighbours of the nearest node.
    fn foot_at(&self, node: usize, place: Vec2) -> Foot {
        /// Steps of Newton's method: each squares the error, which starts below one spacing.
        const STEPS: u32 = 3;
        let middle = node as f64 * self.spacing;
        let mut along = middle;
        for _ in 0..STEPS {
            let there = self.place(along);
            let slope = self.slope(&there);
            let gap = place - self.position(&there);
            // If the place is beyond the centre of the bend, there is no foot to converge to.
            let fall = (slope.length_squared() - gap.dot(there.bend())).max(0.2);
            let step = gap.dot(slope) / fall;
            along = (along + step).clamp(middle - self.spacing, middle + self.spacing);
        }
        let along = self.wrapped(along);
        let (position, slope) = self.position_and_slope_at(along);
        let offset = slope.normalize_or_zero().perpendicular().dot(place - position);
        Foot { along, offset }
    }

    #[inline]
    fn wrapped(&self, along: f64) -> f64 {
        match self.shape {
            // Nearly every value is within the first round, and a division is expensive.
            LapShape::Circuit if (0.0..self.length).contains(&along) => along,
            // Rounding may leave exactly one round, which is 0.
            LapShape::Circuit => {
                Some(along.rem_euclid(self.length)).filter(|a| *a < self.length).unwrap_or(0.0)
            }
            LapShape::Stage => along.clamp(0.0, self.length),
        }
    }

    fn segments(&self) -> usize {
        match self.shape {
            LapShape::Circuit => self.nodes.len(),
            LapShape::Stage => self.nodes.len() - 1,
        }
    }

    /// Returns the node `steps` from another; `None` beyond the ends of a stage.
    #[inline]
    fn step(&self, node: usize, steps: isize) -> Option<usize> {
        match self.shape {
            LapShape::Circuit => Some((node as isize + steps).rem_euclid(self.nodes.len() as isize) as usize),
            LapShape::Stage => node.checked_add_signed(steps).filter(|node| *node < self.nodes.len()),
        }
    }

    /// Returns the segment of a place, the part of it covered, and the distance beyond an end.
    #[inline]
    fn segment(&self, along: f64) -> (usize, f64, f64) {
        let within = self.wrapped(along);
        let beyond = match self.shape {
            LapShape::Circuit => 0.0,
            LapShape::Stage => along - within,
        };
        let nodes = within * self.nodes_per_length;
        let segment = (nodes as usize).min(self.segments() - 1);
        (segment, nodes - segment as f64, beyond)
    }

    #[inline]
    fn place(&self, along: f64) -> Place<'_> {
        let (segment, share, beyond) = self.segment(along);
        let next = if segment + 1 == self.nodes.len() { 0 } else { segment + 1 };
        Place { here: &self.nodes[segment], next: &self.nodes[next], share, beyond }
    }

    #[inline]
    fn position(&self, place: &Place<'_>) -> Vec2 {
        let Place { here, next, share, beyond } = *place;
        let (a, b) = (1.0 - share, share);
        let curve = here.bend * (a * a * a - a) + next.bend * (b * b * b - b);
        let position = here.position * a + next.position * b + curve * (self.spacing * self.spacing / 6.0);
        if beyond == 0.0 { position } else { position + self.slope(place) * beyond }
    }

    #[inline]
    fn slope(&self, place: &Place<'_>) -> Vec2 {
        let Place { here, next, share, .. } = *place;
        let (a, b) = (1.0 - share, share);
        let bend = next.bend * (3.0 * b * b - 1.0) - here.bend * (3.0 * a * a - 1.0);
        (next.position - here.position) * self.nodes_per_length + bend * (self.spacing / 6.0)
    }

    fn reckon_ways(&mut self) {
        for node in 0..self.nodes.len() {
            let end = |steps: isize| self.nodes[self.step(node, steps).unwrap_or(node)].position;
            self.nodes[node].way = end(1) - end(-1);
        }
    }

    fn reckon_times(&mut self) {
        let mut time = 0.0;
        self.times = vec![time];
        for segment in 0..self.segments() {
            let (here, next) = (&self.nodes[segment], &self.nodes[(segment + 1) % self.nodes.len()]);
            time += self.spacing * 0.5 * (1.0 / here.speed + 1.0 / next.speed);
            self.times.push(time);
        }
        self.buckets_per_sec = self.segments() as f64 / time;
        let mut segment = 0;
        self.segments_by_time = (0..self.segments())
            .map(|bucket| {
                let from = time * bucket as f64 / self.segments() as f64;
                while segment + 1 < self.segments() && self.times[segment + 1] <= from {
                    segment += 1;
                }
                segment as u32
            })
            .collect();
    }

    fn reckon_blocks(&mut self) {
        let block = |nodes: &[Node]| {
            let sum = nodes.iter().fold(Vec2::ZERO, |sum, node| sum + node.position);
            let centre = sum * (1.0 / nodes.len() as f64);
            let radius = nodes.iter().map(|node| node.position.distance(centre)).fold(0.0, f64::max);
            Block { centre, radius }
        };
        self.blocks = self.nodes.chunks(BLOCK).map(block).collect();
    }

    fn reckon_clearances(&mut self) {
        let clearances: Vec<f64> = (0..self.nodes.len())
            .map(|node| {
                let is_far = |other: usize| {
                    let steps = node.abs_diff(other);
                    let steps = match self.shape {
                        LapShape::Circuit => steps.min(self.nodes.len() - steps),
                        LapShape::Stage => steps,
                    };
                    steps > NEIGHBOURS
                };
                self.nearest(self.nodes[node].position, is_far).1
            })
            .collect();
        for (node, clearance) in self.nodes.iter_mut().zip(clearances) {
            node.clearance = clearance;
        }
    }
}

#[derive(Clone, Copy)]
struct Place<'a> {
    here: &'a Node,
    next: &'a Node,
    share: f64,
    /// Distance beyond the end of a stage, negative before its start.
    beyond: f64,
}

impl Place<'_> {
    /// Returns the second derivative by arc length.
    fn bend(&self) -> Vec2 {
        self.here.bend * (1.0 - self.share) + self.next.bend * self.share
    }
}

fn spacing(shape: LapShape, positions: &[Vec2]) -> f64 {
    let steps: f64 = positions.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
    match shape {
        LapShape::Circuit => {
            let last = positions[positions.len() - 1].distance(positions[0]);
            (steps + last) / positions.len() as f64
        }
        LapShape::Stage => steps / (positions.len() - 1) as f64,
    }
}

/// Returns the second derivatives of the cubic spline through the nodes.
fn bends(shape: LapShape, positions: &[Vec2], spacing: f64) -> Vec<Vec2> {
    match shape {
        LapShape::Stage => natural_bends(positions, spacing),
        LapShape::Circuit => {
            let count = positions.len();
            let around = (0..count + 2 * OVERLAP).map(|place| {
                positions[(place as isize - OVERLAP as isize).rem_euclid(count as isize) as usize]
            });
            natural_bends(&around.collect::<Vec<_>>(), spacing)[OVERLAP..OVERLAP + count].to_vec()
        }
    }
}

/// Returns the same with straight ends: M(i−1) + 4·M(i) + M(i+1) = 6/h²·(P(i−1) − 2·P(i) + P(i+1)),
/// solved from end to end.
fn natural_bends(positions: &[Vec2], spacing: f64) -> Vec<Vec2> {
    let count = positions.len();
    let mut bends = vec![Vec2::ZERO; count];
    let mut eliminated = vec![0.0; count];
    for place in 1..count - 1 {
        let [before, here, after] = [positions[place - 1], positions[place], positions[place + 1]];
        let right = (before + after - here * 2.0) * (6.0 / (spacing * spacing));
        let pivot = 4.0 - eliminated[place - 1];
        eliminated[place] = 1.0 / pivot;
        bends[place] = (right - bends[place - 1]) * (1.0 / pivot);
    }
    for place in (1..count - 1).rev() {
        bends[place] = bends[place] - bends[place + 1] * eliminated[place];
    }
    bends
}
