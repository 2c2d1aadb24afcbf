//! Goal: bots play like people, each temperament in its own way. Method: whole matches over several
//! seeds, counted from outside, from observable events.

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::ethereal::{
    Bot, Driver, EtherealConfig, Event, Ground, Input, Keys, Map, Match, PlayStatistics, PlayerFrame,
    Temperament,
};

use super::bots;

#[test]
fn bots_move_meet_and_shoot() {
    for seed in 0..4 {
        let mut game = bots(seed);
        let mut play = PlayStatistics::default();
        for _ in 0..60 * 180 {
            game.step();
            play.watch(game.ethereal());
        }
        assert!(play.moving_share() > 0.9, "seed {seed}: moving {}", play.moving_share());
        // Shi 2014's players: about 318 on average, by its error tables.
        assert!((300.0..345.0).contains(&play.mean_speed()), "seed {seed}: speed {}", play.mean_speed());
        assert!(play.kills_per_minute() > 4.0, "seed {seed}: {} kills per minute", play.kills_per_minute());
        assert!(play.items_per_minute() > 4.0, "seed {seed}: {} items per minute", play.items_per_minute());
        let near = play.near_enemy_share();
        assert!((0.2..0.7).contains(&near), "seed {seed}: near an enemy {near}");
        let friend = play.mean_friend_distance();
        assert!((150.0..600.0).contains(&friend), "seed {seed}: nearest friend {friend}");
        let changes = play.direction_changes_per_second();
        assert!((1.5..4.0).contains(&changes), "seed {seed}: {changes} changes per second");
        let hits = play.hit_share();
        assert!((0.2..0.7).contains(&hits), "seed {seed}: {hits} of shots hit");
    }
}

#[test]
fn no_bot_stays_in_one_place() {
    for seed in 0..6 {
        let ground = if seed % 2 == 0 { Ground::Crossing } else { Ground::Generated };
        let config = EtherealConfig { ground, ..EtherealConfig::default() };
        let mut game = Match::of_bots(config, seed).expect("sound rules");
        let mut anchors = [(Vec2::ZERO, 0u32); 8];
        for _ in 0..60 * 120 {
            game.step();
            for (frame, (place, since)) in game.ethereal().frames().zip(&mut anchors) {
                if !frame.is_alive || frame.position.distance(*place) > 150.0 {
                    (*place, *since) = (frame.position, 0);
                }
                *since += 1;
                assert!(*since < 60 * 15, "seed {seed}: {:?} has been at {place:?} for 15 s", frame.id);
            }
        }
    }
}

/// The observable actions of one temperament.
#[derive(Clone, Copy, Debug, Default)]
struct Habits {
    alive: f64,
    friend_distance: f64,
    picked_up: f64,
    fights: f64,
    fight_distance: f64,
    /// Ticks near an enemy, and those of them going away from it: hurt, and whole.
    hurt: [f64; 2],
    whole: [f64; 2],
}

fn habits() -> [Habits; 4] {
    let mut habits = [Habits::default(); 4];
    for seed in 0..10 {
        let mut game = bots(seed);
        for _ in 0..60 * 180 {
            game.step();
            let frames: Vec<PlayerFrame> = game.ethereal().frames().collect();
            for (frame, seat) in frames.iter().zip(game.drivers()) {
                let kind = seat.temperament().expect("all bots");
                habits[kind as usize].watch(frame, &frames, game.ethereal().map());
            }
            for event in game.ethereal().events() {
                if let Event::PickedUp { player, .. } = event {
                    let kind = game.drivers()[player.0 as usize].temperament().expect("all bots");
                    habits[kind as usize].picked_up += 1.0;
                }
            }
        }
    }
    habits
}

impl Habits {
    fn watch(&mut self, frame: &PlayerFrame, all: &[PlayerFrame], map: &Map) {
        if !frame.is_alive {
            return;
        }
        let nearest = |is_friend: bool| {
            let others = all.iter().filter(|other| other.id != frame.id && other.is_alive);
            others.filter(|other| (other.team == frame.team) == is_friend).min_by(|one, other| {
                let distance = |other: &PlayerFrame| other.position.distance(frame.position);
                distance(one).total_cmp(&distance(other))
            })
        };
        self.alive += 1.0;
        self.friend_distance += nearest(true).map_or(0.0, |friend| friend.position.distance(frame.position));
        let Some(foe) = nearest(false) else { return };
        let offset = foe.position - frame.position;
        if offset.length() > 600.0 || !map.sees(frame.position, foe.position) {
            return;
        }
        self.fights += 1.0;
        self.fight_distance += offset.length();
        let goes_away = f64::from(u8::from(frame.velocity.dot(offset.normalize_or_zero()) < -100.0));
        let count = match frame.health {
            0..=25 => &mut self.hurt,
            80.. => &mut self.whole,
            _ => return,
        };
        count[0] += 1.0;
        count[1] += goes_away;
    }
}

