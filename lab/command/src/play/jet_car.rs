use clap::Args;
use crossterm::style::Color;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::vector::{Vec2, Vector};
use fairpath_games::jet_car::{
    Bot, Driver, Input, JetCar, JetCarConfig, JetCarScene, Pace, Skill, TICK_RATE,
};
use fairpath_games::shared::RoundTrip;

use super::canvas::{Area, TextCanvas};
use super::link::GameLink;
use super::terminal::Key;
use super::{Common, Online, Playable};
use crate::BadInput;
use fairpath_games::online::HostedJetCar;

pub(super) const HELP: &str = "Keys: arrows or w a s d fire a thruster, space lets go, r begins again, q quits.\n\
    An obstruction that passes is worth 1, a hit costs 4, a wall costs a car.\n\n\
    Example:\n  fairpath play jet-car\n  fairpath play jet-car --wind --lag 400\n  \
    fairpath play jet-car --lag 400 --compensate on\n  fairpath play jet-car --bot --lag 200\n  \
    fairpath play jet-car --connect 127.0.0.1:7777 --pin FINGERPRINT --compensate on";

#[derive(Args)]
pub(crate) struct JetCarOptions {
    #[command(flatten)]
    common: Common,
    /// Let random wind blow
    #[arg(long)]
    wind: bool,
}

impl JetCarOptions {
    pub(super) fn game(self) -> Result<JetCarPlayer, BadInput> {
        let rules = if self.wind { JetCarConfig::windy() } else { JetCarConfig::default() };
        JetCarPlayer::new(rules, self.common)
    }
}

/// Both ends of a run, and the keys between them.
pub(super) struct JetCarPlayer {
    rules: JetCarConfig,
    common: Common,
    server: JetCar,
    link: GameLink<JetCarConfig>,
    driver: Driver,
    thrusters: [Thruster; 2],
    now: SharedInstant,
    began: SharedInstant,
}

/// One axis of the stick. Terminals report no key release, so a press holds for a while.
#[derive(Clone, Copy, Default)]
struct Thruster {
    push: f64,
    until: SharedInstant,
}

/// How long a press holds. A held key repeats 30 times per second after a pause of 0.25 to 0.5 s:
/// longer than that and short presses are impossible, far shorter and nothing happens in between.
const HOLD: Span = Span::from_millis(180);

impl JetCarPlayer {
    fn new(rules: JetCarConfig, common: Common) -> Result<Self, BadInput> {
        let server = JetCar::new(rules, common.seed)?;
        let driver = if common.bot {
            Driver::Bot(Bot::new(Skill::default(), Random::from_seed(common.seed).fork(u64::MAX)))
        } else {
            Driver::Hands(Input::IDLE)
        };
        let way = RoundTrip::new(
            common.round_trip(),
            common.compensates(),
            TICK_RATE,
            Input::IDLE,
            server.scene().clone(),
            |scene: &JetCarScene| scene.car.state(),
        );
        let far = common.online.far_end::<HostedJetCar>(server.scene())?;
        let link = GameLink::new(way, far, common.compensates());
        let now = SharedInstant::ZERO;
        Ok(Self { rules, common, server, link, driver, thrusters: Default::default(), now, began: now })
    }

    fn again(&mut self) {
        if self.link.again() {
            return;
        }
        let common =
            Common { seed: self.common.seed.wrapping_add(1), online: Online::default(), ..self.common };
        if let Ok(next) = Self::new(self.rules, common) {
            *self = Self { now: self.now, began: self.now, ..next };
        }
    }

    fn fire(&mut self, axis: usize, push: f64) {
        self.thrusters[axis] = Thruster { push, until: self.now + HOLD };
    }
}

impl Playable for JetCarPlayer {
    const TICK_RATE: TickRate = TICK_RATE;

    fn press(&mut self, key: Key) {
        match key {
            Key::Left | Key::Character('a') => self.fire(0, -1.0),
            Key::Right | Key::Character('d') => self.fire(0, 1.0),
            Key::Up | Key::Character('w') => self.fire(1, -1.0),
            Key::Down | Key::Character('s') => self.fire(1, 1.0),
            Key::Character(' ') => self.thrusters = Default::default(),
            Key::Character('r') => self.again(),
            Key::Character(_) | Key::Quit => {}
        }
    }

