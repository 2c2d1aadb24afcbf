//! Goal: lives, items, points and rounds keep their rules. Method: small scenes, and whole matches
//! watched.

use fairpath::number::EntityId;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::ethereal::{
    Condition, EtherealConfig, Event, Ground, Input, ItemKind, Keys, Map, Match, PICK_UP_WITHIN, Team,
};

use super::{assert_sound, bots, on_map};

#[test]
fn the_dead_come_back_in_a_new_life_at_their_start() {
    let mut game = bots(6);
    let mut died_at = [None; 8];
    let mut births = 0;
    for _ in 0..60 * 120 {
        game.step();
        let ethereal = game.ethereal();
        for event in ethereal.events() {
            match *event {
                Event::Died { player, .. } => died_at[player.0 as usize] = Some(ethereal.tick()),
                Event::Born { player, position, .. } => {
                    births += 1;
                    let who = ethereal.player(player).expect("plays");
                    assert_eq!(who.condition(), Condition::Spawned);
                    assert_eq!((who.health(), who.ammo()), (100, 80));
                    let starts = ethereal.map().starts(who.team());
                    assert!(starts.iter().any(|start| start.distance(position) < 40.0), "at a start");
                    if let Some(died_at) = died_at[player.0 as usize].take() {
                        assert_eq!(ethereal.tick() - died_at, 180);
                    }
                }
                _ => {}
            }
        }
    }
    assert!(births > 8, "{births} births in two minutes");
}

#[test]
fn a_pack_helps_whoever_needs_it_and_comes_back() {
    let mut game = on_map(&["rh.b"], [1, 0]);
    let pack = game.items()[0].position();
    let to_the_pack = Input::new(Keys::RIGHT, Vec2::ZERO);
    for _ in 0..40 {
        game.step(&[to_the_pack]);
        assert!(game.items()[0].is_there(game.tick()), "the healthy leave it");
    }
    assert!(game.players()[0].body().position.x > pack.x, "it walked over it");

    // An ammunition pack, and a player that has fired.
    let mut game = on_map(&["ra.b"], [1, 0]);
    for _ in 0..60 {
        game.step(&[Input::new(Keys::FIRE, Vec2::new(0.0, 900.0))]);
    }
    let before = game.players()[0].ammo();
    assert!(before < 80);
    let mut taken_at = None;
    for _ in 0..60 * 20 {
        game.step(&[Input::new(if taken_at.is_none() { Keys::RIGHT } else { Keys::NONE }, Vec2::ZERO)]);
        for event in game.events() {
            assert_eq!(taken_at, None, "once, while it is full");
            if let Event::PickedUp { player, item, kind } = event {
                assert_eq!((*player, *item, *kind), (EntityId(0), 0, ItemKind::Ammo));
                assert!(
                    game.players()[0].body().position.distance(game.items()[0].position()) <= PICK_UP_WITHIN
                );
                taken_at = Some(game.tick());
            }
        }
        if let Some(taken_at) = taken_at {
            assert_eq!(game.items()[0].is_there(game.tick()), game.tick() >= taken_at + 900);
        }
    }
    assert!(taken_at.is_some());
    assert_eq!(game.players()[0].ammo(), 80);
}

#[test]
fn the_first_team_at_the_limit_wins_and_all_start_again() {
    let config = EtherealConfig { score_limit: 3, ..EtherealConfig::default() };
    let mut game = Match::of_bots(config, 3).expect("sound rules");
    let mut points = [0; 2];
    let mut rounds = 0;
    for _ in 0..60 * 240 {
        game.step();
        let ethereal = game.ethereal();
        assert_sound(ethereal);
        let mut is_won = None;
        for event in ethereal.events() {
            match event {
                Event::Died { player, by, .. } => {
                    let team = |id: &EntityId| ethereal.player(*id).expect("plays").team();
                    assert_ne!(team(player), team(by), "shots never hit friends");
                    points[team(by).index()] += 1;
                }
                Event::RoundWon { team } => is_won = Some(*team),
                _ => {}
            }
        }
        if let Some(team) = is_won {
            assert!(points[team.index()] >= 3 && points[team.index()] > points[team.other().index()]);
            assert!(ethereal.players().iter().all(|player| player.condition() == Condition::Spawned));
            points = [0; 2];
            rounds += 1;
        }
        assert_eq!(Team::BOTH.map(|team| ethereal.points(team)), points);
        assert!(points[0].max(points[1]) < 3 || points[0] == points[1], "a round that is won is over");
    }
    let won: u32 = Team::BOTH.iter().map(|team| game.ethereal().rounds_won(*team)).sum();
    assert_eq!(won, rounds);
    assert!(rounds >= 2, "{rounds} rounds in four minutes");
}

#[test]
fn whole_matches_are_sound_on_any_map() {
    for seed in 0..6 {
        let ground = if seed % 2 == 0 { Ground::Crossing } else { Ground::Generated };
        let config = EtherealConfig { ground, ..EtherealConfig::default() };
        let mut game = Match::of_bots(config, seed).expect("sound rules");
        for _ in 0..60 * 60 {
            game.step();
            assert_sound(game.ethereal());
        }
    }
}

/// The world a predictor reads: the walls it is told are the walls players meet.
#[test]
fn the_static_world_is_all_there() {
    let map = Map::crossing();
    assert_eq!(map.bounds().size(), Vec2::new(5_120.0, 3_072.0));
    assert_eq!(map.size(), (40, 24));
    for cell in map.grid_cells() {
        let centre = map.centre_of(cell);
        assert_eq!(map.cell_at(centre), cell);
        assert_eq!(map.index_of(cell).map(|index| map.cell_of_index(index)), Some(cell));
        assert_eq!(map.is_wall(cell), !map.is_clear(centre));
        assert_eq!(map.is_wall(cell), map.walls().iter().any(|wall| wall.contains(centre)));
    }
}
