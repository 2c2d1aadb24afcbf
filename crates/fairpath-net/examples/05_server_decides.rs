//! Step 5: the server decides. Clients send inputs, predict their own avatars and shoot.
//!
//! A client plays its inputs at once, with the server's own rules, and replays them on every state
//! that the server confirms. It draws other avatars by dead reckoning. The server judges a shot
//! where the shooter saw the target, 150 ms ago, and pushes a target that is hit: its client cannot
//! predict that, and corrects itself.
//!
//! `cargo run -p fairpath-net --features middleman --example 05_server_decides`

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use fairpath::prelude::*;
use fairpath::time::TickRate;
use fairpath_compensate::*;
use fairpath_net::middleman::{LinkConfig, Loss, Middleman, MiddlemanConfig};
use fairpath_net::{Identity, NetClient, NetServer};
use serde::{Deserialize, Serialize};

const RATE: TickRate = TickRate::hz(30);
/// A shot that passes this near hits. In 150 ms an avatar runs three times as far.
const REACH: f64 = 0.5;

#[derive(Serialize, Deserialize)]
struct Avatar(ClientId);

/// What a player does during a tick: the direction to run.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Input(i8, i8);

/// The inputs that are not confirmed yet, with their ticks, after the number of times that the
/// client started its tick count anew.
#[derive(Serialize, Deserialize)]
struct Inputs(u32, Vec<(u64, Input)>);

/// The state of the client's own avatar, and how many ticks early the input of a tick arrived.
#[derive(Serialize, Deserialize)]
struct Confirmed {
    tick: u64,
    position: Vec2,
    margin: Option<(u64, i32)>,
}

/// A shot at a point, and when the shooter saw the target there.
#[derive(Serialize, Deserialize)]
struct Shot(Vec2, SharedInstant);

fn game() -> Protocol<Vec2> {
    Protocol::new("server-decides", 1)
        .class::<Avatar>("avatar", Class::within(0.05).server_only())
        .call::<Inputs>("inputs", Delivery::Newest)
        .call::<Confirmed>("confirmed", Delivery::Newest)
        .call::<Shot>("shot", Delivery::Quickest)
}

fn velocity(Input(x, y): Input) -> Vec2 {
    Vec2::new(f64::from(x), f64::from(y)) * 10.0
}

/// The rules: the same code at the server and in every client's prediction.
struct Rules;

impl Simulate for Rules {
    type State = Vec2;
    type Input = Input;

    fn step(&self, position: &mut Vec2, input: &Input, ticks: u32) {
        (0..ticks).for_each(|_| *position += velocity(*input) * RATE.step_secs());
    }
}

struct Seat {
    client: ClientId,
    avatar: EntityId,
    position: Vec2,
    inputs: InputQueue<Input>,
}

struct Arena {
    seats: Vec<Seat>,
    steps: FixedSteps<SharedInstant>,
    past: TimeWarp<Vec2>,
    hits: u32,
}

impl Arena {
    fn frame(&mut self, game: &mut ServerFrame<'_, Vec2>) -> Result<(), Box<dyn Error>> {
        // Ticks first: an avatar that is created now takes part in later ticks only.
        for tick in self.steps.until(game.now()) {
            let mut moments = Vec::new();
            for Seat { avatar, position, inputs, .. } in &mut self.seats {
                let input = inputs.play().input;
                Rules.step(position, &input, 1);
                let state = State::moving(*position, velocity(input));
                game.observe(*avatar, state, tick.at())?;
                moments.push(Moment { entity: *avatar, life: Default::default(), state });
            }
            self.past.record(tick.at(), moments);
        }
        while let Some(event) = game.poll_event() {
            match event {
                ServerEvent::Joined { client, .. } => {
                    let position = Vec2::new(0.0, 5.0 * self.seats.len() as f64);
                    let state = State::moving(position, Vec2::ZERO);
                    let avatar = game.create(&Avatar(client), state, game.now())?;
                    let inputs = InputQueue::new(0, Padding::new(Input(0, 0)));
                    self.seats.push(Seat { client, avatar, position, inputs });
                }
                ServerEvent::Called { from, call, .. } => {
                    let Some(seat) = self.seats.iter_mut().find(|seat| seat.client == from) else { continue };
                    if let Some(Shot(aim, seen_at)) = call.get() {
                        self.judge(from, aim, seen_at, game.now());
                    } else if let Some(Inputs(alignment, inputs)) = call.get()
                        && seat.inputs.handle_alignment(alignment)
                    {
                        inputs.iter().for_each(|(tick, input)| _ = seat.inputs.receive(*tick, *input));
                    }
                }
                ServerEvent::SessionLost { client, .. } => {
                    self.seats.retain(|seat| seat.client != client || game.destroy(seat.avatar).is_err());
                }
                _ => {}
            }
        }
        for Seat { client, position, inputs, .. } in &mut self.seats {
            let margin = inputs.take_margin().map(|margin| (margin.tick, margin.ticks));
            let confirmed = Confirmed { tick: inputs.next_tick(), position: *position, margin };
            game.call_client(*client, &confirmed)?;
        }
        Ok(())
    }

