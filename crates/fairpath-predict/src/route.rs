//! Ways around walls: one path per urge, kept for as long as it leads to the right cell.

use super::patterns::{Urge, Way};
use super::search::Search;
use super::{Aim, Grid};
use fairpath::vector::Vec2;

/// The paths of one prediction and their search. Kept between predictions only to reuse memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    search: Search,
    follow: Route,
    bravery: Route,
}

impl Routes {
    /// Forgets all paths and starts on this grid.
    pub(super) fn around<'a>(&'a mut self, grid: &'a Grid, aim: Aim) -> AroundWalls<'a> {
        self.follow.target = None;
        self.bravery.target = None;
        AroundWalls { grid, aim, routes: self }
    }
}

/// Leads around walls where a path exists, and through them otherwise.
#[derive(Debug)]
pub(super) struct AroundWalls<'a> {
    grid: &'a Grid,
    aim: Aim,
    routes: &'a mut Routes,
}

impl Way for AroundWalls<'_> {
    fn towards(&mut self, urge: Urge, from: Vec2, offset: Vec2) -> Vec2 {
        let Routes { search, follow, bravery } = &mut *self.routes;
        let route = match urge {
            Urge::Follow => follow,
            Urge::Bravery => bravery,
        };
        let cells = (self.grid.cell_at(from), self.grid.cell_at(from + offset));
        let (Some(cell), Some(target)) = cells else { return offset };
        if route.target != Some(target) {
            search.find(self.grid, cell, target, &mut route.path);
            route.target = Some(target);
            route.next = 0;
            route.seen_from = None;
        }
        route.pass(cell);
        if self.aim == Aim::FarthestInSight && route.seen_from != Some(cell) {
            route.seen_from = Some(cell);
            route.look_ahead(self.grid, from);
        }
        match route.node() {
            Some(node) => self.grid.centre_of(node) - from,
            None => offset,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Route {
    /// The cell that the path leads to.
    target: Option<u32>,
    /// Cells, ending with the target. Empty if no path exists or none is needed.
    path: Vec<u32>,
    /// Index of the node aimed at.
    next: usize,
    /// The cell of the last look ahead.
    seen_from: Option<u32>,
}

impl Route {
    /// Notes that the player is in `cell`: if on the path, that node and all before it are reached.
    fn pass(&mut self, cell: u32) {
        let ahead = self.path.get(self.next..).unwrap_or_default();
        if let Some(reached) = ahead.iter().position(|node| *node == cell) {
            self.next += reached + 1;
        }
    }

    /// Aims at the farthest visible node.
    fn look_ahead(&mut self, grid: &Grid, from: Vec2) {
        let nodes = self.path.iter().enumerate().skip(self.next + 1);
        let in_sight = nodes.take_while(|(_, node)| grid.is_clear_line(from, grid.centre_of(**node)));
        if let Some((farthest, _)) = in_sight.last() {
            self.next = farthest;
        }
    }

    /// Returns the node aimed at, unless it is the last: then the player aims at the exact place.
    fn node(&self) -> Option<u32> {
        let is_before_the_last = self.next + 1 < self.path.len();
        is_before_the_last.then(|| self.path[self.next])
    }
}
