//! Goal: several clients play one game to its end: a host starts, a countdown runs, bots fill the
//! other seats, somebody wins, and the recording replays to the bit. Method: tables in virtual
//! time; the clients' hands are bots of the test, or rest.

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::session::ClientId;
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath_compensate::{Epoch, Reply, Simulate};
use fairpath_games::ethereal::{self, Ethereal};
use fairpath_games::online::{
    ClientGame, InputOf, Phase, SharedEthereal, SharedGame, SharedRace, SharedSailing, SharedTanks, Standing,
    Table, TableScene, WireState, read_input, read_reply, write_input, write_reply,
};
use fairpath_games::race::{self, DrivingPlan, Race, Style};
use fairpath_games::sailing::{self, Sailing, SailingConfig, Trim, Wind};
use fairpath_games::shared::InputLog;
use fairpath_games::tanks::{self, Tanks, Temperament};

const ONE: ClientId = ClientId(1);
const OTHER: ClientId = ClientId(2);
const THIRD: ClientId = ClientId(3);

/// A table and the hands of its clients, in virtual time.
struct Party<G: SharedGame> {
    table: Table<G>,
    now: SharedInstant,
}

impl<G: SharedGame> Party<G> {
    fn new(game: G, clients: &[ClientId]) -> Self {
        let mut table = Table::new(game, 7).expect("sound rules");
        for client in clients {
            assert!(table.join(*client));
        }
        Self { table, now: SharedInstant::ZERO }
    }

    /// Plays `secs`, or until the game is over; each client sends what `hands` says in every frame.
    fn play(
        &mut self,
        secs: i64,
        clients: &[ClientId],
        mut hands: impl FnMut(&Table<G>, ClientId) -> InputOf<G>,
    ) {
        let end = self.now + Span::from_secs(secs);
        while self.now < end && self.table.phase() != Phase::Over {
            self.now += Span::from_micros(16_667);
            for client in clients {
                let input = hands(&self.table, *client);
                let stamp = LocalInstant::from_micros(self.now.as_micros());
                let (stamp, input) = read_input(&write_input(stamp, input)).expect("what was written");
                self.table.receive(*client, stamp, input);
            }
            self.table.play(self.now);
            while self.table.poll_reply().is_some() {}
        }
    }
}

fn rest<G: SharedGame>(_: &Table<G>, _: ClientId) -> InputOf<G> {
    InputOf::<G>::default()
}

/// Drives a client's car as a bot does.
struct RaceHands(Vec<(ClientId, u32, race::Bot)>);

impl RaceHands {
    fn of(table: &Table<SharedRace>, clients: &[ClientId]) -> Self {
        let car = table.game().config().car;
        let hands = clients.iter().zip(0..).map(|(client, seat)| {
            let plan = DrivingPlan::new(table.game().track(), &car, Style::ALL[seat as usize]);
            (*client, seat, race::Bot::new(plan.into(), car, Random::from_seed(seat.into())))
        });
        Self(hands.collect())
    }

    fn drive(&mut self, table: &Table<SharedRace>, client: ClientId) -> race::Input {
        let Some((_, seat, bot)) = self.0.iter_mut().find(|(own, ..)| *own == client) else {
            return race::Input::IDLE;
        };
        let game = table.game();
        match bot.is_looking(game.now()).then(|| game.look(EntityId(*seat))).flatten() {
            Some(view) => bot.drive(game.track(), &view),
            None => bot.held(game.now()),
        }
    }
}

