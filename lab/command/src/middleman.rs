use std::fmt::Write as _;
use std::future;
use std::io::{self, BufRead, Read};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use clap::Args;
use fairpath::time::{SharedInstant, Span};
use fairpath_experiments::files::{self, open_rtt_trace};
use fairpath_net::middleman::{
    BadCommand, COMMANDS, ClientSelector, Command, DirectionStatistics, Directions, Links, Middleman,
    MiddlemanConfig, MiddlemanStatistics, SETTINGS, Setting, parse_span,
};
use fairpath_sim::{DelayStatistics, RttTrace};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::time::{Duration, sleep};

use crate::BadInput;
use crate::print;

/// Run a UDP proxy that adds delay, jitter, loss and more between clients and a server
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = long_help())]
pub(crate) struct Arguments {
    /// The address that clients connect to; port 0 lets the system choose
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7000")]
    listen: String,
    /// The address of the server
    #[arg(long, value_name = "HOST:PORT")]
    to: String,
    /// Start from a preset
    #[arg(long, value_name = "NAME", value_parser = ["perfect", "lan", "broadband", "mobile", "wifi-bad", "intercontinental"])]
    link: Option<String>,
    /// The one-way delay of every packet
    #[arg(long, value_name = "MS", allow_hyphen_values = true)]
    delay: Option<String>,
    /// Delays vary evenly by up to this to either side, or normally with this deviation
    #[arg(long, value_name = "MS[,normal]", allow_hyphen_values = true)]
    jitter: Option<String>,
    /// Whether packets keep their order (keep) or may overtake (free) [default: free]
    #[arg(long, value_name = "ORDER", value_parser = ["keep", "free"])]
    order: Option<String>,
    /// The share of lost packets, optionally in bursts of so many, or the four probabilities of
    /// Gilbert and Elliott
    #[arg(long, value_name = "SHARE[,BURST]|P,R,GOOD,BAD", allow_hyphen_values = true)]
    loss: Option<String>,
    /// The share of packets that arrive twice
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    duplicate: Option<String>,
    /// The share of packets that are delayed by so much more [default: 20] and overtaken
    #[arg(long, value_name = "SHARE[,MS]", allow_hyphen_values = true)]
    reorder: Option<String>,
    /// The rate of a bottleneck, and the length of its queue
    #[arg(long, value_name = "KBIT/S[,BYTES]", allow_hyphen_values = true)]
    rate: Option<String>,
    /// Add half of the round trips in this file (columns t,rtt_ms), plain or gzipped
    #[arg(long, value_name = "FILE")]
    rtt_trace: Option<String>,
    /// Settings for packets to the server: 'delay 50 loss 0.1'
    #[arg(long, value_name = "SETTINGS")]
    up: Vec<String>,
    /// Settings for packets to the client
    #[arg(long, value_name = "SETTINGS")]
    down: Vec<String>,
    /// Settings for one client: '2 down delay 300', '10.0.0.7 loss 0.3'
    #[arg(long, value_name = "CLIENT SETTINGS")]
    client: Vec<String>,
    /// A file of commands as on stdin, each at once or 'at 5s …'
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Every random choice follows from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The greatest number of clients; others are refused
    #[arg(long, value_name = "N", default_value_t = 64)]
    clients_max: usize,
    /// End after this time, such as 10s [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true)]
    lasting: Option<String>,
    /// Also carry TCP connections to the same port, delayed by --delay
    #[arg(long)]
    tcp: bool,
    /// Print statistics as JSON, each on one line
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fairpath middleman --to 127.0.0.1:7777 --delay 100 --jitter 20 --loss 0.05
  fairpath middleman --listen 0.0.0.0:7000 --to game.example.org:7777 --link wifi-bad
  fairpath middleman --to 127.0.0.1:7777 --delay 50 --down 'delay 300' --client '2 loss 0.3'
  fairpath middleman --listen 127.0.0.1:5160 --to 127.0.0.1:5154 --tcp --delay 200
  echo 'at 5s partition 3s' > cut && fairpath middleman --to 127.0.0.1:7777 --script cut

While it runs, it reads commands from stdin: 'down delay 300', 'client 2 loss 0.3', 'partition 3s', 'heal', 'rebind',
'statistics', 'quit'; --help lists all. In the background pass < /dev/null.
Exit code: 0 done, 2 bad input.";

fn long_help() -> String {
    format!(
        "{EXAMPLES}\n\nCommands on stdin and in scripts (scripts also take 'at 5s …', and # for comments):\n{}\n\n\
        Settings, also as options:\n{}\n\
        Options apply to both directions and all clients; then --up and --down, then --client. A command changes \
        present and later clients; packets on their way arrive as planned. Statistics: asked is the delay that the \
        link drew, measured is the time from receiving a packet to having sent it, late is the difference packet by \
        packet.",
        indented(COMMANDS),
        settings_help()
    )
}

fn settings_help() -> String {
    SETTINGS.iter().fold(String::new(), |mut text, (name, values, meaning)| {
        let _ = writeln!(text, "  {:<42} {meaning}", format!("{name} {values}"));
        text
    })
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// A command and when it is due, since the start.
type Timed = (Span, Command);
/// The longest line a person types, with room for a path.
const LINE_BYTES_MAX: u64 = 8192;
/// Lines that wait while one is carried out.
const LINES_WAITING_MAX: usize = 64;

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let lasting = self
            .lasting
            .as_deref()
            .map(|text| parse_span(text).map_err(|error| BadInput(format!("--for {error}"))));
        let lasting = lasting.transpose()?;
        let mut config =
            MiddlemanConfig::between(address("--listen", &self.listen)?, address("--to", &self.to)?);
        config.seed = self.seed;
        config.carries_tcp = self.tcp;
        config.bounds.clients_max = self.clients_max;
        self.set_links(&mut config.links)?;
        let script =
            self.script.as_deref().map_or_else(|| Ok(Vec::new()), |path| read_script(path, &mut config))?;
        let told = MiddlemanRun { to: config.to, seed: config.seed, json: self.json };
        let handle = Middleman::start(config)?;
        let statistics = told.run(handle, script, lasting)?;
        print::to_stdout(&statistics)?;
        Ok(ExitCode::SUCCESS)
    }

