use fairpath::State;
use fairpath::vector::{Vec2, Vector};

/// How what is drawn differs from what is simulated, and how it moves from frame to frame.
#[derive(Clone, Debug, Default)]
pub struct Smoothness {
    jump: f64,
    frames: u64,
    error_sum: f64,
    jumps: u64,
    last: Option<State<Vec2>>,
}

impl Smoothness {
    /// A move of more than `jump` in a frame beyond the drawn velocity counts as a jump.
    pub fn new(jump: f64) -> Self {
        Self { jump, ..Self::default() }
    }

    /// One frame, `secs` after the one before.
    pub fn note(&mut self, drawn: &State<Vec2>, simulated: &State<Vec2>, secs: f64) {
        self.frames += 1;
        self.error_sum += drawn.position.distance(simulated.position);
        if let Some(last) = self.last.replace(*drawn) {
            let expected = last.position + (last.velocity + drawn.velocity) * (0.5 * secs);
            self.jumps += u64::from(drawn.position.distance(expected) > self.jump);
        }
    }

    /// A new life begins: the next frame is not compared with the last.
    pub fn cut(&mut self) {
        self.last = None;
    }

    pub fn merge(&mut self, other: &Self) {
        self.frames += other.frames;
        self.error_sum += other.error_sum;
        self.jumps += other.jumps;
    }

    /// How far drawn is from simulated, on average.
    pub fn mean_error(&self) -> f64 {
        self.error_sum / self.frames as f64
    }

    /// Jumps per thousand frames.
    pub fn jumps_per_thousand(&self) -> f64 {
        1_000.0 * self.jumps as f64 / self.frames as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_what_velocity_does_not_explain() {
        let at = |x: f64| State::moving(Vec2::new(x, 0.0), Vec2::new(10.0, 0.0));
        let mut seen = Smoothness::new(0.5);
        for x in [0.0, 1.0, 2.0, 5.0, 6.0] {
            seen.note(&at(x), &at(x + 0.25), 0.1);
        }
        assert_eq!((seen.jumps_per_thousand(), seen.mean_error()), (200.0, 0.25));
        seen.cut();
        seen.note(&at(99.0), &at(99.0), 0.1);
        assert_eq!(seen.jumps, 1);
    }
}