#[test]
fn two_clients_and_two_bots_race_to_the_finish_and_the_recording_replays_to_the_bit() {
    let clients = [ONE, OTHER];
    let mut party = Party::new(SharedRace::on_road_of(3, 1), &clients);
    let mut hands = RaceHands::of(&party.table, &clients);
    party.play(2, &clients, rest);
    assert_eq!(party.table.phase(), Phase::Gathering);
    assert_eq!(party.table.game().tick(), 0, "no car moves before the start");
    assert!(party.table.start(ONE));
    party.play(2, &clients, rest);
    assert!(matches!(party.table.phase(), Phase::Countdown { ticks: 55..=65 }), "{:?}", party.table.phase());
    party.play(300, &clients, |table, client| hands.drive(table, client));
    assert_eq!(party.table.phase(), Phase::Over);
    let scene = party.table.scene(1);
    let winner = scene.winner.expect("somebody was first");
    assert_eq!(scene.standings[0], Standing { seat: winner, score: 1 });
    assert_eq!(scene.standings.len(), 4);
    let finished = |seat: u32| !scene.game.cars[seat as usize].is_racing();
    assert!(finished(0) && finished(1), "both clients reached the finish");
    let trace = party.table.take_recording().expect("every game is recorded");
    assert!(party.table.take_recording().is_none(), "once");
    let log = InputLog::<Race>::from_trace(party.table_course(), &trace).expect("from tick zero");
    assert_eq!(log.replay().expect("sound rules").finish().digest(), party.table.game().digest());
}

impl Party<SharedRace> {
    fn table_course(&self) -> race::Course {
        race::Course {
            track: std::sync::Arc::clone(self.table.game().track()),
            config: *self.table.game().config(),
        }
    }
}

#[test]
fn only_the_host_starts_and_the_next_is_host_when_it_leaves() {
    let mut party = Party::new(SharedRace::on_road_of(3, 1), &[ONE, OTHER]);
    assert!(!party.table.start(OTHER), "not the host");
    assert!(!party.table.start(THIRD), "not at the table");
    party.table.leave(ONE);
    assert!(party.table.start(OTHER));
    assert!(!party.table.start(OTHER), "it is about to begin");
    let scene = party.table.scene(1);
    assert!(scene.is_host() && scene.clients == 0b10, "{scene:?}");
}

#[test]
fn a_late_client_takes_a_bots_seat_and_a_bot_the_seat_of_one_that_leaves() {
    let mut party = Party::new(SharedRace::on_road_of(3, 9), &[ONE]);
    assert!(party.table.start(ONE));
    party.play(8, &[ONE], rest);
    let moved =
        |party: &Party<SharedRace>, seat: u32| party.table.game().distance(EntityId(seat)).expect("a car");
    assert!(moved(&party, 1) > moved(&party, 0) + 10.0, "bots drive, resting hands do not");
    assert!(party.table.join(OTHER));
    party.play(8, &[ONE, OTHER], rest);
    let speed = |party: &Party<SharedRace>| party.table.game().cars()[1].state().signed_speed();
    let rolling = speed(&party);
    assert!(rolling < 6.0, "the late client rests in seat 1: {rolling} m/s");
    party.table.leave(OTHER);
    party.play(5, &[ONE], rest);
    assert!(speed(&party) > rolling + 4.0, "a bot drives on: {} m/s after {rolling}", speed(&party));
    for client in 10..=12 {
        assert!(party.table.join(ClientId(client)));
    }
    assert!(!party.table.join(THIRD), "four seats");
}

#[test]
fn a_silent_clients_seat_is_given_away_and_the_next_game_is_another() {
    let mut party = Party::new(SharedRace::on_road_of(3, 1), &[ONE, OTHER]);
    party.play(6, &[ONE], rest);
    assert_eq!(party.table.members(), 1, "OTHER was silent for more than four seconds");
    assert_eq!(party.table.host(), Some(ONE));
}

