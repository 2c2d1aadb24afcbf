//! Goal: the scene of ships and bullets measures what happened. Method: short games of three.

use fairpath::schedule::{QueueOrder, SchedulerChoice, Weighting};
use fairpath::session::Budget;
use fairpath::time::Span;
use fairpath_experiments::budgets::{BudgetScene, BudgetScore, CopyReason, Opening, SceneScheduler};

const DETERMINISTIC: SchedulerChoice =
    SchedulerChoice::DeterministicBudget { weighting: Weighting::ACCUMULATED };
const ERROR_INDEX: SchedulerChoice = SchedulerChoice::ErrorIndex { fairness: 1.0 };

fn scene(scheduler: SceneScheduler) -> BudgetScene {
    let length = Span::from_secs(6);
    BudgetScene {
        players: 3,
        loss: 0.0,
        has_bullets: true,
        scheduler,
        opening: Opening::Settled,
        length,
        seed: 5,
    }
}

fn copies(score: &BudgetScore, reason: CopyReason) -> [f64; 2] {
    score.copies_per_sec(reason)
}

#[test]
fn broadcast_sends_claims_and_every_bullet_once() {
    let score = scene(SceneScheduler::BROADCAST).play();
    // The farthest ship is 420 ms away: half of 80 u/s² for that long is 7 units, and as much again
    // for a thrust that turned round.
    assert!(score.ships.worst_p95() < 14.0, "{:?}", score.ships);
    assert!(score.ships.missing_ratio == 0.0, "every ship is known");
    let [_, bullets] = copies(&score, CopyReason::Birth);
    // Two others fire two a second on average.
    assert!((1.0..8.0).contains(&bullets), "{bullets} bullets a second");
    let [ships, claimed_bullets] = copies(&score, CopyReason::Claim);
    assert!(ships > 2.0 && claimed_bullets == 0.0, "ships turn, bullets do not: {ships}, {claimed_bullets}");
    assert!(score.datagram_bytes_per_sec < score.bytes_per_sec);
}

#[test]
fn a_budget_saves_bytes_and_the_same_scene_plays_the_same_game() {
    let broadcast = scene(SceneScheduler::BROADCAST).play();
    for choice in [DETERMINISTIC, ERROR_INDEX] {
        let limited = scene(SceneScheduler::Counted { choice, share: 0.2 });
        let score = limited.play();
        assert!(score.bytes_per_sec < broadcast.bytes_per_sec, "{choice}");
        assert!(score.ships.mean() > broadcast.ships.mean(), "{choice}");
        let again = limited.play();
        assert_eq!(score.ships.mean().to_bits(), again.ships.mean().to_bits());
        assert_eq!(score.bytes_per_sec.to_bits(), again.bytes_per_sec.to_bits());
    }
}

#[test]
fn without_bullets_nothing_is_born() {
    let scheduler = SceneScheduler::Counted { choice: ERROR_INDEX, share: 0.5 };
    let score = BudgetScene { has_bullets: false, ..scene(scheduler) }.play();
    assert_eq!(copies(&score, CopyReason::Birth), [0.0, 0.0]);
    assert!(score.bullets.p95().is_nan());
}

fn within(order: QueueOrder, budget: Budget) -> BudgetScore {
    scene(SceneScheduler::Bytes { order, budget }).play()
}

#[test]
fn with_enough_bytes_every_order_is_broadcast() {
    let broadcast = scene(SceneScheduler::BROADCAST).play();
    for order in QueueOrder::ALL {
        let score = within(order, Budget::default());
        assert_eq!(score.ships.mean().to_bits(), broadcast.ships.mean().to_bits(), "{order}");
        assert_eq!(score.bytes_per_sec, broadcast.bytes_per_sec, "{order}");
    }
}

#[test]
fn within_a_third_of_the_bytes_ships_are_known_and_near_and_bytes_are_kept() {
    let broadcast = scene(SceneScheduler::BROADCAST).play();
    let bytes_per_sec = broadcast.bytes_per_sec / 3.0;
    for order in QueueOrder::ALL {
        let score = within(order, Budget::bytes_per_sec(bytes_per_sec as u32));
        assert_eq!(score.ships.missing_ratio, 0.0, "{order}: every ship is known");
        assert!(score.ships.worst_p95() < 40.0, "{order}: {:?}", score.ships);
        assert!(score.bytes_per_sec < 1.15 * bytes_per_sec, "{order}: {} bytes", score.bytes_per_sec);
    }
}

#[test]
fn a_share_of_broadcast_costs_that_share() {
    let broadcast = scene(SceneScheduler::BROADCAST).play();
    let score = within(QueueOrder::default(), Budget::share_of_broadcast(0.5));
    let share = score.bytes_per_sec / broadcast.bytes_per_sec;
    assert!((0.4..0.6).contains(&share), "{share} of broadcast's bytes");
}
