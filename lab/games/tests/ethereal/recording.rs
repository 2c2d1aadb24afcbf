//! Goal: a recording is the match, bit for bit, also after a trip through XML, and no bytes can
//! hurt the reader. Method: record, write, read, replay; then break things.

use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::ethereal::{
    Difference, Driver, Ethereal, EtherealConfig, Ground, Input, Keys, Map, Match, PlayerFrame, Recording,
    ReplayError, SNAPSHOT_TICKS, Team, XmlProblem,
};
use fairpath_laws::{law, proptest::prelude::*};

use super::{bots, random_inputs};

fn recorded(mut game: Match, ticks: u32) -> (Recording, u64) {
    game = game.with_recording();
    for _ in 0..ticks {
        game.step();
    }
    (game.recording().expect("asked for").clone(), game.ethereal().digest())
}

#[test]
fn a_recording_replays_to_the_same_bits_from_memory_and_from_xml() {
    for ground in [Ground::Crossing, Ground::Generated] {
        let config = EtherealConfig { ground, score_limit: 4, ..EtherealConfig::default() };
        let (recording, digest) = recorded(Match::of_bots(config, 3).expect("sound rules"), 60 * 120);
        let deaths = recording.players().iter().flat_map(|player| &player.lives);
        assert!(deaths.filter(|life| life.died_tick.is_some()).count() > 3, "there is something to check");
        assert_eq!(recording.replay().expect("ours").finish().expect("as recorded").digest(), digest);

        let xml = recording.to_xml();
        let read = Recording::from_xml(xml.as_bytes()).expect("what we wrote");
        assert_eq!(read, recording);
        assert_eq!(read.to_xml(), xml);
        assert_eq!(read.replay().expect("ours").finish().expect("as recorded").digest(), digest);
    }
}

#[test]
fn everybody_is_looked_at_every_five_seconds() {
    let (recording, _) = recorded(bots(2), 60 * 21);
    for player in recording.players() {
        let ticks: Vec<u64> = player.snapshots.iter().map(|snapshot| snapshot.tick).collect();
        assert_eq!(ticks, [0, 1, 2, 3, 4].map(|number| number * SNAPSHOT_TICKS));
        let is_sparse = player
            .inputs
            .windows(2)
            .all(|pair| pair[0].tick < pair[1].tick && pair[0].input != pair[1].input);
        assert!(is_sparse, "only changes");
    }
}

#[test]
fn any_hands_survive_the_trip() {
    law!((any::<u64>(), 1u32..400), |(seed, ticks)| {
        let config = EtherealConfig { players: [2, 1], ..EtherealConfig::default() };
        let mut game = Match::new(config, seed, |_, _, _| Driver::Hands(Input::IDLE)).expect("sound rules");
        game = game.with_recording();
        let (mut random, mut inputs) = (Random::from_seed(seed), Vec::new());
        for _ in 0..ticks {
            random_inputs(game.ethereal(), &mut random, &mut inputs);
            for (number, input) in (0..).zip(&inputs) {
                game.seat(EntityId(number), Driver::Hands(*input));
            }
            game.step();
        }
        let recording = game.recording().expect("asked for");
        let read = Recording::from_xml(recording.to_xml().as_bytes()).expect("what we wrote");
        prop_assert_eq!(&read, recording);
        let again = read.replay().expect("ours").finish().expect("as recorded");
        prop_assert_eq!(again.digest(), game.ethereal().digest());
        Ok(())
    });
}

#[test]
fn frames_are_those_of_the_match() {
    let mut game = bots(7).with_recording();
    let mut played: Vec<Vec<PlayerFrame>> = vec![game.ethereal().frames().collect()];
    for _ in 0..1_500 {
        game.step();
        played.push(game.ethereal().frames().collect());
    }
    let mut ticks = 0;
    let recording = game.recording().expect("asked for");
    recording
        .for_each_frame(|tick, frames| {
            assert_eq!(frames, played[tick as usize]);
            ticks += 1;
        })
        .expect("as recorded");
    assert_eq!(ticks, 1_501);

    // Keys, births and deaths alone give the same motion, because players do not collide.
    let map = game.ethereal().map();
    recording.retrace(map, |tick, frames| {
        for (frame, played) in frames.iter().zip(&played[tick as usize]) {
            assert_eq!(
                (frame.id, frame.life, frame.is_alive, frame.position, frame.velocity),
                (played.id, played.life, played.is_alive, played.position, played.velocity)
            );
        }
    });
}

