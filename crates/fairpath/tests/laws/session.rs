//! The laws of what sessions say: any bytes decode or are refused, and one message has one
//! spelling.

use fairpath::session::message::{Datagram, Message, UnorderedMessage};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;

/// Bytes that begin like something: kinds and lengths are small numbers.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => 0..24u8, 1 => any::<u8>()];
    prop::collection::vec(byte, 0..60)
}

#[test]
fn whatever_decodes_encodes_to_the_same_bytes() {
    law!(bytes(), |bytes| {
        let mut again = Vec::new();
        if let Ok(message) = Message::decode(&bytes) {
            message.encode(&mut again);
            prop_assert_eq!(&again, &bytes);
        }
        again.clear();
        if let Ok(message) = UnorderedMessage::decode(&bytes) {
            message.encode(&mut again);
            prop_assert_eq!(&again, &bytes);
        }
        again.clear();
        if let Ok(datagram) = Datagram::decode(&bytes) {
            datagram.encode(&mut again);
            prop_assert_eq!(&again, &bytes);
        }
        Ok(())
    });
}
