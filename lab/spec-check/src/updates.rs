//! Section 4: updates.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::bits::{Bits, Rejected};
use crate::in_time;
use crate::precision::{Given, Raster};

pub(crate) fn decode(
    bits: &mut Bits,
    given: &Given,
    dimensions: usize,
    has_parents: bool,
    sent: i128,
    text: &mut String,
) -> Result<(), Rejected> {
    let n = bits.bits("count", 8)?;
    if n as usize * 8 > bits.left() {
        return Err(Rejected("more DR vectors than bytes"));
    }
    if n == 0 {
        return if has_parents { Err(Rejected("parents of nothing")) } else { Ok(()) };
    }
    let ids = ids(bits, n)?;
    let newest = sent.div_euclid(given.time_step) - bits.signed_golomb("lag", 2)?;
    let ages = ages(bits, n)?;
    let lives = small_set(bits, "lives", 4)?;
    let shapes = small_set(bits, "shapes", 16)?;
    let parents = if has_parents { parents(bits, n)? } else { vec![None] };

    let mut used = BTreeSet::new();
    for id in ids {
        let age = ages[bits.below("age", ages.len() as u64)? as usize];
        let life = lives[bits.below("life", lives.len() as u64)? as usize];
        let shape = shapes[bits.below("shape", shapes.len() as u64)? as usize];
        let parent = parents[bits.below("parent", parents.len() as u64)? as usize];
        used.extend([("age", age), ("life", life), ("shape", shape)]);
        used.insert(parent.map_or(("no parent", 0), |parent| ("parent", parent)));
        let generation = bits.bits("generation", 8)?;
        let at = in_time((newest - i128::from(age)) * given.time_step)?;
        let parent = parent.map_or_else(String::new, |parent| format!(" parent {parent}"));
        line(text, &format!("vector entity {id} life {life} generation {generation} at {at}{parent}"));
        let motion = VectorReader { bits, given, dimensions }.motion(shape % 8)?;
        line(text, &motion);
        if shape >= 8 {
            let attitude = VectorReader { bits, given, dimensions }.attitude()?;
            line(text, &attitude);
        }
    }
    if used.len() != ages.len() + lives.len() + shapes.len() + parents.len() {
        return Err(Rejected("an unused table entry"));
    }
    Ok(())
}

fn ids(bits: &mut Bits, n: u64) -> Result<Vec<u64>, Rejected> {
    let last = at_most_32_bits(bits.golomb("last id", 6)? + (n - 1))?;
    let mut ids = bits.ascending("id", n - 1, 0, last)?;
    ids.push(last);
    Ok(ids)
}

fn parents(bits: &mut Bits, n: u64) -> Result<Vec<Option<u64>>, Rejected> {
    let some_have_none = bits.flag("some have none")?;
    let r = bits.golomb("parents", 0)?;
    if r >= n {
        return Err(Rejected("more parents than DR vectors"));
    }
    let none = some_have_none.then_some(None);
    Ok(none.into_iter().chain(ids(bits, r + 1)?.into_iter().map(Some)).collect())
}

fn ages(bits: &mut Bits, n: u64) -> Result<Vec<u64>, Rejected> {
    let r = bits.golomb("ages", 0)?;
    if r >= n {
        return Err(Rejected("more ages than DR vectors"));
    }
    let mut ages = vec![0];
    if r > 0 {
        let greatest = at_most_32_bits(bits.golomb("greatest age", 4)? + r)?;
        ages.extend(bits.ascending("age between", r - 1, 1, greatest)?);
        ages.push(greatest);
    }
    Ok(ages)
}

fn small_set(bits: &mut Bits, name: &str, end: u64) -> Result<Vec<u64>, Rejected> {
    let r = bits.golomb(name, 0)?;
    if r >= end {
        return Err(Rejected("a set with too many elements"));
    }
    bits.ascending(name, r + 1, 0, end)
}

fn at_most_32_bits(number: u64) -> Result<u64, Rejected> {
    if number < 1 << 32 { Ok(number) } else { Err(Rejected("more than 32 bits")) }
}

struct VectorReader<'a> {
    bits: &'a mut Bits,
    given: &'a Given,
    dimensions: usize,
}

