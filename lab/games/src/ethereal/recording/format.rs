//! Recordings as XML, written and read.

use std::fmt::Write;

use fairpath::number::EntityId;
use fairpath::vector::{Vec2, Vector};

use super::xml::{XmlError, XmlProblem, XmlReader, escaped};
use super::{
    LifeRecord, Origin, PlayerRecord, PlayerSnapshot, RECORDING_TICKS_MAX, RecordedInput, Recording,
};
use crate::ethereal::config::{EtherealConfig, Ground, PLAYERS_MAX, TICKS_PER_SECOND};
use crate::ethereal::input::{Input, Keys};
use crate::ethereal::map::Map;
use crate::ethereal::player::Body;
use crate::shared::{PlayerInput, Team};

/// The longest file that is read, in bytes. 64 MiB: an hour of eight bots
/// takes 8 MB, and what is read from a file takes at most four times its length.
pub const XML_BYTES_MAX: usize = 64 << 20;

impl Recording {
    /// Returns the recording as XML: Shi 2014's replay format (its Box 1), made exact.
    ///
    /// | element | holds | from |
    /// | --- | --- | --- |
    /// | `Session` | everything; files without it are read too | ours |
    /// | `Map` | name of the map | Shi 2014 |
    /// | `Seed`, `Ticks` | the seed, the length in ticks | ours |
    /// | `Rules` | one element per knob of [`EtherealConfig`], in its order | ours |
    /// | `World` | the [`Map`] itself, a `Row` of letters per row of cells | ours |
    /// | `Us`, `U` | all users, one user | Shi 2014 |
    /// | `Ui`, `N` | number and name | Shi 2014 |
    /// | `P` | a player's start; one per life | Shi 2014 |
    /// | `Pos` with `X`, `Y` | where, in pixels | Shi 2014 |
    /// | `N`, `Sy`, `Alignment`, `Si` | name, character, team (0 or 1), birth in ms | Shi 2014 |
    /// | `De` | death in ms, in the `P` of its life | ours |
    /// | `Is`, `I` | all inputs, one input | Shi 2014 |
    /// | `T`, `B` | time in ms, keys as [`Keys::bits`] | Shi 2014; what its keys mean is not known |
    /// | `X`, `Y` | the mouse cursor; where it was, if left out | Shi 2014 |
    /// | `W` | how many ticks old the others were on the screen; none, if left out | ours |
    /// | `Ss`, `S` | all snapshots, one: `T`, `L` (1 alive), `X`, `Y`, `Vx`, `Vy`, `H`, `A` | ours; Shi 2014 shows none |
    ///
    /// `Seed`, `Ticks`, `Rules` and `World` come together or not at all; without them a recording
    /// can be [retraced](Self::retrace), not replayed. Shi 2014 has an input for every tick, we
    /// write only changes, and the reader accepts both. Times are whole milliseconds, rounded down;
    /// reading takes the first tick that begins then or later, which restores our ticks exactly.
    /// Numbers have enough digits to be restored exactly.
    pub fn to_xml(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Session>\n");
        put(&mut out, "Map", &escaped(&self.map_name));
        if let Some(origin) = &self.origin {
            put(&mut out, "Seed", &origin.seed);
            put(&mut out, "Ticks", &self.ticks);
            write_rules(&mut out, &origin.config);
            write_world(&mut out, &origin.config);
        }
        out.push_str("<Us>\n");
        for player in &self.players {
            write_player(&mut out, player);
        }
        out.push_str("</Us>\n</Session>\n");
        out
    }

    /// Reads a recording from XML, ours or Shi 2014's. Invalid input is an error, never a panic.
    pub fn from_xml(bytes: &[u8]) -> Result<Self, XmlError> {
        let mut reader = XmlReader::new(bytes, XML_BYTES_MAX)?;
        let has_root = reader.enters("Session")?;
        let map_name = reader.name("Map")?;
        let (origin, ticks) = match read_origin(&mut reader)? {
            Some((origin, ticks)) => (Some(origin), Some(ticks)),
            None => (None, None),
        };
        let players = read_players(&mut reader)?;
        if has_root {
            reader.leave("Session")?;
        }
        reader.finish()?;
        let ticks = ticks.unwrap_or_else(|| last_tick(&players));
        Ok(Self { map_name, origin, ticks, players })
    }
}

