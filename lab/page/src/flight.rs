//! Datagrams on their way, for the eye.

use std::collections::VecDeque;

use fairpath::number::ReceiverId;
use fairpath::schedule::{Departure, Dispatcher};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_sim::Fate;
use fairpath_sim::star::Watch;

/// A datagram on a wire.
pub(crate) struct Flight {
    pub(crate) receiver: usize,
    pub(crate) is_receipt: bool,
    pub(crate) is_lost: bool,
    began: SharedInstant,
    ends: SharedInstant,
}

impl Flight {
    /// Returns how far it has come, from 0 to 1.
    fn progress(&self, now: SharedInstant) -> f64 {
        let length = (self.ends - self.began).as_secs_f64().max(1e-6);
        ((now - self.began).as_secs_f64() / length).clamp(0.0, 1.0)
    }

    /// Writes receiver, progress, and whether it is a receipt and gets lost.
    pub(crate) fn write(&self, now: SharedInstant, out: &mut Vec<f64>) {
        out.extend([self.receiver as f64, self.progress(now)]);
        out.extend([self.is_receipt, self.is_lost].map(|is| f64::from(u8::from(is))));
    }
}

/// The most datagrams drawn. Three receivers a second away and a DR vector each tick: 360.
const FLIGHTS_MAX: usize = 512;

/// Everything that is on its way between a server and its receivers.
pub(crate) struct Flights {
    /// How long a datagram usually takes to each receiver: a lost one is drawn for so long.
    pub(crate) delays: Vec<Span>,
    under_way: VecDeque<Flight>,
}

impl Flights {
    pub(crate) fn new(delays: Vec<Span>) -> Self {
        Self { delays, under_way: VecDeque::new() }
    }

    pub(crate) fn at(&self, now: SharedInstant) -> impl Iterator<Item = &Flight> {
        self.under_way.iter().filter(move |flight| now < flight.ends)
    }

    /// Forgets what has arrived.
    pub(crate) fn settle(&mut self, now: SharedInstant) {
        self.under_way.retain(|flight| now < flight.ends);
    }

    fn show(&mut self, flight: Flight) {
        if self.under_way.len() == FLIGHTS_MAX {
            self.under_way.pop_front();
        }
        self.under_way.push_back(flight);
    }
}

impl Watch<Vec2> for Flights {
    fn on_departure(&mut self, departure: &Departure, fate: Fate, _: &Dispatcher<Vec2>, now: SharedInstant) {
        let receiver = departure.claim.receiver.0 as usize;
        let ends = fate.arrivals().next();
        let is_lost = ends.is_none();
        let ends = ends.unwrap_or(now + self.delays[receiver]);
        self.show(Flight { receiver, is_receipt: false, is_lost, began: now, ends });
    }

    fn on_feedback_sent(&mut self, receiver: ReceiverId, fate: Fate, now: SharedInstant) {
        let receiver = receiver.0 as usize;
        for ends in fate.arrivals() {
            self.show(Flight { receiver, is_receipt: true, is_lost: false, began: now, ends });
        }
    }
}
