use fairpath::motion::{Circular, Linear, Motion, Quadratic, Static};
use fairpath::number::{EntityId, Generation, Life};
use fairpath::rotation::Quat;
use fairpath::time::SharedInstant;
use fairpath::vector::{Planar, Vec3};
use fairpath::{DrVector, State};

use super::SCHEMA_VERSION;
use super::cells::{LengthUnit, ModelKind, ReceiptKind, StateKind, TraceCell};
use crate::csv::{Cells, CsvError, CsvProblem, Reader, Writer};
use crate::digest::Digest;

pub(super) trait Row: Sized {
    const COLUMNS: &'static [&'static str];
    fn write(&self, writer: &mut Writer) -> Result<(), CsvError>;
    fn read(cells: &mut Cells<'_>) -> Result<Self, CsvError>;
    fn add_to(&self, digest: &mut Digest);
}

/// A row type from one list, so that struct, columns, text and digest cannot disagree.
macro_rules! row {
    ($(#[$doc:meta])* pub struct $row:ident {
        $($(#[$field_doc:meta])* pub $field:ident: $kind:ty as $column:literal,)+
    }) => {
        $(#[$doc])*
        pub struct $row {
            $($(#[$field_doc])* pub $field: $kind,)+
        }

        impl Row for $row {
            const COLUMNS: &'static [&'static str] = &[$($column),+];

            fn write(&self, writer: &mut Writer) -> Result<(), CsvError> {
                $(writer.write(&self.$field)?;)+
                Ok(())
            }

            fn read(cells: &mut Cells<'_>) -> Result<Self, CsvError> {
                Ok(Self { $($field: cells.read()?),+ })
            }

            fn add_to(&self, digest: &mut Digest) {
                $(self.$field.add_to(digest);)+
            }
        }
    };
}

row! {
    /// About a run: one row.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Metadata {
        /// The version of the schema the run was written with.
        pub schema_version: u32 as "schema_version",
        /// The name of the game or recording. No commas, no line breaks.
        pub title: String as "title",
        /// The unit of lengths.
        pub length_unit: LengthUnit as "length_unit",
        /// Ticks per second, if the rate was fixed.
        pub tick_rate_hz: Option<u32> as "tick_rate_hz",
        /// The seed that repeats the run.
        pub seed: u64 as "seed",
        /// How many entities are players: their numbers are below this. Entities with higher
        /// numbers
        /// (shots, a ball) have no driver. Empty if every entity is a player.
        pub players: Option<u32> as "players",
        /// The world's lowest x.
        pub x_min: f64 as "x_min",
        /// The world's lowest y.
        pub y_min: f64 as "y_min",
        /// The world's lowest z.
        pub z_min: f64 as "z_min",
        /// The world's highest x.
        pub x_max: f64 as "x_max",
        /// The world's highest y.
        pub y_max: f64 as "y_max",
        /// The world's highest z.
        pub z_max: f64 as "z_max",
    }
}

row! {
    /// The state of an entity at one instant, as one party knew it.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct StateRow {
        /// The instant.
        pub t_us: i64 as "t_us",
        /// The entity.
        pub entity: u32 as "entity",
        /// Which of its lives, counted from zero and not wrapped.
        pub life: u16 as "life",
        /// Truth, exported, placed or drawn.
        pub kind: StateKind as "kind",
        /// The viewer, for placed and drawn states; empty otherwise.
        pub viewer: Option<u32> as "viewer",
        /// Position along +x.
        pub x: f64 as "x",
        /// Position along +y.
        pub y: f64 as "y",
        /// Position along +z.
        pub z: f64 as "z",
        /// Velocity along +x.
        pub vx: f64 as "vx",
        /// Velocity along +y.
        pub vy: f64 as "vy",
        /// Velocity along +z.
        pub vz: f64 as "vz",
        /// Orientation, a unit quaternion from body to world axes: the scalar part.
        pub qw: f64 as "qw",
        /// Its vector part along +x.
        pub qx: f64 as "qx",
        /// Its vector part along +y.
        pub qy: f64 as "qy",
        /// Its vector part along +z.
        pub qz: f64 as "qz",
        /// Whether this is the first row after a gap, respawn or teleport: do not interpolate
        /// across it.
        pub is_break: bool as "break",
    }
}

row! {
    /// A copy of a DR vector that left for one receiver.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct SendRow {
        /// When it left.
        pub t_us: i64 as "t_us",
        /// The sender.
        pub sender: u32 as "sender",
        /// The receiver.
        pub receiver: u32 as "receiver",
        /// The entity that it describes.
        pub entity: u32 as "entity",
        /// Which of that entity's lives.
        pub life: u16 as "life",
        /// Which of that entity's DR vectors, counted and not wrapped.
        pub generation: u64 as "generation",
        /// When it was generated; schedulers may send it later.
        pub generated_us: i64 as "generated_us",
        /// The packet of this link that carried it.
        pub packet: u64 as "packet",
        /// Its share of that packet, in bytes.
        pub bytes: u32 as "bytes",
    }
}

row! {
    /// A DR vector that reached a receiver.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ReceiptRow {
        /// When it arrived.
        pub t_us: i64 as "t_us",
        /// The receiver.
        pub receiver: u32 as "receiver",
        /// The sender.
        pub sender: u32 as "sender",
        /// The entity that it describes.
        pub entity: u32 as "entity",
        /// Which of that entity's lives.
        pub life: u16 as "life",
        /// Which of that entity's DR vectors, counted and not wrapped.
        pub generation: u64 as "generation",
        /// When it had left; the one-way delay is the difference.
        pub sent_us: i64 as "sent_us",
        /// The packet of this link that carried it.
        pub packet: u64 as "packet",
        /// What the receiver did with it.
        pub kind: ReceiptKind as "kind",
        /// When the sender learned of it; empty if it never did.
        pub known_us: Option<i64> as "known_us",
    }
}

