//! The same ship across a link with delay, jitter and loss: DR vectors as datagrams, and the error
//! that loss costs.
//!
//! `cargo run -p fairpath-sim --example 01_lossy_link`

use fairpath::random::Random;
use fairpath::schedule::{Broadcast, DispatcherConfig};
use fairpath::{EntityId, Observation, Owner, ReceiverId, SharedInstant, Span, State, Trigger, Vec2, Vector};
use fairpath_sim::star::{ReplicaKind, Spoke, Star};
use fairpath_sim::{LinkConfig, Loss};

const SHIP: EntityId = EntityId(1);
const RECEIVER: ReceiverId = ReceiverId(0);

pub(crate) fn main() {
    println!("loss   sent  bytes  mean error");
    for loss in [0.0, 0.1, 0.3] {
        let (begin, random) = (SharedInstant::ZERO, Random::from_seed(7));
        let link = LinkConfig::default().delay(Span::from_millis(100)).jitter_uniform(Span::from_millis(30));
        let mut owner = Owner::new(SHIP, Trigger::within(0.3));
        let mut star = Star::new(DispatcherConfig::default(), Box::new(Broadcast), random.fork(0), begin);
        star.join(RECEIVER, Spoke::new(link.loss(Loss::each(loss)), random.fork(1)), begin);
        let (mut error, mut frames) = (0.0, 0.0);
        for frame in 0..3600 {
            let now = SharedInstant::from_micros(frame * 16_667);
            let angle = 0.5 * now.as_secs_f64();
            let ahead = Vec2::from_heading(angle).perpendicular();
            let truth = State::moving(Vec2::from_heading(angle) * 40.0, ahead * 20.0);
            star.run_until(now);
            if let Some(export) = owner.observe(Observation::Moved(truth), now).expect("finite numbers") {
                star.export(&export, now);
            }
            star.send_due(now);
            if let Some(placed) = star.place(RECEIVER, SHIP, ReplicaKind::Global, now) {
                error += placed.position.distance(truth.position);
                frames += 1.0;
            }
        }
        let sent = star.link(RECEIVER).statistics();
        println!("{:>3.0} %  {:>4}  {:>5}  {:.2}", 100.0 * loss, sent.sent, sent.sent_bytes, error / frames);
        assert!(error / frames < 1.5, "the next DR vector corrects what a lost one left");
    }
}
