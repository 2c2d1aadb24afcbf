//! Goal: the same seed and inputs give the same bits. Method: play twice, clone, pin a golden
//! digest.

use fairpath_games::ethereal::{
    EtherealConfig, Ground, Map, Match, REFERENCE_DIGEST, Temperament, reference_digest,
};

use super::bots;

/// Compared with the same minute in WebAssembly. If a rule or a bot was changed on purpose, so may
/// this be.
#[test]
fn the_reference_minute_is_pinned() {
    assert_eq!(reference_digest(), REFERENCE_DIGEST, "now {:#018X}", reference_digest());
}

#[test]
fn two_runs_of_one_seed_agree_in_every_tick() {
    let (mut one, mut other) = (bots(11), bots(11));
    for _ in 0..3_600 {
        one.step();
        other.step();
        assert_eq!(one.ethereal().digest(), other.ethereal().digest());
    }
    let mut another_seed = bots(12);
    another_seed.step();
    assert_ne!(one.ethereal().digest(), another_seed.ethereal().digest());
}

#[test]
fn a_clone_goes_the_same_way() {
    let mut game = bots(8);
    for _ in 0..600 {
        game.step();
    }
    let mut copy = game.clone();
    for _ in 0..600 {
        game.step();
        copy.step();
    }
    assert_eq!(game.ethereal().digest(), copy.ethereal().digest());
}

#[test]
fn any_number_can_play() {
    for players in [[0, 0], [1, 0], [1, 1], [2, 5], [32, 32]] {
        let config = EtherealConfig { players, ground: Ground::Generated, ..EtherealConfig::default() };
        let mut game = Match::of_bots(config, 4).expect("sound rules");
        for _ in 0..300 {
            game.step();
            super::assert_sound(game.ethereal());
        }
        assert_eq!(game.ethereal().players().len() as u32, players[0] + players[1]);
    }
}

#[test]
fn all_temperaments_are_at_the_table_and_have_their_own_dice() {
    let mut game = bots(2);
    let seated: Vec<_> = game.drivers().iter().filter_map(|seat| seat.temperament()).collect();
    assert!(Temperament::ALL.iter().all(|each| seated.iter().filter(|seat| *seat == each).count() == 2));
    for _ in 0..120 {
        game.step();
    }
    assert!(game.inputs().windows(2).any(|pair| pair[0] != pair[1]));
}

#[test]
fn a_seed_has_its_map() {
    let map_of = |seed| {
        let config = EtherealConfig { ground: Ground::Generated, ..EtherealConfig::default() };
        Match::of_bots(config, seed).expect("sound rules").ethereal().map().clone()
    };
    assert_eq!(map_of(3), map_of(3));
    assert_ne!(map_of(3), map_of(4));
    assert_ne!(map_of(3), Map::crossing());
}
