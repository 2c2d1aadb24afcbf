//! Where X9 is played: a server, an owner and receivers, each a process of this very program, with
//! a middleman before every receiver. They end with it, however it ends.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairpath::place::Placement;
use fairpath::time::Span;
use fairpath_experiments::experiment::{CannotRun, Progress};
use fairpath_experiments::experiments::{ClockSeen, Diary, Played, Scene, Stage, Ways};
use fairpath_experiments::trace::{read_followed, read_states};
use fairpath_net::middleman::{Middleman, MiddlemanConfig};
use fairpath_sim::LinkConfig;
use serde_json::Value;
use tempfile::TempDir;

use super::{End, address};
use crate::BadInput;

/// Processes of this program, on this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processes;

/// How long a process may take to say what it has to say. A busy machine takes seconds to start
/// thirty of them, and connecting at 800 ms each way takes nine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked how they are.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The owner ends so long before the receivers, who see the last of it.
const OWNER_ENDS_BEFORE: Duration = Duration::from_secs(3);
/// And the server so long after them, and after the time they took to start.
const SERVER_ENDS_AFTER: Duration = Duration::from_secs(10);

impl Stage for Processes {
    fn play(&self, scenes: &[Scene], progress: &dyn Progress) -> Result<Vec<Played>, CannotRun> {
        let play = || -> Result<Vec<Played>, BadInput> {
            let folder = tempfile::Builder::new().prefix("fairpath-x9-").tempdir()?;
            Play { folder, end: End::new(None)? }.play(scenes, progress)
        };
        play().map_err(|BadInput(what)| CannotRun { what, fix: "nothing was written".into() })
    }
}

struct Play {
    folder: TempDir,
    end: End,
}

/// Who is on stage in a scene.
struct Cast<'a> {
    scene: &'a Scene,
    address: String,
    pin: String,
    server: Actor,
    owner: Option<Actor>,
    receivers: Vec<Actor>,
    /// When the first receiver will end.
    ends_at: Instant,
    /// Before each receiver.
    _middlemen: Vec<Middleman>,
}

impl Play {
    fn play(&self, scenes: &[Scene], progress: &dyn Progress) -> Result<Vec<Played>, BadInput> {
        let mut casts = Vec::new();
        for (number, scene) in (1..).zip(scenes) {
            casts.push(self.enter(number, scene)?);
        }
        for receiver in casts.iter_mut().flat_map(|cast| &mut cast.receivers) {
            self.hear(receiver, "connected as")?;
        }
        // Whoever drives begins once everybody is there to see it.
        for (number, cast) in (1..).zip(&mut casts) {
            cast.owner = Some(self.owner(number, cast)?);
        }
        self.watch(&mut casts, progress)?;
        casts.iter().map(|cast| self.collect(cast)).collect()
    }

