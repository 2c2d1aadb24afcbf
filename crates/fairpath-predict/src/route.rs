//! Ways around walls: a path for each urge, kept as long as it leads to the right cell.

use super::patterns::{Urge, Way};
use super::search::Search;
use super::{Aim, Grid};
use fairpath::vector::Vec2;

/// The paths of one prediction, and what finds them. Kept from one to the next for its memory only.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    search: Search,
    follow: Route,
    bravery: Route,
}

impl Routes {
    /// Forgets all paths, and finds new ones on this grid.
    pub(super) fn around<'a>(&'a mut self, grid: &'a Grid, aim: Aim) -> AroundWalls<'a> {
        self.follow.target = None;
        self.bravery.target = None;
        AroundWalls { grid, aim, routes: self }
    }
}

/// Around walls where there is a way, through them where there is none.
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
    /// The cell it leads to.
    target: Option<u32>,
    /// Cells, the last of which is the target; empty where there is no way, or none is needed.
    path: Vec<u32>,
    /// The node aimed at.
    next: usize,
    /// The cell from which it was last looked ahead.
    seen_from: Option<u32>,
}

impl Route {
    /// Whoever is in a cell of the path has reached that node and all before it.
    fn pass(&mut self, cell: u32) {
        let ahead = self.path.get(self.next..).unwrap_or_default();
        if let Some(reached) = ahead.iter().position(|node| *node == cell) {
            self.next += reached + 1;
        }
    }

    /// Aims at the farthest node that nothing hides.
    fn look_ahead(&mut self, grid: &Grid, from: Vec2) {
        let nodes = self.path.iter().enumerate().skip(self.next + 1);
        let in_sight = nodes.take_while(|(_, node)| grid.is_clear_line(from, grid.centre_of(**node)));
        if let Some((farthest, _)) = in_sight.last() {
            self.next = farthest;
        }
    }

    /// The node aimed at, unless it is the last: then it is the place itself that counts.
    fn node(&self) -> Option<u32> {
        let is_before_the_last = self.next + 1 < self.path.len();
        is_before_the_last.then(|| self.path[self.next])
    }
}
