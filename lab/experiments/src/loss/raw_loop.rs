use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;
use fairpath_games::tanks::TankPaths;
use fairpath_sim::{Event, Network, PeerId};

use super::scene::{GAME_RATE, LossScene, RECEIVERS, STATE_BYTES, TANKS, WARM_UP, sample_at};
use super::score::{ErrorSamples, LossScore, since_zero};

/// A loop that sends every state at every tick: 18 bytes a tank, in one datagram. Receivers show
/// the newest state that arrived, extrapolated along its velocity, by a perfect clock.
pub(super) fn play(scene: &LossScene, paths: &TankPaths) -> LossScore {
    let mut network: Network<SharedInstant> = Network::new(scene.seed, RECEIVERS as u32 + 1);
    for receiver in 0..RECEIVERS {
        network.connect(PeerId(0), PeerId(receiver as u32 + 1), scene.link(receiver));
    }
    let mut newest: [Option<SharedInstant>; RECEIVERS] = [None; RECEIVERS];
    let mut samples = ErrorSamples::new(paths);
    let end = SharedInstant::ZERO + WARM_UP + scene.length;
    let (mut tick, mut look) = (1, vec![0_i64; RECEIVERS]);
    loop {
        let tick_at = SharedInstant::ZERO + GAME_RATE.begin(tick);
        let (receiver, look_at) =
            (0..RECEIVERS).map(|it| (it, sample_at(it, look[it]))).min_by_key(|(_, at)| *at).expect("some");
        let at = tick_at.min(look_at);
        if at > end {
            break;
        }
        while let Some(event) = network.step_until(at) {
            if let Event::Delivery(delivery) = event {
                let known = &mut newest[delivery.to.0 as usize - 1];
                *known = (*known).max(Some(delivery.payload));
            }
        }
        if tick_at <= look_at {
            tick += 1;
            for receiver in 0..RECEIVERS {
                let bytes = HEAD_BYTES + STATE_BYTES * TANKS;
                network.send(PeerId(0), PeerId(receiver as u32 + 1), bytes as u32, at);
            }
            continue;
        }
        look[receiver] += 1;
        if at - SharedInstant::ZERO < WARM_UP {
            continue;
        }
        let Some(known) = newest[receiver] else { continue };
        for tank in 0..TANKS {
            let told = paths.truth(tank, since_zero(known));
            let shown: Vec2 = told.position + told.velocity * (at - known).as_secs_f64();
            samples.add(paths, tank, at, shown);
        }
    }
    let (rms, p99) = samples.summary();
    let bytes = (HEAD_BYTES + STATE_BYTES * TANKS) as f64 / TANKS as f64;
    LossScore { rms, p99, bytes, bytes_back: 0.0, repeats: 0.0 }
}

/// The instant of the states.
const HEAD_BYTES: usize = 4;
