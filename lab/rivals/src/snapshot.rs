//! Snapshots: every state of one tick, as methods without dead reckoning send them, and how a
//! receiver shows them.

use std::time::Duration;

use fairpath::vector::Vec2;
use fairpath_bench::TankPaths;

/// A state takes 18 bytes: the tank's number in two, position and velocity as four `f32`. With its
/// instant (four bytes, in microseconds) 64 of them fit into one packet of 1200 bytes.
const STATE_BYTES: usize = 18;
const HEAD_BYTES: usize = 4;

/// Returns position and velocity of a tank, in the precision that games send.
pub(crate) fn spell(paths: &TankPaths, tank: usize, at: Duration) -> [f32; 4] {
    let truth = paths.truth(tank, at);
    [truth.position.x, truth.position.y, truth.velocity.x, truth.velocity.y].map(|number| number as f32)
}

/// Packs the states of all tanks into packets of at most `bytes_max` bytes.
pub(crate) fn pack(paths: &TankPaths, at: Duration, bytes_max: usize) -> Vec<Vec<u8>> {
    let states_max = (bytes_max - HEAD_BYTES) / STATE_BYTES;
    let tanks: Vec<usize> = (0..paths.len()).collect();
    let packet = |tanks: &[usize]| {
        let mut packet = Vec::with_capacity(HEAD_BYTES + tanks.len() * STATE_BYTES);
        packet.extend((at.as_micros() as u32).to_le_bytes());
        for tank in tanks {
            packet.extend((*tank as u16).to_le_bytes());
            packet.extend(spell(paths, *tank, at).iter().flat_map(|number| number.to_le_bytes()));
        }
        packet
    };
    tanks.chunks(states_max).map(packet).collect()
}

/// The newest state of every tank that a receiver has. It is shown extrapolated along the velocity.
/// The clock is the machine's own, which favours methods that would have to synchronise clocks
/// first.
#[derive(Clone, Debug)]
pub(crate) struct TankStates {
    known: Vec<Option<KnownState>>,
}

#[derive(Clone, Copy, Debug)]
struct KnownState {
    at: Duration,
    numbers: [f32; 4],
}

impl TankStates {
    pub(crate) fn of(tanks: usize) -> Self {
        Self { known: vec![None; tanks] }
    }

    /// Takes in one of [`pack`]'s packets.
    pub(crate) fn take(&mut self, packet: &[u8]) {
        let Some((head, states)) = packet.split_first_chunk::<HEAD_BYTES>() else { return };
        let at = Duration::from_micros(u32::from_le_bytes(*head).into());
        for state in states.chunks_exact(STATE_BYTES) {
            let tank = usize::from(u16::from_le_bytes([state[0], state[1]]));
            let number = |n: usize| {
                let bytes = &state[2 + 4 * n..6 + 4 * n];
                f32::from_le_bytes(bytes.try_into().expect("four bytes"))
            };
            self.learn(tank, at, [number(0), number(1), number(2), number(3)]);
        }
    }

    /// Stores position and velocity of a tank at `at`, unless a newer state is known.
    pub(crate) fn learn(&mut self, tank: usize, at: Duration, numbers: [f32; 4]) {
        if let Some(known) = self.known.get_mut(tank)
            && known.is_none_or(|known| known.at < at)
        {
            *known = Some(KnownState { at, numbers });
        }
    }

    /// Writes the shown position of every tank at `now`.
    pub(crate) fn show(&self, now: Duration, shown: &mut [Option<Vec2>]) {
        for (known, shown) in self.known.iter().zip(shown) {
            *shown = known.map(|known| known.shown(now));
        }
    }
}

impl KnownState {
    fn shown(&self, now: Duration) -> Vec2 {
        let [x, y, vx, vy] = self.numbers.map(f64::from);
        let since = now.as_secs_f64() - self.at.as_secs_f64();
        Vec2::new(x + vx * since, y + vy * since)
    }
}