/// Tanks: the hands of two clients on both teams are bots, flags are brought home or time ends it.
#[test]
fn two_clients_play_tanks_to_the_score_and_the_recording_replays_to_the_bit() {
    let clients = [ONE, OTHER];
    let game = SharedTanks { captures: 1, time: Span::from_secs(240), ..SharedTanks::default() };
    let rules = game.rules.clone();
    let mut party = Party::new(game, &clients);
    let mut hands: Vec<tanks::Bot> =
        [3, 4].map(|seed| tanks::Bot::new(Temperament::ALL[0], Random::from_seed(seed))).into();
    assert!(party.table.start(ONE));
    party.play(300, &clients, |table: &Table<SharedTanks>, client| {
        let (seat, game) = (client.0 - 1, table.game());
        let bot = &mut hands[seat as usize];
        match bot.is_looking(game.now()).then(|| game.look(EntityId(seat))).flatten() {
            Some(view) => bot.drive(game.map(), &view),
            None => bot.held(game.now()),
        }
    });
    assert_eq!(party.table.phase(), Phase::Over);
    let scene = party.table.scene(0);
    let [red, blue] = scene.game.scores;
    assert_eq!(scene.winner, (red != blue).then_some(u32::from(blue > red)), "{red:?} {blue:?}");
    assert!(red.1 + blue.1 > 0, "somebody was hit: {red:?} {blue:?}");
    let trace = party.table.take_recording().expect("every game is recorded");
    let log = InputLog::<Tanks>::from_trace(rules, &trace).expect("from tick zero");
    assert_eq!(log.replay().expect("sound rules").finish().digest(), party.table.game().digest());
    assert!(party.table.start(ONE), "and again");
    assert_eq!(party.table.game().tick(), 0);
}

/// Ethereal: two clients run and shoot as bots do, until a team has the points.
#[test]
fn two_clients_play_ethereal_to_the_points_and_the_recording_replays_to_the_bit() {
    let clients = [ONE, OTHER];
    let game = SharedEthereal::to_points(3).expect("sound rules");
    let rules = game.config().clone();
    let mut party = Party::new(game, &clients);
    let mut hands: Vec<(ethereal::Bot, ethereal::Input)> = [3, 4]
        .map(|seed| {
            let dice = Random::from_seed(seed);
            (
                ethereal::Bot::new(ethereal::Temperament::ALL[0], dice.fork(0), dice.fork(1)),
                ethereal::Input::IDLE,
            )
        })
        .into();
    assert!(party.table.start(ONE));
    party.play(300, &clients, |table: &Table<SharedEthereal>, client| {
        let (seat, game) = (client.0 - 1, table.game());
        let (bot, held) = &mut hands[seat as usize];
        if let Some(view) = bot.is_looking(game.tick()).then(|| game.look(EntityId(seat))).flatten() {
            *held = bot.play(game.map(), &view);
        }
        *held
    });
    assert_eq!(party.table.phase(), Phase::Over);
    let scene = party.table.scene(0);
    assert!(scene.winner.is_some() && scene.standings[0].score > 0, "{:?}", scene.standings);
    let trace = party.table.take_recording().expect("every game is recorded");
    let log = InputLog::<Ethereal>::from_trace(rules, &trace).expect("from tick zero");
    assert_eq!(log.replay().expect("sound rules").finish().digest(), party.table.game().digest());
    let legs = party.table.rules().legs();
    travels(&party.table, &legs);
}

/// Sailing: one client trims well, one badly, two bots sail; all wait for the last client.
#[test]
fn two_clients_sail_to_the_buoy_and_the_recording_replays_to_the_bit() {
    let clients = [ONE, OTHER];
    let rules = SailingConfig { boats: 4, wind: Wind::random(), ..SailingConfig::default() };
    let mut party = Party::new(SharedSailing { rules: rules.clone(), trim: Trim::Simple }, &clients);
    let mut hands: Vec<sailing::Agent> = [Trim::Optimal, Trim::Simple].map(sailing::Agent::new).into();
    assert!(party.table.start(ONE));
    let own = rules.clone();
    party.play(600, &clients, |table: &Table<SharedSailing>, client| {
        let (seat, scene) = (client.0 as usize - 1, table.game().scene());
        hands[seat].sail(&own, scene.now(), scene, seat)
    });
    assert_eq!(party.table.phase(), Phase::Over);
    let scene = party.table.scene(0);
    assert!(scene.winner.is_some());
    assert!(scene.game.boats[..2].iter().all(|boat| boat.finished_at.is_some()), "both clients are home");
    let trace = party.table.take_recording().expect("every game is recorded");
    let log = InputLog::<Sailing>::from_trace(rules, &trace).expect("from tick zero");
    assert_eq!(log.replay().expect("sound rules").finish().digest(), party.table.game().digest());
    let helm = party.table.rules().helm();
    travels(&party.table, &helm);
}

