//! The servers of a world, and which of them should hold which cells.

use fairpath::time::{LocalInstant, Span};
use fairpath::vector::Planar;

use super::{Event, Zone};
use crate::cell::{CellId, Cells};
use crate::config::Moment;
use crate::message::{Message, Subject};
use crate::record::ServerId;

/// Another server, as its last presence said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    seen_at: LocalInstant,
    load: u64,
    is_draining: bool,
}

const PRESENCE_INTERVAL: Span = Span::from_millis(500);
/// A server that was silent for so long gets no cells.
const SILENCE_MAX: Span = Span::from_secs(2);
/// Weight of a cell in a server's load, in entities: empty cells are spread too.
const LOAD_OF_CELL: u64 = 1;

impl<V: Planar, C: Cells<V>> Zone<V, C> {
    pub(super) fn announce_presence(&mut self, moment: &Moment) {
        if moment.local < self.present_at {
            return;
        }
        self.present_at = moment.local + PRESENCE_INTERVAL;
        let message = Message::Presence {
            server: self.numbers.server,
            entities: self.reals.len() as u32,
            cells: self.held_cells().count() as u32,
            is_draining: self.is_draining,
        };
        self.publish(Subject::World, message);
        self.members.retain(|_, member| moment.local - member.seen_at < SILENCE_MAX);
    }

    pub(super) fn handle_presence(
        &mut self,
        moment: &Moment,
        server: ServerId,
        (entities, cells): (u32, u32),
        is_draining: bool,
    ) {
        if server != self.numbers.server {
            let load = u64::from(entities) + LOAD_OF_CELL * u64::from(cells);
            self.members.insert(server, Member { seen_at: moment.local, load, is_draining });
        }
    }

    /// Servers that take cells, with their load, without this one.
    fn others(&self) -> impl Iterator<Item = (ServerId, u64)> + '_ {
        let taking = self.members.iter().filter(|(_, member)| !member.is_draining);
        taking.map(|(server, member)| (*server, member.load))
    }

    /// Returns how long this server lets others go first when a cell is free; `None`: it takes
    /// none.
    pub(super) fn patience(&self, moment: &Moment, cell: CellId) -> Option<Span> {
        if self.is_draining || !self.is_synchronised(moment) {
            return None;
        }
        let mine = preference(cell, self.numbers.server);
        let before_me = self.others().filter(|(server, _)| preference(cell, *server) > mine).count();
        Some(self.config.lease.scaled(before_me as f64 / 4.0))
    }

    /// Returns whether no entity would be lost by releasing the cell now.
    pub(super) fn may_release(&self, cell: CellId) -> bool {
        let in_cell = self.reals.values().filter(|real| real.needs_cell(cell));
        let is_saved =
            |real: &crate::entity::Real<V>| real.register.is_settled() && real.dirty_since.is_none();
        let is_idle = |real: &crate::entity::Real<V>| matches!(real.phase, crate::entity::Phase::Owned);
        in_cell.into_iter().all(|real| is_saved(real) && is_idle(real))
    }

    /// Gives a cell to an idle server, or all cells while draining.
    pub(super) fn rebalance(&mut self, moment: &Moment) {
        if self.is_draining {
            let cells: Vec<CellId> = self.held_cells().collect();
            for cell in cells {
                let successor = self.others().map(|(server, _)| server);
                let successor = successor.max_by_key(|server| preference(cell, *server));
                self.leases.get_mut(&cell).expect("it is held").give_up(successor);
            }
            return;
        }
        if moment.local < self.rebalance_at {
            return;
        }
        self.rebalance_at = moment.local + self.config.rebalance_interval;
        let is_moving = self.leases.values().any(|lease| lease.is_given_up());
        let Some((idlest, low)) = self.others().min_by_key(|(_, load)| *load) else { return };
        let held: Vec<CellId> = self.held_cells().collect();
        let load = self.reals.len() as u64 + LOAD_OF_CELL * held.len() as u64;
        let difference = load.saturating_sub(low);
        // Of several busy servers only the busiest gives: the idle one would get too much.
        let is_busiest = self.others().all(|(_, other)| other <= load);
        if is_moving || !is_busiest || difference < 2.max(load / 5) {
            return;
        }
        let weight = |cell: &CellId| {
            LOAD_OF_CELL + self.reals.values().filter(|real| real.needs_cell(*cell)).count() as u64
        };
        let useful = held.into_iter().filter(|cell| weight(cell) < difference);
        let best = useful.min_by_key(|cell| (difference / 2).abs_diff(weight(cell)));
        if let Some(cell) = best {
            self.leases.get_mut(&cell).expect("it is held").give_up(Some(idlest));
        }
    }

    pub(super) fn tell_drained(&mut self) {
        let is_over = self.is_draining && self.held_cells().next().is_none() && self.reals.is_empty();
        if is_over && self.leases.values().all(|lease| lease.register.attempts().next().is_none()) {
            self.events.push_back(Event::Drained);
            self.status = super::ZoneStatus::Refused;
        }
    }
}

/// Rendezvous hashing: of the living servers the one with the largest number takes the cell first.
fn preference(cell: CellId, server: ServerId) -> u64 {
    let place = (cell.x as u32 as u64) << 32 | cell.y as u32 as u64;
    let mixed = (server.0 ^ place.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed ^ (mixed >> 31)).wrapping_mul(0x94D0_49BB_1331_11EB)
}