row! {
    /// The DR vector that a viewer followed from an instant on.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct FollowedRow {
        /// The first tick at which the viewer followed it.
        pub t_us: i64 as "t_us",
        /// The viewer; empty for the owner, which follows the newest DR vector it has exported.
        pub viewer: Option<u32> as "viewer",
        /// The entity that it describes.
        pub entity: u32 as "entity",
        /// Which of that entity's lives, as the wire counts them.
        pub life: u16 as "life",
        /// When it was generated. It identifies the DR vector: an entity has only one per instant.
        pub generated_us: i64 as "generated_us",
    }
}

row! {
    /// A DR vector: one row for each. Numbers that its model does not have are 0.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct VectorRow {
        /// When the recorder first saw it.
        pub t_us: i64 as "t_us",
        /// The entity that it describes.
        pub entity: u32 as "entity",
        /// Which of that entity's lives, as the wire counts them.
        pub life: u16 as "life",
        /// Which of that entity's DR vectors, as the wire counts them.
        pub generation: u16 as "generation",
        /// When it was generated: its motion starts there.
        pub generated_us: i64 as "generated_us",
        /// The motion model.
        pub model: ModelKind as "model",
        /// Position along +x at the start.
        pub x: f64 as "x",
        /// Position along +y at the start.
        pub y: f64 as "y",
        /// Position along +z at the start.
        pub z: f64 as "z",
        /// Velocity along +x at the start: linear and quadratic.
        pub vx: f64 as "vx",
        /// Velocity along +y at the start.
        pub vy: f64 as "vy",
        /// Velocity along +z at the start.
        pub vz: f64 as "vz",
        /// Acceleration along +x: quadratic.
        pub ax: f64 as "ax",
        /// Acceleration along +y.
        pub ay: f64 as "ay",
        /// Acceleration along +z.
        pub az: f64 as "az",
        /// Heading at the start in radians, from +x towards +y: static and circular.
        pub heading: f64 as "heading",
        /// Speed along the heading: circular.
        pub speed: f64 as "speed",
        /// Turn rate in radians per second, from +x towards +y: circular.
        pub turn_rate: f64 as "turn_rate",
        /// Vertical speed: circular.
        pub climb_rate: f64 as "climb_rate",
        /// Vertical acceleration: circular.
        pub climb_acceleration: f64 as "climb_acceleration",
    }
}

