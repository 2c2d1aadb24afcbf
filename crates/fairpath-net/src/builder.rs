//! A server and a client of a game in a line each, with defaults that can all be changed.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use fairpath::schedule::{QueueOrder, Queued, Scheduler};
use fairpath::session::{
    Admission, Budget, Client, ClientConfig, Interceptor, Protocol, Scope, Server, ServerConfig,
};
use fairpath::vector::Planar;

use crate::client::{ConnectError, NetClient, NetClientConfig};
use crate::identity::{Fingerprint, Identity, Trust};
use crate::server::{BindError, NetServer, NetServerConfig};
use crate::{new_epoch, unguessable_random};

/// A server that is about to start: see [`NetServer::builder`].
#[derive(Debug)]
#[must_use = "call listen to start the server"]
pub struct ServerBuilder<V: Planar> {
    identity: Option<Identity>,
    scheduler: Box<dyn Scheduler<V>>,
    config: ServerConfig<V>,
    edits: Vec<Edit<Server<V>>>,
    network: Vec<EditInPlace<NetServerConfig>>,
}

/// A client that is about to start: see [`NetClient::builder`].
#[derive(Debug)]
#[must_use = "call join to start the client"]
pub struct ClientBuilder<V: Planar> {
    config: ClientConfig<V>,
    network: Vec<EditInPlace<NetClientConfig>>,
}

impl<V: Planar> NetServer<V> {
    /// Starts a server of a game on this address, for example `0.0.0.0:7777`, with the defaults of
    /// a [`builder`](Self::builder).
    ///
    /// ```no_run
    /// # use fairpath::{Vec2, session::{Class, Protocol}};
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct Ship;
    /// use fairpath_net::{NetClient, NetServer};
    ///
    /// let game = Protocol::<Vec2>::new("asteroids", 1).class::<Ship>("ship", Class::within(0.2));
    /// let server = NetServer::listen("0.0.0.0:7777", &game)?;
    /// println!("pin {}", server.fingerprint());
    /// // On another machine, with the address and the pin:
    /// let client = NetClient::join("192.0.2.7:7777", server.fingerprint(), &game)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn listen(address: impl ToSocketAddrs, game: &Protocol<V>) -> Result<Self, BindError> {
        Self::builder(game).listen(address)
    }

    /// Returns a server of a game that is about to start. The defaults:
    ///
    /// | what | default | change it with |
    /// | --- | --- | --- |
    /// | certificate and key | [`Identity::stored`] under the game's name, other characters than letters, digits, `-` and `_` replaced by `-` | [`identity`](ServerBuilder::identity) |
    /// | bytes to each client | 32 000 a second ([`Budget`](fairpath::session::Budget)) | [`budget`](ServerBuilder::budget) |
    /// | which updates leave first where bytes are short | those that remove most error ([`QueueOrder`]) | [`order`](ServerBuilder::order) |
    /// | what a client sees | everything | [`scope`](ServerBuilder::scope) |
    /// | checks of clients' updates | none | [`interceptor`](ServerBuilder::interceptor) |
    /// | who may join | every client | [`admission`](ServerBuilder::admission) |
    /// | clients, budget, horizon, epoch (random) … | [`ServerConfig::new`] | [`session`](ServerBuilder::session) |
    /// | limits, congestion, clock … | [`NetServerConfig::new`] | [`network`](ServerBuilder::network) |
    pub fn builder(game: &Protocol<V>) -> ServerBuilder<V> {
        ServerBuilder {
            identity: None,
            scheduler: Box::new(Queued::default()),
            config: ServerConfig::new(game.clone(), new_epoch()),
            edits: Vec::new(),
            network: Vec::new(),
        }
    }
}