#[test]
fn what_a_client_presses_in_a_tank_arrives_with_its_trigger() {
    let input = tanks::Input::drive(0.5, -1.0).firing(true);
    assert_eq!(read_input(&write_input(LocalInstant::ZERO, input)), Ok((LocalInstant::ZERO, input)));
}

fn reply<S>(state: S) -> Reply<S> {
    Reply { epoch: Epoch(1), tick: 5, state, acknowledged: None, applied: Span::ZERO }
}

/// Scenes travel with every bit, in one datagram; cut or bent ones are refused or harmless.
fn travels<G>(table: &Table<G>, rules: &G::Rules)
where
    G: SharedGame + ClientGame<Scene = TableScene<<G as SharedGame>::Scene>>,
    <G as SharedGame>::Scene: WireState,
    <G as ClientGame>::Input: Default,
{
    let scene = table.scene(1);
    let bytes = write_reply(&reply(scene.clone()));
    assert!(bytes.len() < 1_100, "{} bytes", bytes.len());
    assert_eq!(read_reply::<TableScene<<G as SharedGame>::Scene>>(&bytes), Ok(reply(scene)));
    let mut random = Random::from_seed(4);
    for _ in 0..2_000 {
        let mut bent = bytes.clone();
        for _ in 0..=random.below(3) {
            let place = random.below(bent.len() as u64) as usize;
            bent[place] = random.bits() as u8;
        }
        bent.truncate(bent.len() - random.below(2) as usize);
        if let Ok(mut read) = read_reply::<TableScene<<G as SharedGame>::Scene>>(&bent) {
            rules.step(&mut read.state, &<G as ClientGame>::Input::default(), 2);
            let _ = G::own(&read.state);
        }
    }
}

#[test]
fn scenes_travel_and_strangers_bytes_do_no_harm() {
    let mut race = Party::new(SharedRace::on_road_of(3, 1), &[ONE, OTHER]);
    race.table.start(ONE);
    race.play(10, &[ONE, OTHER], rest);
    let wheel = race.table.rules().wheel();
    travels(&race.table, &wheel);
    let mut tanks = Party::new(SharedTanks::default(), &[ONE, OTHER]);
    tanks.table.start(ONE);
    tanks.play(40, &[ONE, OTHER], rest);
    let tracks = tanks.table.rules().tracks();
    travels(&tanks.table, &tracks);
}

/// What a client predicts of its own tank in the open is what the game does.
#[test]
fn a_client_predicts_its_own_tank() {
    let mut party = Party::new(SharedTanks::default(), &[ONE]);
    party.table.start(ONE);
    party.play(4, &[ONE], rest);
    let tracks = party.table.rules().tracks();
    let mut predicted = party.table.scene(0);
    let before = predicted.game.tanks[0].position;
    let begun = party.table.game().tick();
    let input = tanks::Input::drive(1.0, 0.3);
    party.play(1, &[ONE], |_, _| input);
    let ticks = party.table.game().tick() - begun;
    tracks.step(&mut predicted, &input, ticks as u32);
    let truth = party.table.scene(0).game.tanks[0];
    use fairpath::vector::Vector;
    assert!(truth.position.distance(before) > 10.0, "it drove: {truth:?}");
    let off = truth.position.distance(predicted.game.tanks[0].position);
    assert!(off < 1.0, "off by {off}");
}
