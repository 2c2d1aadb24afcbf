use clap::{Args, ValueEnum};
use crossterm::style::Color;
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::vector::{Vec2, Vector};
use fairpath_games::sailing::{
    Agent, Current, Driver, Input, KNOT, Sailing, SailingConfig, SailingPredictor, SailingScene, TICK_RATE,
    Trim, View, Wind, from_south, from_west,
};
use fairpath_games::shared::RoundTrip;

use super::canvas::{Area, TextCanvas};
use super::jet_car::arrow;
use super::link::GameLink;
use super::terminal::Key;
use super::{Common, Online, Playable};
use crate::BadInput;
use fairpath_games::online::HostedSailing;

pub(super) const HELP: &str = "Keys: left and right turn the rudder, down straightens it; w lets the sheet out, s hauls it in;\n\
    with --wind god, i and k raise and calm the wind, j and l turn it; r begins again, q quits.\n\
    A sail drives hardest at half the angle to the wind you feel; one let out too far flaps and does nothing.\n\n\
    Example:\n  fairpath play sailing\n  fairpath play sailing --wind shifts --lag 700 --compensate on\n  \
    fairpath play sailing --wind random --current shifting --bot";

#[derive(Args)]
pub(crate) struct SailingOptions {
    #[command(flatten)]
    common: Common,
    /// What the wind does
    #[arg(long, value_enum, default_value_t = WindKind::West)]
    wind: WindKind,
    /// What the current does
    #[arg(long, value_enum, default_value_t = CurrentKind::None)]
    current: CurrentKind,
    /// The opponent
    #[arg(long, value_enum, default_value_t = Opponent::Simple)]
    opponent: Opponent,
}

#[derive(Clone, Copy, ValueEnum)]
enum WindKind {
    /// 20 knots from the west
    West,
    /// 20 knots from the south
    South,
    /// From the west, after 20 s from the south, and back
    Shifts,
    /// From the west, after 5 s from the south, and back
    QuickShifts,
    /// A random wind every 5 to 20 s
    Random,
    /// You steer the wind
    God,
}

#[derive(Clone, Copy, ValueEnum)]
enum CurrentKind {
    /// The water stands still
    None,
    /// Up to two knots, the same throughout a race
    Constant,
    /// Up to two knots, changing every 10 to 30 s
    Shifting,
}

#[derive(Clone, Copy, ValueEnum)]
enum Opponent {
    /// No opponent
    None,
    /// A boat that keeps each trim that makes it faster
    Simple,
    /// A boat with optimal trim
    Optimal,
}

impl SailingOptions {
    pub(super) fn game(self) -> Result<SailingPlayer, BadInput> {
        let is_online = self.common.online.connect.is_some();
        let wind = match self.wind {
            WindKind::West => Wind::Constant(from_west(20.0)),
            WindKind::South => Wind::Constant(from_south(20.0)),
            WindKind::Shifts => Wind::west_and_south(20.0),
            WindKind::QuickShifts => Wind::west_and_south(5.0),
            WindKind::Random => Wind::random(),
            WindKind::God => Wind::God(from_west(20.0)),
        };
        let current = match self.current {
            CurrentKind::None => Current::None,
            CurrentKind::Constant => Current::Drawn { knots_max: 2.0 },
            CurrentKind::Shifting => Current::shifting(),
        };
        let opponent = match self.opponent {
            Opponent::None => None,
            Opponent::Simple => Some(Trim::Simple),
            Opponent::Optimal => Some(Trim::Optimal),
        };
        // A remote server always provides an opponent.
        let boats = if opponent.is_some() || is_online { 2 } else { 1 };
        let rules = SailingConfig { boats, wind, current, ..SailingConfig::default() };
        SailingPlayer::new(rules, opponent, self.common)
    }
}

pub(super) struct SailingPlayer {
    rules: SailingConfig,
    common: Common,
    opponent: Option<Trim>,
    server: Sailing,
    /// Sails at the server, and sees what is there.
    rival: Option<Agent>,
    helm: SailingPredictor,
    link: GameLink<SailingPredictor>,
    crew: Driver,
    wind_until: SharedInstant,
    now: SharedInstant,
    began: SharedInstant,
}

