//! One ship, one receiver, no network: what a trigger, a DR vector and a replica are.
//!
//! `cargo run -p fairpath-sim --example 00_one_ship`

use fairpath::place::Arrival;
use fairpath::{
    EntityId, MotionKind, Now, Observation, Owner, Placement, Replica, SharedInstant, State, Trigger, Vec2,
    Vector,
};

pub(crate) fn main() {
    for model in [MotionKind::Linear, MotionKind::Circular] {
        let mut owner = Owner::new(EntityId(1), Trigger::within(0.3)).with_model(model);
        let mut replica = Replica::new(Placement::Global);
        let (mut sent, mut worst) = (0, 0.0f64);
        for frame in 0..600 {
            let now = SharedInstant::from_micros(frame * 16_667);
            // The truth: a circle with a radius of 40 units, once around in 12.6 seconds.
            let angle = 0.5 * now.as_secs_f64();
            let ahead = Vec2::from_heading(angle).perpendicular();
            let truth = State::moving(Vec2::from_heading(angle) * 40.0, ahead * 20.0)
                .with_heading(angle + std::f64::consts::FRAC_PI_2, 0.5);
            // The owner observes it every frame, and sends a DR vector when the prediction is off
            // by more than 0.3.
            if let Some(export) = owner.observe(Observation::Moved(truth), now).expect("finite numbers") {
                replica.accept(&export.vector, &Arrival::at(Now::synchronised(now)));
                sent += 1;
            }
            // The replica predicts.
            let placed = replica.place(Now::synchronised(now)).expect("the first frame is always sent");
            worst = worst.max(placed.position.distance(truth.position));
        }
        println!("{model:?}: 600 frames, {sent} DR vectors, at most {worst:.2} off");
        assert!(worst <= 0.32, "the threshold plus the rounding of the wire");
    }
}