fn put(out: &mut String, element: &str, value: &impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "<{element}>{value}</{element}>");
}

/// Writes an element without a line break.
fn put_inline(out: &mut String, element: &str, value: &impl std::fmt::Display) {
    let _ = write!(out, "<{element}>{value}</{element}>");
}

fn write_rules(out: &mut String, config: &EtherealConfig) {
    out.push_str("<Rules>\n");
    put(out, "Red", &config.players[0]);
    put(out, "Blue", &config.players[1]);
    put(out, "ScoreLimit", &config.score_limit);
    put(out, "HealthMax", &config.health_max);
    put(out, "AmmoMax", &config.ammo_max);
    put(out, "Damage", &config.damage);
    put(out, "ReloadTicks", &config.reload_ticks);
    put(out, "FireLagTicks", &config.fire_lag_ticks);
    put(out, "RewindTicksMax", &config.rewind_ticks_max);
    put(out, "ShotRange", &config.shot_range);
    put(out, "RespawnTicks", &config.respawn_ticks);
    put(out, "ItemRespawnTicks", &config.item_respawn_ticks);
    put(out, "HealthPack", &config.health_pack);
    put(out, "AmmoPack", &config.ammo_pack);
    out.push_str("</Rules>\n");
}

fn write_world(out: &mut String, config: &EtherealConfig) {
    let Ground::Given(map) = &config.ground else { unreachable!("recordings hold their map") };
    out.push_str("<World>\n");
    for row in map.to_rows() {
        put(out, "Row", &row);
    }
    out.push_str("</World>\n");
}

fn write_player(out: &mut String, player: &PlayerRecord) {
    let name = escaped(&player.name);
    out.push_str("<U>\n");
    put(out, "Ui", &player.id.0);
    put(out, "N", &name);
    for life in &player.lives {
        out.push_str("<P>\n<Pos>");
        put_inline(out, "X", &life.position.x);
        put_inline(out, "Y", &life.position.y);
        out.push_str("</Pos>\n");
        put(out, "N", &name);
        put(out, "Sy", &life.kind);
        put(out, "Alignment", &player.team.index());
        put(out, "Si", &millis_of(life.born_tick));
        if let Some(tick) = life.died_tick {
            put(out, "De", &millis_of(tick));
        }
        out.push_str("</P>\n");
    }
    out.push_str("<Is>\n");
    let mut aim = Vec2::ZERO;
    for change in &player.inputs {
        write_input(out, change, &mut aim);
    }
    out.push_str("</Is>\n<Ss>\n");
    for snapshot in &player.snapshots {
        write_snapshot(out, snapshot);
    }
    out.push_str("</Ss>\n</U>\n");
}

fn write_input(out: &mut String, change: &RecordedInput, aim: &mut Vec2) {
    out.push_str("<I>");
    put_inline(out, "T", &millis_of(change.tick));
    put_inline(out, "B", &change.input.keys.bits());
    if change.input.aim != *aim {
        *aim = change.input.aim;
        put_inline(out, "X", &aim.x);
        put_inline(out, "Y", &aim.y);
    }
    if change.input.seen_ticks_ago > 0 {
        put_inline(out, "W", &change.input.seen_ticks_ago);
    }
    out.push_str("</I>\n");
}

fn write_snapshot(out: &mut String, snapshot: &PlayerSnapshot) {
    out.push_str("<S>");
    put_inline(out, "T", &millis_of(snapshot.tick));
    put_inline(out, "L", &u8::from(snapshot.is_alive));
    put_inline(out, "X", &snapshot.body.position.x);
    put_inline(out, "Y", &snapshot.body.position.y);
    put_inline(out, "Vx", &snapshot.body.velocity.x);
    put_inline(out, "Vy", &snapshot.body.velocity.y);
    put_inline(out, "H", &snapshot.health);
    put_inline(out, "A", &snapshot.ammo);
    out.push_str("</S>\n");
}

