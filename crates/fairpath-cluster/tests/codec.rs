//! Goal: records and messages survive their bytes, and no bytes can harm a server. Method: laws.

use fairpath::Vec2;
use fairpath::wire::Precision;
use fairpath_cluster::{Coded, DecodeError, LeaseRecord, Message, Record, Revision, ServerId, WriteId};
use fairpath_laws::{law, proptest::prelude::*};

#[test]
fn garbage_is_an_error_and_never_a_panic() {
    law!(prop::collection::vec(any::<u8>(), 0..200), |bytes| {
        let precision = Precision::default();
        for kind in 0..8 {
            let mut framed = vec![1, kind];
            framed.extend(&bytes);
            let message = Message::<Vec2>::decode(&precision, &framed);
            if let Ok(message) = message {
                let again = Message::<Vec2>::decode(&precision, &message.encode(&precision));
                prop_assert!(again.is_ok());
            }
            let _ = Record::<Vec2>::decode(&precision, &framed);
        }
        Ok(())
    });
}

#[test]
fn a_record_that_is_cut_short_or_goes_on_is_refused() {
    law!((any::<u64>(), any::<u64>(), any::<Option<u64>>(), 0_usize..60), |(server, number, fence, cut)| {
        let precision = Precision::default();
        let record = Record::<Vec2>::Lease(LeaseRecord {
            write: WriteId { server: ServerId(server), number },
            holder: Some(ServerId(number)),
            fence: fence.map(Revision),
            successor: None,
        });
        let mut bytes = record.encode(&precision);
        prop_assert_eq!(&Record::decode(&precision, &bytes).unwrap(), &record);
        let cut = cut.min(bytes.len() - 1);
        prop_assert!(Record::<Vec2>::decode(&precision, &bytes[..cut]).is_err());
        bytes.push(0);
        prop_assert_eq!(Record::<Vec2>::decode(&precision, &bytes), Err(DecodeError::TrailingBytes));
        bytes[0] = 9;
        prop_assert_eq!(Record::<Vec2>::decode(&precision, &bytes), Err(DecodeError::Version(9)));
        Ok(())
    });
}

#[test]
fn a_list_that_claims_billions_reserves_nothing() {
    // A batch: server, cell, fence, two instants, and 2³² − 1 DR vectors that are not there.
    let mut bytes = vec![1, 0];
    bytes.extend([0; 8 + 8 + 8 + 8 + 8]);
    bytes.extend(u32::MAX.to_le_bytes());
    let decoded = Message::<Vec2>::decode(&Precision::default(), &bytes);
    assert_eq!(decoded, Err(DecodeError::Truncated));
}
