//! `fairpath dis`: a gateway to IEEE 1278.1 networks, and tools that look at such networks.

mod check;
mod gateway;
mod record;
mod replay;
mod table;
mod view;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use fairpath::LocalInstant;
use fairpath::motion::dis::AccelerationReading;
use fairpath_dis::net::{DisSocket, PORT, SocketConfig};
use fairpath_dis::{GatewayConfig, Thresholds, TypeRule};

use crate::BadInput;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Connect a DIS network with a Fairpath session
    Gateway(Box<gateway::Arguments>),
    /// Show the entities of a DIS network: prediction errors, heartbeats, jitter, stamps
    View(Box<view::Arguments>),
    /// Record a DIS network to a file that Wireshark opens
    Record(Box<record::Arguments>),
    /// Send a recording to a DIS network again
    Replay(Box<replay::Arguments>),
    /// Check a recording against the rules of DIS, or the nine models against expected values
    Check(Box<check::Arguments>),
}

pub(crate) fn execute(command: Command) -> Result<ExitCode, BadInput> {
    match command {
        Command::Gateway(arguments) => arguments.execute(),
        Command::View(arguments) => arguments.execute(),
        Command::Record(arguments) => arguments.execute(),
        Command::Replay(arguments) => arguments.execute(),
        Command::Check(arguments) => arguments.execute(),
    }
}

/// The DIS network.
#[derive(Args, Clone, Debug)]
struct NetworkOptions {
    /// The UDP port to listen on
    #[arg(long, default_value_t = PORT)]
    port: u16,
    /// Where to send: a broadcast, multicast or unicast address; a multicast group is joined too
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "255.255.255.255")]
    to: String,
    /// The address of the network interface to use [default: the system chooses]
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0", hide_default_value = true)]
    interface: Ipv4Addr,
    /// How many routers multicast may cross, plus one
    #[arg(long, value_name = "HOPS", default_value_t = 1)]
    ttl: u32,
}

impl NetworkOptions {
    fn open(&self) -> Result<DisSocket, BadInput> {
        let to = match (self.to.parse::<SocketAddrV4>(), self.to.parse::<Ipv4Addr>()) {
            (Ok(whole), _) => whole,
            (_, Ok(address)) => SocketAddrV4::new(address, self.port),
            _ => {
                return Err(BadInput::of(
                    "--to",
                    &self.to,
                    "give an IPv4 address such as 239.1.2.3 or 10.0.0.255:3000",
                ));
            }
        };
        let config = SocketConfig { port: self.port, to, interface: self.interface, ttl: self.ttl };
        DisSocket::open(&config).map_err(|error| {
            let fix = "pass --port or --interface with another value";
            BadInput(format!("cannot listen on port {} for {to}: {error}; {fix}", self.port))
        })
    }
}

/// How entities of the exercise are reckoned.
#[derive(Args, Clone, Debug)]
struct ExerciseOptions {
    /// The exercise; PDUs of others are ignored
    #[arg(long, default_value_t = 1)]
    exercise: u8,
    /// How far a prediction may be off, for every entity type without a rule of its own
    #[arg(long, value_name = "METRES,DEGREES", default_value = "1,3")]
    threshold: String,
    /// Thresholds of the entity types that begin with these numbers; may be given several times
    #[arg(long = "type", value_name = "TYPE=METRES,DEGREES")]
    types: Vec<String>,
    /// What the acceleration of model 8 (RVB) is the slope of
    #[arg(long = "model-8", value_enum, default_value_t = Reading::World)]
    model_8: Reading,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Reading {
    /// The velocity in the world, as an accelerometer measures it
    World,
    /// The velocity's components in body axes
    Body,
}

impl ExerciseOptions {
    fn config(&self) -> Result<GatewayConfig, BadInput> {
        let rule: TypeRule = format!("0={}", self.threshold)
            .parse()
            .map_err(|_| BadInput::of("--threshold", &self.threshold, "give METRES,DEGREES such as 1,3"))?;
        let thresholds: Thresholds = rule.thresholds;
        let rules: Result<Vec<TypeRule>, _> =
            self.types.iter().map(|text| text.parse::<TypeRule>()).collect();
        Ok(GatewayConfig {
            exercise: self.exercise,
            thresholds,
            rules: rules.map_err(|error| BadInput(format!("--type: {error}")))?,
            reading: match self.model_8 {
                Reading::World => AccelerationReading::Inertial,
                Reading::Body => AccelerationReading::BodyRate,
            },
            ..GatewayConfig::default()
        })
    }
}

/// Returns an instant of a recording or of a socket on the clock that tools use: UTC itself.
fn local(unix_us: i64) -> LocalInstant {
    LocalInstant::from_micros(unix_us)
}