    fn tick(&mut self, now: SharedInstant) {
        self.now = now;
        if let Driver::Hands(input) = &mut self.driver {
            let [right, down] = self.thrusters.map(|one| if now < one.until { one.push } else { 0.0 });
            *input = Input::new(right, down);
        }
        let on_clock = SharedInstant::ZERO + (now - self.began);
        let input = self.driver.drive(&self.rules, on_clock, self.link.shown());
        let server = &mut self.server;
        self.link.tick(&self.rules, on_clock, input, |received| {
            server.step(*received, 1);
            server.scene().clone()
        });
    }

    fn draw(&self, canvas: &mut TextCanvas) {
        let scene = self.link.shown();
        draw_status(canvas, &self.rules, scene, &self.common.lag_in_words(self.link.status()));
        draw_field(canvas, &self.rules, scene, self.link.drawn_own().position);
        if scene.is_over(&self.rules) {
            let row = canvas.height() / 2;
            canvas.centred(row, &format!(" It is over: {} points ", scene.score), Color::Yellow);
            canvas.centred(row + 1, " r: again   q: quit ", Color::Yellow);
        }
    }

    fn farewell(&self) -> String {
        let scene = if self.link.status().is_some() { self.link.shown() } else { self.server.scene() };
        let JetCarScene { score, lives, .. } = scene;
        let secs = scene.now().as_secs_f64().min(f64::from(self.rules.secs));
        format!("jet car: {score} points and {lives} cars left after {secs:.0} s")
    }
}

fn draw_status(canvas: &mut TextCanvas, rules: &JetCarConfig, scene: &JetCarScene, lag: &str) {
    let left = f64::from(rules.secs) - scene.now().as_secs_f64();
    let status = format!(
        " score {:4}   cars {}   time {:3.0} s   {lag}",
        scene.score,
        "A".repeat(scene.lives as usize),
        left.max(0.0)
    );
    canvas.text(0, 0, &status, Color::Reset);
    if let Some(gust) = scene.gust {
        let wind = format!("wind {}", arrow(Vec2::new(gust.push.x, -gust.push.y)));
        canvas.text(status.chars().count() as i32 + 3, 0, &wind, Color::Cyan);
    }
}

fn draw_field(canvas: &mut TextCanvas, rules: &JetCarConfig, scene: &JetCarScene, car: Vec2) {
    // A character is about twice as high as wide.
    let height = (canvas.height() - 1).max(1);
    let width =
        (canvas.width() - 2).min((2.0 * f64::from(height) * rules.width / rules.height) as i32).max(1);
    let field = Area { left: (canvas.width() - width) / 2, top: 1, width, height };
    for row in 0..height {
        canvas.put(field.left - 1, 1 + row, '█', Color::Red);
        canvas.put(field.left + width, 1 + row, '█', Color::Red);
    }
    for obstruction in &scene.obstructions {
        let (character, colour) = match obstruction.pace {
            Pace::Slow => ('░', Color::DarkGreen),
            Pace::Moderate => ('▒', Color::Green),
            Pace::Fast => ('▓', Color::Yellow),
        };
        let area = area_of(field, rules, obstruction.position, obstruction.extent(rules));
        fill_within(canvas, field, area, character, colour);
    }
    let car = area_of(field, rules, car, Vec2::new(rules.car_size, rules.car_size));
    fill_within(canvas, field, car, 'A', Color::White);
}

/// The cells that something of this size covers.
fn area_of(field: Area, rules: &JetCarConfig, middle: Vec2, size: Vec2) -> Area {
    let column = |x: f64| (x / rules.width * f64::from(field.width)).round() as i32;
    let row = |y: f64| (y / rules.height * f64::from(field.height)).round() as i32;
    let (low, high) = (middle - size * 0.5, middle + size * 0.5);
    Area {
        left: field.left + column(low.x),
        top: field.top + row(low.y),
        width: (column(high.x) - column(low.x)).max(1),
        height: (row(high.y) - row(low.y)).max(1),
    }
}

fn fill_within(canvas: &mut TextCanvas, field: Area, area: Area, character: char, colour: Color) {
    let left = area.left.max(field.left);
    let top = area.top.max(field.top);
    let right = (area.left + area.width).min(field.left + field.width);
    let bottom = (area.top + area.height).min(field.top + field.height);
    canvas.fill(Area { left, top, width: right - left, height: bottom - top }, character, colour);
}

