//! The byte encoding of a scene.

use super::boat::Boat;
use super::config::BOATS_MAX;
use super::scene::SailingScene;
use crate::online::{BadMessage, Reader, WireState, Writer};

impl WireState for SailingScene {
    fn write(&self, out: &mut Writer) {
        let Self { tick, wind, current, boats } = self;
        out.u64(*tick).vector(*wind).vector(*current).u8(boats.len() as u8);
        for boat in boats {
            let Boat {
                position,
                heading,
                speed,
                sheet,
                sail,
                rudder,
                is_tight,
                turn_rate,
                velocity,
                finished_at,
            } = boat;
            out.vector(*position).vector(*velocity).u8((*is_tight).into());
            for number in [heading, speed, sheet, sail, rudder, turn_rate] {
                out.f64(*number);
            }
            out.option(*finished_at, |out, tick| {
                out.u64(tick);
            });
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, BadMessage> {
        let (tick, wind, current) = (from.u64()?, from.vector()?, from.vector()?);
        let count = from.u8()?;
        if u32::from(count) > BOATS_MAX {
            return Err(BadMessage::Unknown(count));
        }
        let boats = (0..count).map(|_| boat(from)).collect::<Result<_, _>>()?;
        Ok(Self { tick, wind, current, boats })
    }
}

fn boat(from: &mut Reader<'_>) -> Result<Boat, BadMessage> {
    let (position, velocity, is_tight) = (from.vector()?, from.vector()?, from.flag()?);
    Ok(Boat {
        position,
        velocity,
        is_tight,
        heading: from.f64()?,
        speed: from.f64()?,
        sheet: from.f64()?,
        sail: from.f64()?,
        rudder: from.f64()?,
        turn_rate: from.f64()?,
        finished_at: from.option(Reader::u64)?,
    })
}