    /// What the options say about links, from the general to the particular.
    fn set_links(&self, links: &mut Links) -> Result<(), BadInput> {
        let options = [
            ("link", &self.link),
            ("delay", &self.delay),
            ("jitter", &self.jitter),
            ("order", &self.order),
            ("loss", &self.loss),
            ("duplicate", &self.duplicate),
            ("reorder", &self.reorder),
            ("rate", &self.rate),
            ("rtt-trace", &self.rtt_trace),
        ];
        for (name, value) in options {
            let Some(value) = value else { continue };
            let setting =
                Setting::parse(name, value, open_trace).map_err(|error| bad_option(name, &error))?;
            links.change(ClientSelector::All, Directions::Both, |link| setting.apply(link))?;
        }
        let ways = [("up", &self.up), ("down", &self.down), ("client", &self.client)];
        for (option, lines) in ways {
            for line in lines {
                change_by(links, &format!("{option} {line}")).map_err(|BadInput(why)| {
                    BadInput(format!("--{option} {}: {why}", print::quoted(line)))
                })?;
            }
        }
        Ok(())
    }
}

/// What is wrong with an option begins with its name, unless a file is to blame.
fn bad_option(name: &str, error: &BadCommand) -> BadInput {
    match error {
        BadCommand::BadTrace(why) => BadInput(format!("--{name} {why}")),
        _ => BadInput(format!("--{error}")),
    }
}