#[test]
fn a_recording_that_was_tampered_with_is_found_out() {
    let (recording, _) = recorded(bots(3), 60 * 60);
    let xml = recording.to_xml();
    let desync_of = |xml: &str| {
        let read = Recording::from_xml(xml.as_bytes()).expect("well-formed");
        match read
            .replay()
            .map_err(Some)
            .and_then(|replay| replay.finish().map_err(|desync| Some(desync.into())))
        {
            Ok(_) => None,
            Err(error) => error,
        }
    };
    assert_eq!(desync_of(&xml), None);
    let is = |error: Option<ReplayError>, what: Difference| matches!(error, Some(ReplayError::Desync(desync)) if desync.difference == what);
    assert!(is(desync_of(&xml.replacen("<Seed>3<", "<Seed>4<", 1)), Difference::Birth));
    assert!(is(desync_of(&xml.replacen("<H>100<", "<H>99<", 1)), Difference::Snapshot));
    let death = xml.find("<De>").expect("a player died");
    let later = format!(
        "{}<De>59999</De>{}",
        &xml[..death],
        &xml[death + xml[death..].find('\n').expect("a line")..]
    );
    // Only if that life was the player's last is the order of times still right; either way it is
    // found.
    match Recording::from_xml(later.as_bytes()) {
        Ok(_) => assert!(is(desync_of(&later), Difference::Death)),
        Err(error) => assert_eq!(error.problem, XmlProblem::NotIncreasing { element: "Si" }),
    }
}

/// The shape of Shi 2014's example, closed where it breaks off: no root, blanks before numbers, an
/// input per tick, no mouse where it did not move, none of our additions.
const FOREIGN: &str = "\
<Map>Somewhere.xml</Map>
<Us>
<U>
<Ui>7</Ui>
<N>Unnamed</N>
<P>
<Pos>
<X> -256</X>
<Y>64</Y>
</Pos>
<N>Unnamed</N>
<Sy>4</Sy>
<Alignment>1</Alignment>
<Si>3621</Si>
</P>
<Is>
<I>
<T>3723</T>
<B>0</B>
</I>
<I>
<T>3740</T>
<B>8</B>
<X> -182.08</X>
<Y>114.52</Y>
</I>
<I>
<T>3757</T>
<B>8</B>
</I>
<I>
<T>3774</T>
<B>24</B>
</I>
</Is>
</U>
</Us>
";

#[test]
fn a_foreign_recording_is_read_and_retraced() {
    let recording = Recording::from_xml(FOREIGN.as_bytes()).expect("Shi 2014's shape");
    assert_eq!(recording.map_name(), "Somewhere.xml");
    assert_eq!((recording.seed(), recording.config()), (None, None));
    let player = &recording.players()[0];
    assert_eq!((player.id, player.team, player.name.as_str()), (EntityId(7), Team::Blue, "Unnamed"));
    assert_eq!(player.lives[0].born_tick, 218);
    assert_eq!(player.lives[0].position, Vec2::new(-256.0, 64.0));
    let aim = Vec2::new(-182.08, 114.52);
    let inputs: Vec<_> = player.inputs.iter().map(|change| (change.tick, change.input)).collect();
    assert_eq!(
        inputs,
        [(225, Input::new(Keys::RIGHT, aim)), (227, Input::new(Keys::RIGHT | Keys::FIRE, aim))],
        "what did not change is not kept"
    );
    assert_eq!(recording.replay().err(), Some(ReplayError::NoOrigin));

    let map = Map::from_rows(["r.....b", "......."]).expect("sound");
    let mut seen = Vec::new();
    recording.retrace(&map, |tick, frames| seen.push((tick, frames[0])));
    assert_eq!(seen.iter().position(|(_, frame)| frame.is_alive), Some(218));
    assert!(seen[218].1.has_jumped && !seen[219].1.has_jumped);
    assert_eq!(seen[225].1.position, Vec2::new(-256.0, 64.0), "the first key is pressed in tick 225");
    assert!(seen[226].1.position.x > -256.0);
    assert_eq!(Recording::from_xml(recording.to_xml().as_bytes()), Ok(recording));
}

