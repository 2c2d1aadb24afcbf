//! A bad network between the client and its server, for tests and for looking at the game.

use std::net::ToSocketAddrs;
use std::time::Instant;

use bevy_app::{App, PreUpdate};
use bevy_ecs::prelude::*;
use fairpath_net::middleman::{ClientSelector, Directions, LinkConfig, Middleman, MiddlemanConfig};

use crate::plugin::FairpathSystems;
use crate::warnings::{FairpathWarnings, Misuse};

/// Makes the network of this client worse: a proxy in this process delays and loses its packets.
///
/// Insert it before the client connects. Change it at any time: the link follows at once. Compiled
/// with the feature `conditioner` only, so that a released game does not contain it.
///
/// ```
/// use bevy_fairpath::{LinkConditioner, LinkConfig};
///
/// let fixed = LinkConditioner::preset("mobile").expect("a preset");
/// // Fine for ten seconds, then half around the world.
/// let script = LinkConditioner::new(LinkConfig::lan()).then(10.0, LinkConfig::intercontinental());
/// # let _ = (fixed, script);
/// ```
#[derive(Resource, Debug)]
pub struct LinkConditioner {
    /// The link in both directions: the delay is one way.
    pub link: LinkConfig,
    /// Later links, each with its second after the client connected.
    script: Vec<(f64, LinkConfig)>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    middleman: Middleman,
    since: Instant,
    applied: LinkConfig,
}

impl LinkConditioner {
    /// The names of the presets.
    pub const PRESETS: [&'static str; 6] = LinkConfig::NAMES;

    /// Returns a conditioner with this link.
    pub fn new(link: LinkConfig) -> Self {
        Self { link, script: Vec::new(), running: None }
    }

    /// Returns a conditioner with one of [`PRESETS`](Self::PRESETS).
    pub fn preset(name: &str) -> Option<Self> {
        LinkConfig::by_name(name).map(Self::new)
    }

    /// Changes the link some seconds after the client begins to connect.
    #[must_use]
    pub fn then(mut self, secs: f64, link: LinkConfig) -> Self {
        let place = self.script.partition_point(|(earlier, _)| *earlier <= secs);
        self.script.insert(place, (secs, link));
        self
    }
}

/// Starts the proxy, and returns its address for the server's.
pub(crate) fn in_front_of(world: &mut World, address: &str) -> Result<String, String> {
    let Some(mut conditioner) = world.get_resource_mut::<LinkConditioner>() else {
        return Ok(address.into());
    };
    let server = address.to_socket_addrs().map_err(|error| format!("cannot join {address}: {error}"))?.next();
    let server = server.ok_or_else(|| format!("cannot join {address}: the name has no address"))?;
    let listen = if server.is_ipv6() { "[::1]:0" } else { "127.0.0.1:0" };
    let listen = listen.parse().map_err(|_| "no loopback address".to_owned())?;
    let config = MiddlemanConfig::between(listen, server).both_ways(conditioner.link.clone());
    let middleman =
        Middleman::start(config).map_err(|error| format!("cannot start the conditioner: {error}"))?;
    let address = middleman.address().to_string();
    let applied = conditioner.link.clone();
    conditioner.running = Some(Running { middleman, since: Instant::now(), applied });
    Ok(address)
}

pub(crate) fn build(app: &mut App) {
    app.add_systems(PreUpdate, follow.before(FairpathSystems::Receive));
}

/// Applies the script and changes of the resource.
fn follow(conditioner: Option<ResMut<LinkConditioner>>, mut warnings: ResMut<FairpathWarnings>) {
    let Some(mut conditioner) = conditioner else { return };
    let LinkConditioner { link, script, running } = conditioner.bypass_change_detection();
    let Some(running) = running else { return };
    let now = running.since.elapsed().as_secs_f64();
    while script.first().is_some_and(|(secs, _)| *secs <= now) {
        *link = script.remove(0).1;
    }
    if running.applied != *link {
        let changed =
            running.middleman.change(ClientSelector::All, Directions::Both, |of| *of = link.clone());
        if let Err(error) = changed {
            warnings.once_each(Misuse::Setting, format!("the link is not changed: {error}"));
        }
        running.applied = link.clone();
    }
}