fn read_origin(reader: &mut XmlReader<'_>) -> Result<Option<(Origin, u64)>, XmlError> {
    if reader.peek()? != Some("Seed") {
        return Ok(None);
    }
    let seed = reader.whole("Seed")?;
    let ticks = reader.whole("Ticks")?;
    if ticks > RECORDING_TICKS_MAX {
        return Err(reader.error(XmlProblem::NotANumber { element: "Ticks" }));
    }
    let mut config = read_rules(reader)?;
    config.check().map_err(|error| reader.error(XmlProblem::Rules(error)))?;
    config.ground = Ground::Given(read_world(reader)?);
    Ok(Some((Origin { seed, config }, ticks)))
}

fn read_rules(reader: &mut XmlReader<'_>) -> Result<EtherealConfig, XmlError> {
    reader.enter("Rules")?;
    let config = EtherealConfig {
        players: [reader.whole("Red")?, reader.whole("Blue")?],
        ground: Ground::Crossing,
        score_limit: reader.whole("ScoreLimit")?,
        health_max: reader.whole("HealthMax")?,
        ammo_max: reader.whole("AmmoMax")?,
        damage: reader.whole("Damage")?,
        reload_ticks: reader.whole("ReloadTicks")?,
        fire_lag_ticks: reader.whole("FireLagTicks")?,
        rewind_ticks_max: reader.whole("RewindTicksMax")?,
        shot_range: reader.number("ShotRange")?,
        respawn_ticks: reader.whole("RespawnTicks")?,
        item_respawn_ticks: reader.whole("ItemRespawnTicks")?,
        health_pack: reader.whole("HealthPack")?,
        ammo_pack: reader.whole("AmmoPack")?,
    };
    reader.leave("Rules")?;
    Ok(config)
}

fn read_world(reader: &mut XmlReader<'_>) -> Result<Map, XmlError> {
    reader.enter("World")?;
    let mut rows = Vec::new();
    while reader.peek()? == Some("Row") {
        rows.push(reader.text("Row")?);
    }
    let map = Map::from_rows(rows).map_err(|error| reader.error(XmlProblem::Map(error)))?;
    reader.leave("World")?;
    Ok(map)
}

fn read_players(reader: &mut XmlReader<'_>) -> Result<Vec<PlayerRecord>, XmlError> {
    let mut players: Vec<PlayerRecord> = Vec::new();
    reader.enter("Us")?;
    while reader.enters("U")? {
        if players.len() == PLAYERS_MAX as usize {
            return Err(reader.error(XmlProblem::TooMany { element: "U" }));
        }
        let player = read_player(reader)?;
        if players.iter().any(|other| other.id == player.id) {
            return Err(reader.error(XmlProblem::MixedUpPlayers));
        }
        reader.leave("U")?;
        players.push(player);
    }
    reader.leave("Us")?;
    Ok(players)
}

fn read_player(reader: &mut XmlReader<'_>) -> Result<PlayerRecord, XmlError> {
    let id = EntityId(reader.whole("Ui")?);
    let name = reader.name("N")?;
    let mut lives = Vec::new();
    let mut team = None;
    let mut last = 0;
    while reader.enters("P")? {
        let (life, side) = read_life(reader, &mut last)?;
        if *team.get_or_insert(side) != side {
            return Err(reader.error(XmlProblem::MixedUpPlayers));
        }
        lives.push(life);
        reader.leave("P")?;
    }
    let Some(team) = team else { return Err(reader.unexpected("P")) };
    reader.enter("Is")?;
    let mut inputs = Vec::new();
    while reader.enters("I")? {
        read_input(reader, &mut inputs)?;
        reader.leave("I")?;
    }
    reader.leave("Is")?;
    let snapshots = if reader.enters("Ss")? { read_snapshots(reader)? } else { Vec::new() };
    Ok(PlayerRecord { id, name, team, lives, inputs, snapshots })
}

fn read_life(reader: &mut XmlReader<'_>, last: &mut u64) -> Result<(LifeRecord, Team), XmlError> {
    reader.enter("Pos")?;
    let position = Vec2::new(reader.number("X")?, reader.number("Y")?);
    reader.leave("Pos")?;
    reader.name("N")?;
    let kind = reader.whole("Sy")?;
    let team = match reader.whole::<usize>("Alignment")? {
        0 => Team::Red,
        1 => Team::Blue,
        _ => return Err(reader.error(XmlProblem::NotANumber { element: "Alignment" })),
    };
    let born_tick = read_tick(reader, "Si", last)?;
    let has_died = reader.peek()? == Some("De");
    let died_tick = if has_died { Some(read_tick(reader, "De", last)?) } else { None };
    Ok((LifeRecord { born_tick, position, kind, died_tick }, team))
}

