//! What happens in one world of many servers, drawn from a seed.

use fairpath::random::Random;
use fairpath::time::Span;

/// A world and its faults.
#[derive(Clone, Debug)]
pub struct WorldPlan {
    pub seed: u64,
    pub servers: usize,
    pub columns: u16,
    pub rows: u16,
    pub tanks: usize,
    /// Units per second.
    pub speed: f64,
    /// Until here faults happen; then everything heals.
    pub safety: Span,
    pub store: StorePlan,
    pub bus: BusPlan,
    /// The greatest error of a server's shared clock, which it states.
    pub uncertainty: Span,
    /// Parts per million by which monotonic clocks are wrong, at most.
    pub drift_ppm: f64,
    /// The most by which a server's tick is late.
    pub tick_late: Span,
    pub incidents: Vec<(Span, Incident)>,
}

/// How bad the store is.
#[derive(Clone, Copy, Debug)]
pub struct StorePlan {
    pub delay: Span,
    /// Probability that a request is slow, and how slow: it may be committed after its sender gave
    /// up.
    pub slow: (f64, Span),
    pub lost_request: f64,
    pub lost_answer: f64,
    /// Probability that a request arrives twice.
    pub repeated: f64,
    /// Probability that a read or a sighting is stale, and how old it is at most.
    pub stale: (f64, Span),
}

/// How bad the bus is.
#[derive(Clone, Copy, Debug)]
pub struct BusPlan {
    pub delay: Span,
    pub loss: f64,
    pub repeated: f64,
    /// Probability that a message is very late.
    pub late: (f64, Span),
}

/// A fault, or a command of an operator. Servers are counted modulo those that run.
#[derive(Clone, Copy, Debug)]
pub enum Incident {
    /// The process is killed and another one starts after a while.
    Crash { server: usize, back_after: Span },
    /// The process is killed at its next step of this kind.
    CrashAt { server: usize, step: Step, is_sent: bool, back_after: Span },
    /// The process stands still; its clocks run on.
    Pause { server: usize, lasting: Span },
    /// The process and its clocks stand still: a suspended virtual machine.
    Freeze { server: usize, lasting: Span },
    /// Nothing passes between the server and the bus.
    CutBus { server: usize, lasting: Span },
    /// Nothing passes between the server and the store.
    CutStore { server: usize, lasting: Span },
    /// The store answers nobody.
    StoreDown { lasting: Span },
    /// The server no longer knows how wrong its shared clock is.
    LoseClock { server: usize, lasting: Span },
    /// The server gives away what it has and stops; another one starts.
    Drain { server: usize, back_after: Span },
}

/// A step of the protocol at which a server may crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    WriteLease,
    WriteEntity,
    Offer,
    Accept,
    Release,
    Promise,
    Receipt,
}

impl Step {
    pub const ALL: [Self; 7] = [
        Self::WriteLease,
        Self::WriteEntity,
        Self::Offer,
        Self::Accept,
        Self::Release,
        Self::Promise,
        Self::Receipt,
    ];
}

const MS: i64 = 1_000;

fn span(random: &mut Random, low_ms: i64, high_ms: i64) -> Span {
    Span::from_micros(low_ms * MS + random.below(((high_ms - low_ms) * MS) as u64 + 1) as i64)
}

impl WorldPlan {
    pub fn from_seed(seed: u64) -> Self {
        let random = &mut Random::from_seed(seed ^ 0xC1_5057_E125);
        let servers_max = if random.chance(0.2) { 7 } else { 3 };
        let servers = 2 + random.below(servers_max) as usize;
        let is_rough = random.chance(0.7);
        let store = StorePlan {
            delay: span(random, 1, 15),
            slow: if is_rough {
                (random.between(0.0, 0.05), span(random, 100, 4_000))
            } else {
                (0.0, Span::ZERO)
            },
            lost_request: if is_rough { random.between(0.0, 0.1) } else { 0.0 },
            lost_answer: if is_rough { random.between(0.0, 0.15) } else { 0.0 },
            repeated: if is_rough { random.between(0.0, 0.15) } else { 0.0 },
            stale: if is_rough {
                (random.between(0.0, 0.5), span(random, 50, 3_000))
            } else {
                (0.0, Span::ZERO)
            },
        };
        let is_lossy = random.chance(0.6);
        let bus = BusPlan {
            delay: span(random, 1, 10),
            loss: if is_lossy { random.between(0.0, 0.3) } else { 0.0 },
            repeated: if is_lossy { random.between(0.0, 0.2) } else { 0.0 },
            late: if is_lossy {
                (random.between(0.0, 0.05), span(random, 50, 6_000))
            } else {
                (0.0, Span::ZERO)
            },
        };
        let safety = Span::from_secs(14);
        let incidents = draw_incidents(random, servers, safety);
        Self {
            seed,
            servers,
            columns: 1 + random.below(4) as u16,
            rows: 1 + random.below(3) as u16,
            tanks: 3 + random.below(8) as usize,
            speed: random.between(5.0, 25.0),
            safety,
            store,
            bus,
            uncertainty: span(random, 1, 40),
            drift_ppm: random.between(0.0, 200.0),
            tick_late: span(random, 0, 30),
            incidents,
        }
    }
}

fn draw_incidents(random: &mut Random, servers: usize, safety: Span) -> Vec<(Span, Incident)> {
    let count = random.below(7);
    let mut incidents: Vec<(Span, Incident)> = (0..count)
        .map(|_| {
            let at = span(random, 2_500, safety.as_micros() / MS - 500);
            (at, draw_incident(random, servers))
        })
        .collect();
    if random.chance(0.2) {
        incidents.extend(draw_return(random, servers));
    }
    incidents.sort_by_key(|(at, _)| *at);
    incidents
}

/// A server loses its cells, and is given them again before it knows what happened in between.
fn draw_return(random: &mut Random, servers: usize) -> Vec<(Span, Incident)> {
    let server = random.below(servers as u64) as usize;
    let (at, lasting) = (span(random, 4_000, 7_000), span(random, 3_500, 5_500));
    let cut = (at, Incident::CutStore { server, lasting });
    let others = (0..servers).filter(|other| *other != server);
    let drains = others.map(|other| {
        let drained_at = at + lasting - span(random, 0, 600);
        (drained_at, Incident::Drain { server: other, back_after: span(random, 10, 3_000) })
    });
    std::iter::once(cut).chain(drains.collect::<Vec<_>>()).collect()
}

fn draw_incident(random: &mut Random, servers: usize) -> Incident {
    let server = random.below(servers as u64) as usize;
    let lasting = span(random, 50, 5_000);
    let back_after = span(random, 10, 5_000);
    match random.below(12) {
        0 => Incident::Crash { server, back_after },
        1..=3 => {
            let step = Step::ALL[random.below(Step::ALL.len() as u64) as usize];
            Incident::CrashAt { server, step, is_sent: random.chance(0.5), back_after }
        }
        4 => Incident::Pause { server, lasting },
        5..=6 => Incident::Freeze { server, lasting },
        7 => Incident::CutBus { server, lasting },
        8 => Incident::CutStore { server, lasting },
        9 => Incident::StoreDown { lasting: lasting.scaled(0.5) },
        10 => Incident::LoseClock { server, lasting },
        _ => Incident::Drain { server, back_after },
    }
}

impl std::fmt::Display for WorldPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:#?}")
    }
}
