//! Breaks the library on purpose, one line at a time, and checks that the campaign notices.
//!
//! Each mutant changes one line in a copy of the repository below `target/mutants` and is built
//! there. The repository itself never changes, so the hunt can be interrupted at any time.

use std::io::Result;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::steps::root;

/// A wrong line to put in the place of a right one.
struct Mutant {
    /// The part of the library and what is wrong with it. `worlds:` is hunted in worlds of many
    /// servers, the others in sessions.
    name: &'static str,
    file: &'static str,
    right: &'static str,
    wrong: &'static str,
}

const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "ledger: corrections have the wrong sign",
        file: "crates/fairpath/src/ledger/pair.rs",
        right: "(self.accumulated + (after - before)).max(0.0)",
        wrong: "(self.accumulated + (before - after)).max(0.0)",
    },
    Mutant {
        name: "ledger: an overdue copy without a receipt counts as arrived",
        file: "crates/fairpath/src/ledger/pair.rs",
        right: "matches!(copy.status, CopyStatus::Expected(at) if at < until)",
        wrong: "matches!(copy.status, CopyStatus::Expected(at) if at > until)",
    },
    Mutant {
        name: "ledger: an announcement counts as arrived when its confirmation comes",
        file: "crates/fairpath/src/schedule/receipt_trust.rs",
        right: "let said = arrived_at.min(now).max(sent_at);",
        wrong: "let said = arrived_at.max(now);",
    },
    Mutant {
        name: "ledger: a report about datagrams counts an announcement as lost",
        file: "crates/fairpath/src/ledger/pair.rs",
        right: "self.copies[position].status = CopyStatus::Streamed(at);",
        wrong: "self.copies[position].status = CopyStatus::Expected(at);",
    },
    Mutant {
        name: "session: an announcement is sent again with its old motion, and booked as the newest",
        file: "crates/fairpath/src/session/outbox.rs",
        right: "announcement.motion = motion;",
        wrong: "drop(motion);",
    },
    Mutant {
        name: "session: a datagram that the network repeats is taken for an attack",
        file: "crates/fairpath/src/session/channel.rs",
        right: "            return Ok(None);",
        wrong: "            return Err(CloseReason::OutOfPlace);",
    },
    Mutant {
        name: "packer: a datagram is not booked against the budget",
        file: "crates/fairpath/src/session/byte_budget.rs",
        right: "let motion = bytes as f64;",
        wrong: "let motion = 0.0 * bytes as f64;",
    },
    Mutant {
        name: "budget: the bucket fills twice as fast as the budget says",
        file: "crates/fairpath/src/session/byte_budget.rs",
        right: "all: Bucket::new(rate, burst),",
        wrong: "all: Bucket::new(2.0 * rate, burst),",
    },
    Mutant {
        name: "packer: copies leave before their earliest instant",
        file: "crates/fairpath/src/schedule/watches.rs",
        right: "if self.is_told { self.since + pace.interval_min } else { self.since }",
        wrong: "if self.is_told { self.since + pace.interval_min.scaled(0.0) } else { self.since }",
    },
    Mutant {
        name: "copies: a repeat against loss is booked as an update of its own",
        file: "crates/fairpath/src/schedule/dispatcher.rs",
        right: "if !is_repeat {",
        wrong: "if !is_repeat || at > SharedInstant::ZERO {",
    },
    Mutant {
        name: "replica: an older DR vector is accepted",
        file: "crates/fairpath/src/place/replica.rs",
        right: "std::cmp::Ordering::Less => Acceptance::Stale,",
        wrong: "std::cmp::Ordering::Less => Acceptance::Used,",
    },
    Mutant {
        name: "clock: the offset moves to one end of its bounds",
        file: "crates/fairpath/src/clock/bounds.rs",
        right: "Span::from_micros(width.as_micros() / 2)",
        wrong: "Span::from_micros(width.as_micros())",
    },
    Mutant {
        name: "clock: the offset jumps instead of slewing",
        file: "crates/fairpath/src/clock/slew.rs",
        right: "self.offset + self.correction.clamp(-reach, reach)",
        wrong: "self.offset + self.correction.clamp(-reach.scaled(50.0), reach.scaled(50.0))",
    },
    Mutant {
        name: "session: unordered messages that overtake the greeting are dropped",
        file: "crates/fairpath/src/session/client/mod.rs",
        right: "return self.keep_unordered(bytes, now);",
        wrong: "return;",
    },
    Mutant {
        name: "session: a new transport is not given the unordered messages of the old one",
        file: "crates/fairpath/src/session/outbox.rs",
        right: "self.unordered_waiting = self.unordered.keys().copied().collect();",
        wrong: "self.unordered_waiting.retain(|number| self.unordered.contains_key(number));",
    },
    Mutant {
        name: "parents: a rider is placed without its parent's turn",
        file: "crates/fairpath/src/session/attach.rs",
        right: "(state, parent) = (state.carried_by(&frame), next);",
        wrong: "(state, parent) = (state.carried_by(&State { orientation: V::level(0.0), ..frame }), next);",
    },
    Mutant {
        name: "parents: a rider's threshold is not measured in its parent's axes",
        file: "crates/fairpath/src/owner.rs",
        right: "Observation::Moved(state) => self.trigger.check(state, exported, at).or_else(|| {",
        wrong: "Observation::Moved(state) => self.trigger.check(&State { position: state.position \
                * if self.parent.is_some() { -1.0 } else { 1.0 }, ..*state }, exported, at).or_else(|| {",
    },
    Mutant {
        name: "parents: another parent is not exported before the next trigger",
        file: "crates/fairpath/src/owner.rs",
        right: "Observation::Moved(_) if exported.parent != self.parent => Some(TriggerReason::Jumped),",
        wrong: "Observation::Moved(_) if false => Some(TriggerReason::Jumped),",
    },
    Mutant {
        name: "parents: riders of a destroyed carrier are not shown",
        file: "crates/fairpath/src/session/client/attach.rs",
        right: "self.resting.insert(child, state.at_rest());",
        wrong: "let _ = state;",
    },
    Mutant {
        name: "parents: a rider is not shown before its new parent is known",
        file: "crates/fairpath/src/session/client/attach.rs",
        right: "self.adrift.insert(object, Coasting { state, since: now.shared });",
        wrong: "let _ = Coasting { state, since: now.shared };",
    },
    Mutant {
        name: "types: bytes of another type are accepted",
        file: "crates/fairpath/src/session/protocol.rs",
        right: "value_type.is_none_or(|value_type| value_type.decodes(&bytes));",
        wrong: "value_type.is_none_or(|value_type| value_type.decodes(&bytes) || !bytes.is_empty());",
    },
    Mutant {
        name: "paging: an object is announced without its first state",
        file: "crates/fairpath/src/session/server/object.rs",
        right: "let generated_at = (!motion.is_empty()).then_some(newest.generated_at);",
        wrong: "let (motion, generated_at) = (motion[..0].to_vec(), None);",
    },
    Mutant {
        name: "paging: only the first page is announced",
        file: "crates/fairpath/src/session/server/waiting.rs",
        right: "if !member.channel.has_room_for_page(Now::synchronised(now)) {",
        wrong: "if !member.channel.has_room_for_page(Now::synchronised(now)) {\n\
                member.waiting = Waiting::default();",
    },
    Mutant {
        name: "ids: an id is used again at once",
        file: "crates/fairpath/src/session/id_blocks.rs",
        right: "self.resting.push_back((now + Self::REST, first));",
        wrong: "self.resting.push_back((now, first));",
    },
    Mutant {
        name: "restart: a server that restarts says that the session has ended",
        file: "crates/fairpath-sim/src/session/mod.rs",
        right: "self.send(SERVER, to, Packet::close(connection, Some(reason)));",
        wrong: "self.send(SERVER, to, Packet::close(connection, Some(reason).and(Some(CloseReason::Finished))));",
    },
    Mutant {
        name: "restart: a client gives up its session when the server announces a restart",
        file: "crates/fairpath/src/session/error.rs",
        right: "!matches!(self, Self::Superseded | Self::Silent | Self::NoGreeting | Self::Restarting)",
        wrong: "!matches!(self, Self::Superseded | Self::Silent | Self::NoGreeting)",
    },
    Mutant {
        name: "undelivered: values have no type",
        file: "crates/fairpath/src/session/undelivered.rs",
        right: "let class = (self.class_of)(object);",
        wrong: "let class = (self.class_of)(object).filter(|_| false);",
    },
    Mutant {
        name: "worlds: an owner under an old fence believes that it owns",
        file: "crates/fairpath-cluster/src/lease.rs",
        right: "self.giving_up.is_none() && self.fence(now) == Some(fence)",
        wrong: "self.giving_up.is_none() && self.fence(now).is_some_and(|held| held >= fence)",
    },
    Mutant {
        name: "worlds: a renewal has a fence of its own",
        file: "crates/fairpath-cluster/src/lease.rs",
        right: "LeaseWrite::Renew(fence) => fence,",
        wrong: "LeaseWrite::Renew(_) => self.register.known,",
    },
    Mutant {
        name: "worlds: a taker waits for half a lease",
        file: "crates/fairpath-cluster/src/lease.rs",
        right: "_ => seen_at + config.lease + patience,",
        wrong: "_ => seen_at + config.lease.scaled(0.5) + patience,",
    },
    Mutant {
        name: "worlds: an owner speaks until its offer is accepted",
        file: "crates/fairpath-cluster/src/entity.rs",
        right: "matches!(self.phase, Phase::Owned))?;",
        wrong: "matches!(self.phase, Phase::Owned | Phase::Offered { .. }))?;",
    },
    Mutant {
        name: "worlds: the receiver of an offer owns before it is written",
        file: "crates/fairpath-cluster/src/zone/entities.rs",
        right: "real.restore(&record.snapshot, &self.config);\n        self.reals.insert(entity, real);",
        wrong: "real.restore(&record.snapshot, &self.config);\n        (real.title, real.phase) = (Some(title), Phase::Owned);\n        self.reals.insert(entity, real);",
    },
    Mutant {
        name: "worlds: a new owner forgets the outbox",
        file: "crates/fairpath-cluster/src/entity.rs",
        right: "self.outbox = snapshot.outbox.iter().cloned().collect();",
        wrong: "self.outbox.clear();",
    },
    Mutant {
        name: "worlds: promises are sent before they are saved",
        file: "crates/fairpath-cluster/src/zone/entities.rs",
        right: "promise.number <= real.saved.promised",
        wrong: "promise.number <= real.promised",
    },
    Mutant {
        name: "worlds: promises are acknowledged before they are saved",
        file: "crates/fairpath-cluster/src/zone/entities.rs",
        right: "} else if let Some(number) = real.saved.received.get(&from).copied() {",
        wrong: "} else if let Some(number) = real.received.get(&from).copied() {",
    },
    Mutant {
        name: "worlds: unsaved changes may be as old as they like",
        file: "crates/fairpath-cluster/src/zone/mod.rs",
        right: "real.is_saved_enough(moment.local, self.config.loss_max)",
        wrong: "real.is_saved_enough(moment.local, Span::MAX)",
    },
    Mutant {
        name: "worlds: a cell is released before its entities are saved",
        file: "crates/fairpath-cluster/src/zone/members.rs",
        right: "in_cell.into_iter().all(|real| is_saved(real) && is_idle(real))",
        wrong: "in_cell.into_iter().all(|real| is_saved(real) || is_idle(real))",
    },
];

