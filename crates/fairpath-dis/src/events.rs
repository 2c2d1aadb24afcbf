//! Fire and Detonation in the session's own coordinates, for games that share a session with
//! gateways.

use dis_rs::model::PduBody;
use fairpath::{Vec3, Vector};

use crate::exchange::Event;
use crate::frame::LocalFrame;
use crate::id::{DisId, EntityType};
use crate::pdu::{Pdu, kind};
use crate::stamp::Stamp;

/// A weapon is fired, or a munition explodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shot {
    /// Whether the munition explodes: a Detonation PDU instead of a Fire PDU.
    pub is_detonation: bool,
    /// The entity that fires.
    pub shooter: DisId,
    /// The target; 0:0:0 if it is not known.
    pub target: DisId,
    /// The munition, if it is an entity; 0:0:0 otherwise.
    pub munition: DisId,
    /// Number of the event: the same in the Fire and the Detonation of one shot.
    pub event: DisId,
    /// Where, in the local frame.
    pub position: Vec3,
    /// Velocity of the munition, in the local frame.
    pub velocity: Vec3,
    /// Type of the munition.
    pub munition_type: EntityType,
    /// What a detonation did: a number of the standard, 5 for a detonation at the entity's place.
    pub result: u8,
}

impl Shot {
    /// Returns what an event says; `None` for other events than Fire and Detonation, and for ones
    /// that do not follow the standard.
    pub fn read(event: &Event, frame: &LocalFrame) -> Option<Self> {
        let pdu = Pdu::split(&event.0).next()?.ok()?;
        let id = |it: &dis_rs::model::EntityId| {
            let address = it.simulation_address;
            DisId::new(address.site_id, address.application_id, it.entity_id)
        };
        let place =
            |it: &dis_rs::model::Location| Vec3::new(it.x_coordinate, it.y_coordinate, it.z_coordinate);
        let bytes = pdu.bytes();
        let event_id = DisId::from_bytes(bytes.get(30..36)?);
        let shot = match pdu.body().ok()? {
            PduBody::Fire(fire) => Self {
                is_detonation: false,
                shooter: id(&fire.firing_entity_id),
                target: id(&fire.target_entity_id),
                munition: id(&fire.entity_id),
                event: event_id,
                position: frame.to_local(place(&fire.location_in_world)),
                velocity: velocity(&fire.velocity, frame),
                munition_type: EntityType(std::array::from_fn(|at| bytes[64 + at])),
                result: 0,
            },
            PduBody::Detonation(detonation) => Self {
                is_detonation: true,
                shooter: id(&detonation.source_entity_id),
                target: id(&detonation.target_entity_id),
                munition: id(&detonation.exploding_entity_id),
                event: event_id,
                position: frame.to_local(place(&detonation.location_in_world_coordinates)),
                velocity: velocity(&detonation.velocity, frame),
                munition_type: EntityType(std::array::from_fn(|at| bytes[72 + at])),
                result: detonation.detonation_result.into(),
            },
            _ => return None,
        };
        (shot.position.is_finite() && shot.velocity.is_finite()).then_some(shot)
    }

    /// Returns the event of the shot, for gateways to pass on. They set exercise and stamp.
    pub fn write(&self, frame: &LocalFrame) -> Event {
        let (kind, length) = if self.is_detonation { (kind::DETONATION, 104u16) } else { (kind::FIRE, 96) };
        let mut out = vec![7, 1, kind, 2];
        out.extend(Stamp(0).0.to_be_bytes());
        out.extend(length.to_be_bytes());
        out.extend([0, 0]);
        for id in [self.shooter, self.target, self.munition, self.event] {
            out.extend(id.to_bytes());
        }
        let place = frame.to_geocentric(self.position);
        let velocity = frame.to_geocentric(self.velocity) - frame.to_geocentric(Vec3::ZERO);
        let put_place = |out: &mut Vec<u8>| {
            [place.x, place.y, place.z].iter().for_each(|it| out.extend(it.to_be_bytes()));
        };
        let put_velocity = |out: &mut Vec<u8>| {
            [velocity.x, velocity.y, velocity.z].iter().for_each(|it| out.extend((*it as f32).to_be_bytes()));
        };
        if self.is_detonation {
            put_velocity(&mut out);
            put_place(&mut out);
            out.extend(self.munition_type.0);
            out.extend([0, 0, 0, 0, 0, 1, 0, 0]);
            out.extend([0; 12]);
            out.extend([self.result, 0, 0, 0]);
        } else {
            out.extend([0; 4]);
            put_place(&mut out);
            out.extend(self.munition_type.0);
            out.extend([0, 0, 0, 0, 0, 1, 0, 0]);
            put_velocity(&mut out);
            out.extend([0; 4]);
        }
        debug_assert_eq!(out.len(), usize::from(length));
        Event(out)
    }
}

fn velocity(it: &dis_rs::model::VectorF32, frame: &LocalFrame) -> Vec3 {
    let [x, y, z] =
        [it.first_vector_component, it.second_vector_component, it.third_vector_component].map(f64::from);
    frame.to_local(frame.to_geocentric(Vec3::ZERO) + Vec3::new(x, y, z))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Geodetic;

    #[test]
    fn shots_survive_the_way_through_a_pdu() {
        let frame = LocalFrame::at(Geodetic { latitude: 48.1, longitude: 11.6, height: 520.0 });
        for is_detonation in [false, true] {
            let shot = Shot {
                is_detonation,
                shooter: DisId::new(1, 2, 3),
                target: DisId::new(4, 5, 6),
                munition: DisId::new(1, 2, 99),
                event: DisId::new(1, 2, 1234),
                position: Vec3::new(1000.0, -2000.0, 30.0),
                velocity: Vec3::new(700.0, 100.0, 20.0),
                munition_type: EntityType([2, 2, 0, 225, 2, 1, 0, 0]),
                result: if is_detonation { 5 } else { 0 },
            };
            let back = Shot::read(&shot.write(&frame), &frame).expect("our own PDU");
            assert!(
                back.position.distance(shot.position) < 1e-6 && back.velocity.distance(shot.velocity) < 1e-3
            );
            assert_eq!(Shot { position: shot.position, velocity: shot.velocity, ..back }, shot);
        }
    }
}
