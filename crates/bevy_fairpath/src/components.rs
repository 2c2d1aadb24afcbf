//! The components of replicated entities.

use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec3};
use fairpath::session::{Class, ClassId, Party};
use fairpath::{EntityId, MotionKind, Span, Trigger};
use serde::{Deserialize, Serialize};

use crate::observe::Track;
use crate::space::Pose;

/// Replicates an entity with a `Transform`: other peers see it where it is, to within
/// [`within`](Self::within), as long as updates arrive.
///
/// Put it on an entity and move its `Transform`, in `FixedUpdate` or in `Update`. The app that
/// spawns the entity owns it ([`Owned`]); at other ends it appears with [`Remote`], and its
/// `Transform` is drawn there. Velocity and turn are estimated from the `Transform`, unless the
/// entity has [`Velocity`], [`Spin`] or [`Acceleration`]. Remove it to end the replication: at other
/// peers the entity despawns.
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_transform::components::Transform;
/// use bevy_fairpath::prelude::*;
///
/// fn spawn(mut commands: Commands) {
///     let ship = DeadReckoned { within: 0.3, model: Model::Circular, ..DeadReckoned::default() };
///     commands.spawn((ship, Transform::default()));
/// }
/// ```
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[require(Track)]
pub struct DeadReckoned {
    /// How wrong a receiver's guess may get before an update is sent, in world units. Default 0.1.
    ///
    /// Half of it sends a turning entity about 1.4 times as often. Above a body width, hits look
    /// unfair. Example: 0.3 for a tank 6 long that drives 25 units a second. It can be changed
    /// while the entity lives.
    pub within: f32,
    /// The curve that receivers guess. Default [`Model::Linear`]. Fixed when the entity is
    /// replicated.
    pub model: Model,
    /// How the entity faces. Default: within 0.1 radians of the owner's rotation.
    pub facing: Facing,
    /// Also sends an update when the course turns by more than this many radians, before that has
    /// grown into a distance. Default: none. Example: 0.02 for ships that thrust in bursts.
    pub course_within: Option<f32>,
    /// In which schedule the game moves the entity. Default [`MovedIn::Detect`].
    pub moved_in: MovedIn,
}

impl DeadReckoned {
    /// Returns the defaults with another threshold.
    pub fn within(within: f32) -> Self {
        Self { within, ..Self::default() }
    }

    /// Sets the curve that receivers guess.
    #[must_use]
    pub fn model(mut self, model: Model) -> Self {
        self.model = model;
        self
    }

    /// Sets how the entity faces.
    #[must_use]
    pub fn facing(mut self, facing: Facing) -> Self {
        self.facing = facing;
        self
    }

    /// Returns what is out of range.
    pub(crate) fn problem(&self) -> Option<String> {
        let is_good = |number: f32| number.is_finite() && number > 0.0;
        if !is_good(self.within) {
            return Some(format!("DeadReckoned::within is {}; it must be positive", self.within));
        }
        if let Facing::Within(radians) = self.facing
            && !is_good(radians)
        {
            return Some(format!("DeadReckoned::facing is {radians}; it must be positive"));
        }
        None
    }

    pub(crate) fn trigger(&self) -> Trigger {
        let usual = Self::default();
        let positive = |number: f32, otherwise: f32| {
            f64::from(if number.is_finite() && number > 0.0 { number } else { otherwise })
        };
        let mut rules = vec![
            Trigger::Distance { threshold: positive(self.within, usual.within) },
            // A lost update is repaired by the next within a second, as in `Class::within`.
            Trigger::Every(Span::from_secs(1)),
        ];
        if let Facing::Within(radians) = self.facing {
            rules.push(Trigger::Angle { threshold: positive(radians, 0.1) });
        }
        if let Some(radians) = self.course_within {
            // Below three thresholds a second the direction of movement is only noise.
            let speed_min = 3.0 * positive(self.within, usual.within);
            rules.push(Trigger::PreReckoning { angle: positive(radians, 0.1), speed_min });
        }
        Trigger::AnyOf(rules)
    }
}

