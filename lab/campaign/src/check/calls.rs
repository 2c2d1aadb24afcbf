//! No reliable message is lost, doubled or reordered; a lost session lists the undelivered ones.
//!
//! The model: messages belong to lanes, one for each sender's session, target and delivery, and are
//! numbered within their lane. Every message carries its lane and number.

use std::collections::{BTreeMap, BTreeSet};

use fairpath::session::{Delivery, Payload, Undelivered};
use fairpath::time::SharedInstant;

use super::{Findings, Law};
use crate::game::{Call, for_type};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallLaneId(u32);

/// The content of a test message: its lane and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberedCall {
    lane: CallLaneId,
    number: u32,
}

impl NumberedCall {
    /// Encodes it as a call without a type.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        [self.lane.0.to_le_bytes(), self.number.to_le_bytes()].concat()
    }

    /// Returns it as a typed call with so many bytes more.
    pub(crate) fn typed<const DELIVERY: u8>(self, padding: usize) -> Call<DELIVERY> {
        Call::new(self.lane.0, self.number, padding)
    }

    /// Decodes a call. A typed call begins like one without a type.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        Some(Self { lane: CallLaneId(word(0)?), number: word(4)? })
    }

    /// Decodes a received call; `None` if it does not have the type of its method.
    fn from_call(method: u32, call: &Payload) -> Option<Self> {
        let Ok(delivery @ 0..5) = u8::try_from(method) else { return Self::from_bytes(call.bytes()) };
        let (lane, number) =
            for_type!(delivery, 0, |D| call.get::<Call<D>>().map(|it| (it.lane, it.number)))?;
        Some(Self { lane: CallLaneId(u32::from_le_bytes(lane)), number: u32::from_le_bytes(number) })
    }
}

/// Messages of one session to one target in one delivery class.
#[derive(Debug)]
struct CallLane {
    name: String,
    delivery: Delivery,
    sent: u32,
    received: BTreeSet<u32>,
    newest: Option<u32>,
    receiver: Option<String>,
    named: BTreeSet<u32>,
    end: LaneEnd,
}

/// The state of a lane's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LaneEnd {
    /// It lives: every message must arrive eventually.
    Open,
    /// It was lost: every message must have arrived or be listed as undelivered.
    Lost,
    /// One end died or a message may have been refused: nothing is owed, but none may come twice.
    Excused,
}

#[derive(Debug, Default)]
pub(crate) struct CallCheck {
    lanes: Vec<CallLane>,
    by_name: BTreeMap<(String, u8), CallLaneId>,
}

impl CallCheck {
    /// Returns a lane's next message. Call [`on_sent`](Self::on_sent) if the session accepted it.
    pub(crate) fn next(&mut self, name: &str, delivery: Delivery) -> NumberedCall {
        let key = (name.to_owned(), delivery as u8);
        let lane = *self.by_name.entry(key).or_insert_with(|| {
            self.lanes.push(CallLane {
                name: name.to_owned(),
                delivery,
                sent: 0,
                received: BTreeSet::new(),
                newest: None,
                receiver: None,
                named: BTreeSet::new(),
                end: LaneEnd::Open,
            });
            CallLaneId(self.lanes.len() as u32 - 1)
        });
        NumberedCall { lane, number: self.lanes[lane.0 as usize].sent }
    }

    pub(crate) fn on_sent(&mut self, parcel: NumberedCall) {
        self.lanes[parcel.lane.0 as usize].sent = parcel.number + 1;
    }

    pub(crate) fn on_received(
        &mut self,
        (method, call): (u32, &Payload),
        receiver: &str,
        now: SharedInstant,
        findings: &mut Findings,
    ) {
        let parcel = NumberedCall::from_call(method, call);
        findings
            .check(Law::Types, now, parcel.is_some(), || format!("{receiver}: method {method}, {call:?}"));
        let parcel = parcel.filter(|it| (it.lane.0 as usize) < self.lanes.len());
        findings.check(Law::Calls, now, parcel.is_some(), || format!("{receiver} was called with {call:?}"));
        let Some(NumberedCall { lane, number }) = parcel else { return };
        let lane = &mut self.lanes[lane.0 as usize];
        let name = &lane.name;
        let mut check = |holds: bool, what: &str| {
            let delivery = lane.delivery;
            findings.check(Law::Calls, now, holds, || {
                format!("{receiver} was called {number} of {name} ({delivery:?}), which {what}")
            });
        };
        check(number < lane.sent, "was never sent");
        check(
            lane.receiver.as_deref().is_none_or(|first| first == receiver),
            "went to another receiver before",
        );
        let may_repeat = lane.delivery == Delivery::Newest && lane.end == LaneEnd::Excused;
        check(may_repeat || !lane.received.contains(&number), "arrived twice");
        match lane.delivery {
            // A client that forgets an object forgets its newest call.
            Delivery::Newest if lane.end == LaneEnd::Excused => {}
            Delivery::ReliableOrdered if lane.end != LaneEnd::Excused => {
                let expected = lane.newest.map_or(0, |newest| newest + 1);
                check(number == expected, &format!("is not {expected}, the next in order"));
            }
            Delivery::ReliableOrdered | Delivery::Newest => {
                check(lane.newest.is_none_or(|newest| number > newest), "is older than the last");
            }
            _ => {}
        }
        lane.received.insert(number);
        lane.newest = lane.newest.max(Some(number));
        lane.receiver.get_or_insert_with(|| receiver.to_owned());
    }

