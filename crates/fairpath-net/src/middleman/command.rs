use std::fmt;
use std::net::{IpAddr, SocketAddr};

use fairpath::time::Span;
use fairpath_sim::{LinkConfig, Loss, Rate, RttTrace};

use super::config::{ClientSelector, Directions};

/// A command line for a running middleman.
///
/// ```
/// use fairpath::time::Span;
/// use fairpath_net::middleman::{ClientSelector, Command, Directions, no_files};
///
/// let (clients, directions) = (ClientSelector::Nth(2), Directions::Down);
/// let lasting = Some(Span::from_secs(3));
/// assert_eq!(
///     Command::parse("client 2 down partition 3s", no_files)?,
///     Command::Partition { clients, directions, lasting },
/// );
/// # Ok::<(), fairpath_net::middleman::BadCommand>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// Change links.
    Change {
        /// Of these clients.
        clients: ClientSelector,
        /// In these directions.
        directions: Directions,
        /// The new values.
        settings: Vec<Setting>,
    },
    /// Lose every packet.
    Partition {
        /// Of these clients.
        clients: ClientSelector,
        /// In these directions.
        directions: Directions,
        /// For this long; until healed if `None`.
        lasting: Option<Span>,
    },
    /// End partitions.
    Heal {
        /// Of these clients.
        clients: ClientSelector,
        /// In these directions.
        directions: Directions,
    },
    /// Send to the server from a new port.
    Rebind {
        /// For these clients.
        clients: ClientSelector,
    },
    /// Print the statistics so far.
    Statistics,
    /// Print the list of commands.
    Help,
    /// Stop the middleman.
    Quit,
}

/// One parameter of a link and its new value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Setting {
    /// All parameters at once: a preset.
    Link(LinkConfig),
    /// One-way delay of every packet.
    Delay(Span),
    /// Uniform jitter. Turns normal jitter off.
    JitterUniform(Span),
    /// Normal jitter. Turns uniform jitter off.
    JitterNormal(Span),
    /// Whether packets keep their order.
    KeepOrder(bool),
    /// Random loss.
    Loss(Loss),
    /// Share of packets that arrive twice.
    Duplicate(f64),
    /// Share of packets that are delayed, and by how much, so that later ones overtake them.
    Reorder(f64, Span),
    /// A bottleneck, or none.
    Rate(Option<Rate>),
    /// Recorded round trips, or none.
    RttTrace(Option<RttTrace>),
}

/// Name, values and effect of each setting, for help texts and errors.
pub const SETTINGS: [(&str, &str, &str); 9] = [
    ("link", "perfect|lan|broadband|mobile|wifi-bad|intercontinental", "all settings at once"),
    ("delay", "MS", "every packet takes this long, one way"),
    (
        "jitter",
        "MS[,normal]",
        "delays vary uniformly by up to this to either side, or normally with this deviation",
    ),
    ("order", "keep|free", "whether packets keep their order (free: each has its own delay)"),
    (
        "loss",
        "SHARE[,BURST] or P,R,GOOD,BAD",
        "0.05: independent; 0.05,4: in bursts of 4; or the four of the Gilbert-Elliott model",
    ),
    ("duplicate", "SHARE", "this share arrives twice"),
    ("reorder", "SHARE[,MS]", "this share takes this much longer (20 ms) and is overtaken"),
    ("rate", "KBIT/S[,BYTES]|none", "a bottleneck with a queue (0.2 s of its rate, at least 3000 bytes)"),
    (
        "rtt-trace",
        "FILE|none",
        "add half of recorded round trips: CSV t,rtt_ms (s, ms; empty: lost), plain or gzipped",
    ),
];

/// The other commands, for help texts.
pub const COMMANDS: &str = "\
[client N|HOST|HOST:PORT] [up|down] SETTING VALUE [SETTING VALUE …]
[client …] [up|down] partition [3s]     lose every packet, for this long or until healed
[client …] [up|down] heal               end partitions
[client …] rebind                       send to the server from a new port
statistics                              print the statistics so far
quit                                    print the statistics and stop";