row! {
    /// A player's input.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct InputRow {
        /// The instant.
        pub t_us: i64 as "t_us",
        /// The player.
        pub player: u32 as "player",
        /// The entity that the input steers.
        pub entity: u32 as "entity",
        /// Which of the player's inputs, counted and not wrapped.
        pub sequence: u64 as "sequence",
        /// The pressed buttons, one bit each; the game defines their meaning.
        pub buttons: u32 as "buttons",
        /// The first axis: the throttle, in games that have one.
        pub axis_0: f64 as "axis_0",
        /// The second axis: the wheel or rudder, in games that have one.
        pub axis_1: f64 as "axis_1",
        /// The third axis: the x of the aim, in games that aim.
        pub axis_2: f64 as "axis_2",
        /// The fourth axis: the y of the aim, in games that aim.
        pub axis_3: f64 as "axis_3",
    }
}

macro_rules! tables {
    ($($row:ident),+) => {$(
        impl $row {
            /// The names of the columns, from left to right.
            pub const COLUMNS: &'static [&'static str] = <Self as Row>::COLUMNS;

            /// Returns the table as CSV text. NaN and infinity are errors.
            pub fn to_csv(rows: &[Self]) -> Result<String, CsvError> {
                to_csv(rows)
            }

            /// Reads the table from CSV text, bit for bit as it was written.
            pub fn from_csv(bytes: &[u8]) -> Result<Vec<Self>, CsvError> {
                from_csv(bytes)
            }
        }
    )+};
}

tables!(StateRow, SendRow, ReceiptRow, FollowedRow, VectorRow, InputRow);

impl Metadata {
    /// The names of the columns, from left to right.
    pub const COLUMNS: &'static [&'static str] = <Self as Row>::COLUMNS;

    /// Describes a run in metres, from a seed, in a world of unknown extent.
    pub fn new(title: &str, seed: u64) -> Self {
        Self { title: title.to_owned(), seed, ..Self::default() }
    }

    /// Sets the world's corners.
    #[must_use]
    pub fn with_world(mut self, low: Vec3, high: Vec3) -> Self {
        (self.x_min, self.y_min, self.z_min) = (low.x, low.y, low.z);
        (self.x_max, self.y_max, self.z_max) = (high.x, high.y, high.z);
        self
    }

    /// Returns it as CSV text: a header and one row.
    pub fn to_csv(&self) -> Result<String, CsvError> {
        to_csv(std::slice::from_ref(self))
    }

    /// Reads it from CSV text. An unknown schema version is an error.
    pub fn from_csv(bytes: &[u8]) -> Result<Self, CsvError> {
        let rows: Vec<Self> = from_csv(bytes)?;
        let metadata = rows.into_iter().next().ok_or_else(|| CsvError::of_row(1, CsvProblem::NoRows))?;
        if metadata.schema_version != SCHEMA_VERSION {
            return Err(CsvError::new(2, "schema_version", CsvProblem::UnknownVersion));
        }
        Ok(metadata)
    }
}

impl Default for Metadata {
    fn default() -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            title: String::new(),
            length_unit: LengthUnit::Metres,
            tick_rate_hz: None,
            seed: 0,
            players: None,
            x_min: 0.0,
            y_min: 0.0,
            z_min: 0.0,
            x_max: 0.0,
            y_max: 0.0,
            z_max: 0.0,
        }
    }
}

impl StateRow {
    /// Creates a row of an entity's first life, without a viewer. Fill in the rest as needed:
    ///
    /// ```
    /// # use fairpath::{State, number::EntityId, time::SharedInstant, vector::Vec2};
    /// # use fairpath_sim::trace::{StateKind, StateRow};
    /// # let (now, state) = (SharedInstant::ZERO, State::<Vec2>::default());
    /// let seen = StateRow { viewer: Some(2), ..StateRow::new(now, EntityId(7), StateKind::Placed, &state) };
    /// ```
    pub fn new<V: Planar>(t: SharedInstant, entity: EntityId, kind: StateKind, state: &State<V>) -> Self {
        let position = state.position.to_3d();
        let velocity = state.velocity.to_3d();
        let orientation = V::to_quat(state.orientation);
        Self {
            t_us: t.as_micros(),
            entity: entity.0,
            kind,
            x: position.x,
            y: position.y,
            z: position.z,
            vx: velocity.x,
            vy: velocity.y,
            vz: velocity.z,
            qw: orientation.w,
            qx: orientation.v.x,
            qy: orientation.v.y,
            qz: orientation.v.z,
            ..Self::default()
        }
    }

    /// Returns the instant of the row.
    pub fn at(&self) -> SharedInstant {
        SharedInstant::from_micros(self.t_us)
    }

