//! Every queue stays within its bound, whatever the peers do.

use fairpath::ledger::REMEMBERED_MAX;
use fairpath::session::Queues;
use fairpath::session::limits::{
    EARLY_MAX, EVENTS_MAX, OBJECTS_PER_CLIENT_MAX, OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX, QUICKEST_MAX,
    SENT_PACKETS_MAX, SLOTS_MAX, UNRELIABLE_MAX,
};
use fairpath::time::SharedInstant;

use super::{Findings, Law};

#[derive(Debug, Default)]
pub(crate) struct BoundCheck;

impl BoundCheck {
    pub(crate) fn on_queues(&self, who: &str, queues: &Queues, now: SharedInstant, findings: &mut Findings) {
        let bounds = [
            ("bytes in the outbox", queues.outbox_bytes, OUTBOX_BYTES_MAX),
            ("messages in the outbox", queues.outbox_messages, OUTBOX_MESSAGES_MAX),
            ("quickest calls", queues.quickest, QUICKEST_MAX),
            ("newest-state calls", queues.newest_calls, SLOTS_MAX),
            ("unreliable calls", queues.unreliable, UNRELIABLE_MAX),
            ("open datagrams", queues.datagrams_open, SENT_PACKETS_MAX),
            ("early objects", queues.early, EARLY_MAX.max(OBJECTS_PER_CLIENT_MAX)),
            ("events", queues.events, EVENTS_MAX),
        ];
        for (what, count, max) in bounds {
            findings.check(Law::Bounds, now, count <= max, || {
                format!("{who} holds {count} {what}, more than {max}")
            });
        }
    }

    pub(crate) fn on_copies(&self, count: usize, now: SharedInstant, findings: &mut Findings) {
        findings.check(Law::Bounds, now, count <= REMEMBERED_MAX, || {
            format!("a ledger holds {count} copies for a receiver")
        });
    }
}
