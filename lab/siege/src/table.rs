//! The table of all attacks.

use std::fmt;

use crate::attack::AttackKind;
use crate::honest::{Attempts, Noticed, PLAYERS};

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) kind: AttackKind,
    pub(crate) sent: u64,
    pub(crate) joins: Attempts,
    pub(crate) lookups: Attempts,
    pub(crate) players: Noticed,
    /// Shares of a core: server and lobby.
    pub(crate) cpu: (f64, f64),
    pub(crate) memory: (u64, u64),
}

/// Rows in the order of the attacks; the first is peace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(Vec<Row>);

/// The share of honest attempts that must succeed.
const DONE_MIN: f64 = 0.95;

impl Table {
    pub(crate) fn add(&mut self, row: Row) {
        self.0.push(row);
    }

    /// Whether honest players were let in, and kept their sessions, during every attack.
    pub(crate) fn is_well(&self) -> bool {
        self.0.iter().all(Row::is_well)
    }
}

impl Row {
    fn is_well(&self) -> bool {
        let is_most = |attempts: Attempts| f64::from(attempts.done) >= DONE_MIN * f64::from(attempts.tried);
        let all_stayed = self.players.sessions_lost == 0 && self.players.connected == PLAYERS;
        // Killed players have the honest ones' address, which may have only so many connections.
        let may_join = self.kind == AttackKind::Vanishing || is_most(self.joins);
        may_join && is_most(self.lookups) && all_stayed
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<36} {:>8} {:>9} {:>8} {:>9} {:>7} {:>6} {:>6} {:>6} {:>6} {:>7}",
            "attack, from four addresses",
            "sent",
            "joins",
            "slowest",
            "lookups",
            "error",
            "ratio",
            "p95",
            "lost",
            "CPU",
            "memory"
        )?;
        let in_peace = self.0.first().map_or(0.0, |row| row.players.error);
        for row in &self.0 {
            let Row { joins, lookups, players, .. } = row;
            let (cpu, memory) = if row.kind.name().starts_with("lobby") {
                (row.cpu.1, row.memory.1)
            } else {
                (row.cpu.0, row.memory.0)
            };
            writeln!(
                f,
                "{:<36} {:>8} {:>9} {:>6.2} s {:>9} {:>7.3} {:>6.2} {:>6.2} {:>6} {:>4.0} % {:>4} MB{}",
                row.kind.name(),
                row.sent,
                format!("{}/{}", joins.done, joins.tried),
                joins.longest.as_secs_f64(),
                format!("{}/{}", lookups.done, lookups.tried),
                players.error,
                players.error / in_peace,
                players.p95,
                players.sessions_lost,
                100.0 * cpu,
                memory / 1_000_000,
                if row.is_well() { "" } else { "  <- kept out" },
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_siege_is_lost_if_one_in_ten_is_kept_out_or_one_session_is_lost() {
        let joins = |done| Attempts { tried: 20, done, ..Attempts::default() };
        let players =
            |sessions_lost| Noticed { error: 0.1, sessions_lost, connected: PLAYERS, ..Noticed::default() };
        let row = |done, lost| Row {
            kind: AttackKind::Noise,
            sent: 1,
            joins: joins(done),
            lookups: joins(20),
            players: players(lost),
            cpu: (0.1, 0.0),
            memory: (20_000_000, 0),
        };
        assert!(row(19, 0).is_well() && !row(18, 0).is_well() && !row(20, 1).is_well());
        let mut table = Table::default();
        table.add(row(20, 0));
        table.add(row(18, 0));
        assert!(!table.is_well());
        assert!(table.to_string().contains("18/20") && table.to_string().contains("kept out"), "{table}");
    }
}
