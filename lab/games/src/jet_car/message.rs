//! The byte encoding of a scene.

use super::scene::{Car, Gust, JetCarScene, OBSTRUCTIONS_MAX, Obstruction, Pace, Size};
use crate::online::{BadMessage, Reader, WireState, Writer};

impl WireState for JetCarScene {
    fn write(&self, out: &mut Writer) {
        let Self { tick, car, obstructions, gust, score, lives } = self;
        out.u64(*tick).u32(score.cast_unsigned()).u32(*lives);
        out.vector(car.position).vector(car.velocity).u32(car.life.into()).u8(car.is_new.into());
        out.option(*gust, |out, gust| {
            out.vector(gust.push).u32(gust.ticks_left);
        });
        let count = obstructions.len().min(usize::from(u8::MAX));
        out.u8(count as u8);
        for Obstruction { number, size, pace, position } in &obstructions[..count] {
            out.u32(*number).u8(*size as u8).u8(*pace as u8).vector(*position);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, BadMessage> {
        const _: () = assert!(u8::MAX as usize <= OBSTRUCTIONS_MAX);
        let (tick, score, lives) = (from.u64()?, from.u32()?.cast_signed(), from.u32()?);
        let car = Car {
            position: from.vector()?,
            velocity: from.vector()?,
            life: from.u32()? as u16,
            is_new: from.flag()?,
        };
        let gust = from.option(|from| Ok(Gust { push: from.vector()?, ticks_left: from.u32()? }))?;
        let count = from.u8()?;
        let obstructions = (0..count).map(|_| obstruction(from)).collect::<Result<_, _>>()?;
        Ok(Self { tick, car, obstructions, gust, score, lives })
    }
}

fn obstruction(from: &mut Reader<'_>) -> Result<Obstruction, BadMessage> {
    let number = from.u32()?;
    let size = from.u8()?;
    let pace = from.u8()?;
    Ok(Obstruction {
        number,
        size: *Size::ALL.get(usize::from(size)).ok_or(BadMessage::Unknown(size))?,
        pace: *Pace::ALL.get(usize::from(pace)).ok_or(BadMessage::Unknown(pace))?,
        position: from.vector()?,
    })
}
