//! OAEKB: EKB around walls.

use super::*;
use fairpath_predict::{Aim, EkbConfig};

const CELL: f64 = 100.0;

/// A world from text, `#` for wall, with the corner of its first cell at the origin.
fn world(rows: &[&str]) -> Grid {
    let walls = rows.iter().flat_map(|row| row.chars().map(|letter| letter == '#')).collect();
    Grid::new(rows[0].len() as u32, rows.len() as u32, Vec2::ZERO, CELL, walls).expect("sound")
}

/// A player that follows one friend from cell to cell.
fn follower(from: (f64, f64), friend: (f64, f64), world: Grid) -> Scene {
    let centre = |cell: (f64, f64)| Vec2::new(cell.0 + 0.5, cell.1 + 0.5) * CELL;
    let mut scene = Scene::alone(Vec2::ZERO).with(Relation::Friend, centre(friend), Vec2::ZERO);
    scene.history[0].position = centre(from);
    scene.world = Some(world);
    scene
}

fn config(aim: Aim) -> EkbConfig {
    EkbConfig { follow_out_of_battle: 1.0, aim, ..EkbConfig::default() }
}

#[test]
fn oaekb_walks_around_what_ekb_walks_through() {
    let rows = [".......", "...#...", "...#...", ".......", "......."];
    let in_wall = |path: &[Vec2], world: &Grid| {
        path.iter().filter(|at| world.cell_at(**at).is_none_or(|cell| world.is_wall(cell))).count()
    };
    let scene = follower((1.0, 1.0), (5.0, 1.0), world(&rows));
    let world = scene.world.clone().expect("given");
    assert!(in_wall(&path(&mut Ekb::new(config(Aim::NextNode)), &scene), &world) > 10);
    for aim in [Aim::NextNode, Aim::FarthestInSight] {
        let walked = path(&mut Oaekb::new(config(aim)), &scene);
        assert_eq!(in_wall(&walked, &world), 0, "{aim:?}");
        let arrived = walked[180].distance(scene.others[0].body.position);
        assert!(arrived < 10.0, "{aim:?} ends {arrived} from its friend");
    }
}

#[test]
fn without_a_way_oaekb_is_ekb() {
    let worlds = [
        [".....", "..#..", ".#.#.", "..#..", "....."], // walled in
        [".....", "..#..", ".###.", "..#..", "....."], // in a wall
    ];
    for rows in worlds {
        let scene = follower((0.0, 0.0), (2.0, 2.0), world(&rows));
        assert_eq!(path(&mut Oaekb::default(), &scene), path(&mut Ekb::default(), &scene));
    }
    let outside = follower((0.0, 0.0), (9.0, 2.0), world(&["...", "..."]));
    assert_eq!(path(&mut Oaekb::default(), &outside), path(&mut Ekb::default(), &outside));
}

#[test]
fn in_the_open_whoever_looks_ahead_is_ekb() {
    let scene = follower((0.0, 0.0), (6.0, 2.0), world(&[".......", ".......", "......."]));
    let straight = path(&mut Ekb::new(config(Aim::FarthestInSight)), &scene);
    let around = path(&mut Oaekb::new(config(Aim::FarthestInSight)), &scene);
    assert_eq!(around, straight);
}

#[test]
fn nothing_hides_what_only_floor_lies_before() {
    let grid = world(&["....", ".##.", "...."]);
    let at = |x: f64, y: f64| Vec2::new(x, y) * CELL;
    assert!(grid.is_clear_line(at(0.5, 0.5), at(3.5, 0.9)));
    assert!(grid.is_clear_line(at(0.5, 0.5), at(0.9, 2.5)));
    assert!(!grid.is_clear_line(at(0.5, 0.5), at(3.5, 2.5)), "the wall");
    assert!(!grid.is_clear_line(at(0.5, 1.5), at(1.5, 0.5)), "its very corner");
    assert!(!grid.is_clear_line(at(0.5, 0.5), at(4.5, 0.5)), "what is outside");
    assert!(grid.is_clear_line(at(2.5, 0.5), at(2.5, 0.5)));
}

#[test]
fn no_walls_known_no_answer() {
    let scene = Scene::alone(Vec2::ZERO);
    assert_eq!(predict(&mut Oaekb::default(), &scene, &[1]), Err(Missing::World));
    assert_eq!(predict(&mut Hybrid::<Oaekb>::default(), &scene, &[1, 60]), Err(Missing::World));
    for order in [Order::InputPosition, Order::InputVelocity, Order::InputAcceleration] {
        let unknown = Err(Missing::Input);
        assert_eq!(predict(&mut InputScheme { order, game: Some(Glide) }, &scene, &[1]), unknown);
        let pressing = Scene { inputs: vec![Vec2::ZERO], ..scene.clone() };
        assert_eq!(predict(&mut InputScheme::<Glide> { order, game: None }, &pressing, &[1]), unknown);
    }
}
