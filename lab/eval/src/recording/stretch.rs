use fairpath::State;
use fairpath::motion::{Hermite, Motion};
use fairpath::rotation::wrap_angle;
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::vector::{Planar, Vec3};

/// The longest pause between two samples that still counts as one motion.
///
/// 100 ms: six frames at 60 Hz, three at 30 Hz. A lost frame or two is bridged; a respawn, a hidden
/// player or a paused game is not. Shorter would cut 30 Hz recordings at every hiccup; longer would
/// invent motion: at top speed a BZFlag tank covers 2.5 of its 6 units in that time.
pub const GAP_MAX: Span = Span::from_millis(100);

/// Velocities that were not recorded are slopes from the newest sample at least this much older.
///
/// 25 ms: one frame at 30 Hz, two at 60 and 70 Hz. One frame at 60 Hz would turn positions rounded
/// to 1 mm into 6 cm/s of noise; twice as long would lag half a frame more behind every turn.
pub const VELOCITY_WINDOW: Span = Span::from_millis(25);

/// A clean run of one entity's motion: two samples or more, in order, at most [`GAP_MAX`] apart.
/// The path between them is the truth of experiments: see [`state_at`](Self::state_at).
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// Index into the recording's entities.
    pub entity: usize,
    /// Team; 0 is no team.
    pub team: u32,
    /// Life of the entity, as the recording counts them.
    pub life: u32,
    pub velocity: Velocity,
    samples: Vec<Sample>,
}

/// Where velocities come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Velocity {
    Recorded,
    /// Estimated as [`VELOCITY_WINDOW`] says, or from the stretch's first sample. A run's first
    /// sample has no past, so the stretch starts at the second.
    Estimated,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time on the recording's clock. Recordings may start below zero.
    pub at: SharedInstant,
    /// Position. Recordings in the plane have z = 0.
    pub position: Vec3,
    pub velocity: Vec3,
    pub facing: Option<Facing>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facing {
    /// From +x towards +y, in radians.
    pub heading: f64,
    /// Radians per second, from +x towards +y; in a trace, the slope from the sample before (or 0).
    pub turn_rate: f64,
}

impl Stretch {
    /// Creates a stretch of a run that needs no further cut; `None` if it is too short.
    pub(super) fn from_run(
        entity: usize,
        team: u32,
        life: u32,
        velocity: Velocity,
        run: Vec<Sample>,
    ) -> Option<Self> {
        let mut samples = match velocity {
            Velocity::Recorded => run,
            Velocity::Estimated => with_estimated_velocities(run),
        };
        samples.shrink_to_fit();
        (samples.len() >= 2).then_some(Self { entity, team, life, velocity, samples })
    }

    pub(super) fn flatten(&mut self) {
        for sample in &mut self.samples {
            sample.position.z = 0.0;
            sample.velocity.z = 0.0;
        }
    }

    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    pub fn begin(&self) -> SharedInstant {
        self.samples[0].at
    }

    pub fn end(&self) -> SharedInstant {
        self.samples[self.samples.len() - 1].at
    }

    pub fn duration(&self) -> Span {
        self.end() - self.begin()
    }

    /// Returns the state at `at`; `None` before the first and after the last sample.
    ///
    /// Between samples with recorded velocities the position follows the cubic through positions
    /// and velocities (on BZFlag half the straight line's median error at a left-out sample); with
    /// estimated velocities, which lag, the straight line. Velocity, heading (the short way round)
    /// and turn rate are interpolated linearly: the cubic's own slope would overshoot where a tank
    /// stops at once. Without a recorded heading, the entity faces along its velocity.
    pub fn state_at<V: Planar>(&self, at: SharedInstant) -> Option<State<V>> {
        let after = self.samples.partition_point(|sample| sample.at <= at);
        let before = self.samples.get(after.checked_sub(1)?)?;
        match self.samples.get(after) {
            Some(next) => Some(self.between(before, next, at)),
            None if before.at == at => Some(before.state()),
            None => None,
        }
    }