/// A line that says nothing but settings.
fn change_by(links: &mut Links, line: &str) -> Result<(), BadInput> {
    let Command::Change { clients, directions, settings } = Command::parse(line, open_trace)? else {
        return Err(BadInput("give settings such as 'delay 50 loss 0.1'".into()));
    };
    links.change(clients, directions, |link| settings.iter().for_each(|setting| setting.apply(link)))?;
    Ok(())
}

/// The lines of a script. Settings that hold from the start become part of the configuration, so
/// that no packet escapes them.
fn read_script(path: &Path, config: &mut MiddlemanConfig) -> Result<Vec<Timed>, BadInput> {
    let bytes = files::read(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut script = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let at_line = |BadInput(why): BadInput| BadInput(format!("{}, line {number}: {why}", path.display()));
        match timed(line).map_err(at_line)? {
            (Span::ZERO, Command::Change { .. }) => change_by(&mut config.links, line).map_err(at_line)?,
            timed => script.push(timed),
        }
    }
    script.sort_by_key(|(at, _)| *at);
    Ok(script)
}

/// `at 5s down delay 300`, or without a time.
fn timed(line: &str) -> Result<Timed, BadInput> {
    let Some(rest) = line.strip_prefix("at ") else {
        return Ok((Span::ZERO, Command::parse(line, open_trace)?));
    };
    let (time, command) = rest
        .trim_start()
        .split_once(' ')
        .ok_or_else(|| BadInput("no command after the time; give one such as 'at 5s partition 3s'".into()))?;
    Ok((parse_span(time)?, Command::parse(command, open_trace)?))
}

struct MiddlemanRun {
    to: SocketAddr,
    seed: u64,
    json: bool,
}

enum WakeUp {
    Line(String),
    Scripted(Command),
    End,
}

impl MiddlemanRun {
    /// Carries out commands until the end, and returns the statistics.
    fn run(&self, handle: Middleman, script: Vec<Timed>, lasting: Option<Span>) -> Result<String, BadInput> {
        print::note!(
            "listening on {}, passing on to {} (seed {}); `help` lists the commands, Ctrl-C ends",
            handle.address(),
            self.to,
            self.seed
        );
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let mut lines = lines_of_stdin();
        let mut script = script.into_iter().peekable();
        let end = lasting.map(|lasting| SharedInstant::ZERO + lasting);
        let done: Result<(), BadInput> = runtime.block_on(async {
            // Asked for first: from here on a signal is not the end of the process but of this
            // loop.
            let mut interrupted = std::pin::pin!(interrupted()?);
            loop {
                let next = script.peek().map(|(at, _)| SharedInstant::ZERO + *at);
                let happening = tokio::select! {
                    () = &mut interrupted => WakeUp::End,
                    () = sleep_until(&handle, end) => WakeUp::End,
                    () = sleep_until(&handle, next) => {
                        script.next().map_or(WakeUp::End, |(_, command)| WakeUp::Scripted(command))
                    }
                    line = next_line(&mut lines) => WakeUp::Line(line),
                };
                let command = match happening {
                    WakeUp::End => return Ok(()),
                    WakeUp::Scripted(command) => command,
                    WakeUp::Line(line) if line.trim().is_empty() => continue,
                    WakeUp::Line(line) => match Command::parse(&line, open_trace) {
                        Ok(command) => command,
                        Err(complaint) => {
                            print::note!("error: {complaint}");
                            continue;
                        }
                    },
                };
                if command == Command::Quit {
                    return Ok(());
                }
                if let Err(BadInput(complaint)) = self.carry_out(&handle, &command) {
                    print::note!("error: {complaint}");
                }
            }
        });
        done?;
        let address = handle.address();
        Ok(self.show(address, &handle.stop()))
    }

