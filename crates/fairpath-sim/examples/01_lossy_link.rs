//! The same ship across a link with delay, jitter and loss: DR vectors as datagrams, and the error
//! that loss costs.
//!
//! `cargo run -p fairpath-sim --example 01_lossy_link`

use fairpath::place::Arrival;
use fairpath::random::Random;
use fairpath::wire::{Header, Precision, decode_updates, encode_updates};
use fairpath::{
    EntityId, Now, Observation, Owner, Placement, Replica, SharedInstant, Span, State, Trigger, Vec2, Vector,
};
use fairpath_sim::{Link, LinkConfig, Loss};

pub(crate) fn main() {
    println!("loss   sent  bytes  mean error");
    for loss in [0.0, 0.1, 0.3] {
        let config =
            LinkConfig::default().delay(Span::from_millis(100)).jitter_uniform(Span::from_millis(30));
        let mut link = Link::new(config.loss(Loss::each(loss)), Random::from_seed(7));
        let precision = Precision::default();
        let mut owner = Owner::new(EntityId(1), Trigger::within(0.3));
        let mut replica = Replica::new(Placement::Global);
        let (mut sent, mut bytes, mut error, mut frames) = (0, 0, 0.0, 0.0);
        for frame in 0..3600 {
            let now = SharedInstant::from_micros(frame * 16_667);
            let angle = 0.5 * now.as_secs_f64();
            let ahead = Vec2::from_heading(angle).perpendicular();
            let truth = State::moving(Vec2::from_heading(angle) * 40.0, ahead * 20.0);
            if let Some(export) = owner.observe(Observation::Moved(truth), now).expect("finite numbers") {
                let mut datagram = Vec::new();
                let header = Header { sent_at: now, ..Header::default() };
                encode_updates(&precision, &header, &[export.vector], &mut datagram)
                    .expect("finite numbers encode");
                (sent, bytes) = (sent + 1, bytes + datagram.len());
                link.send(now, datagram.len() as u32, datagram);
            }
            while let Some(arrival) = link.poll(now) {
                let updates =
                    decode_updates::<Vec2>(&precision, now, &arrival.payload).expect("links change no bytes");
                for vector in updates.vectors {
                    replica.accept(&vector, &Arrival::at(Now::synchronised(arrival.at)));
                }
            }
            if let Some(placed) = replica.place(Now::synchronised(now)) {
                error += placed.position.distance(truth.position);
                frames += 1.0;
            }
        }
        println!("{:>3.0} %  {sent:>4}  {bytes:>5}  {:.2}", 100.0 * loss, error / frames);
        assert!(error / frames < 1.5, "the next DR vector corrects what a lost one left");
    }
}