    /// Returns the state. Acceleration and spin are zero, because rows do not hold them.
    pub fn state<V: Planar>(&self) -> State<V> {
        let orientation = Quat { w: self.qw, v: Vec3::new(self.qx, self.qy, self.qz) };
        State {
            position: V::from_3d(Vec3::new(self.x, self.y, self.z)),
            velocity: V::from_3d(Vec3::new(self.vx, self.vy, self.vz)),
            orientation: V::from_quat(orientation),
            ..State::default()
        }
    }
}

impl VectorRow {
    /// Creates the row of a DR vector that was seen at `seen_at`. `None` for what a row does not
    /// hold: Hermite and DIS motions, attitudes, parents.
    pub fn new<V: Planar>(seen_at: SharedInstant, vector: &DrVector<V>) -> Option<Self> {
        if vector.attitude.is_some() || vector.parent.is_some() {
            return None;
        }
        let origin = vector.motion.origin().to_3d();
        let row = Self {
            t_us: seen_at.as_micros(),
            entity: vector.entity.0,
            life: vector.life.number().into(),
            generation: vector.generation.0.into(),
            generated_us: vector.generated_at.as_micros(),
            x: origin.x,
            y: origin.y,
            z: origin.z,
            ..Self::default()
        };
        let moving = |velocity: V, model| {
            let velocity = velocity.to_3d();
            Self { model, vx: velocity.x, vy: velocity.y, vz: velocity.z, ..row }
        };
        match &vector.motion {
            // A heading holds every orientation in the plane, and level ones in space.
            Motion::Static(still) => {
                let heading = V::heading(still.orientation);
                (V::level(heading) == still.orientation).then_some(Self { heading, ..row })
            }
            Motion::Linear(line) => Some(moving(line.velocity, ModelKind::Linear)),
            Motion::Quadratic(curve) => {
                let acceleration = curve.acceleration.to_3d();
                let (ax, ay, az) = (acceleration.x, acceleration.y, acceleration.z);
                Some(Self { ax, ay, az, ..moving(curve.velocity, ModelKind::Quadratic) })
            }
            Motion::Circular(circle) => Some(Self {
                model: ModelKind::Circular,
                heading: circle.heading,
                speed: circle.speed,
                turn_rate: circle.turn_rate,
                climb_rate: circle.climb_rate,
                climb_acceleration: circle.climb_acceleration,
                ..row
            }),
            _ => None,
        }
    }

    /// Returns the DR vector, bit for bit as it was.
    pub fn vector<V: Planar>(&self) -> DrVector<V> {
        let position = V::from_3d(Vec3::new(self.x, self.y, self.z));
        let velocity = V::from_3d(Vec3::new(self.vx, self.vy, self.vz));
        let motion = match self.model {
            ModelKind::Static => Motion::Static(Static { position, orientation: V::level(self.heading) }),
            ModelKind::Linear => Motion::Linear(Linear { position, velocity }),
            ModelKind::Quadratic => {
                let acceleration = V::from_3d(Vec3::new(self.ax, self.ay, self.az));
                Motion::Quadratic(Quadratic { position, velocity, acceleration })
            }
            ModelKind::Circular => Motion::Circular(Circular {
                position,
                heading: self.heading,
                speed: self.speed,
                turn_rate: self.turn_rate,
                climb_rate: self.climb_rate,
                climb_acceleration: self.climb_acceleration,
            }),
        };
        DrVector {
            entity: EntityId(self.entity),
            life: Life::new((self.life % 4) as u8),
            generation: Generation((self.generation % 256) as u8),
            generated_at: SharedInstant::from_micros(self.generated_us),
            motion,
            attitude: None,
            parent: None,
        }
    }
}

fn to_csv<R: Row>(rows: &[R]) -> Result<String, CsvError> {
    let mut writer = Writer::new(R::COLUMNS);
    for row in rows {
        row.write(&mut writer)?;
    }
    Ok(writer.finish())
}

fn from_csv<R: Row>(bytes: &[u8]) -> Result<Vec<R>, CsvError> {
    let mut reader = Reader::new(bytes, R::COLUMNS)?;
    let mut rows = Vec::new();
    while let Some(mut cells) = reader.next_row()? {
        rows.push(R::read(&mut cells)?);
        cells.finish()?;
    }
    Ok(rows)
}