    /// Returns the state at every tick from the first sample to the last. Ticks are counted from
    /// the recording's zero, so those of different entities coincide.
    ///
    /// ```
    /// # use fairpath_eval::recording::{self, Source};
    /// # use fairpath::{time::TickRate, vector::Vec2};
    /// let csv = b"t,entity,team,x,y\n0.00,7,1,0,0\n0.05,7,1,1,0\n0.10,7,1,2,0\n0.15,7,1,3,0\n";
    /// let recording = recording::read(Source { name: "walk.csv", bytes: csv }, None)?;
    /// let at_60_hz: Vec<_> = recording.stretches[0].ticks::<Vec2>(TickRate::hz(60)).collect();
    /// assert_eq!(at_60_hz.len(), 7); // 50 to 150 ms
    /// assert!((at_60_hz[0].1.velocity.x - 20.0).abs() < 1e-9);
    /// # Ok::<(), recording::RecordingError>(())
    /// ```
    pub fn ticks<V: Planar>(&self, rate: TickRate) -> impl Iterator<Item = (SharedInstant, State<V>)> {
        let begin_of = move |tick| SharedInstant::ZERO + rate.begin(tick);
        let running = rate.running_at(self.begin() - SharedInstant::ZERO);
        let first = if begin_of(running) < self.begin() { running + 1 } else { running };
        (first..).map(begin_of).map_while(move |at| Some((at, self.state_at(at)?)))
    }

    fn between<V: Planar>(&self, one: &Sample, next: &Sample, at: SharedInstant) -> State<V> {
        let whole = (next.at - one.at).as_secs_f64();
        let elapsed = (at - one.at).as_secs_f64();
        let part = elapsed / whole;
        let position = match self.velocity {
            Velocity::Recorded => curve(one, next, whole).position_at(elapsed),
            Velocity::Estimated => one.position + (next.position - one.position) * part,
        };
        let velocity = one.velocity + (next.velocity - one.velocity) * part;
        let facing = one.facing.zip(next.facing).map(|(one, next)| one.towards(next, part));
        Sample { at, position, velocity, facing }.state()
    }
}

impl Sample {
    pub fn state<V: Planar>(&self) -> State<V> {
        let state = State::moving(V::from_3d(self.position), V::from_3d(self.velocity));
        match self.facing {
            Some(facing) => state.with_heading(facing.heading, facing.turn_rate),
            None => state,
        }
    }
}

impl Facing {
    fn towards(self, other: Self, part: f64) -> Self {
        Self {
            heading: wrap_angle(self.heading + wrap_angle(other.heading - self.heading) * part),
            turn_rate: self.turn_rate + (other.turn_rate - self.turn_rate) * part,
        }
    }
}

fn curve(one: &Sample, next: &Sample, secs: f64) -> Motion<Vec3> {
    Motion::Hermite(Hermite {
        start: one.position,
        start_velocity: one.velocity,
        end: next.position,
        end_velocity: next.velocity,
        secs,
    })
}

/// Sets every turn rate to the slope from the sample before. Not over [`VELOCITY_WINDOW`]: a trace
/// stores headings to the last bits, so an even turn within a tick comes out exactly.
pub(super) fn estimate_turn_rates(run: &mut [Sample]) {
    let mut before: Option<(SharedInstant, f64)> = None;
    for sample in run {
        let Some(facing) = &mut sample.facing else { continue };
        facing.turn_rate = before.map_or(0.0, |(at, heading)| {
            wrap_angle(facing.heading - heading) / (sample.at - at).as_secs_f64()
        });
        before = Some((sample.at, facing.heading));
    }
}

/// In place: a long recording fits into memory once, not twice.
fn with_estimated_velocities(mut run: Vec<Sample>) -> Vec<Sample> {
    let mut past = 0;
    for index in 1..run.len() {
        let Sample { at, position, .. } = run[index];
        while past + 1 < index && at - run[past + 1].at >= VELOCITY_WINDOW {
            past += 1;
        }
        let secs = (at - run[past].at).as_secs_f64();
        run[index].velocity = (position - run[past].position) * (1.0 / secs);
    }
    run.drain(..1.min(run.len()));
    run
}