/// Why a line or a value cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadCommand {
    /// The line has no command.
    Empty,
    /// No command or setting has this name.
    UnknownWord(String),
    /// The line ends before the value of this setting.
    MissingValue(&'static str),
    /// `client` needs a number from 1, a host, or a host and port.
    BadClient(String),
    /// The setting does not accept this value.
    BadValue {
        /// The setting.
        setting: &'static str,
        /// The value that was given.
        given: String,
    },
    /// The text is not a duration.
    BadSpan(String),
    /// The file of round trips cannot be used, for this reason.
    BadTrace(String),
}

/// Refuses every `rtt-trace`. Use it where no files can be read.
pub fn no_files(_path: &str) -> Result<RttTrace, String> {
    Err("files cannot be read here".into())
}

/// Longest delay that can be set: ten minutes, beyond any network. A longer one is a wrong unit.
const MILLIS_MAX: f64 = 600_000.0;
/// Default delay of `reorder`: the next packet overtakes at 60 packets per second.
const DETOUR: Span = Span::from_millis(20);
/// Default queue of a bottleneck: milliseconds of its rate, and at least two full packets.
const QUEUE_MILLIS: u64 = 200;
const QUEUE_BYTES_MIN: u64 = 3000;

impl Command {
    /// Parses one line. `open_trace` reads the file that `rtt-trace` names, or says why not.
    pub fn parse(
        line: &str,
        open_trace: impl Fn(&str) -> Result<RttTrace, String>,
    ) -> Result<Self, BadCommand> {
        let mut words = line.split_whitespace().peekable();
        let clients = match words.next_if_eq(&"client") {
            Some(_) => parse_selector(words.next().ok_or(BadCommand::MissingValue("client"))?)?,
            None => ClientSelector::All,
        };
        let directions = match words.peek() {
            Some(&"up") => Directions::Up,
            Some(&"down") => Directions::Down,
            _ => Directions::Both,
        };
        if directions != Directions::Both {
            words.next();
        }
        let is_general = clients == ClientSelector::All && directions == Directions::Both;
        let command = match words.next().ok_or(BadCommand::Empty)? {
            "partition" => {
                Self::Partition { clients, directions, lasting: words.next().map(parse_span).transpose()? }
            }
            "heal" => Self::Heal { clients, directions },
            "rebind" if directions == Directions::Both => Self::Rebind { clients },
            "statistics" if is_general => Self::Statistics,
            "help" if is_general => Self::Help,
            "quit" if is_general => Self::Quit,
            first => {
                let (mut settings, mut next) = (Vec::new(), Some(first));
                while let Some(name) = next {
                    let name = setting_name(name)?;
                    let value = words.next().ok_or(BadCommand::MissingValue(name))?;
                    settings.push(Setting::parse(name, value, &open_trace)?);
                    next = words.next();
                }
                Self::Change { clients, directions, settings }
            }
        };
        match words.next() {
            Some(surplus) => Err(BadCommand::UnknownWord(surplus.into())),
            None => Ok(command),
        }
    }
}