    fn carry_out(&self, handle: &Middleman, command: &Command) -> Result<(), BadInput> {
        let changed = match command {
            Command::Change { clients, directions, settings } => {
                handle.change(*clients, *directions, |link| {
                    settings.iter().for_each(|setting| setting.apply(link));
                })?
            }
            Command::Partition { clients, directions, lasting } => {
                handle.partition(*clients, *directions, *lasting)?
            }
            Command::Heal { clients, directions } => handle.heal(*clients, *directions)?,
            Command::Rebind { clients } => handle.rebind(*clients)?,
            Command::Statistics => {
                return Ok(print::to_stdout(&self.show(handle.address(), &handle.statistics()))?);
            }
            Command::Help => {
                print::note!("{}\n\nsettings:\n{}", indented(COMMANDS), settings_help());
                return Ok(());
            }
            _ => {
                return Err(BadInput(
                    "this cannot be changed while the middleman runs; restart it with the option".into(),
                ));
            }
        };
        print::note!("done, for {changed} {} now", if changed == 1 { "client" } else { "clients" });
        Ok(())
    }

    fn show(&self, listen: SocketAddr, statistics: &MiddlemanStatistics) -> String {
        if self.json { format!("{}\n", self.as_json(listen, statistics)) } else { as_table(statistics) }
    }

    fn as_json(&self, listen: SocketAddr, statistics: &MiddlemanStatistics) -> Value {
        let clients = statistics.clients.iter().map(|client| {
            json!({
                "client": client.nth,
                "address": client.address.to_string(),
                "gone": client.is_gone,
                "rebinds": client.rebinds,
                "up": direction_as_json(&client.up),
                "down": direction_as_json(&client.down),
            })
        });
        json!({
            "listen": listen.to_string(),
            "to": self.to.to_string(),
            "seed": self.seed,
            "secs": statistics.ran_for.as_secs_f64(),
            "clients": clients.collect::<Vec<_>>(),
            "clients_unlisted": statistics.clients_unlisted,
            "refused": statistics.refused,
        })
    }
}

fn direction_as_json(direction: &DirectionStatistics) -> Value {
    let link = &direction.link;
    json!({
        "packets": link.sent,
        "bytes": link.sent_bytes,
        "delivered": link.delivered,
        "delivered_bytes": link.delivered_bytes,
        "lost": link.lost.total(),
        "lost_by": {
            "partition": link.lost.partition,
            "queue_full": link.lost.queue_full,
            "random": link.lost.random,
            "trace": link.lost.trace,
        },
        "duplicated": link.duplicated,
        "reordered": link.reordered,
        "left": direction.left,
        "waiting": direction.waiting,
        "overflowed": direction.overflowed,
        "failures": direction.failures,
        "asked_ms": delays_as_json(&link.delays),
        "measured_ms": delays_as_json(&direction.measured),
        "late_ms": delays_as_json(&direction.late),
    })
}

fn delays_as_json(delays: &DelayStatistics) -> Value {
    let [median, p95, p99, max] = quantiles(delays).map(|delay| delay.map(in_millis));
    json!({ "median": median, "p95": p95, "p99": p99, "max": max })
}

/// Micros divided and not multiplied, so that 1636 µs is 1.636 ms and not nearly.
fn in_millis(span: Span) -> f64 {
    span.as_micros() as f64 / 1e3
}

fn quantiles(delays: &DelayStatistics) -> [Option<Span>; 4] {
    [delays.p50(), delays.p95(), delays.p99(), delays.max()]
}