fn read_input(reader: &mut XmlReader<'_>, inputs: &mut Vec<RecordedInput>) -> Result<(), XmlError> {
    let (mut last, held) = inputs.last().map_or((0, Input::IDLE), |change| (change.tick, change.input));
    let tick = read_tick(reader, "T", &mut last)?;
    let keys = Keys::from_bits(reader.whole("B")?);
    let mut aim = held.aim;
    if reader.peek()? == Some("X") {
        aim = Vec2::new(reader.number("X")?, reader.number("Y")?);
    }
    let seen_ticks_ago = if reader.peek()? == Some("W") { reader.whole("W")? } else { 0 };
    let input = Input { keys, aim, seen_ticks_ago }.limited();
    // Of two inputs in one tick the later counts; one equal to the previous is dropped.
    if inputs.last().is_some_and(|change| change.tick == tick) {
        inputs.pop();
    }
    if inputs.last().map_or(Input::IDLE, |change| change.input) != input {
        inputs.push(RecordedInput { tick, input });
    }
    Ok(())
}

fn read_snapshots(reader: &mut XmlReader<'_>) -> Result<Vec<PlayerSnapshot>, XmlError> {
    let mut snapshots = Vec::new();
    let mut last = 0;
    while reader.enters("S")? {
        snapshots.push(PlayerSnapshot {
            tick: read_tick(reader, "T", &mut last)?,
            is_alive: reader.whole::<u8>("L")? != 0,
            body: Body {
                position: Vec2::new(reader.number("X")?, reader.number("Y")?),
                velocity: Vec2::new(reader.number("Vx")?, reader.number("Vy")?),
            },
            health: reader.whole("H")?,
            ammo: reader.whole("A")?,
        });
        reader.leave("S")?;
    }
    reader.leave("Ss")?;
    Ok(snapshots)
}

/// Reads a time that is not before `last`, as a tick.
fn read_tick(reader: &mut XmlReader<'_>, element: &'static str, last: &mut u64) -> Result<u64, XmlError> {
    let millis: u64 = reader.whole(element)?;
    let tick = tick_of(millis).ok_or_else(|| reader.error(XmlProblem::NotANumber { element }))?;
    if tick < *last {
        return Err(reader.error(XmlProblem::NotIncreasing { element }));
    }
    *last = tick;
    Ok(tick)
}

fn millis_of(tick: u64) -> u64 {
    tick * 1_000 / u64::from(TICKS_PER_SECOND)
}

/// Returns the first tick that begins at `millis` or later.
fn tick_of(millis: u64) -> Option<u64> {
    let tick = millis.checked_mul(u64::from(TICKS_PER_SECOND))?.div_ceil(1_000);
    (tick <= RECORDING_TICKS_MAX).then_some(tick)
}

/// Returns the length of a recording without `Ticks`: up to its last birth, death, input, snapshot.
fn last_tick(players: &[PlayerRecord]) -> u64 {
    let of_player = |player: &PlayerRecord| {
        let births = player.lives.iter().map(|life| life.died_tick.unwrap_or(life.born_tick));
        let inputs = player.inputs.last().map(|change| change.tick + 1);
        births.chain(inputs).chain(player.snapshots.last().map(|snapshot| snapshot.tick)).max()
    };
    players.iter().filter_map(of_player).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_come_back_from_milliseconds() {
        for tick in (0..200_000).chain([RECORDING_TICKS_MAX]) {
            assert_eq!(tick_of(millis_of(tick)), Some(tick));
        }
        assert_eq!(tick_of(u64::MAX), None);
        // Shi 2014's example has an input every 17 ms.
        let ticks = [3_723, 3_740, 3_757, 3_774, 3_791, 3_808].map(tick_of);
        assert_eq!(ticks, [224, 225, 226, 227, 228, 229].map(Some));
    }
}