#[test]
fn complaints_name_the_line_and_the_trouble() {
    let complaint = |from: &str, to: &str| {
        let text = FOREIGN.replacen(from, to, 1);
        assert_ne!(text, FOREIGN, "{from} is there");
        Recording::from_xml(text.as_bytes()).expect_err("broken").to_string()
    };
    assert_eq!(complaint("<Ui>7</Ui>", "<Ui>seven</Ui>"), "line 4: Ui is not a number in its range");
    assert_eq!(complaint("<X> -256</X>", "<X> NaN</X>"), "line 8: X is not a number in its range");
    assert_eq!(
        complaint("<Alignment>1<", "<Alignment>2<"),
        "line 13: Alignment is not a number in its range"
    );
    assert_eq!(complaint("<Sy>4</Sy>\n", ""), "line 12: found <Alignment>, expected Sy");
    assert_eq!(complaint("<T>3757</T>", "<T>37</T>"), "line 28: T is earlier than the time before it");
    assert_eq!(complaint("<T>3774</T>", "<T>99999999999999</T>"), "line 32: T is not a number in its range");
    assert_eq!(
        complaint("<Is>", "<Is lag=\"1\">"),
        "line 16: attributes, CDATA and document types are not supported; remove them"
    );
    assert_eq!(complaint("</Us>\n", ""), "line 37: the file ends, expected Us");
    assert_eq!(complaint("</Us>", "</Us><Us/>"), "line 37: found <Us/>, expected the end of the file");
    let longer = FOREIGN.replace("Unnamed", &"x".repeat(100));
    assert_eq!(
        Recording::from_xml(longer.as_bytes()).expect_err("long").to_string(),
        "line 5: N is longer than 64 bytes"
    );
    assert_eq!(
        Recording::from_xml(b"<Map>\xff</Map>").expect_err("bytes").to_string(),
        "line 1: the file is not UTF-8 text"
    );

    let (recording, _) = recorded(bots(1), 1);
    let rules = recording.to_xml().replacen("<Damage>7<", "<Damage>0<", 1);
    let error = Recording::from_xml(rules.as_bytes()).expect_err("harmless shots").to_string();
    assert!(error.ends_with("damage must be at least 1"), "{error}");
}

#[test]
fn no_bytes_make_the_reader_panic() {
    let (recording, _) = recorded(bots(1), 30);
    let whole = recording.to_xml().into_bytes();
    let strategy = (
        any::<bool>(),
        prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        any::<prop::sample::Index>(),
        prop::collection::vec(any::<u8>(), 0..60),
    );
    law!(strategy, |(is_ours, changes, cut, tail)| {
        let mut bytes = if is_ours { whole.clone() } else { FOREIGN.as_bytes().to_vec() };
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        bytes.extend(tail);
        if let Ok(read) = Recording::from_xml(&bytes) {
            // What was read can be written, and tried: it may fail, but only in words.
            let again = Recording::from_xml(read.to_xml().as_bytes());
            prop_assert_eq!(again.as_ref(), Ok(&read));
            if read.ticks() < 10_000 {
                let _ = read.replay().map(|replay| replay.finish().map(|game: Ethereal| game.digest()));
                read.retrace(&Map::crossing(), |_, frames| {
                    assert!(frames.iter().all(|frame| frame.position.is_finite()));
                });
            }
        }
        Ok(())
    });
}

/// The same, where the bytes at least look like what they should be: single letters swapped for
/// others that occur.
#[test]
fn no_small_lie_makes_the_reader_panic() {
    let (recording, _) = recorded(bots(1), 30);
    let whole = recording.to_xml().into_bytes();
    law!((any::<prop::sample::Index>(), any::<prop::sample::Index>()), |(at, other)| {
        let mut bytes = whole.clone();
        let (at, other) = (at.index(bytes.len()), other.index(bytes.len()));
        bytes[at] = bytes[other];
        if let Ok(read) = Recording::from_xml(&bytes)
            && read.ticks() < 10_000
        {
            let _ = read.replay().map(|replay| replay.finish().map(|game| game.digest()));
        }
        Ok(())
    });
}