impl Setting {
    /// Parses the value of one setting.
    pub fn parse(
        name: &str,
        value: &str,
        open_trace: impl Fn(&str) -> Result<RttTrace, String>,
    ) -> Result<Self, BadCommand> {
        let setting = setting_name(name)?;
        if setting == "rtt-trace" && value != "none" {
            return open_trace(value).map(|trace| Self::RttTrace(Some(trace))).map_err(BadCommand::BadTrace);
        }
        let parts: Vec<&str> = value.split(',').collect();
        let parsed = match (setting, parts.as_slice()) {
            ("link", [name]) => LinkConfig::by_name(name).map(Self::Link),
            ("delay", [delay]) => millis(delay).map(Self::Delay),
            ("jitter", [reach]) => millis(reach).map(Self::JitterUniform),
            ("jitter", [reach, "uniform"]) => millis(reach).map(Self::JitterUniform),
            ("jitter", [deviation, "normal"]) => millis(deviation).map(Self::JitterNormal),
            ("order", ["keep"]) => Some(Self::KeepOrder(true)),
            ("order", ["free"]) => Some(Self::KeepOrder(false)),
            ("loss", parts) => loss(parts).map(Self::Loss),
            ("duplicate", [share]) => ratio(share).map(Self::Duplicate),
            ("reorder", [share]) => ratio(share).map(|share| Self::Reorder(share, DETOUR)),
            ("reorder", [share, extra]) => {
                ratio(share).zip(millis(extra)).map(|(share, extra)| Self::Reorder(share, extra))
            }
            ("rate", ["none"]) => Some(Self::Rate(None)),
            ("rate", parts) => rate(parts).map(|rate| Self::Rate(Some(rate))),
            ("rtt-trace", _) => Some(Self::RttTrace(None)),
            _ => None,
        };
        parsed.ok_or_else(|| BadCommand::BadValue { setting, given: value.into() })
    }

    /// Applies the setting to a link.
    pub fn apply(&self, link: &mut LinkConfig) {
        match self {
            Self::Link(preset) => {
                let partitions = std::mem::take(&mut link.partitions);
                *link = LinkConfig { partitions, ..preset.clone() };
            }
            Self::Delay(delay) => link.delay = *delay,
            Self::JitterUniform(reach) => (link.jitter_uniform, link.jitter_normal) = (*reach, Span::ZERO),
            Self::JitterNormal(deviation) => {
                (link.jitter_uniform, link.jitter_normal) = (Span::ZERO, *deviation);
            }
            Self::KeepOrder(keep) => link.keep_order = *keep,
            Self::Loss(loss) => link.loss = *loss,
            Self::Duplicate(ratio) => link.duplicate_ratio = *ratio,
            Self::Reorder(ratio, extra) => (link.reorder_ratio, link.reorder_extra) = (*ratio, *extra),
            Self::Rate(rate) => link.rate = *rate,
            Self::RttTrace(trace) => link.rtt_trace.clone_from(trace),
        }
    }
}

/// Parses a duration: `3s`, `500ms`, `2min`. A bare number is seconds.
pub fn parse_span(text: &str) -> Result<Span, BadCommand> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_secs = match &text[digits.len()..] {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "min" => 60.0,
        _ => f64::NAN,
    };
    let secs = digits.parse::<f64>().map_or(f64::NAN, |number| number * unit_secs);
    if (0.0..=SPAN_SECS_MAX).contains(&secs) {
        Ok(Span::from_secs_f64(secs))
    } else {
        Err(BadCommand::BadSpan(text.into()))
    }
}

/// Thirty days: longer than any test, and far below the last instant.
const SPAN_SECS_MAX: f64 = 30.0 * 86_400.0;

fn parse_selector(word: &str) -> Result<ClientSelector, BadCommand> {
    let bad = || BadCommand::BadClient(word.into());
    if let Ok(nth) = word.parse::<u32>() {
        return if nth > 0 { Ok(ClientSelector::Nth(nth)) } else { Err(bad()) };
    }
    let address = word.parse::<SocketAddr>().map(ClientSelector::Address);
    address.or_else(|_| word.parse::<IpAddr>().map(ClientSelector::Host)).map_err(|_| bad())
}

fn setting_name(word: &str) -> Result<&'static str, BadCommand> {
    let known = SETTINGS.iter().map(|(name, ..)| *name).find(|name| *name == word);
    known.ok_or_else(|| BadCommand::UnknownWord(word.into()))
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

fn millis(text: &str) -> Option<Span> {
    number(text).filter(|millis| (0.0..=MILLIS_MAX).contains(millis)).map(|ms| Span::from_secs_f64(ms * 1e-3))
}

