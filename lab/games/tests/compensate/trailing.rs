//! Goal: machines that hear each other's commands at different times end up with the same whole
//! game. Method: two copies of a race between two boats, dice included, each over its own jittery
//! way.

use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath_compensate::TrailingStates;
use fairpath_games::sailing::{Input, Sailing, SailingConfig, TICK_RATE, Wind};
use fairpath_games::shared::{Game, WholeGame};
use fairpath_sim::{Link, LinkConfig};

use super::steer;

#[test]
fn two_machines_agree_on_the_whole_race() {
    let config = SailingConfig { wind: Wind::random(), ..SailingConfig::default() };
    let seats = WholeGame::<Sailing>::of(&config);
    let start = Sailing::begin(&config, 3).expect("sound rules");
    let link = LinkConfig::default().delay(Span::from_millis(100)).jitter_uniform(Span::from_millis(90));
    let dice = Random::from_seed(8);
    // Each commands a seat of its own, at once at home and late on the other machine.
    let mut machines: Vec<_> = (0..2u32)
        .map(|seat| {
            let trails = TrailingStates::<WholeGame<Sailing>, Input>::new(start.clone(), &[0, 5, 20]);
            let way: Link<(u64, Input)> = Link::new(link.clone(), dice.fork(u64::from(seat)));
            (trails, way, dice.fork(10 + u64::from(seat)), Input::IDLE)
        })
        .collect();
    let mut differed = 0;
    for tick in 0..1_000u64 {
        let now = SharedInstant::ZERO + TICK_RATE.begin(tick as i64);
        for seat in 0..2 {
            if tick < 900 {
                let (trails, way, random, held) = &mut machines[seat];
                let input = steer(random, held);
                trails.command(tick, seat as u32, input);
                way.send(now, 0, (tick, input));
            }
            while let Some(arrival) = machines[seat].1.poll(now) {
                let (of, input) = arrival.payload;
                machines[1 - seat].0.command(of, seat as u32, input);
            }
        }
        machines.iter_mut().for_each(|(trails, ..)| trails.advance(&seats));
        differed += usize::from(machines[0].0.leading() != machines[1].0.leading());
    }
    let [(one, ..), (other, ..)] = &machines[..] else { unreachable!("two of them") };
    assert_eq!(one.leading().digest(), other.leading().digest());
    assert_eq!(one.settled().digest(), other.settled().digest());
    assert!(differed > 500, "while commands were on their way the leading copies differed: {differed}");
    assert!(one.statistics().repairs > 100 && one.statistics().too_late == 0, "{:?}", one.statistics());
}
