use fairpath::Export;
use fairpath::number::ReceiverId;
use fairpath::random::Random;
use fairpath::schedule::DispatcherConfig;
use fairpath::time::{Now, SharedInstant};
use fairpath::vector::Vec2;
use fairpath_sim::LinkConfig;
use fairpath_sim::star::{Observer, ReplicaKind, Spoke, Star};

use super::TANK;
use super::scheduler::SCHEDULERS;
use crate::flight::{Flight, Flights};

/// One scheduler and its receivers.
pub(super) struct Lane {
    scheduler: usize,
    star: Star<Vec2, Flights>,
    written: Vec<(SharedInstant, f64, f64)>,
}

impl Lane {
    pub(super) fn new(
        scheduler: usize,
        budget: f64,
        links: &[LinkConfig],
        random: &Random,
        begin: SharedInstant,
    ) -> Self {
        let config = DispatcherConfig::as_in_the_papers();
        let decides = SCHEDULERS[scheduler].build(links.len(), budget);
        let flights = Flights::new(links.iter().map(|link| link.delay).collect());
        let mut star = Star::new(config, decides, random.fork(0), begin).watched_by(flights);
        star.observers.insert(TANK, Observer::new(config.horizon));
        for (number, link) in (0..).zip(links) {
            let random = random.fork(u64::from(number) + 1);
            star.join(ReceiverId(number), Spoke::new(link.clone(), random).reliable_feedback(), begin);
        }
        Self { scheduler, star, written: Vec::new() }
    }

    /// One tick: what is due by `now` happens, the scheduler decides about a new DR vector, due
    /// copies leave, and every receiver's error is brought up to `now`.
    pub(super) fn tick(&mut self, export: Option<&Export<Vec2>>, now: SharedInstant) {
        self.star.run_until(now);
        if let Some(export) = export {
            self.star.export(export, now);
        }
        self.star.send_due(now);
        self.star.observers.values_mut().for_each(|observer| observer.settle(now));
        self.star.watch.settle(now);
    }

    /// Notes mean and spread for the charts.
    pub(super) fn write_down(&mut self, now: SharedInstant) {
        self.written.push((now, self.mean(), self.spread()));
    }

    pub(super) fn written(&self) -> &[(SharedInstant, f64, f64)] {
        &self.written
    }

    pub(super) fn flights(&self, now: SharedInstant) -> impl Iterator<Item = &Flight> {
        self.star.watch.at(now)
    }

    pub(super) fn errors(&self) -> Vec<f64> {
        self.star.receivers().map(|receiver| self.star.observers[&TANK].settled(receiver)).collect()
    }

    pub(super) fn copies(&self) -> Vec<u64> {
        self.star.receivers().map(|receiver| self.star.link(receiver).statistics().sent).collect()
    }

    /// The receivers' mean error: accuracy.
    pub(super) fn mean(&self) -> f64 {
        self.errors().iter().sum::<f64>() / self.star.watch.delays.len() as f64
    }

    /// The population standard deviation of their errors: fairness.
    pub(super) fn spread(&self) -> f64 {
        let mean = self.mean();
        let squares = self.errors().iter().map(|error| (error - mean) * (error - mean)).sum::<f64>();
        (squares / self.star.watch.delays.len() as f64).sqrt()
    }

    /// Its part of the scene's frame.
    pub(super) fn frame(&self, now: SharedInstant, out: &mut Vec<f64>) {
        let copies: u64 = self.copies().iter().sum();
        out.extend([self.scheduler as f64, copies as f64, self.mean(), self.spread()]);
        for (receiver, copies) in (0..).map(ReceiverId).zip(self.copies()) {
            let replica = self.star.replica(receiver, TANK, ReplicaKind::Global);
            let placed =
                replica.and_then(|replica| replica.place(Now::synchronised(now))).unwrap_or_default();
            out.extend([self.star.observers[&TANK].settled(receiver), copies as f64]);
            out.extend([placed.position.x, placed.position.y, placed.velocity.heading()]);
        }
    }
}