    /// Takes in a sender's lost session and undelivered messages. `prefix` selects the lanes.
    /// A list names only messages that the session was given, and each once.
    pub(crate) fn on_lost(
        &mut self,
        prefix: &str,
        undelivered: &[Undelivered],
        now: SharedInstant,
        findings: &mut Findings,
    ) {
        let mut listed = BTreeSet::new();
        for lane in
            self.lanes.iter_mut().filter(|lane| lane.name.starts_with(prefix) && lane.end == LaneEnd::Open)
        {
            lane.end = LaneEnd::Lost;
        }
        for item in undelivered {
            let Undelivered::Call { method, call, delivery, .. } = item else { continue };
            let parcel = NumberedCall::from_bytes(call.bytes());
            findings.check(Law::Types, now, parcel == NumberedCall::from_call(*method, call), || {
                format!("{prefix} lists method {method} as undelivered without its type: {call:?}")
            });
            let lane = parcel.and_then(|parcel| self.lanes.get_mut(parcel.lane.0 as usize));
            let Some((lane, NumberedCall { lane: id, number })) = lane.zip(parcel) else { continue };
            // Calls between clients pass through the server, which owes them to the owner.
            let is_its_own = lane.name.starts_with(prefix) || lane.name.contains('~');
            let is_right = is_its_own && number < lane.sent && *delivery == lane.delivery;
            findings.check(Law::Calls, now, is_right && listed.insert((id, number)), || {
                format!("{number} of {} is listed as undelivered by {prefix} as {delivery:?}", lane.name)
            });
            lane.named.insert(number);
        }
    }

    /// Excuses the lanes with `part` in their names: nothing is owed in them any more.
    pub(crate) fn excuse(&mut self, part: &str) {
        self.lanes
            .iter_mut()
            .filter(|lane| lane.name.contains(part))
            .for_each(|lane| lane.end = LaneEnd::Excused);
    }

    /// Returns a message that is owed and has not arrived, if there is one.
    pub(crate) fn missing(&self) -> Option<String> {
        self.lanes.iter().find_map(|lane| {
            let number = lane.owed()?;
            let CallLane { name, delivery, sent, end, .. } = lane;
            Some(format!(
                "{number} of {sent} of {name} ({delivery:?}, {end:?}) has not arrived and is not listed as undelivered"
            ))
        })
    }
}

impl CallLane {
    fn owed(&self) -> Option<u32> {
        let came = |number: &u32| self.received.contains(number);
        match (self.end, self.delivery) {
            (LaneEnd::Excused, _) | (_, Delivery::Unreliable) => None,
            (_, Delivery::Newest) => {
                let last = self.sent.checked_sub(1)?;
                (!came(&last) && !self.named.contains(&last)).then_some(last)
            }
            (LaneEnd::Open, _) => (0..self.sent).find(|number| !came(number)),
            (LaneEnd::Lost, _) => (0..self.sent).find(|number| !came(number) && !self.named.contains(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(delivery: Delivery, numbers: &[u32]) -> Option<String> {
        let (mut calls, mut findings) = (CallCheck::default(), Findings::default());
        for _ in 0..4 {
            let parcel = calls.next("a>b", delivery);
            calls.on_sent(parcel);
        }
        for number in numbers {
            let parcel = NumberedCall { lane: CallLaneId(0), number: *number };
            let call = Payload::from(parcel.to_bytes());
            calls.on_received((100, &call), "b", SharedInstant::ZERO, &mut findings);
        }
        findings.violation.map(|violation| violation.what).or_else(|| calls.missing())
    }

    #[test]
    fn it_sees_what_is_lost_doubled_or_reordered() {
        assert_eq!(heard(Delivery::ReliableOrdered, &[0, 1, 2, 3]), None);
        assert_eq!(heard(Delivery::ReliableUnordered, &[3, 1, 0, 2]), None);
        assert_eq!(heard(Delivery::Newest, &[1, 3]), None);
        assert_eq!(heard(Delivery::Unreliable, &[2]), None);
        for (delivery, numbers) in [
            (Delivery::ReliableOrdered, &[0, 2, 1, 3][..]),
            (Delivery::ReliableOrdered, &[0, 1, 2]),
            (Delivery::ReliableUnordered, &[0, 1, 1, 2, 3]),
            (Delivery::Quickest, &[0, 1, 2]),
            (Delivery::Newest, &[3, 2]),
            (Delivery::Newest, &[2]),
            (Delivery::Unreliable, &[2, 2]),
            (Delivery::Unreliable, &[9]),
        ] {
            assert!(heard(delivery, numbers).is_some(), "{delivery:?} {numbers:?}");
        }
    }
}
