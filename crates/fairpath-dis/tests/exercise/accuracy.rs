//! Goal: what a receiver on the far network reckons is what it would have reckoned on the near one.
//! Method: 200 entities in all nine models fly for a while; the curve of every PDU that comes out
//! is compared with the curve of the PDU that went in.

use std::collections::BTreeMap;

use fairpath::Vector;
use fairpath::motion::Dis;
use fairpath::time::{SharedInstant, Span};
use fairpath_dis::path::state_at;
use fairpath_dis::{DisId, Fineness, GatewayConfig, Passing};
use fairpath_sim::LinkConfig;

use super::fleet::Simulated;
use super::world::World;

/// Every PDU that went in, by entity, with the instant for which it is true.
type Sent = BTreeMap<DisId, Vec<(SharedInstant, Dis)>>;

fn fly(world: &mut World, entities: u16, seconds: i64) -> (Sent, Vec<Simulated>) {
    let mut fleet: Vec<Simulated> = (0..entities).map(|number| Simulated::new(number + 1, 40)).collect();
    let mut sent = Sent::new();
    world.run_for(Span::from_secs(seconds), |world| {
        let now = world.now();
        for entity in &mut fleet {
            if let Some((bytes, motion)) = entity.step(now, world.noon_us) {
                sent.entry(entity.id).or_default().push((now, motion));
                world.hear(0, &bytes);
            }
        }
    });
    (sent, fleet)
}

fn link() -> LinkConfig {
    LinkConfig::default().delay(Span::from_millis(40))
}

#[test]
fn passed_on_one_to_one_every_curve_is_within_a_centimetre_and_a_millimetre() {
    let mut world = World::new(link(), Fineness::Exact, vec![GatewayConfig::default(); 2]);
    // Across a full hour, where stamps begin anew.
    world.noon_us -= 10_000_000;
    let (sent, _) = fly(&mut world, 200, 20);
    let mut worst = [0.0f64; 10];
    let mut compared = 0;
    for (at, out, generated_at) in world.states(1) {
        // A DR vector starts on the session's grid of milliseconds, just before its PDU.
        let generated_at = generated_at.expect("it was just spoken for");
        let input = sent[&out.id]
            .iter()
            .find(|(sent_at, _)| (Span::ZERO..=Span::from_millis(1)).contains(&(*sent_at - generated_at)));
        let (sent_at, input) = input.expect("every DR vector is a PDU that went in");
        for tenth in 0..=50 {
            let t = at + Span::from_millis(100 * tenth);
            if t > *sent_at + Span::from_secs(5) {
                break;
            }
            let direct = state_at(input, (t - *sent_at).as_secs_f64());
            let through = state_at(&out.motion, (t - at).as_secs_f64());
            let error = direct.position.distance(through.position);
            let number = usize::from(out.motion.model.number());
            worst[number] = worst[number].max(error);
            compared += 1;
        }
    }
    println!("{compared} comparisons, worst per model in mm: {:.2?}", worst.map(|metres| metres * 1e3));
    assert!(compared > 20_000, "{compared}");
    for (model, worst) in worst.into_iter().enumerate().skip(1) {
        assert!(worst > 0.0, "model {model} was not seen");
        assert!(worst <= 0.011, "model {model}: {:.2} mm", worst * 1e3);
    }
}

#[test]
fn triggered_anew_every_entity_is_within_two_thresholds() {
    let config = GatewayConfig { passing: Passing::Triggered, ..GatewayConfig::default() };
    let mut world = World::new(link(), Fineness::Compact, vec![config, GatewayConfig::default()]);
    let mut fleet: Vec<Simulated> = (0..200).map(|number| Simulated::new(number + 1, 40)).collect();
    let (mut worst, mut beyond, mut all, mut pdus) = (0.0f64, 0, 0, 0);
    world.run_for(Span::from_secs(20), |world| {
        let now = world.now();
        for entity in &mut fleet {
            let truth = entity.truth_at(now);
            let object = world.gateways[0].object_of(entity.id);
            let mut client = world.session.client_frame(0);
            // What all peers are told, without the time that the way takes.
            if let Some(told) = object.and_then(|object| client.session().followed(object))
                && now > SharedInstant::from_millis(1_000)
            {
                let error = told.state_at(now).position.distance(truth.position);
                worst = worst.max(error);
                all += 1;
                beyond += usize::from(error > 2.0);
            }
            if let Some((bytes, _)) = entity.step(now, world.noon_us) {
                pdus += 1;
                world.hear(0, &bytes);
            }
        }
    });
    let vectors = world.gateways[0].counters().vectors;
    println!("worst {worst:.2} m; {beyond} of {all} beyond 2 m; {pdus} PDUs, {vectors} DR vectors");
    assert!(all > 200_000 && vectors > 400, "{all} {vectors}");
    // The simulation and the gateway look 60 times a second: a change of course of 17 m/s (10 per
    // axis) is noticed up to 0.29 m late by each.
    assert!(worst <= 2.0 + 2.0 * 0.29, "{worst}");
    assert!(vectors < pdus * 9 / 10, "heartbeats are not passed on: {vectors} of {pdus}");
}