impl<V: Planar> ServerBuilder<V> {
    /// Sets the certificate and key. Default: [`Identity::stored`] under the game's name.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Sets how many bytes are sent to each client. Default: 32 000 a second.
    ///
    /// ```no_run
    /// # use fairpath::{Vec2, session::{Budget, Protocol}};
    /// # use fairpath_net::NetServer;
    /// # let game = Protocol::<Vec2>::new("asteroids", 1);
    /// // Half of what sending everything would take, and no more than 16 000 bytes a second.
    /// let budget = Budget { bytes_per_sec: 16_000, ..Budget::share_of_broadcast(0.5) };
    /// let server = NetServer::builder(&game).budget(budget).listen("0.0.0.0:7777")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn budget(self, budget: Budget) -> Self {
        self.session(|config| config.budget = budget)
    }

    /// Sets which updates leave first where a client's budget does not suffice. Default:
    /// [`QueueOrder::ErrorIndex`]. With enough bytes all orders do the same.
    pub fn order(mut self, order: QueueOrder) -> Self {
        self.scheduler = Box::new(Queued::by(order));
        self
    }

    /// Sets a scheduler of the laboratory, whose budget counts DR vectors per trigger. What it does
    /// not send is not sent later, however many bytes are left: games set the
    /// [`budget`](Self::budget) and the [`order`](Self::order) instead.
    pub fn scheduler(mut self, scheduler: impl Scheduler<V> + 'static) -> Self {
        self.scheduler = Box::new(scheduler);
        self
    }

    /// Sets what each client sees. Default: everything.
    pub fn scope(self, scope: impl Scope<V> + 'static) -> Self {
        self.edit("scope", |session| session.with_scope(scope))
    }

    /// Adds a check of clients' updates and claims, such as `SpeedCheck`. Each call adds one more.
    /// Default: none.
    pub fn interceptor(self, interceptor: impl Interceptor<V> + 'static) -> Self {
        self.edit("interceptor", |session| session.with_interceptor(interceptor))
    }

    /// Sets which clients may join. Default: every client.
    pub fn admission(self, admission: impl Admission + 'static) -> Self {
        self.edit("admission", |session| session.with_admission(admission))
    }

    /// Changes the settings of the session.
    pub fn session(mut self, edit: impl FnOnce(&mut ServerConfig<V>)) -> Self {
        edit(&mut self.config);
        self
    }

    /// Changes the settings of the network.
    pub fn network(mut self, edit: impl FnOnce(&mut NetServerConfig) + 'static) -> Self {
        self.network.push(EditInPlace(Box::new(edit)));
        self
    }

    /// Starts the server on this address. With port 0 the system chooses one.
    pub fn listen(self, address: impl ToSocketAddrs) -> Result<NetServer<V>, BindError> {
        let address = resolve(address).map_err(BindError::Address)?;
        let identity = match self.identity {
            Some(identity) => identity,
            None => Identity::stored(&folder_name(self.config.protocol.name()))
                .map_err(BindError::StoredIdentity)?,
        };
        let mut network = NetServerConfig::new(address, identity);
        network.budget = self.config.budget;
        self.network.into_iter().for_each(|edit| (edit.0)(&mut network));
        let session = Server::new(self.config, self.scheduler, unguessable_random());
        let session = self.edits.into_iter().fold(session, |session, edit| (edit.1)(session));
        NetServer::bind(network, session)
    }

    fn edit(mut self, what: &'static str, edit: impl FnOnce(Server<V>) -> Server<V> + 'static) -> Self {
        self.edits.push(Edit(what, Box::new(edit)));
        self
    }
}

impl<V: Planar> NetClient<V> {
    /// Joins a game at this address, whose server has the certificate with this fingerprint. With
    /// the defaults of a [`builder`](Self::builder). Returns before there is a connection.
    pub fn join(
        address: impl ToSocketAddrs,
        pin: Fingerprint,
        game: &Protocol<V>,
    ) -> Result<Self, ConnectError> {
        Self::builder(game).join(address, Trust::Pinned(vec![pin]))
    }

    /// Returns a client of a game that is about to start. The defaults are those of
    /// [`ClientConfig::new`] and [`NetClientConfig::new`].
    pub fn builder(game: &Protocol<V>) -> ClientBuilder<V> {
        ClientBuilder { config: ClientConfig::new(game.clone()), network: Vec::new() }
    }
}

impl<V: Planar> ClientBuilder<V> {
    /// Sets the proof of the player's identity, for the server's [`Admission`]: a
    /// [token](crate::ConnectTokens), for example. Default: none.
    pub fn authentication(self, proof: impl Into<Vec<u8>>) -> Self {
        self.session(|config| config.authentication = proof.into())
    }

    /// Changes the settings of the session.
    pub fn session(mut self, edit: impl FnOnce(&mut ClientConfig<V>)) -> Self {
        edit(&mut self.config);
        self
    }

    /// Changes the settings of the network.
    pub fn network(mut self, edit: impl FnOnce(&mut NetClientConfig) + 'static) -> Self {
        self.network.push(EditInPlace(Box::new(edit)));
        self
    }

    /// Starts to connect to this address, to a server that `trust` accepts.
    pub fn join(self, address: impl ToSocketAddrs, trust: Trust) -> Result<NetClient<V>, ConnectError> {
        let address = resolve(address).map_err(ConnectError::Address)?;
        let mut network = NetClientConfig::new(trust);
        network.budget = self.config.budget;
        self.network.into_iter().for_each(|edit| (edit.0)(&mut network));
        NetClient::connect(address, network, Client::new(self.config, unguessable_random()))
    }
}

/// Returns the name of a game as a folder: letters, digits, `-` and `_`.
fn folder_name(game: &str) -> String {
    let plain = |byte: u8| if byte.is_ascii_alphanumeric() || byte == b'_' { char::from(byte) } else { '-' };
    if game.is_empty() { "fairpath".into() } else { game.bytes().map(plain).collect() }
}

fn resolve(address: impl ToSocketAddrs) -> io::Result<SocketAddr> {
    let none = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    address.to_socket_addrs()?.next().ok_or_else(none)
}

/// A change of a session, and what it sets.
struct Edit<T>(&'static str, Box<dyn FnOnce(T) -> T>);

struct EditInPlace<T>(Box<dyn FnOnce(&mut T)>);

impl<T> std::fmt::Debug for Edit<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl<T> std::fmt::Debug for EditInPlace<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("edit")
    }
}