#[test]
fn every_temperament_shows() {
    let habits = habits();
    let of = |kind: Temperament| habits[kind as usize];
    let [raider, companion, skirmisher, forager] = Temperament::ALL.map(of);

    for (kind, habit) in Temperament::ALL.iter().zip(&habits) {
        let (hurt, whole) = (habit.hurt[1] / habit.hurt[0], habit.whole[1] / habit.whole[0]);
        assert!(hurt > whole + 0.05, "{kind:?} runs when hurt: {hurt} of the time, {whole} when whole");
    }
    let runs = |habit: Habits| habit.hurt[1] / habit.hurt[0];
    assert!(runs(raider) < runs(skirmisher).min(runs(forager)), "raiders run least");

    let friend = |habit: Habits| habit.friend_distance / habit.alive;
    for (kind, other) in
        Temperament::ALL.iter().zip(&habits).filter(|(kind, _)| **kind != Temperament::Companion)
    {
        assert!(
            friend(companion) < friend(*other),
            "companions stay nearer than {kind:?}: {} against {}",
            friend(companion),
            friend(*other)
        );
    }
    let distance = |habit: Habits| habit.fight_distance / habit.fights;
    assert!(
        distance(skirmisher) > distance(raider) + 50.0,
        "skirmishers keep their distance: {} against {}",
        distance(skirmisher),
        distance(raider)
    );
    let picks = |habit: Habits| habit.picked_up / habit.alive;
    for other in [raider, companion, skirmisher] {
        assert!(picks(forager) > picks(other), "foragers fetch most");
    }
}

/// Goal: bots aim at what they are shown. Method: a red bot is shown its enemy 300 pixels away from
/// where it is; its shots must go by the shown place, not the true one.
#[test]
fn a_bot_aims_at_what_it_is_shown() {
    let offset = Vec2::new(0.0, 300.0);
    let ground = Ground::Given(
        Map::from_rows(["........", "........", "..r..b..", "........", "........"]).expect("sound"),
    );
    let mut by_shown = Vec::new();
    for seed in 0..10 {
        let config = EtherealConfig { players: [1, 1], ground: ground.clone(), ..EtherealConfig::default() };
        let mut game = Match::new(config, seed, |_, id, dice| match id {
            EntityId(0) => Driver::bot(Bot::new(Temperament::Raider, Random::from_seed(0), dice)),
            _ => Driver::Hands(Input::IDLE),
        })
        .expect("sound rules");
        for _ in 0..60 * 10 {
            game.step_showing(|view| {
                for foe in &mut view.others {
                    foe.body.position += offset;
                }
            });
            for event in game.ethereal().events() {
                let Event::Fired { player: EntityId(0), from, to, .. } = event else { continue };
                let truth = game.ethereal().players()[1].body().position;
                let aside = |point: Vec2| (point - *from).cross_length((*to - *from).normalize_or_zero());
                by_shown.push((aside(truth + offset), aside(truth)));
            }
        }
    }
    assert!(by_shown.len() >= 50, "only {} shots", by_shown.len());
    let near_shown = by_shown.iter().filter(|(shown, truth)| shown < truth).count();
    assert!(near_shown * 10 >= by_shown.len() * 8, "{near_shown} of {}", by_shown.len());
}

#[test]
fn a_view_shows_friends_and_whom_they_see() {
    let game = bots(1);
    let view = game.ethereal().look(EntityId(0)).expect("plays");
    assert_eq!(view.friends().count(), 3, "wherever they are");
    assert_eq!(view.foes().count(), 0, "the map's ends are out of sight of each other");
    assert!(view.items.iter().any(|item| item.is_there.is_none()), "far items are unknown");
    assert!(game.ethereal().look(EntityId(8)).is_none());
}

#[test]
fn hands_are_still_between_looks() {
    let mut game = bots(5);
    let mut looks = 0;
    let mut before = Input::IDLE;
    for _ in 0..600 {
        let mut looked = false;
        game.step_showing(|view| looked |= view.me == EntityId(0));
        looks += u32::from(looked);
        if !looked {
            assert_eq!(game.inputs()[0], before, "no look, no change");
        }
        before = game.inputs()[0];
    }
    assert!((60..200).contains(&looks), "{looks} looks in ten seconds");
}

/// A person plays through the same input as bots.
#[test]
fn a_person_can_take_over() {
    let mut game = bots(1);
    game.seat(EntityId(2), Driver::Hands(Input::new(Keys::DOWN, Vec2::ZERO)));
    for _ in 0..6 {
        game.step();
    }
    let body = game.ethereal().players()[2].body();
    assert!((body.velocity.y - 360.0).abs() < 1e-9 && body.velocity.x == 0.0);
}