    /// The server and the receivers of a scene.
    fn enter<'a>(&self, number: usize, scene: &'a Scene) -> Result<Cast<'a>, BadInput> {
        let mut server = self.server(number, scene)?;
        let greeting = self.hear(&mut server, "listening on")?;
        let words: Vec<&str> = greeting.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let ["listening", "on", address, "fingerprint", pin] = words[..] else {
            return Err(BadInput(format!("the server says {greeting:?}")));
        };
        let length = as_duration(scene.length);
        let mut cast = Cast {
            scene,
            address: address.into(),
            pin: pin.into(),
            server,
            owner: None,
            receivers: Vec::new(),
            ends_at: Instant::now() + length,
            _middlemen: Vec::new(),
        };
        for (which, ways) in (1..).zip(&scene.ways) {
            let middleman = Middleman::start(before(&cast.address, *ways, scene.jitter)?)?;
            let name = format!("{number}-receiver-{which}");
            let out = self.recording(&name).display().to_string();
            let to = [
                "record",
                &out,
                "--connect",
                &middleman.address().to_string(),
                "--pin",
                &cast.pin,
                "--for",
                &in_seconds(length),
            ];
            cast.receivers.push(self.start(&name, &[&to[..], &telling(scene), &DIARY].concat())?);
            cast._middlemen.push(middleman);
        }
        Ok(cast)
    }

    fn server(&self, number: usize, scene: &Scene) -> Result<Actor, BadInput> {
        let placement = match scene.placement {
            Placement::Local => "local",
            Placement::Hop => "hop",
            Placement::Global => "global",
        };
        let (scheduler, receivers) = (scene.scheduler.shown_name(), scene.ways.len().to_string());
        let lasting = in_seconds(as_duration(scene.length) + SERVER_ENDS_AFTER);
        let how = ["--placement", placement, "--scheduler", &scheduler, "--receivers", &receivers];
        let rest = ["--budget", "1", "--json", "--for", &lasting];
        self.start(
            &format!("{number}-server"),
            &[&["serve", "--listen", "127.0.0.1:0"], &how[..], &rest, &telling(scene)].concat(),
        )
    }

    fn owner(&self, number: usize, cast: &Cast<'_>) -> Result<Actor, BadInput> {
        let name = format!("{number}-owner");
        let out = self.recording(&name).display().to_string();
        let left = cast.ends_at.saturating_duration_since(Instant::now() + OWNER_ENDS_BEFORE);
        let (seed, lasting) = (cast.scene.seed.to_string(), in_seconds(left));
        let to = ["bots", "1", "--connect", &cast.address, "--pin", &cast.pin, "--out", &out];
        let how = ["--drive", "random", "--seed", &seed, "--for", &lasting];
        self.start(&name, &[&to[..], &how, &telling(cast.scene), &DIARY].concat())
    }

    /// Waits until everybody has ended.
    fn watch(&self, casts: &mut [Cast<'_>], progress: &dyn Progress) -> Result<(), BadInput> {
        let ends_at = casts.iter().map(|cast| cast.ends_at).max().unwrap_or_else(Instant::now);
        let left = (ends_at - Instant::now()).as_secs();
        progress.begin("playing", left);
        let (began, mut told) = (Instant::now(), 0);
        while !casts.iter_mut().flat_map(Cast::actors).try_fold(true, |all, actor| {
            let ended = actor.has_ended()?;
            Ok::<_, BadInput>(all && ended)
        })? {
            self.pause()?;
            while told < left.min(began.elapsed().as_secs()) {
                progress.step();
                told += 1;
            }
            if Instant::now() > ends_at + SERVER_ENDS_AFTER + PATIENCE {
                return Err(BadInput("somebody does not end: the machine is too busy".into()));
            }
        }
        Ok(())
    }

    /// What everybody has written down.
    fn collect(&self, cast: &Cast<'_>) -> Result<Played, BadInput> {
        let server = self.summary(&cast.server)?;
        let owner = cast.owner.as_ref().ok_or_else(|| BadInput("nobody drove".into()))?;
        let diary = |actor: &Actor| {
            let summary = self.summary(actor)?;
            let states = read_states(fs::read(self.recording(&actor.name))?)?.1;
            let followed = self.folder.path().join(format!("{}.followed.parquet", actor.name));
            let followed = if followed.exists() { read_followed(fs::read(followed)?)? } else { Vec::new() };
            let vectors = vectors_sent_to(&summary["client"], &server);
            Ok::<_, BadInput>(Diary { states, followed, clock: clock(&summary["clock"]), vectors })
        };
        let receivers = cast.receivers.iter().map(diary).collect::<Result<_, _>>()?;
        Ok(Played { owner: diary(owner)?, receivers })
    }

    /// What a process said at its end.
    fn summary(&self, actor: &Actor) -> Result<Value, BadInput> {
        let text = fs::read_to_string(self.folder.path().join(format!("{}.json", actor.name)))?;
        serde_json::from_str(&text)
            .map_err(|error| BadInput(format!("{} says {text:?}: {error}", actor.name)))
    }

    /// Waits until a process says something that begins like this.
    fn hear(&self, actor: &mut Actor, beginning: &str) -> Result<String, BadInput> {
        let since = Instant::now();
        loop {
            let said = fs::read_to_string(&actor.said)?;
            // A line that has not ended may be half of one.
            let mut lines = said.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
            if let Some(line) = lines.find(|line| line.starts_with(beginning)) {
                return Ok(line.to_owned());
            }
            if actor.has_ended()? || since.elapsed() > PATIENCE {
                return Err(BadInput(format!("{} did not get as far as {beginning:?}", actor.name)));
            }
            self.pause()?;
        }
    }

    fn pause(&self) -> Result<(), BadInput> {
        if self.end.is_here() {
            return Err(BadInput("interrupted".into()));
        }
        sleep(LOOK_EVERY);
        Ok(())
    }

    fn start(&self, name: &str, arguments: &[&str]) -> Result<Actor, BadInput> {
        let at = |ending: &str| self.folder.path().join(format!("{name}.{ending}"));
        let said = at("txt");
        let child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(File::create(at("json"))?)
            .stderr(File::create(&said)?)
            .spawn()?;
        Ok(Actor { name: name.into(), said, child })
    }

    fn recording(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.parquet"))
    }
}

