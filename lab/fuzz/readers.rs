//! Outside data: files of the laboratory, answers of a lobby, requests to the page's server.

use fairpath_eval::budget::Budget;
use fairpath_eval::play::Play;
use fairpath_eval::recording::{Source, read_laps, read_placed_within, read_within};
use fairpath_experiments::dis_check;
use fairpath_experiments::table::Table;
use fairpath_games::ethereal::Recording;
use fairpath_net::lobby::{LobbyRequest, LobbyResponse, MESSAGE_BYTES_MAX};
use fairpath_page_server::{PageFile, respond};
use fairpath_sim::trace::{FollowedRow, Metadata, ReceiptRow, SendRow, StateRow, VectorRow};

/// A budget that an input of two kilobytes reaches only if it is a bomb.
fn budget() -> Budget {
    Budget::new(256 << 20, 64 << 20)
}

/// Checks that any bytes are a table or are refused, and that the budget is kept.
pub fn parquet(bytes: &[u8]) {
    let budget = budget();
    if let Ok(table) = Table::from_parquet_within(bytes.to_vec(), &budget) {
        let rows = table.row_count();
        assert!(table.columns.iter().all(|(_, column)| column.len() == rows), "columns of equal length");
    }
    assert!(budget.memory_held() <= 256 << 20 && budget.work_done() <= 64 << 20);
}

/// Checks that any text is a recording, laps or a table of a trace, or is refused with a row.
pub fn csv(bytes: &[u8]) {
    let source = Source { name: "fuzz.csv", bytes };
    for read in [read_within(source, None, &budget()), read_placed_within(source, &budget())] {
        match read {
            Ok(recording) => {
                assert!(!recording.stretches.is_empty());
                if Play::check(&recording, &budget()).is_ok() {
                    let _ = Play::from_recording(&recording);
                }
            }
            Err(error) => assert!(!error.to_string().contains('\n'), "an error is one line"),
        }
    }
    let _ = read_laps(source);
    let _ = Metadata::from_csv(bytes);
    if let Ok(rows) = StateRow::from_csv(bytes) {
        let text = StateRow::to_csv(&rows).expect("what is read is finite");
        assert_eq!(StateRow::from_csv(text.as_bytes()).as_ref(), Ok(&rows));
    }
    let _ = (SendRow::from_csv(bytes), ReceiptRow::from_csv(bytes));
    let _ = (FollowedRow::from_csv(bytes), VectorRow::from_csv(bytes));
}

/// Checks that any text is a list of DIS cases or is refused.
pub fn json(bytes: &[u8]) {
    let _ = dis_check::check(bytes, "fuzz.json");
}

/// Checks that any text is a match of Ethereal or is refused, and that one that is read is written
/// and read again as it is.
pub fn xml(bytes: &[u8]) {
    let Ok(recording) = Recording::from_xml(bytes) else { return };
    let _ = Play::check_ethereal(&recording, &budget());
    if recording.config().is_some() {
        assert_eq!(Recording::from_xml(recording.to_xml().as_bytes()).as_ref(), Ok(&recording));
    }
}

/// Checks that any bytes are a message of the lobby protocol with one encoding, or are refused.
pub fn lobby(bytes: &[u8]) {
    if let Ok(request) = LobbyRequest::decode(bytes) {
        assert_eq!(request.encode(), bytes);
        assert!(bytes.len() <= MESSAGE_BYTES_MAX);
    }
    if let Ok(response) = LobbyResponse::decode(bytes) {
        assert_eq!(response.encode(), bytes);
        assert!(bytes.len() <= MESSAGE_BYTES_MAX);
    }
}

/// Checks that any request gets one of the page's files or none, with a whole head.
pub fn http(bytes: &[u8]) {
    let files = [PageFile { path: "index.html".into(), bytes: b"<p>hello"[..].into() }];
    let (head, body) = respond(bytes, &files);
    assert!(head.starts_with("HTTP/1.1 ") && head.ends_with("\r\n\r\n"));
    assert_eq!(head.matches("\r\n\r\n").count(), 1, "nothing of a request becomes part of the head");
    assert!(body.is_empty() || body == b"<p>hello");
}
