use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use fairpath_dis::frame::Geodetic;
use fairpath_dis::{
    Application, Counters, Exchange, Fineness, Gateway, GatewayConfig, Passing, SiteFilter, net,
};
use fairpath_net::{NetClient, NetServer, Trust};
use serde_json::json;

use super::{ExerciseOptions, NetworkOptions};
use crate::live::{SummaryOptions, address, pinned};
use crate::{BadInput, print};

/// Connect a DIS network with a Fairpath session
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Run the session's server on this address, and join it
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "join", required_unless_present = "join")]
    serve: Option<String>,
    /// Join the session at this address, where another gateway runs with --serve
    #[arg(long, value_name = "HOST:PORT", requires = "pin")]
    join: Option<String>,
    /// The fingerprint that the serving gateway prints
    #[arg(long, value_name = "FINGERPRINT")]
    pin: Option<String>,
    /// Middle of the exercise, the same at all gateways: degrees north and east, metres
    #[arg(long, value_name = "LAT,LON[,HEIGHT]", default_value = "0,0,0", allow_hyphen_values = true)]
    origin: String,
    /// Send an entity only when receivers would be off by more than the threshold, in few bytes;
    /// the same at all gateways [default: every PDU, to a centimetre]
    #[arg(long)]
    compact: bool,
    /// The site and application of this gateway, different at all gateways
    #[arg(long, value_name = "SITE:APPLICATION", default_value = "60000:1")]
    own: String,
    /// Pass on only this site or application; may be given several times
    #[arg(long, value_name = "SITE[:APPLICATION]")]
    only: Vec<String>,
    /// Do not pass on this site or application; may be given several times
    #[arg(long, value_name = "SITE[:APPLICATION]")]
    without: Vec<String>,
    /// Write relative time stamps: for a machine whose clock is not synchronised
    #[arg(long)]
    relative: bool,
    #[command(flatten)]
    network: NetworkOptions,
    #[command(flatten)]
    exercise: ExerciseOptions,
    #[command(flatten)]
    reporting: SummaryOptions,
}

const EXAMPLES: &str = "\
Examples:
  fairpath dis gateway --serve 0.0.0.0:7400 --origin 48.1,11.6,520
  fairpath dis gateway --join 192.0.2.7:7400 --pin 5f…e1 --origin 48.1,11.6,520 --own 60001:1
  fairpath dis gateway --join 192.0.2.7:7400 --pin 5f…e1 --to 239.1.2.3 --interface 10.0.0.4

Exit code: 0 ended by --for or Ctrl-C, 2 bad input, or the session cannot be reached.";

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let exchange = self.exchange()?;
        let config = self.config()?;
        let socket = self.network.open()?;
        let protocol = exchange.protocol();
        let server = self.serve(&exchange)?;
        let (to, pin) = match (&server, &self.join, &self.pin) {
            (Some(server), _, _) => (reachable(server.address()), server.fingerprint()),
            (None, Some(join), Some(pin)) => (address("--join", join)?, pinned("--pin", pin)?),
            _ => return Err(BadInput("no session; pass --serve, or --join and --pin".into())),
        };
        let client = NetClient::builder(&protocol)
            .session(|config| exchange.set_up_client(config))
            .join(to, Trust::Pinned(vec![pin]))?;
        let mut gateway = Gateway::new(config, &exchange);
        let end = self.reporting.end()?;
        let mut was_connected = false;
        net::run(
            &mut gateway,
            &client,
            server.as_ref(),
            &socket,
            || end.is_here(),
            |gateway| {
                while let Some(problem) = client.poll_problem() {
                    print::note!("session: {problem}");
                }
                let is_connected = client.frame(|game| game.is_connected());
                if is_connected != was_connected {
                    was_connected = is_connected;
                    print::note!("session: {}", if is_connected { "connected" } else { "not connected" });
                }
                if !self.reporting.json {
                    print::note!("{}", line(gateway));
                }
            },
        );
        if self.reporting.json {
            let session = client.status().session;
            let (here, there) = gateway.entities();
            let summary = json!({
                "entities_here": here,
                "entities_there": there,
                "counters": counters_as_json(gateway.counters()),
                "session_bytes_sent": session.bytes_sent,
                "session_bytes_received": session.bytes_received,
            });
            print::to_stdout(&format!("{summary}\n"))?;
        }
        client.leave(Duration::from_millis(500));
        Ok(ExitCode::SUCCESS)
    }

    fn exchange(&self) -> Result<Exchange, BadInput> {
        let origin =
            self.origin.parse::<Geodetic>().map_err(|error| BadInput(format!("--origin: {error}")))?;
        let fineness = if self.compact { Fineness::Compact } else { Fineness::Exact };
        Ok(Exchange { origin, fineness })
    }

    fn config(&self) -> Result<GatewayConfig, BadInput> {
        let own = self.own.parse::<Application>().map_err(|error| BadInput(format!("--own: {error}")))?;
        let filters = |texts: &[String]| -> Result<Vec<SiteFilter>, BadInput> {
            texts.iter().map(|text| Ok(text.parse::<SiteFilter>()?)).collect()
        };
        Ok(GatewayConfig {
            own,
            accept: filters(&self.only)?,
            refuse: filters(&self.without)?,
            passing: if self.compact { Passing::Triggered } else { Passing::OneToOne },
            stamps_are_absolute: !self.relative,
            ..self.exercise.config()?
        })
    }

    fn serve(&self, exchange: &Exchange) -> Result<Option<NetServer<fairpath::Vec3>>, BadInput> {
        let Some(listen) = &self.serve else { return Ok(None) };
        let server = NetServer::builder(&exchange.protocol())
            .session(|config| exchange.set_up_server(config))
            .listen(address("--serve", listen)?)?;
        print::note!("session on {}\npin {}", server.address(), server.fingerprint());
        Ok(Some(server))
    }
}

/// An address that listens everywhere is reached on the loopback.
fn reachable(mut address: std::net::SocketAddr) -> std::net::SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    address
}

fn line(gateway: &Gateway) -> String {
    let ((here, there), counters) = (gateway.entities(), gateway.counters());
    let Counters { received, sent, echoes, foreign, filtered, excess, refused, .. } = counters;
    let bad: u64 = counters.errors.values().sum();
    let mut line = format!("{here} entities here, {there} there; {received} PDUs in, {sent} out");
    for (count, what) in [
        (*filtered, "filtered"),
        (*echoes, "own echoes"),
        (*foreign, "of a second gateway or network path"),
        (*excess, "too many"),
        (*refused, "refused by the session"),
        (bad, "unreadable"),
    ] {
        if count > 0 {
            line.push_str(&format!(", {count} {what}"));
        }
    }
    line
}

fn counters_as_json(counters: &Counters) -> serde_json::Value {
    let errors: serde_json::Map<String, serde_json::Value> =
        counters.errors.iter().map(|(error, count)| (error.to_string(), json!(count))).collect();
    json!({
        "received": counters.received,
        "sent": counters.sent,
        "echoes": counters.echoes,
        "foreign": counters.foreign,
        "filtered": counters.filtered,
        "excess": counters.excess,
        "vectors": counters.vectors,
        "calls_out": counters.calls_out,
        "calls_in": counters.calls_in,
        "refused": counters.refused,
        "timed_out": counters.timed_out,
        "errors": errors,
    })
}
