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
use fairpath_games::online::{
    CLIENT_SEAT, ClientGame, HostedGame, HostedJetCar, HostedSailing, INPUT, Phase, Room, SharedRace,
    SharedRoom, Table,
};
use fairpath_games::race;

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

    fn guest<G: ClientGame>(&self, scene: G::Scene) -> RemotePlayer<G> {
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

/// Two players on real sockets: only the host's start counts, the countdown runs, and both see the
/// cars of both move.
#[test]
fn two_players_race_on_one_server() {
    let game = SharedRace::on_road_of(3, 1);
    let rules = game.wheel();
    let listen = "127.0.0.1:0".parse().expect("an address");
    let server = bind(listen, Identity::local(&[]).expect("a certificate"), 4).expect("a socket");
    let mut room = SharedRoom::new(Table::new(game, 1).expect("sound rules"));
    let trust = || Trust::Pinned(vec![server.fingerprint()]);
    let player = || {
        RemotePlayer::<SharedRace>::connect(
            server.address(),
            trust(),
            rules.waiting(),
            Convergence::default(),
        )
        .expect("a socket")
    };
    let mut players = [player(), player()];
    let input = race::Input { throttle: 0.3, brake: 0.0, steer: 0.0 };
    let begun = Instant::now();
    let mut until =
        |what: &str, players: &mut [RemotePlayer<SharedRace>; 2], is_seen: &dyn Fn(&[_; 2]) -> bool| {
            loop {
                server.with_session(|session, now| room.frame(session, now));
                let scenes = players.each_mut().map(|player| {
                    let mut seen = None;
                    player.frame(&rules, |player, now| {
                        seen = Some(player.shown(&rules, now, false));
                        input
                    });
                    seen.expect("a frame looks once")
                });
                if is_seen(&scenes) {
                    return scenes;
                }
                assert!(begun.elapsed() < PATIENCE, "{what} never came: {:?}", room.statistics());
                sleep(LOOK_EVERY);
            }
        };
    let scenes = until("two seats", &mut players, &|scenes: &[_; 2]| {
        scenes.iter().all(|scene: &fairpath_games::online::TableScene<race::RaceScene>| scene.clients == 0b11)
    });
    assert_ne!(scenes[0].seat, scenes[1].seat);
    assert!(scenes.iter().all(|scene| scene.phase == Phase::Gathering && scene.game.tick == 0));
    let host = usize::from(scenes[1].is_host());
    players[1 - host].start();
    players[host].start();
    until("a countdown", &mut players, &|scenes: &[_; 2]| {
        scenes.iter().all(|scene| matches!(scene.phase, Phase::Countdown { .. }))
    });
    let scenes = until("moving cars", &mut players, &|scenes: &[_; 2]| {
        let moves = |car: &race::Car| car.state().signed_speed() > 1.0;
        scenes.iter().all(|scene| scene.phase == Phase::Playing && scene.game.cars.iter().all(moves))
    });
    assert_eq!(scenes[0].game.cars.len(), 4, "and two bots");
}