impl Default for DeadReckoned {
    fn default() -> Self {
        Self {
            within: 0.1,
            model: Model::Linear,
            facing: Facing::Within(0.1),
            course_within: None,
            moved_in: MovedIn::Detect,
        }
    }
}

/// The curve by which receivers continue a motion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Constant velocity: bullets, rocks, and whatever changes its course abruptly.
    #[default]
    Linear,
    /// Circles, for what steers and goes where it faces, forwards or backwards: cars, ships, tanks.
    /// It faces +x of its `Transform` in the plane, and −z in space. Draw a sprite that faces
    /// another way as a child. Turns about Bevy's z in the plane, about y in space.
    Circular,
    /// Constant acceleration: people, and what falls, brakes or is thrown.
    Quadratic,
}

/// How an entity faces at other peers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Facing {
    /// Its rotation is sent, whenever receivers are wrong by more than this many radians.
    Within(f32),
    /// It faces the way it moves: +x of its `Transform` in the plane, −z in space. Its rotation is
    /// not sent, which saves bytes.
    Course,
}

/// The schedule in which the game moves an entity. It decides for which instant the entity's
/// `Transform` is true: the tick's or the frame's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MovedIn {
    /// The plugin looks where the `Transform` changes.
    #[default]
    Detect,
    /// `FixedUpdate`, or another schedule of the fixed loop.
    FixedUpdate,
    /// `Update`, or another schedule that runs once a frame.
    Update,
}

/// Replicates an entity without a position: a scoreboard, a team. Only its components are sent.
/// Every client sees it.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct Motionless;

/// An entity that this app owns: the game moves it, the plugin observes it.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct Owned;

/// An entity that another peer owns: the plugin moves it.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct Remote;

/// Which peer owns a replicated entity.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The peer.
    pub party: Party,
    /// At the server the entity of the owning client.
    pub client: Option<Entity>,
}

/// The id of a replicated entity, the same at every peer. Values that travel name an entity by it:
/// `Entity` means nothing at another peer. [`Fairpath::entity`](crate::Fairpath::entity) finds the
/// entity of an id.
///
/// Ids are used again two minutes after an entity is gone.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicatedId(pub EntityId);

/// Passes an entity to the server when its owner's session is lost, instead of despawning it. Read
/// when the entity is replicated.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct OutlivesOwner;

/// Lets clients [`claim`](crate::OwnershipCommandsExt::claim) this entity. The server adds and
/// removes it at any time: a car is claimable while nobody drives it.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct Claimable;

/// The velocity of an entity, in units a second. The game sets it on entities that it owns; on
/// others that have it the plugin does.
///
/// It must be the slope of the `Transform`: the velocity that the next step will have.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
pub struct Velocity(pub Vec3);

/// The turn of an entity, in radians a second about the axes of the world. In the plane only z
/// counts. Set like [`Velocity`].
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
pub struct Spin(pub Vec3);

/// The acceleration of an entity, for [`Model::Quadratic`]. Without it the plugin estimates it.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
pub struct Acceleration(pub Vec3);

/// Where a [`Remote`] entity is, in the world: for hits and other decisions. Its `Transform` is for
/// the screen, and bends where this jumps.
///
/// In the fixed loop it is true for the instant of the tick, elsewhere for that of the frame.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// The position in the world. In the plane z is 0.
    pub translation: Vec3,
    /// The rotation in the world.
    pub rotation: Quat,
    /// The velocity in the world.
    pub velocity: Vec3,
    /// The same for the frame.
    pub(crate) frame: Pose,
}

impl Placed {
    pub(crate) fn new(frame: Pose) -> Self {
        Self { translation: Vec3::ZERO, rotation: Quat::IDENTITY, velocity: Vec3::ZERO, frame }.at_frame()
    }

    pub(crate) fn at_frame(self) -> Self {
        self.after(0.0)
    }

    /// The same some seconds after the frame, by its velocity.
    pub(crate) fn after(self, secs: f64) -> Self {
        let Pose { position, velocity, rotation, .. } = self.frame;
        let (translation, velocity) = ((position + velocity * secs).as_vec3(), velocity.as_vec3());
        Self { translation, velocity, rotation: rotation.as_quat(), frame: self.frame }
    }
}