const OWN: usize = 0;
/// How far a press moves the rudder and the sheet.
const RUDDER_PRESS: f64 = 0.2;
const SHEET_PRESS: f64 = 0.05;
/// How long a press commands the wind.
const WIND_HOLD: Span = Span::from_millis(250);
/// Feet per column of the main view; a row is twice as high and stands for twice that.
const FEET_PER_COLUMN: f64 = 3.0;
/// How large boats are drawn, in feet, from the middle.
const HULL: f64 = 12.0;
const BOOM: f64 = 14.0;

impl SailingPlayer {
    fn new(rules: SailingConfig, opponent: Option<Trim>, common: Common) -> Result<Self, BadInput> {
        let server = Sailing::new(rules.clone(), common.seed)?;
        let hands = Input::new(0.5, 0.0);
        let crew = if common.bot { Driver::Agent(Agent::new(Trim::Optimal)) } else { Driver::Hands(hands) };
        let way = RoundTrip::new(
            common.round_trip(),
            common.compensates(),
            TICK_RATE,
            hands,
            server.scene().clone(),
            |scene: &SailingScene| scene.boats[OWN].state(),
        );
        let far = common.online.far_end::<HostedSailing>(server.scene())?;
        Ok(Self {
            link: GameLink::new(way, far, common.compensates()),
            helm: SailingPredictor { rules: rules.clone(), seat: OWN },
            rival: opponent.map(Agent::new),
            rules,
            common,
            opponent,
            server,
            crew,
            wind_until: SharedInstant::ZERO,
            now: SharedInstant::ZERO,
            began: SharedInstant::ZERO,
        })
    }

    fn again(&mut self) {
        if self.link.again() {
            return;
        }
        let common =
            Common { seed: self.common.seed.wrapping_add(1), online: Online::default(), ..self.common };
        if let Ok(next) = Self::new(self.rules.clone(), self.opponent, common) {
            *self = Self { now: self.now, began: self.now, ..next };
        }
    }

    fn command_wind(&mut self, turn: f64, rise: f64) {
        if let Driver::Hands(input) = &mut self.crew {
            (input.wind_turn, input.wind_rise) = (turn, rise);
            self.wind_until = self.now + WIND_HOLD;
        }
    }
}

impl Playable for SailingPlayer {
    const TICK_RATE: TickRate = TICK_RATE;

    fn press(&mut self, key: Key) {
        if key == Key::Character('r') {
            return self.again();
        }
        if let Driver::Hands(input) = &mut self.crew {
            match key {
                Key::Left | Key::Character('a') => input.rudder = (input.rudder + RUDDER_PRESS).min(1.0),
                Key::Right | Key::Character('d') => input.rudder = (input.rudder - RUDDER_PRESS).max(-1.0),
                Key::Down => input.rudder = 0.0,
                Key::Character('w') => input.sheet = (input.sheet + SHEET_PRESS).min(1.0),
                Key::Character('s') => input.sheet = (input.sheet - SHEET_PRESS).max(0.0),
                _ => {}
            }
        }
        match key {
            Key::Character('j') => self.command_wind(1.0, 0.0),
            Key::Character('l') => self.command_wind(-1.0, 0.0),
            Key::Character('i') => self.command_wind(0.0, 1.0),
            Key::Character('k') => self.command_wind(0.0, -1.0),
            _ => {}
        }
    }

    fn tick(&mut self, now: SharedInstant) {
        self.now = now;
        if let Driver::Hands(input) = &mut self.crew
            && now >= self.wind_until
        {
            (input.wind_turn, input.wind_rise) = (0.0, 0.0);
        }
        let on_clock = SharedInstant::ZERO + (now - self.began);
        let input = self.crew.sail(&self.rules, on_clock, self.link.shown(), OWN);
        let Self { link, helm, server, rival, rules, .. } = self;
        link.tick(helm, on_clock, input, |received| {
            let scene = server.scene();
            let rival = rival.as_mut().map(|agent| agent.sail(rules, scene.now(), scene, OWN + 1));
            server.step(&[*received, rival.unwrap_or_default()], 1);
            server.scene().clone()
        });
    }

    fn draw(&self, canvas: &mut TextCanvas) {
        let mut scene = self.link.shown().clone();
        let drawn = self.link.drawn_own();
        (scene.boats[OWN].position, scene.boats[OWN].heading) = (drawn.position, drawn.orientation);
        let scene = &scene;
        let Some(view) = View::of(scene, &self.rules, OWN) else { return };
        draw_sea(canvas, &view);
        draw_mini_map(canvas, &view);
        draw_status(canvas, &view, scene, &self.common.lag_in_words(self.link.status()));
        if let Some(tick) = view.own.finished_at {
            let secs = tick as f64 * TICK_RATE.step_secs();
            let row = canvas.height() / 2 - 3;
            canvas.centred(
                row,
                &format!(" At the buoy after {secs:.1} s{} ", ranked(scene, tick)),
                Color::Yellow,
            );
            canvas.centred(row + 1, " r: again   q: quit ", Color::Yellow);
        }
    }

