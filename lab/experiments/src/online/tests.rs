//! Goal: the games run on real sockets: hands arrive, states come back, silence frees the seat,
//! nonsense is sent away. Method: both ends in one process, on the loopback; each test waits for
//! what must come and not for a time, so that a slow machine only makes it last longer.

use std::thread::sleep;
use std::time::{Duration, Instant};

use fairpath::converge::Convergence;
use fairpath::session::{Client, ClientConfig, Delivery};
use fairpath::vector::Vec2;
use fairpath_games::jet_car::{self, JetCar, JetCarConfig};
use fairpath_games::sailing::{self, SailingConfig, SailingPredictor, Trim};
use fairpath_net::{Identity, NetClient, NetClientConfig, NetServer, Trust, unguessable_random};

use super::{CLASSES, LOOK_EVERY, PlayerStatus, RemotePlayer, bind};
use fairpath_games::online::{CLIENT_SEAT, HostedGame, HostedJetCar, HostedSailing, INPUT, Room};

/// Far beyond any stall of a machine that works at all.
const PATIENCE: Duration = Duration::from_secs(60);

struct LoopbackServer<H: HostedGame> {
    server: NetServer<Vec2>,
    room: Room<H>,
}

impl<H: HostedGame> LoopbackServer<H> {
    fn new(game: H) -> Self {
        let listen = "127.0.0.1:0".parse().expect("an address");
        let server = bind(listen, Identity::local(&[]).expect("a certificate"), 4).expect("a socket");
        Self { server, room: Room::new(game, 1) }
    }

    fn trust(&self) -> Trust {
        Trust::Pinned(vec![self.server.fingerprint()])
    }

    fn guest<G: HostedGame>(&self, scene: G::Scene) -> RemotePlayer<G> {
        let remote =
            RemotePlayer::connect(self.server.address(), self.trust(), scene, Convergence::default());
        remote.expect("a socket")
    }

    /// Serves, and lets `turn` act, until it says that it has seen what it waits for.
    fn until(&mut self, what: &str, mut turn: impl FnMut(&Room<H>) -> bool) {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let Self { server, room } = self;
            server.with_session(|session, now| room.frame(session, now));
            if turn(room) {
                return;
            }
            sleep(LOOK_EVERY);
        }
        panic!("{what} never came: {:?}", self.room.statistics());
    }
}

fn jet_car() -> (LoopbackServer<HostedJetCar>, JetCarConfig, jet_car::JetCarScene) {
    let rules = JetCarConfig::default();
    let scene = JetCar::new(rules, 1).expect("sound rules").scene().clone();
    (LoopbackServer::new(HostedJetCar { rules }), rules, scene)
}

#[test]
fn hands_arrive_and_the_screen_is_ahead_of_what_is_heard() {
    let (mut hall, rules, scene) = jet_car();
    let mut guest = hall.guest::<HostedJetCar>(scene);
    let mut ahead = 0;
    hall.until("a moving car", |_| {
        let mut moves = false;
        guest.frame(&rules, |guest, now| {
            let heard = guest.shown(&rules, now, false);
            let shown = guest.shown(&rules, now, true);
            ahead += u32::from(shown.tick > heard.tick);
            moves = heard.car.velocity.x > 0.0;
            jet_car::Input::new(1.0, 0.0)
        });
        moves
    });
    assert!(ahead > 0, "the screen plays on what the server has not seen");
    assert!(matches!(guest.status(), PlayerStatus::Playing(_)), "{:?}", guest.status());
    assert!(guest.heard() > 0);
}

#[test]
fn silence_frees_the_seat_and_who_comes_back_begins_anew() {
    let (mut hall, rules, scene) = jet_car();
    let mut guest = hall.guest::<HostedJetCar>(scene);
    hall.until("a run", |room| {
        guest.frame(&rules, |_, _| jet_car::Input::IDLE);
        room.statistics().runs == 1 && guest.heard() > 0
    });
    let answers = hall.room.statistics().answers;
    hall.until("a free seat", |room| room.statistics().freed == 1);
    assert!(hall.room.statistics().answers >= answers + 4, "silence is padded: {:?}", hall.room.statistics());
    hall.until("another run", |room| {
        let mut tick = u64::MAX;
        guest.frame(&rules, |guest, now| {
            tick = guest.shown(&rules, now, false).tick;
            jet_car::Input::IDLE
        });
        // The old one was four seconds old when it ended.
        room.statistics().runs == 2 && tick < 300
    });
}

#[test]
fn a_race_is_sailed_against_the_server() {
    let rules = SailingConfig::default();
    let helm = SailingPredictor { rules: rules.clone(), seat: CLIENT_SEAT };
    let game = HostedSailing { rules, opponent: Trim::Optimal };
    let scene = game.begin(1).map(|run| HostedSailing::scene(&run).clone()).expect("sound rules");
    let mut hall = LoopbackServer::new(game);
    let mut guest = hall.guest::<HostedSailing>(scene);
    hall.until("two boats under way", |_| {
        let mut sails = false;
        guest.frame(&helm, |guest, now| {
            sails = guest.shown(&helm, now, false).boats.iter().all(|boat| boat.speed > 0.0);
            sailing::Input::new(1.0, 0.0)
        });
        sails
    });
}

#[test]
fn nonsense_is_sent_away_and_the_wrong_game_is_noticed() {
    let (mut hall, rules, scene) = jet_car();
    let session = Client::<Vec2>::new(ClientConfig::new(CLASSES), unguessable_random());
    let liar = NetClient::connect(hall.server.address(), NetClientConfig::new(hall.trust()), session)
        .expect("a socket");
    hall.until("the liar's end", |room| {
        liar.with_session(|session, _| {
            let _ = session.call_server(INPUT, b"let me win", Delivery::Unreliable);
        });
        room.statistics().bad_messages > 0
    });

    let race = HostedSailing { rules: SailingConfig::default(), opponent: Trim::Simple };
    let sea = race.begin(1).map(|run| HostedSailing::scene(&run).clone()).expect("sound rules");
    let mut sailor = hall.guest::<HostedSailing>(sea);
    let helm = SailingPredictor { rules: SailingConfig::default(), seat: CLIENT_SEAT };
    hall.until("the wrong game's name", |_| {
        sailor.frame(&helm, |_, _| sailing::Input::IDLE);
        matches!(sailor.status(), PlayerStatus::Over(words) if words.contains("sailing"))
    });

    let mut guest = hall.guest::<HostedJetCar>(scene);
    hall.until("somebody else's run", |_| {
        guest.frame(&rules, |_, _| jet_car::Input::IDLE);
        guest.heard() > 0
    });
}