/// What every peer that sees an object is told when it enters.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Creation {
    within: f32,
    facing_within: Option<f32>,
    course_within: Option<f32>,
    /// The components that its owner set, by their groups, if the owner is a client.
    pub(crate) components: Vec<(u8, Vec<u8>)>,
}

impl Creation {
    pub(crate) fn of(settings: Option<&DeadReckoned>, components: Vec<(u8, Vec<u8>)>) -> Self {
        let settings = settings.copied().unwrap_or_default();
        let facing_within = match settings.facing {
            Facing::Within(radians) => Some(radians),
            Facing::Course => None,
        };
        Self { within: settings.within, facing_within, course_within: settings.course_within, components }
    }

    /// Returns the settings with which the entity was replicated, if its class has motion.
    pub(crate) fn settings(&self, class: ClassId) -> Option<DeadReckoned> {
        let model = *MODELS.get((class.0.checked_sub(CLASSES_FROM)? / 4) as usize)?;
        Some(DeadReckoned {
            within: self.within,
            model,
            facing: self.facing_within.map_or(Facing::Course, Facing::Within),
            course_within: self.course_within,
            moved_in: MovedIn::Detect,
        })
    }
}

/// Classes of the plugin begin here: below are those of the game's own protocol.
pub(crate) const CLASSES_FROM: u32 = 64;

const MODELS: [Model; 3] = [Model::Linear, Model::Circular, Model::Quadratic];

/// The class of an entity: its settings that cannot change.
pub(crate) fn class_of(settings: Option<&DeadReckoned>, outlives_owner: bool) -> ClassId {
    let index = settings.map_or(12, |settings| {
        let model = MODELS.iter().position(|model| *model == settings.model).unwrap_or_default() as u32;
        model * 4 + u32::from(matches!(settings.facing, Facing::Within(_))) * 2
    });
    ClassId(CLASSES_FROM + index + u32::from(outlives_owner))
}

/// All classes, without states.
pub(crate) fn classes() -> impl Iterator<Item = (ClassId, Class)> {
    let moving = MODELS.into_iter().flat_map(|model| {
        [Facing::Course, Facing::Within(0.1)].map(|facing| {
            let settings = DeadReckoned { model, facing, ..DeadReckoned::default() };
            let kind = match model {
                Model::Linear => MotionKind::Linear,
                Model::Circular => MotionKind::Circular,
                Model::Quadratic => MotionKind::Quadratic,
            };
            let class = Class::new(settings.trigger()).with_model(kind);
            let class = if facing == Facing::Course { class } else { class.with_attitude() };
            (Some(settings), class)
        })
    });
    moving.chain([(None, Class::without_motion())]).flat_map(|(settings, class)| {
        // Every class is claimable: `Claimable` decides about each entity.
        let class = class.claimable();
        let kept = class.clone().outlives_owner();
        [(class_of(settings.as_ref(), false), class), (class_of(settings.as_ref(), true), kept)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_told_apart_and_say_their_model() {
        let ids: Vec<u32> = classes().map(|(id, _)| id.0).collect();
        assert_eq!(ids, (CLASSES_FROM..CLASSES_FROM + 14).collect::<Vec<_>>());
        for model in MODELS {
            for facing in [Facing::Course, Facing::Within(0.25)] {
                let settings = DeadReckoned { model, facing, ..DeadReckoned::within(0.5) };
                let creation = Creation::of(Some(&settings), Vec::new());
                assert_eq!(creation.settings(class_of(Some(&settings), true)), Some(settings));
            }
        }
        assert_eq!(Creation::default().settings(class_of(None, false)), None);
    }

    #[test]
    fn a_threshold_out_of_range_is_noticed_and_replaced() {
        for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let settings = DeadReckoned::within(bad);
            assert!(settings.problem().is_some());
            let Trigger::AnyOf(rules) = settings.trigger() else { panic!("several rules") };
            let usual = Trigger::Distance { threshold: f64::from(DeadReckoned::default().within) };
            assert_eq!(rules[0], usual);
        }
    }
}