/// The number of seeds after which a mutant counts as missed.
const SEEDS_MAX: &str = "2000";

/// Runs the campaign on all mutants whose names contain one of the words. Fails if it misses one.
pub(crate) fn hunt(words: &[String]) -> ExitCode {
    let is_meant = |mutant: &&Mutant| words.is_empty() || words.iter().any(|word| mutant.name.contains(word));
    match MUTANTS.iter().filter(is_meant).map(hunt_one).collect::<Result<Vec<bool>>>() {
        Ok(caught) if caught.iter().all(|is_caught| *is_caught) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn hunt_one(mutant: &Mutant) -> Result<bool> {
    let place = root().join("target/mutants");
    let tree = place.join("tree");
    copy_tree(&root(), &tree)?;
    let file = tree.join(mutant.file);
    let text = std::fs::read_to_string(&file)?;
    assert_eq!(text.matches(mutant.right).count(), 1, "{}: the line has changed", mutant.name);
    std::fs::write(&file, text.replace(mutant.right, mutant.wrong))?;

    let mut campaign = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // The dev profile rebuilds quickly, and the campaign catches a mutant within seconds.
    campaign.args([
        "run",
        "--quiet",
        "--package",
        "fairpath-campaign",
        "--",
        "--first",
        "--seeds",
        SEEDS_MAX,
    ]);
    if mutant.name.starts_with("worlds:") {
        campaign.arg("--worlds");
    }
    let output = campaign.current_dir(&tree).env("CARGO_TARGET_DIR", place.join("build")).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_caught = said.starts_with("caught");
    println!("{}: {}", mutant.name, said.lines().take(2).collect::<Vec<_>>().join("; "));
    if said.is_empty() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(is_caught)
}

/// Copies the files that differ, so that cargo rebuilds only those.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    const NOT_COPIED: [&str; 3] = [".git", "target", "fairpath-out"];
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let (source, name) =
            (entry.as_ref().map(std::fs::DirEntry::path), entry.as_ref().map(|it| it.file_name()));
        let (Ok(source), Ok(name)) = (source, name) else { continue };
        if NOT_COPIED.iter().any(|skip| name == *skip) {
            continue;
        }
        let target: PathBuf = to.join(&name);
        if source.is_dir() {
            copy_tree(&source, &target)?;
        } else if std::fs::read(&target).ok() != Some(std::fs::read(&source)?) {
            std::fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_finds_its_line() {
        for mutant in MUTANTS {
            let text = std::fs::read_to_string(root().join(mutant.file)).expect(mutant.file);
            assert_eq!(text.matches(mutant.right).count(), 1, "{}: {} has changed", mutant.name, mutant.file);
        }
    }
}
