use clap::Args;
use crossterm::style::Color;
use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::session::ClientId;
use fairpath::time::{LocalInstant, SharedInstant, Span, TickRate};
use fairpath::vector::Vec2;
use fairpath_games::online::{ClientGame, Phase, SharedRace, SharedRacePredictor, Table, TableScene};
use fairpath_games::race::{Bot, DrivingPlan, Input, RaceConfig, RaceScene, Style, TICK_RATE};
use fairpath_games::shared::RoundTrip;

use super::canvas::TextCanvas;
use super::link::GameLink;
use super::terminal::Key;
use super::{Common, Playable};
use crate::BadInput;

pub(super) const HELP: &str = "Keys: up is the throttle, down the brake, left and right steer; space begins, for the host.\n\
    The road follows from --seed: give the server's. Bots drive the cars that nobody drives.\n\n\
    Example:\n  fairpath play race\n  fairpath play race --laps 3 --lag 200 --compensate on\n  \
    fairpath play race --connect 127.0.0.1:7777 --pin FINGERPRINT --compensate on";

#[derive(Args)]
pub(crate) struct RaceOptions {
    #[command(flatten)]
    common: Common,
    /// The number of laps; a server decides for itself
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    laps: u32,
}

impl RaceOptions {
    pub(super) fn game(self) -> Result<RacePlayer, BadInput> {
        RacePlayer::new(self.laps, self.common)
    }
}

/// Both ends of a race, and the keys between them.
pub(super) struct RacePlayer {
    common: Common,
    game: SharedRace,
    rules: SharedRacePredictor,
    /// The server in this process, where [`OWN`] plays alone with bots.
    table: Table<SharedRace>,
    link: GameLink<SharedRacePredictor>,
    bot: Option<Bot>,
    pedals: Pedals,
    now: SharedInstant,
}

/// Terminals report no key release, so a press holds for a while.
#[derive(Clone, Copy, Default)]
struct Pedals {
    throttle_until: SharedInstant,
    brake_until: SharedInstant,
    steer: f64,
    steer_until: SharedInstant,
}

const OWN: ClientId = ClientId(0);
/// How long a press holds: the throttle longer than the wheel, because it is kept down.
const PEDAL_HOLD: Span = Span::from_millis(600);
const STEER_HOLD: Span = Span::from_millis(150);
const STEER: f64 = 0.5;
/// Metres per column of the picture; a row is twice as high and stands for twice that.
const METRES_PER_COLUMN: f64 = 1.5;

impl RacePlayer {
    fn new(laps: u32, common: Common) -> Result<Self, BadInput> {
        let game = SharedRace::on_road_of(common.seed, laps);
        let rules = game.wheel();
        let refused = || BadInput::of("--laps", &laps.to_string(), "give another number");
        let mut table = Table::new(game.clone(), common.seed).ok_or_else(refused)?;
        table.join(OWN);
        let scene = if common.online.connect.is_some() { rules.waiting() } else { table.scene(0) };
        let far = common.online.far_end::<SharedRace>(&scene)?;
        let way = RoundTrip::new(
            common.round_trip(),
            common.compensates(),
            TICK_RATE,
            Input::IDLE,
            scene,
            <SharedRace as ClientGame>::own,
        );
        let link = GameLink::new(way, far, common.compensates());
        let bot = common.bot.then(|| {
            let car = RaceConfig::default().car;
            let plan = DrivingPlan::new(game.track(), &car, Style::ALL[0]);
            Bot::new(plan.into(), car, Random::from_seed(common.seed))
        });
        let (pedals, now) = (Pedals::default(), SharedInstant::ZERO);
        Ok(Self { common, game, rules, table, link, bot, pedals, now })
    }

    fn start(&mut self) {
        if !self.link.start() {
            self.table.start(OWN);
        }
    }

    fn hands(&mut self) -> Input {
        let Self { bot: Some(bot), link, game, .. } = self else {
            let is_held = |until: SharedInstant| f64::from(u8::from(self.now < until));
            let Pedals { throttle_until, brake_until, steer, steer_until } = self.pedals;
            return Input {
                throttle: is_held(throttle_until),
                brake: is_held(brake_until),
                steer: steer * is_held(steer_until),
            };
        };
        let TableScene { seat, game: scene, .. } = link.shown();
        let race = scene.resume(game.track(), game.course().config);
        match bot.is_looking(race.now()).then(|| race.look(EntityId(*seat))).flatten() {
            Some(view) => bot.drive(race.track(), &view),
            None => bot.held(race.now()),
        }
    }
}

impl Playable for RacePlayer {
    const TICK_RATE: TickRate = TICK_RATE;

    fn press(&mut self, key: Key) {
        let now = self.now;
        match key {
            Key::Up | Key::Character('w') => self.pedals.throttle_until = now + PEDAL_HOLD,
            Key::Down | Key::Character('s') => {
                self.pedals.brake_until = now + PEDAL_HOLD;
                self.pedals.throttle_until = now;
            }
            Key::Left | Key::Character('a') => {
                (self.pedals.steer, self.pedals.steer_until) = (STEER, now + STEER_HOLD);
            }
            Key::Right | Key::Character('d') => {
                (self.pedals.steer, self.pedals.steer_until) = (-STEER, now + STEER_HOLD);
            }
            Key::Character(' ' | 'r') => self.start(),
            Key::Character(_) | Key::Quit => {}
        }
    }