fn ratio(text: &str) -> Option<f64> {
    number(text).filter(|ratio| (0.0..=1.0).contains(ratio))
}

fn loss(parts: &[&str]) -> Option<Loss> {
    let ratios = || parts.iter().map(|part| ratio(part)).collect::<Option<Vec<f64>>>();
    match parts {
        [share] => ratio(share).map(Loss::each),
        [share, burst] => {
            let (share, burst) = ratio(share).zip(number(burst))?;
            // Beyond this share the good state would have to last less than one packet.
            let can_be_had = burst >= 1.0 && share <= burst / (burst + 1.0);
            let loss = can_be_had.then(|| Loss::bursts(share, burst))?;
            // At the limit, rounding must not make the loss invalid.
            Some(Loss { good_to_bad: loss.good_to_bad.min(1.0), ..loss })
        }
        [..] if parts.len() == 4 => match ratios()?[..] {
            [good_to_bad, bad_to_good, in_good, in_bad] => {
                Some(Loss { good_to_bad, bad_to_good, in_good, in_bad })
            }
            _ => None,
        },
        _ => None,
    }
}

fn rate(parts: &[&str]) -> Option<Rate> {
    /// A terabit per second: no network card is faster.
    const KBIT_MAX: f64 = 1e9;
    let kbit = number(parts.first()?).filter(|kbit| (0.008..=KBIT_MAX).contains(kbit))?;
    let bytes_per_sec = (kbit * 125.0) as u64;
    let queue_bytes_max = match parts {
        [_] => (bytes_per_sec * QUEUE_MILLIS / 1000).max(QUEUE_BYTES_MIN),
        [_, bytes] => bytes.parse().ok()?,
        _ => return None,
    };
    Some(Rate { bytes_per_sec, queue_bytes_max })
}