    fn farewell(&self) -> String {
        let scene = if self.link.status().is_some() { self.link.shown() } else { self.server.scene() };
        let boat = &scene.boats[OWN];
        match boat.finished_at {
            Some(tick) => {
                let secs = tick as f64 * TICK_RATE.step_secs();
                format!("sailing: at the buoy after {secs:.1} s{}", ranked(scene, tick))
            }
            None => {
                let left = boat.position.distance(self.rules.buoy);
                format!("sailing: {left:.0} ft from the buoy after {:.0} s", scene.now().as_secs_f64())
            }
        }
    }
}

/// How the own race compares with the others', in words.
fn ranked(scene: &SailingScene, tick: u64) -> &'static str {
    let others = scene.boats.iter().skip(1);
    match others.clone().filter_map(|boat| boat.finished_at).min() {
        Some(first) if first < tick => ", second",
        Some(first) if first == tick => ", side by side with the opponent",
        _ if others.count() > 0 => ", first",
        _ => "",
    }
}

fn draw_sea(canvas: &mut TextCanvas, view: &View) {
    let middle = (0.5 * f64::from(canvas.width()), 0.5 * f64::from(canvas.height()));
    let at = |feet: Vec2| (middle.0 + feet.x / FEET_PER_COLUMN, middle.1 - feet.y / (2.0 * FEET_PER_COLUMN));
    let reach = Vec2::new(middle.0 * FEET_PER_COLUMN, middle.1 * 2.0 * FEET_PER_COLUMN);
    let [east, north] = view.grid_lines(reach);
    for x in east {
        canvas.line(at(Vec2::new(x, -reach.y)), at(Vec2::new(x, reach.y)), '·', Color::DarkBlue);
    }
    for y in north {
        canvas.line(at(Vec2::new(-reach.x, y)), at(Vec2::new(reach.x, y)), '·', Color::DarkBlue);
    }
    let block = |canvas: &mut TextCanvas, feet: Vec2, colour: Color| {
        let (column, row) = at(feet);
        let area = Area { left: column.floor() as i32, top: row.floor() as i32, width: 2, height: 1 };
        canvas.fill(area, '█', colour);
    };
    block(canvas, view.buoy, Color::Red);
    for other in &view.others {
        block(canvas, other.position, Color::Green);
    }
    let ahead = Vec2::from_heading(view.own.heading);
    canvas.line(at(ahead * -HULL), at(ahead * HULL), '#', Color::White);
    let (column, row) = at(ahead * HULL);
    canvas.put(column.floor() as i32, row.floor() as i32, 'O', Color::White);
    // Positive is out to starboard, from straight astern.
    let boom = Vec2::from_heading(view.own.heading + std::f64::consts::PI + view.own.sail) * BOOM;
    let (sail, colour) = if view.own.is_tight { ('*', Color::Yellow) } else { ('~', Color::Grey) };
    canvas.line(at(boom * 0.15), at(boom), sail, colour);
}

fn draw_mini_map(canvas: &mut TextCanvas, view: &View) {
    let size = Area { left: canvas.width() - 26, top: 1, width: 25, height: 13 };
    let Area { left, top, width, height } = size;
    if left < 30 || top + height > canvas.height() {
        return;
    }
    canvas.fill(size, ' ', Color::Reset);
    let colour = Color::DarkGrey;
    for column in left..left + width {
        canvas.put(column, top, '-', colour);
        canvas.put(column, top + height - 1, '-', colour);
    }
    for row in top..top + height {
        canvas.put(left, row, '|', colour);
        canvas.put(left + width - 1, row, '|', colour);
    }
    let reach = view.mini_map_reach();
    canvas.text(left + 2, top, &format!(" {reach:.0} ft "), colour);
    let mut mark = |feet: Vec2, character: char, colour: Color| {
        let column = left + width / 2 + (feet.x / reach * f64::from(width / 2 - 1)).round() as i32;
        let row = top + height / 2 - (feet.y / reach * f64::from(height / 2 - 1)).round() as i32;
        if (left + 1..left + width - 1).contains(&column) && (top + 1..top + height - 1).contains(&row) {
            canvas.put(column, row, character, colour);
        }
    };
    for other in &view.others {
        mark(other.position, 'o', Color::Green);
    }
    mark(view.buoy, 'B', Color::Red);
    mark(Vec2::ZERO, arrow(Vec2::from_heading(view.own.heading)), Color::White);
}