    fn tick(&mut self, now: SharedInstant) {
        self.now = now;
        let input = self.hands();
        let table = &mut self.table;
        self.link.tick(&self.rules, now, input, |received| {
            table.receive(OWN, LocalInstant::from_micros(now.as_micros()), *received);
            table.play(now);
            table.scene(0)
        });
    }

    fn draw(&self, canvas: &mut TextCanvas) {
        let scene = self.link.shown();
        let lag = self.common.lag_in_words(self.link.status());
        draw_road(canvas, &self.game, &scene.game, self.link.drawn_own().position);
        canvas.text(0, 0, &status(scene, &lag), Color::Reset);
        let row = canvas.height() / 3;
        match scene.phase {
            Phase::Gathering if scene.is_host() => {
                canvas.centred(row, " You are the host: space begins ", Color::Yellow);
            }
            Phase::Gathering => canvas.centred(row, " The host begins ", Color::Yellow),
            Phase::Countdown { ticks } => {
                let left = ticks.div_ceil(TICK_RATE.as_hz());
                canvas.centred(row, &format!(" {left} "), Color::Yellow);
            }
            Phase::Playing => {}
            Phase::Over => {
                canvas.centred(row, &format!(" {} ", result(scene)), Color::Yellow);
                canvas.centred(row + 1, " space: again   q: quit ", Color::Yellow);
            }
        }
    }

    fn farewell(&self) -> String {
        format!("race: {}", result(self.link.shown()))
    }
}

/// The player's rank, from 1; 0 before the first state.
fn rank(scene: &TableScene<RaceScene>) -> usize {
    scene.standings.iter().position(|standing| standing.seat == scene.seat).map_or(0, |place| place + 1)
}

fn status(scene: &TableScene<RaceScene>, lag: &str) -> String {
    let laps = scene.game.cars.get(scene.seat as usize).map_or(0, fairpath_games::race::Car::laps_done);
    let people = scene.clients.count_ones();
    format!(" place {} of {}   laps {laps}   players {people}   {lag}", rank(scene), scene.standings.len())
}

fn result(scene: &TableScene<RaceScene>) -> String {
    match scene.winner {
        Some(winner) if winner == scene.seat => "you win".into(),
        Some(winner) => format!("car {} wins, you are number {}", winner + 1, rank(scene)),
        None => "nobody has finished".into(),
    }
}

/// The walls and the cars around a place; north is up.
fn draw_road(canvas: &mut TextCanvas, game: &SharedRace, scene: &RaceScene, middle: Vec2) {
    let (width, height) = (f64::from(canvas.width()), f64::from(canvas.height()));
    let at = |place: Vec2| {
        let off = place - middle;
        (0.5 * width + off.x / METRES_PER_COLUMN, 0.5 * height - 0.5 * off.y / METRES_PER_COLUMN)
    };
    let is_near = |place: &Vec2| {
        (place.x - middle.x).abs() < width * METRES_PER_COLUMN
            && (place.y - middle.y).abs() < 2.0 * height * METRES_PER_COLUMN
    };
    let walls: [Vec<Vec2>; 2] = [game.track().left_wall().collect(), game.track().right_wall().collect()];
    for wall in &walls {
        for (from, to) in wall.iter().zip(wall.iter().skip(1)).filter(|(from, _)| is_near(from)) {
            canvas.line(at(*from), at(*to), '▒', Color::DarkGrey);
        }
    }
    for car in &scene.cars {
        let motion = car.motion();
        let ahead = Vec2::from_heading(motion.heading) * 2.0;
        let number = char::from_digit(car.id().0 + 1, 36).unwrap_or('?');
        canvas.line(at(motion.position - ahead), at(motion.position + ahead), number, Color::Cyan);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Online, Switch};
    use super::*;

    fn player(bot: bool, lag: u32) -> RacePlayer {
        let common = Common { seed: 3, lag, compensate: Switch::On, bot, online: Online::default() };
        RaceOptions { common, laps: 1 }.game().ok().expect("sound rules")
    }

    fn picture(player: &RacePlayer) -> String {
        let mut canvas = TextCanvas::new(80, 24);
        player.draw(&mut canvas);
        canvas.to_text()
    }

    fn play(player: &mut RacePlayer, from: i64, ticks: i64) {
        for tick in from + 1..=from + ticks {
            player.tick(SharedInstant::ZERO + TICK_RATE.begin(tick));
        }
    }

    #[test]
    fn a_bot_on_a_late_screen_races_three_others_to_the_finish() {
        let mut player = player(true, 100);
        play(&mut player, 0, 60);
        assert!(picture(&player).contains("space begins"), "{}", picture(&player));
        player.press(Key::Character(' '));
        play(&mut player, 60, 60);
        assert!(matches!(player.link.shown().phase, Phase::Countdown { ticks: 100..=180 }));
        play(&mut player, 120, 60 * 200);
        assert!(player.farewell().contains("win"), "{}", player.farewell());
        assert!(picture(&player).contains("again"), "{}", picture(&player));
        player.press(Key::Character(' '));
        play(&mut player, 120 + 60 * 200, 30);
        assert!(!picture(&player).contains("again"));
    }

    #[test]
    fn pedals_are_held_for_a_while() {
        let mut player = player(false, 0);
        player.press(Key::Character(' '));
        play(&mut player, 0, 4 * 60);
        player.press(Key::Up);
        play(&mut player, 240, 60);
        let car = player.table.game().cars()[0].clone();
        assert!(car.state().signed_speed() > 1.0, "{car:?}");
        assert_eq!(car.input(), Input::IDLE, "let go after {PEDAL_HOLD:?}");
    }
}