/// How everybody writes down what they see: on one timeline.
const DIARY: [&str; 5] = ["--stamp", "machine", "--zero", "0", "--json"];

impl Cast<'_> {
    fn actors(&mut self) -> impl Iterator<Item = &mut Actor> {
        self.receivers.iter_mut().chain(&mut self.owner).chain([&mut self.server])
    }
}

/// A process that does not outlive us.
struct Actor {
    name: String,
    /// Where its standard error goes.
    said: PathBuf,
    child: Child,
}

impl Actor {
    /// Whether it has ended; an error, if it has failed.
    fn has_ended(&mut self) -> Result<bool, BadInput> {
        match self.child.try_wait()? {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(status) => {
                let said = fs::read_to_string(&self.said).unwrap_or_default();
                let last = said.lines().last().unwrap_or("nothing").to_owned();
                Err(BadInput(format!("{} failed with {status}, and said: {last}", self.name)))
            }
        }
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill, and waiting takes no time.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How motion is told in a scene, the same for everybody in it. A tank is taken to go straight on,
/// as in Banavar 2005. Where costs are compared the threshold is a sixth of the usual one: that
/// makes 500 triggers of 300, and one DR vector less than one per cent.
fn telling(scene: &Scene) -> Vec<&'static str> {
    let telling = ["--model", "linear", "--threshold", if scene.is_bare { "0.05" } else { "0.3" }];
    let bare = scene.is_bare.then_some("--as-in-the-papers");
    telling.into_iter().chain(bare).collect()
}

/// The middleman before a receiver.
fn before(server: &str, ways: Ways, jitter: Span) -> Result<MiddlemanConfig, BadInput> {
    let link = |delay| LinkConfig::default().delay(delay).jitter_uniform(jitter);
    let config = MiddlemanConfig::between(([127, 0, 0, 1], 0).into(), address("--listen", server)?);
    Ok(config.each_way(link(ways.up), link(ways.down)))
}

/// How many DR vectors a server's summary has for a client.
fn vectors_sent_to(client: &Value, server: &Value) -> u64 {
    let clients = server["clients"].as_array().map_or(&[][..], Vec::as_slice);
    let found = clients.iter().find(|each| each["client"] == *client);
    found.and_then(|each| each["session"]["vectors_sent"].as_u64()).unwrap_or(0)
}

fn clock(seen: &Value) -> ClockSeen {
    let number = |key: &str| seen[key].as_f64().unwrap_or(f64::NAN);
    let count = |key: &str| seen[key].as_u64().unwrap_or(0);
    ClockSeen {
        looks: count("looks"),
        covered: count("covered"),
        off_ms_mean: number("off_mean_ms"),
        off_ms_max: number("off_max_ms"),
        stated_ms_mean: number("stated_mean_ms"),
        stated_ms_max: number("stated_max_ms"),
    }
}

fn as_duration(span: Span) -> Duration {
    Duration::from_micros(span.as_micros().unsigned_abs())
}

/// As `--for` takes it.
fn in_seconds(duration: Duration) -> String {
    format!("{}s", duration.as_secs_f64())
}