fn draw_status(canvas: &mut TextCanvas, view: &View, scene: &SailingScene, lag: &str) {
    let knots = |velocity: Vec2| velocity.length() / KNOT;
    let current = match knots(view.current) {
        knots if knots < 0.01 => String::new(),
        knots => format!("   current {} {knots:.1} kn", arrow(view.current)),
    };
    let air = format!(
        " wind {} {:.0} kn   felt {} {:.0} kn{current}   {lag}",
        arrow(view.wind),
        knots(view.wind),
        arrow(view.apparent_wind),
        knots(view.apparent_wind)
    );
    let boat = &view.own;
    let percent = |angle: f64| 100.0 * angle / std::f64::consts::FRAC_PI_2;
    let hands = format!(
        " speed {:4.1} ft/s   sheet {:3.0} %{}   rudder {:+4.0}°   buoy {:4.0} ft   time {:5.1} s ",
        boat.speed,
        percent(boat.sheet),
        if boat.is_tight { "       " } else { ", flaps" },
        boat.rudder.to_degrees(),
        view.buoy.length(),
        scene.now().as_secs_f64()
    );
    canvas.text(0, 0, &air, Color::Cyan);
    canvas.text(0, canvas.height() - 1, &hands, Color::Reset);
}

#[cfg(test)]
mod tests {
    use super::super::{Online, Switch};
    use super::*;

    fn player(bot: bool, wind: WindKind) -> SailingPlayer {
        let common = Common { seed: 1, lag: 0, compensate: Switch::On, bot, online: Online::default() };
        let options =
            SailingOptions { common, wind, current: CurrentKind::Shifting, opponent: Opponent::Optimal };
        options.game().ok().expect("sound rules")
    }

    fn picture(player: &SailingPlayer) -> String {
        let mut canvas = TextCanvas::new(100, 30);
        player.draw(&mut canvas);
        canvas.to_text()
    }

    fn play(player: &mut SailingPlayer, ticks: i64) {
        let from = TICK_RATE.running_at(player.now - SharedInstant::ZERO);
        for tick in from + 1..=from + ticks {
            player.tick(SharedInstant::ZERO + TICK_RATE.begin(tick));
        }
    }

    #[test]
    fn the_picture_shows_boat_sail_grid_map_and_numbers() {
        let mut player = player(true, WindKind::West);
        play(&mut player, 500);
        let picture = picture(&player);
        for part in ["wind → 20 kn", "speed", "1000 ft", "B", "O", "#", "*", "·"] {
            assert!(picture.contains(part), "{part} is missing in\n{picture}");
        }
    }

    #[test]
    fn the_agent_finishes_and_is_told_how_it_did() {
        let mut player = player(true, WindKind::Shifts);
        play(&mut player, 10_000);
        assert!(picture(&player).contains("At the buoy after"), "{}", picture(&player));
        assert!(
            player.farewell().contains("side by side"),
            "the same agent beside it: {}",
            player.farewell()
        );
    }

    #[test]
    fn keys_move_sheet_and_rudder_and_gods_wind() {
        let mut player = player(false, WindKind::God);
        for key in [Key::Left, Key::Left, Key::Character('w'), Key::Character('j')] {
            player.press(key);
        }
        play(&mut player, 100);
        let scene = player.link.shown();
        assert!((scene.boats[OWN].rudder.to_degrees() - 18.0).abs() < 1e-6);
        assert!((scene.boats[OWN].sheet.to_degrees() - 49.5).abs() < 1e-6);
        let turned = scene.wind.heading().to_degrees();
        assert!((10.0..13.0).contains(&turned), "45°/s for a quarter of a second: {turned}");
    }

    #[test]
    fn it_draws_on_anything() {
        let player = player(true, WindKind::Random);
        for (width, height) in [(0, 0), (1, 1), (31, 2), (500, 3), (60, 300)] {
            player.draw(&mut TextCanvas::new(width, height));
        }
    }
}