impl fmt::Display for BadCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values_of = |name: &str| {
            SETTINGS.iter().find(|(setting, ..)| *setting == name).map_or("", |(_, values, _)| values)
        };
        match self {
            Self::Empty => write!(f, "no command; `help` lists them"),
            Self::UnknownWord(word) => write!(f, "unknown word {word:?}; `help` lists the commands"),
            Self::MissingValue("client") => {
                write!(f, "client: give a number from 1, HOST or HOST:PORT")
            }
            Self::MissingValue(setting) => write!(f, "{setting}: give {}", values_of(setting)),
            Self::BadClient(word) => write!(f, "client {word}: give a number from 1, HOST or HOST:PORT"),
            Self::BadValue { setting, given } => write!(f, "{setting} {given}: give {}", values_of(setting)),
            Self::BadSpan(given) => write!(f, "{given}: give a time such as 3s, 500ms or 2min"),
            Self::BadTrace(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for BadCommand {}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, BadCommand> {
        Command::parse(line, no_files)
    }

    fn link_after(line: &str) -> LinkConfig {
        let Ok(Command::Change { settings, .. }) = parse(line) else { panic!("{line} is not a change") };
        let mut link = LinkConfig::default();
        settings.iter().for_each(|setting| setting.apply(&mut link));
        link
    }

    #[test]
    fn a_line_selects_clients_directions_and_settings() {
        assert_eq!(
            parse("down delay 300"),
            Ok(Command::Change {
                clients: ClientSelector::All,
                directions: Directions::Down,
                settings: vec![Setting::Delay(Span::from_millis(300))]
            })
        );
        assert_eq!(
            parse("client 127.0.0.1:5000 up loss 0.3 delay 0.5"),
            Ok(Command::Change {
                clients: ClientSelector::Address("127.0.0.1:5000".parse().unwrap()),
                directions: Directions::Up,
                settings: vec![Setting::Loss(Loss::each(0.3)), Setting::Delay(Span::from_micros(500))]
            })
        );
        let host = ClientSelector::Host("::1".parse().unwrap());
        assert_eq!(parse("client ::1 rebind"), Ok(Command::Rebind { clients: host }));
        assert_eq!(
            parse(" heal "),
            Ok(Command::Heal { clients: ClientSelector::All, directions: Directions::Both })
        );
        assert_eq!(parse("statistics"), Ok(Command::Statistics));
    }

    #[test]
    fn every_setting_changes_its_parameter() {
        let link =
            link_after("jitter 20,normal order keep loss 0.03,5 duplicate 0.1 reorder 0.2,30 rate 1000");
        let expected = LinkConfig::default()
            .jitter_normal(Span::from_millis(20))
            .keep_order(true)
            .loss(Loss::bursts(0.03, 5.0))
            .duplicate_ratio(0.1)
            .reorder(0.2, Span::from_millis(30))
            .rate(125_000, 25_000);
        assert_eq!(link, expected);
        assert_eq!(link_after("jitter 20,normal jitter 5").jitter_normal, Span::ZERO, "the other kind goes");
        assert_eq!(link_after("link mobile delay 7"), LinkConfig::mobile().delay(Span::from_millis(7)));
        let chain = Loss { good_to_bad: 0.1, bad_to_good: 0.5, in_good: 0.01, in_bad: 0.9 };
        assert_eq!(link_after("loss 0.1,0.5,0.01,0.9").loss, chain);
        assert_eq!(link_after("rate 8,500 rate none").rate, None);
    }

    #[test]
    fn documents_show_every_preset() {
        assert_eq!(SETTINGS[0].1.split('|').collect::<Vec<_>>(), LinkConfig::NAMES);
    }

    #[test]
    fn every_parsed_setting_makes_a_valid_link() {
        for line in
            ["rate 0.008", "rate 1000000000,1", "loss 1", "loss 0.8,4", "delay 600000", "reorder 1,600000"]
        {
            assert_eq!(link_after(line).check(), Ok(()), "{line}");
        }
    }

    #[test]
    fn errors_fit_on_one_line_and_say_what_to_give() {
        let message = |line: &str| parse(line).expect_err(line).to_string();
        assert_eq!(message("fly"), "unknown word \"fly\"; `help` lists the commands");
        assert_eq!(message("delay"), "delay: give MS");
        assert_eq!(message("delay -1"), "delay -1: give MS");
        assert_eq!(message("delay NaN"), "delay NaN: give MS");
        assert_eq!(message("loss 2"), "loss 2: give SHARE[,BURST] or P,R,GOOD,BAD");
        assert_eq!(message("loss 0.9,4"), "loss 0.9,4: give SHARE[,BURST] or P,R,GOOD,BAD");
        assert_eq!(message("client 0 heal"), "client 0: give a number from 1, HOST or HOST:PORT");
        assert_eq!(message("client"), "client: give a number from 1, HOST or HOST:PORT");
        assert_eq!(message("partition soon"), "soon: give a time such as 3s, 500ms or 2min");
        assert_eq!(message("partition 3s now"), "unknown word \"now\"; `help` lists the commands");
        assert_eq!(message("rtt-trace home.csv"), "files cannot be read here");
        assert_eq!(message("up rebind"), "unknown word \"rebind\"; `help` lists the commands");
        assert_eq!(message("rate 0"), "rate 0: give KBIT/S[,BYTES]|none");
        assert_eq!(message("client 1 down"), "no command; `help` lists them");
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_span("3s"), Ok(Span::from_secs(3)));
        assert_eq!(parse_span("3"), Ok(Span::from_secs(3)));
        assert_eq!(parse_span("1.5s"), Ok(Span::from_millis(1500)));
        assert_eq!(parse_span("250ms"), Ok(Span::from_millis(250)));
        assert_eq!(parse_span("2min"), Ok(Span::from_secs(120)));
        for bad in ["", "s", "3 s", "-1s", "1e300", "3h", "infs", "ä"] {
            assert_eq!(parse_span(bad), Err(BadCommand::BadSpan(bad.into())));
        }
    }
}