/// Where something goes, as an arrow; y is up.
pub(super) fn arrow(way: Vec2) -> char {
    const ARROWS: [char; 8] = ['→', '↗', '↑', '↖', '←', '↙', '↓', '↘'];
    if way.length() < 1e-6 {
        return '·';
    }
    let eighth = (way.heading() / std::f64::consts::FRAC_PI_4).round() as i32;
    ARROWS[eighth.rem_euclid(8) as usize]
}

#[cfg(test)]
mod tests {
    use super::super::{Online, Switch};
    use super::*;

    fn player(bot: bool, lag: u32) -> JetCarPlayer {
        with(Common { seed: 1, lag, compensate: Switch::Off, bot, online: Online::default() })
    }

    fn with(common: Common) -> JetCarPlayer {
        JetCarOptions { common, wind: true }.game().ok().expect("sound rules")
    }

    fn picture(player: &JetCarPlayer) -> String {
        let mut canvas = TextCanvas::new(80, 24);
        player.draw(&mut canvas);
        canvas.to_text()
    }

    fn play(player: &mut JetCarPlayer, from: i64, ticks: i64) {
        for tick in from + 1..=from + ticks {
            player.tick(SharedInstant::ZERO + TICK_RATE.begin(tick));
        }
    }

    #[test]
    fn the_picture_shows_car_walls_and_what_comes_down() {
        let mut player = player(true, 0);
        play(&mut player, 0, 400);
        let picture = picture(&player);
        assert!(picture.starts_with(" score "), "{picture}");
        assert!(picture.lines().skip(1).all(|line| line.matches('█').count() == 2), "{picture}");
        assert!(picture.contains("AA") && picture.contains(['░', '▒', '▓']), "{picture}");
    }

    #[test]
    fn a_press_pushes_for_a_while_and_arrives_late_over_a_long_way() {
        let mut player = player(false, 200);
        player.press(Key::Right);
        play(&mut player, 0, 10);
        assert_eq!(player.server.scene().car.velocity.x, 0.0, "it is still on its way");
        play(&mut player, 10, 60);
        let pushed = player.server.scene().car.velocity.x;
        let expected = HOLD.as_secs_f64() * player.rules.acceleration();
        assert!((pushed - expected).abs() <= 0.02 * player.rules.acceleration(), "{pushed} of {expected}");
    }

    #[test]
    fn with_compensation_a_press_shows_at_once_and_the_bot_scores_more() {
        let mut hands =
            with(Common { seed: 1, lag: 200, compensate: Switch::On, bot: false, online: Online::default() });
        hands.press(Key::Right);
        play(&mut hands, 0, 5);
        assert!(hands.link.shown().car.velocity.x > 0.0);
        assert_eq!(hands.server.scene().car.velocity.x, 0.0, "it is still on its way");
        assert!(picture(&hands).contains("lag 200 ms, compensated"));

        let score = |compensate| {
            let runs = (1..=4).map(|seed| {
                let mut bot =
                    with(Common { seed, lag: 400, compensate, bot: true, online: Online::default() });
                play(&mut bot, 0, 12_000);
                bot.server.scene().score
            });
            runs.sum::<i32>()
        };
        let (on, off) = (score(Switch::On), score(Switch::Off));
        println!("four runs in wind at 400 ms: {on} points with compensation, {off} without");
        assert!(on > off + 200, "{on} with compensation, {off} without");
    }

    #[test]
    fn it_ends_and_begins_again() {
        let mut player = player(false, 0);
        for tick in 1..=2_000 {
            player.press(Key::Left);
            player.tick(SharedInstant::ZERO + TICK_RATE.begin(tick));
        }
        assert!(picture(&player).contains("It is over"), "{}", picture(&player));
        player.press(Key::Character('r'));
        play(&mut player, 2_000, 10);
        assert!(!picture(&player).contains("It is over"));
        assert_eq!(player.server.scene().tick, 10);
    }

    #[test]
    fn it_draws_on_anything() {
        let player = player(true, 0);
        for (width, height) in [(0, 0), (1, 1), (3, 2), (500, 3), (5, 300)] {
            player.draw(&mut TextCanvas::new(width, height));
        }
    }
}
