//! Goal: after any outage the watcher is right again within one send and one delay.
//! Method: faults first, then heal the links and require convergence.

use fairpath::time::Span;
use fairpath_sim::{Fault, LinkConfig, Loss};

use crate::ship::{OWNER, SEND_EVERY, ShipWorld, WATCHER, drift_after, secs};

const DELAY: Span = Span::from_millis(50);

#[test]
fn a_cut_cable_is_forgotten_when_it_is_back() {
    let repro = fairpath_sim::repro!(3);
    let mut world = ShipWorld::new(repro.seed(), LinkConfig::default().delay(DELAY));
    world.network.fault_at(secs(1.0), Fault::Partition(OWNER, WATCHER));
    world.network.fault_at(secs(2.0), Fault::Repair(OWNER, WATCHER));
    world.run_until(secs(4.0));

    let usual = drift_after(SEND_EVERY + DELAY);
    assert!(world.worst_error(secs(1.2)..secs(2.0)) > 10.0 * usual, "a second of silence shows");
    let recovered = secs(2.0) + SEND_EVERY + DELAY;
    assert!(world.worst_error(recovered..secs(4.0)) <= usual);
}

#[test]
fn whatever_went_wrong_healing_ends_it() {
    let repro = fairpath_sim::repro!(4);
    let mut world = ShipWorld::new(repro.seed(), LinkConfig::wifi_bad().loss(Loss::bursts(0.6, 10.0)));
    world.network.fault_at(secs(2.0), Fault::Isolate(WATCHER));
    world.network.fault_at(secs(3.0), Fault::StepClock(WATCHER, Span::from_secs(-60)));
    world.network.fault_at(secs(5.0), Fault::Heal);
    world.run_until(secs(10.0));

    assert!(world.network.link(OWNER, WATCHER).statistics().lost.total() > 0, "nothing went wrong");
    // Healed, it is still a slow and jittery link: 50 ms, and the jitter's tail.
    let (slowest, settled) =
        (Span::from_millis(50 + 6 * 25), secs(5.0) + SEND_EVERY + Span::from_millis(200));
    let worst = world.worst_error(settled..secs(10.0));
    assert!(worst <= drift_after(SEND_EVERY + slowest), "{worst} m");
}
