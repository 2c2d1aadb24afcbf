//! Goal: whatever one client does, the error of the other clients about each other hardly grows.
//! Method: the same world with an honest client and with every kind of attacker, in virtual time,
//! so that the comparison is exact.

use fairpath::schedule::{SchedulerChoice, Weighting};
use fairpath_campaign::SchedulerPlan;
use fairpath_campaign::siege::{Attack, AttackDamage, Defence, besiege};
use rayon::prelude::*;

const BROADCAST: SchedulerPlan = with(SchedulerChoice::Broadcast);
const DETERMINISTIC: SchedulerPlan =
    with(SchedulerChoice::DeterministicBudget { weighting: Weighting::ACCUMULATED });
const ERROR_INDEX: SchedulerPlan = with(SchedulerChoice::ErrorIndex { fairness: 1.0 });

const fn with(choice: SchedulerChoice) -> SchedulerPlan {
    SchedulerPlan { choice, budget: 2.0, order: None }
}

/// What a sound server has: speeds and jumps are checked, and nobody owns more than a handful.
fn sound(scheduler: SchedulerPlan) -> Defence {
    Defence { scheduler, objects_max: 4, checks: true }
}

/// What each attack did, beside what the well-behaved player did in its place.
fn all_attacks(defence: Defence, seed: u64) -> Vec<(Attack, AttackDamage, f64)> {
    let damages: Vec<AttackDamage> =
        Attack::ALL.into_par_iter().map(|attack| besiege(attack, defence, seed)).collect();
    let in_peace = damages[0].error;
    assert!(in_peace > 0.1, "they move, and are seen with some error: {in_peace}");
    let compared = Attack::ALL.into_iter().zip(damages);
    compared.map(|(attack, damage)| (attack, damage.clone(), damage.error / in_peace)).collect()
}

/// No kind of attack costs the others more than this on average. Ten seconds with a budget are
/// noisy: the schedule depends on the attacker's random actions.
fn assert_harmless(defence: Defence, ratio_max: f64) {
    const SEEDS: u64 = 6;
    let mut ratios = [0.0; Attack::ALL.len()];
    for seed in 1..=SEEDS {
        for (place, (attack, damage, ratio)) in all_attacks(defence, seed).into_iter().enumerate() {
            ratios[place] += ratio / SEEDS as f64;
            assert_eq!(damage.violation, None, "{attack:?}, seed {seed}");
            assert_eq!((damage.unseen, damage.honest_closed), (0, 0), "{attack:?}, seed {seed}: {damage:?}");
            assert!(damage.objects <= 6 + 4 + 2, "{attack:?}, seed {seed}: {damage:?}");
            if attack == Attack::None {
                assert_eq!((damage.thrown_out, damage.refused), (0, 0), "seed {seed}: {damage:?}");
            }
        }
    }
    for (attack, ratio) in Attack::ALL.into_iter().zip(ratios) {
        println!("{:?} {attack:?}: {ratio:.3}", defence.scheduler);
        assert!(ratio <= ratio_max, "{attack:?}: others' error is {ratio:.3} of what it was");
    }
}

#[test]
fn others_do_not_suffer_where_everybody_is_told_everything() {
    assert_harmless(sound(BROADCAST), 1.01);
}

#[test]
fn others_do_not_suffer_where_copies_are_shared_in_turns() {
    assert_harmless(sound(DETERMINISTIC), 1.10);
}

/// A client that never sends receipts, or reconnects again and again, has the largest error in the
/// ledger, and the error index serves the largest error first; so it schedules silent receivers in
/// turn.
#[test]
fn others_do_not_suffer_where_errors_are_made_equal() {
    assert_harmless(sound(ERROR_INDEX), 1.10);
}

#[test]
fn attacks_are_noticed() {
    let damages = all_attacks(sound(BROADCAST), 1);
    let is_noticed = |damage: &AttackDamage| damage.thrown_out + damage.refused > 0;
    let unnoticed: Vec<Attack> =
        damages.iter().filter(|(_, damage, _)| !is_noticed(damage)).map(|(attack, ..)| *attack).collect();
    // What is repeated is dropped and counted, silent connections close by themselves, and receipts
    // are not believed.
    let quiet = [Attack::None, Attack::Replays, Attack::HalfOpen, Attack::LateReceipts, Attack::NoReceipts];
    assert_eq!(unnoticed, quiet);
}

#[test]
fn without_checks_bytes_are_all_that_an_absurd_player_can_take() {
    let defence = Defence { scheduler: BROADCAST, objects_max: 256, checks: false };
    let in_peace = besiege(Attack::None, defence, 1).error;
    for attack in [Attack::Absurdities, Attack::ObjectStorm] {
        let damage = besiege(attack, defence, 1);
        assert!(damage.error <= 1.10 * in_peace, "{attack:?}: {damage:?}, in peace {in_peace}");
        assert_eq!((damage.violation, damage.unseen, damage.honest_closed), (None, 0, 0));
    }
}