    /// Judges a shot where the shooter saw the targets. A target that is hit is pushed aside.
    fn judge(&mut self, shooter: ClientId, aim: Vec2, seen_at: SharedInstant, now: SharedInstant) {
        let mut seen = Vec::new();
        let Some(seen_at) = self.past.rewind(now, seen_at, &mut seen) else { return };
        for seat in self.seats.iter_mut().filter(|seat| seat.client != shooter) {
            let target = seen.iter().find(|moment| moment.entity == seat.avatar);
            let then = target.map_or(f64::INFINITY, |target| target.state.position.distance(aim));
            let (now_off, ago) = (seat.position.distance(aim), (now - seen_at).as_millis_f64());
            println!("a shot passed {then:.2} from its target {ago:.0} ms ago; it is {now_off:.2} away now");
            if then < REACH && now_off > REACH {
                self.hits += 1;
                seat.position += Vec2::new(0.0, 3.0);
            }
        }
    }
}

struct Player {
    /// `None` before the first state of the server.
    prediction: Option<FixedTicks<Rules>>,
    metronome: Metronome,
    lead: Lead,
}

impl Player {
    fn frame(&mut self, game: &mut ClientFrame<'_, Vec2>, input: Input) -> Result<(), Box<dyn Error>> {
        while let Some(event) = game.poll_event() {
            let ClientEvent::Called { call, .. } = event else { continue };
            let Some(Confirmed { tick, position, margin }) = call.get() else { continue };
            let snapshot = Snapshot { epoch: Epoch(1), tick, state: position };
            let start = || FixedTicks::new(snapshot, ENTRIES_DEFAULT);
            let prediction = self.prediction.get_or_insert_with(start);
            prediction.accept(&Rules, snapshot);
            if let Some((of_tick, ticks)) = margin {
                self.metronome.nudge(self.lead.report(of_tick, ticks, prediction.tick()));
            }
        }
        let Some(prediction) = &mut self.prediction else { return Ok(()) };
        for _ in 0..self.metronome.poll(game.now()) {
            prediction.advance(&Rules, input);
            // Half a second of inputs: more than a round trip, so that a lost call costs nothing.
            let inputs = prediction.unacknowledged(15).map(|(tick, input)| (tick, *input)).collect();
            game.call_server(&Inputs(prediction.alignment(), inputs))?;
        }
        Ok(())
    }
}

/// Shoots at the avatar of another player, where this client sees it now.
fn shoot(game: &mut ClientFrame<'_, Vec2>) -> Result<(), Box<dyn Error>> {
    let (me, avatars) = (game.id(), game.objects_of::<Avatar>());
    let target = avatars.into_iter().find(|avatar| game.creation(*avatar).map(|Avatar(it)| it) != me);
    let seen = target.and_then(|target| game.draw(target)).zip(game.shared_now());
    Ok(seen.map_or(Ok(()), |(drawn, at)| game.call_server(&Shot(drawn.position, at)))?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = NetServer::builder(&game()).identity(Identity::local(&[])?).listen("127.0.0.1:0")?;
    let link = LinkConfig::default().delay(Span::from_millis(150)).loss(Loss::each(0.05));
    let link = MiddlemanConfig::between("127.0.0.1:0".parse()?, server.address()).both_ways(link);
    let middleman = Middleman::start(link)?;
    let join = || NetClient::join(middleman.address(), server.fingerprint(), &game());
    let clients = [join()?, join()?];
    let player = || Player { prediction: None, metronome: Metronome::new(RATE), lead: Lead::default() };
    let mut players = [player(), player()];
    let past = TimeWarp::new(TimeWarpConfig::default());
    let mut arena = Arena { seats: Vec::new(), steps: FixedSteps::hz(RATE.as_hz()), past, hits: 0 };

    // Both run to and fro, and the first shoots. After two hits they stand until all is confirmed.
    let (mut frames, mut frames_left) = (0, 120);
    while frames_left > 0 {
        let is_over = arena.hits >= 2;
        (frames, frames_left) = (frames + 1, frames_left - i32::from(is_over));
        assert!(frames < 10_000, "no shot hits");
        let input = Input(if is_over { 0 } else { [1, -1][frames / 70 % 2] }, 0);
        server.frame(|game| arena.frame(game))?;
        for (client, player) in clients.iter().zip(&mut players) {
            client.frame(|game| player.frame(game, input))?;
        }
        if !is_over && frames % 45 == 0 {
            clients[0].frame(shoot)?;
        }
        sleep(Duration::from_millis(16));
    }

    for (client, player) in clients.iter().zip(&players) {
        let id = client.frame(|game| game.id());
        let seat = arena.seats.iter().find(|seat| Some(seat.client) == id).expect("joined");
        let predicted = *player.prediction.as_ref().expect("confirmed").predicted();
        println!("the server has {:?}, its client predicts {predicted:?}", seat.position);
        assert!(predicted.distance(seat.position) < 1e-9, "the prediction differs");
    }
    Ok(())
}