/// Three lines per direction: what was asked for, what was measured, and how late that is.
fn as_table(statistics: &MiddlemanStatistics) -> String {
    let mut text = format!("ran for {:.1} s\n", statistics.ran_for.as_secs_f64());
    if statistics.clients.is_empty() {
        text += "no client came\n";
    } else {
        let _ = writeln!(
            text,
            "\n{:<28} {:>9} {:>11} {:>9} {:>7} {:>9} {:>7}  {:<8} {:>8} {:>8} {:>8} {:>8}",
            "client",
            "packets",
            "bytes",
            "lost",
            "twice",
            "reordered",
            "waiting",
            "delay ms",
            "median",
            "p95",
            "p99",
            "max"
        );
    }
    for client in &statistics.clients {
        let gone = if client.is_gone { " (gone)" } else { "" };
        for (way, direction) in [("up", &client.up), ("down", &client.down)] {
            let name = match way {
                "up" => format!("{} {}{gone}", client.nth, client.address),
                _ if client.rebinds > 0 => format!("  rebinds: {}", client.rebinds),
                _ => String::new(),
            };
            text += &direction_as_lines(&format!("{name:<23} {way:<4}"), direction);
        }
    }
    if statistics.clients_unlisted > 0 {
        let _ = writeln!(text, "and {} clients that have gone", statistics.clients_unlisted);
    }
    if statistics.refused > 0 {
        let _ = writeln!(
            text,
            "{} packets of others were refused: there were too many clients",
            statistics.refused
        );
    }
    text
}

fn direction_as_lines(name: &str, direction: &DirectionStatistics) -> String {
    let link = &direction.link;
    let mut text = format!(
        "{name:<28} {:>9} {:>11} {:>9} {:>7} {:>9} {:>7}  {}",
        link.sent,
        link.sent_bytes,
        link.lost.total(),
        link.duplicated,
        link.reordered,
        direction.waiting,
        delays_as_line("asked", &link.delays)
    );
    for (kind, delays) in [("measured", &direction.measured), ("late", &direction.late)] {
        let _ = write!(text, "{:88}{}", "", delays_as_line(kind, delays));
    }
    if direction.failures > 0 {
        let _ = writeln!(
            text,
            "    {} packets could not be sent, or no program listened there",
            direction.failures
        );
    }
    if direction.overflowed > 0 {
        let _ = writeln!(text, "    {} were lost because too many waited", direction.overflowed);
    }
    text
}

fn delays_as_line(kind: &str, delays: &DelayStatistics) -> String {
    let cell =
        |delay: Option<Span>| delay.map_or_else(|| "–".into(), |delay| format!("{:.2}", in_millis(delay)));
    let [median, p95, p99, max] = quantiles(delays).map(cell);
    format!("{kind:<8} {median:>8} {p95:>8} {p99:>8} {max:>8}\n")
}

/// Lines as they are typed; none any more when stdin ends.
fn lines_of_stdin() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(LINES_WAITING_MAX);
    thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut bytes = Vec::new();
        while let Ok(1..) = stdin.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes) {
            let line = String::from_utf8_lossy(&bytes).into_owned();
            if sender.blocking_send(line).is_err() {
                return;
            }
            bytes.clear();
        }
    });
    receiver
}

/// The next line; waits for ever once there are no more.
async fn next_line(lines: &mut mpsc::Receiver<String>) -> String {
    match lines.recv().await {
        Some(line) => line,
        None => future::pending().await,
    }
}

/// Until this instant of the middleman's clock; for ever if there is none.
async fn sleep_until(handle: &Middleman, at: Option<SharedInstant>) {
    let Some(at) = at else { return future::pending().await };
    let micros = (at - handle.now()).as_micros().max(0).unsigned_abs();
    sleep(Duration::from_micros(micros)).await;
}

/// Ends at Ctrl-C, or when the system asks for the end.
#[cfg(unix)]
pub(crate) fn interrupted() -> io::Result<impl Future<Output = ()> + use<>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(not(unix))]
pub(crate) fn interrupted() -> io::Result<impl Future<Output = ()> + use<>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            future::pending::<()>().await;
        }
    })
}

fn open_trace(path: &str) -> Result<RttTrace, String> {
    open_rtt_trace(Path::new(path)).map_err(|error| error.to_string())
}

fn address(option: &str, text: &str) -> Result<SocketAddr, BadInput> {
    let found = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| BadInput::of(option, text, "give HOST:PORT such as 127.0.0.1:7777"))
}
