//! Goal: peers with wrong clocks can be simulated well enough to test clock synchronisation.
//! Method: one exchange of time stamps; what it must get wrong is half the asymmetry of the path,
//! no more.

use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath_sim::{Event, Fault, LinkConfig, Network, PeerId, SimClock};

const CLIENT: PeerId = PeerId(0);
const SERVER: PeerId = PeerId(1);
const UP: Span = Span::from_millis(80);
const DOWN: Span = Span::from_millis(20);

#[derive(Clone, Copy)]
enum Message {
    Ask { sent: LocalInstant },
    Answer { sent: LocalInstant, server: LocalInstant },
}

/// How far the client believes the server's clock to be ahead of its own.
fn measured_lead(network: &mut Network<Message>) -> Span {
    network.send(CLIENT, SERVER, 16, Message::Ask { sent: network.local_now(CLIENT) });
    while let Some(event) = network.step() {
        let Event::Delivery(letter) = event else { continue };
        match letter.payload {
            Message::Ask { sent } => {
                let server = network.local_now(SERVER);
                network.send(SERVER, CLIENT, 24, Message::Answer { sent, server });
            }
            Message::Answer { sent, server } => {
                let half_way = sent + (network.local_now(CLIENT) - sent).scaled(0.5);
                return server.since_zero() - half_way.since_zero();
            }
        }
    }
    unreachable!("this link loses nothing")
}

fn network() -> Network<Message> {
    let mut network = Network::new(1, 2);
    network.connect_one_way(CLIENT, SERVER, LinkConfig::default().delay(UP));
    network.connect_one_way(SERVER, CLIENT, LinkConfig::default().delay(DOWN));
    network
}

#[test]
fn one_exchange_finds_the_offset_but_for_half_the_asymmetry() {
    let mut network = network();
    network.set_clock(CLIENT, SimClock::new(Span::from_secs(-3), 0.0));
    assert_eq!(measured_lead(&mut network), Span::from_secs(3) + (UP - DOWN).scaled(0.5));
}

#[test]
fn a_drifting_clock_walks_away_and_a_stepped_one_jumps() {
    let mut network = network();
    network.set_clock(CLIENT, SimClock::new(Span::ZERO, -100.0));
    let at_first = measured_lead(&mut network);
    assert!(network.step_until(SharedInstant::ZERO + Span::from_secs(100)).is_none());
    let later = measured_lead(&mut network);
    // A tenth of a second passed during the first exchange: 100 ppm of that is 10 µs.
    assert!((later - at_first - Span::from_millis(10)).abs() <= Span::from_micros(12), "{later:?}");

    network.inject(Fault::StepClock(CLIENT, Span::from_secs(5)));
    let stepped = measured_lead(&mut network);
    assert!((later - stepped - Span::from_secs(5)).abs() <= Span::from_micros(20), "{stepped:?}");
}

#[test]
fn an_alarm_on_the_own_clock_rings_when_that_clock_says_so() {
    let mut network = network();
    network.set_clock(CLIENT, SimClock::new(Span::from_secs(-3), 50.0));
    let alarm = LocalInstant::from_millis(7_000);
    network.wake_local(CLIENT, alarm, 0);
    let cancelled = network.wake_local(CLIENT, alarm, 1);
    assert!(network.cancel(cancelled));
    assert!(matches!(network.step(), Some(Event::Wake(wake)) if wake.reason == 0));
    assert!(network.local_now(CLIENT) >= alarm);
    assert!(network.local_now(CLIENT) - alarm <= Span::from_micros(1));
    assert!(network.step().is_none());
}
