//! Others in the past: a mailbox that keeps the freshest state, a delay that follows the jitter,
//! and an interpolation that shows what was. Prints how often the screen had to guess, with the
//! delay that adapts and with a fixed one.
//!
//! `cargo run --release -p fairpath-games --example compensate_interpolation`

use fairpath::State;
use fairpath::number::Life;
use fairpath::random::Random;
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath_compensate::{AdaptiveDelay, AdaptiveDelayConfig, Interpolation, Mailbox, MailboxItem, Source};
use fairpath_sim::{Link, LinkConfig, Loss};

fn main() {
    let adaptive = guesses(None);
    let fixed = guesses(Some(Span::from_millis(60)));
    println!("adaptive delay: {:.1} % guessed, {:.2} units off at worst", 100.0 * adaptive.0, adaptive.1);
    println!("fixed at 60 ms: {:.1} % guessed, {:.2} units off at worst", 100.0 * fixed.0, fixed.1);
    assert!(adaptive.0 < 0.1 && fixed.0 > 0.5);
}

/// Which share of frames was guessed, and how far the worst was from where the tank was at that
/// instant.
fn guesses(fixed: Option<Span>) -> (f64, f64) {
    let link = LinkConfig::default()
        .delay(Span::from_millis(50))
        .jitter_uniform(Span::from_millis(30))
        .loss(Loss::each(0.02));
    let mut down: Link<(u64, SharedInstant, State<Vec2>)> = Link::new(link, Random::from_seed(3));
    let mut mailbox = Mailbox::new();
    let spare = Span::from_millis(33);
    let mut delay = AdaptiveDelay::new(AdaptiveDelayConfig { spare, ..AdaptiveDelayConfig::default() });
    let mut tank = Interpolation::default();
    let (mut frames, mut guessed, mut worst) = (0, 0, 0.0f64);
    for millis in 0..20_000i64 {
        let now = SharedInstant::from_millis(millis);
        if millis % 33 == 0 {
            down.send(now, 0, (millis as u64, now, driving(now)));
        }
        while let Some(arrival) = down.poll(now) {
            let (number, of, state) = arrival.payload;
            mailbox.state(number, (of, state));
        }
        if let Some(MailboxItem::State((of, state))) = mailbox.read() {
            tank.accept(of, Life::default(), state);
            delay.observe(LocalInstant::from_millis(millis), now - of);
        }
        if millis % 16 == 0 && millis > 2_000 {
            let shown_for = now - fixed.unwrap_or_else(|| delay.delay());
            let Some(shown) = tank.at(shown_for) else { continue };
            frames += 1;
            guessed += u32::from(shown.source != Source::Interpolated);
            worst = worst.max(shown.state.position.distance(driving(shown_for).position));
        }
    }
    (f64::from(guessed) / f64::from(frames), worst)
}

/// A tank on a winding road.
fn driving(at: SharedInstant) -> State<Vec2> {
    let angle = 0.8 * at.as_secs_f64();
    State::moving(Vec2::from_heading(angle) * 30.0, Vec2::from_heading(angle).perpendicular() * 24.0)
}

#[test]
fn it_runs_as_written() {
    main();
}