impl VectorReader<'_> {
    fn motion(&mut self, model: u64) -> Result<String, Rejected> {
        let given = self.given;
        Ok(match model {
            0 => format!("static position {} orientation {}", self.position()?, self.orientation()?),
            1 => format!("linear position {} velocity {}", self.position()?, self.vector(&given.velocity)?),
            2 => format!(
                "quadratic position {} velocity {} acceleration {}",
                self.position()?,
                self.vector(&given.velocity)?,
                self.vector(&given.acceleration)?
            ),
            3 => self.circular()?,
            4 => self.hermite()?,
            5 => self.dis()?,
            _ => return Err(Rejected("unknown model")),
        })
    }

    fn circular(&mut self) -> Result<String, Rejected> {
        let position = self.position()?;
        let heading = self.given.angle(self.bits, "heading")?;
        let speed = self.given.velocity.number(self.bits, "speed")?;
        let turn_rate = self.given.turn_rate.number(self.bits, "turn rate")?;
        let mut text = format!(
            "circular position {position} heading {heading:?} speed {speed:?} turn_rate {turn_rate:?}"
        );
        if self.dimensions == 3 {
            let rate = self.given.velocity.number(self.bits, "climb rate")?;
            let acceleration = self.given.acceleration.number(self.bits, "climb accel.")?;
            write!(text, " climb_rate {rate:?} climb_acceleration {acceleration:?}").expect("a string");
        }
        Ok(text)
    }

    fn hermite(&mut self) -> Result<String, Rejected> {
        let given = self.given;
        let [start, start_velocity] = [self.position()?, self.vector(&given.velocity)?];
        let [end, end_velocity] = [self.position()?, self.vector(&given.velocity)?];
        let secs = given.duration.number(self.bits, "duration")?;
        if secs <= 0.0 {
            return Err(Rejected("a curve without a duration"));
        }
        Ok(format!(
            "hermite start {start} start_velocity {start_velocity} end {end} end_velocity {end_velocity} secs {secs:?}"
        ))
    }

    fn dis(&mut self) -> Result<String, Rejected> {
        let given = self.given;
        let code = self.bits.bits("DIS model", 8)?;
        let name = DIS_MODELS.iter().find(|(one, _)| *one == code).ok_or(Rejected("unknown reading"))?.1;
        let mut in_space = VectorReader { bits: self.bits, given, dimensions: 3 };
        let position = in_space.position()?;
        let velocity = in_space.unless_zero(&given.velocity)?;
        let acceleration = in_space.unless_zero(&given.acceleration)?;
        let orientation = in_space.orientation()?;
        let angular_velocity = in_space.unless_zero(&given.turn_rate)?;
        Ok(format!(
            "dis {name} position {position} velocity {velocity} acceleration {acceleration} \
             orientation {orientation} angular_velocity {angular_velocity}"
        ))
    }

    fn attitude(&mut self) -> Result<String, Rejected> {
        let orientation = self.orientation()?;
        let spin = if self.dimensions == 2 {
            format!("{:?}", self.given.turn_rate.number(self.bits, "spin")?)
        } else {
            self.vector(&self.given.turn_rate)?
        };
        Ok(format!("attitude orientation {orientation} spin {spin}"))
    }

    fn position(&mut self) -> Result<String, Rejected> {
        let mut numbers = Vec::new();
        for axis in 0..self.dimensions {
            numbers.push(self.given.position[axis].number(self.bits, ["x", "y", "z"][axis])?);
        }
        Ok(spaced(&numbers))
    }

    fn vector(&mut self, grid: &Raster) -> Result<String, Rejected> {
        Ok(spaced(&self.numbers(grid)?))
    }

    fn numbers(&mut self, grid: &Raster) -> Result<Vec<f64>, Rejected> {
        ["rate x", "rate y", "rate z"][..self.dimensions]
            .iter()
            .map(|name| grid.number(self.bits, name))
            .collect()
    }

    fn unless_zero(&mut self, grid: &Raster) -> Result<String, Rejected> {
        if !self.bits.flag("not zero")? {
            return Ok(spaced(&[0.0; 3]));
        }
        let numbers = self.numbers(grid)?;
        if numbers.iter().all(|number| *number == 0.0) {
            return Err(Rejected("zero said to be not zero"));
        }
        Ok(spaced(&numbers))
    }

    fn orientation(&mut self) -> Result<String, Rejected> {
        if self.dimensions == 2 {
            return Ok(format!("{:?}", self.given.angle(self.bits, "orientation")?));
        }
        Ok(spaced(&self.given.quaternion(self.bits)?))
    }
}

const DIS_MODELS: [(u64, &str); 13] = [
    (0x01, "Static"),
    (0x02, "Fpw"),
    (0x03, "Rpw"),
    (0x04, "Rvw"),
    (0x05, "Fvw"),
    (0x06, "Fpb(OmegaIgnored)"),
    (0x16, "Fpb(Literal)"),
    (0x07, "Rpb"),
    (0x08, "Rvb(Inertial)"),
    (0x18, "Rvb(BodyRate)"),
    (0x09, "Fvb(OmegaIgnored)"),
    (0x19, "Fvb(Literal(Inertial))"),
    (0x29, "Fvb(Literal(BodyRate))"),
];

fn spaced(numbers: &[f64]) -> String {
    let all: Vec<String> = numbers.iter().map(|number| format!("{number:?}")).collect();
    all.join(" ")
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
