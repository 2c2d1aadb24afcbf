//! Goal: a recording says what its entities get wrong. Method: a recording of 12 s over a full
//! hour, its PDUs made by PyPI's opendis: an aircraft that flies straight, one that circles but
//! tells straight lines, one whose stamps stand still, and one that circles and says so.

use fairpath::LocalInstant;
use fairpath_dis::stamp::{Instants, StampUse};
use fairpath_dis::{EntityReport, GatewayConfig, Monitor, Report, capture};

fn report() -> Report {
    let file = include_bytes!("captures/opendis.pcap");
    let recorded = capture::read(file).expect("a recording");
    assert_eq!(recorded.len(), 43);
    let mut monitor = Monitor::new(GatewayConfig::default());
    let local = |unix_us| LocalInstant::from_micros(unix_us);
    for datagram in &recorded {
        let now = Instants { local: local(datagram.unix_us), unix_us: datagram.unix_us };
        monitor.handle_datagram(&datagram.bytes, now);
    }
    let last = recorded.last().expect("some");
    monitor.report(local(last.unix_us))
}

fn entity<'a>(report: &'a Report, marking: &str) -> &'a EntityReport {
    report.entities.iter().find(|it| it.marking == marking).expect("it is in the recording")
}

#[test]
fn what_entities_get_wrong_is_noted_and_nothing_else() {
    let report = report();
    assert!(report.errors.is_empty() && report.entities.len() == 4, "{report:?}");

    let straight = entity(&report, "STRAIGHT");
    assert_eq!((straight.stamp_use, straight.pdus), (StampUse::Absolute, 4));
    // 100 m/s and stamps of 1.7 µs: jitter of the network does not show.
    assert!(straight.error_max < 1e-3 && straight.problems.is_empty(), "{straight:?}");

    // v²/r = 4 m/s² for two seconds: off by eight metres.
    let circle = entity(&report, "CIRCLE");
    assert_eq!(
        (circle.stamp_use, circle.problems.as_slice()),
        (StampUse::Relative, &["beyond twice its threshold"][..])
    );
    assert!((7.0..8.5).contains(&circle.error_rms), "{circle:?}");

    let no_clock = entity(&report, "NO CLOCK");
    assert_eq!(
        (no_clock.stamp_use, no_clock.problems.as_slice()),
        (StampUse::Arrival, &["stamps stand still"][..])
    );

    // The same circle in model 4, told every two seconds: what remains is the change of
    // acceleration.
    let turning = entity(&report, "TURNING");
    assert!(turning.angle_max < 0.1 && turning.error_rms < 1.5, "{turning:?}");
}
