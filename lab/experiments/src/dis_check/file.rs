//! Reading the list: every mistake in it is answered with the file, the entry and the field.

use std::fmt;

use fairpath::motion::Dis;
use fairpath::motion::dis::{AccelerationReading, FpbReading, FvbReading, Model};
use fairpath::rotation::{Euler, Quat};
use fairpath::vector::Vec3;
use fairpath_eval::budget::Budget;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// One case: a start, a time, and where that leads.
pub(super) struct FileEntry {
    pub(super) index: usize,
    pub(super) id: Option<String>,
    pub(super) primary: bool,
    pub(super) start: Dis,
    pub(super) dt_secs: f64,
    pub(super) displacement: Vec3,
    /// The rows of the world-to-body matrix.
    pub(super) axes: [Vec3; 3],
}

/// Reads all entries, or says what is wrong with the first bad one.
pub(super) fn read(json: &[u8], file_name: &str) -> Result<Vec<FileEntry>, DisFileError> {
    let file = || file_name.to_owned();
    if json.trim_ascii().is_empty() {
        return Err(DisFileError::Empty { file: file() });
    }
    Budget::default()
        .hold(memory_of(json))
        .map_err(|over| DisFileError::NotAList { file: file(), reason: over.to_string() })?;
    let RawList(raw) = serde_json::from_slice(json)
        .map_err(|reason| DisFileError::NotAList { file: file(), reason: reason.to_string() })?;
    if raw.is_empty() {
        return Err(DisFileError::Empty { file: file() });
    }
    raw.iter()
        .enumerate()
        .map(|(index, RawEntry(fields))| {
            entry(index, fields).map_err(|BadField { field, problem }| DisFileError::Field {
                file: file(),
                index,
                id: id(fields),
                field,
                problem,
            })
        })
        .collect()
}

/// An upper bound of the memory that a JSON text takes as values, by its punctuation: an object is
/// a node of a tree, and everything else an element of an array or a field, in an array that
/// doubles when it is full.
fn memory_of(json: &[u8]) -> u64 {
    const OBJECT_BYTES: u64 = 704;
    const VALUE_BYTES: u64 = 3 * size_of::<Value>() as u64;
    let of_byte = |byte: &u8| match byte {
        b'{' => OBJECT_BYTES,
        b',' | b':' | b'[' => VALUE_BYTES,
        _ => 1,
    };
    json.iter().map(of_byte).sum()
}

/// What a file calls this reading of this model.
pub(super) fn semantics(model: Model) -> &'static str {
    use AccelerationReading::{BodyRate, Inertial};
    match model {
        Model::Static | Model::Fpw | Model::Rpw | Model::Rvw | Model::Fvw | Model::Rpb => "std",
        Model::Fpb(FpbReading::OmegaIgnored) | Model::Fvb(FvbReading::OmegaIgnored) => "omega_ignored",
        Model::Fpb(FpbReading::Literal) => "literal_R1_with_omega",
        Model::Rvb(Inertial) => "a0_is_inertial_accel (A_b=a0-w x V)",
        Model::Rvb(BodyRate) => "a0_is_dVb_dt (A_b=a0)",
        Model::Fvb(FvbReading::Literal(Inertial)) => "literal_R1R2_with_omega, A_b=a0-w x V",
        Model::Fvb(FvbReading::Literal(BodyRate)) => "literal_R1R2_with_omega, A_b=a0",
    }
}

/// The model with this number, in all its readings.
fn readings(drm: u8) -> impl Iterator<Item = Model> {
    Model::ALL.into_iter().filter(move |model| model.number() == drm)
}

pub(super) fn entry_name(index: usize, id: Option<&str>) -> String {
    // Debug, so that whatever a file calls its entries stays on one line.
    id.map_or_else(|| format!("entry {index}"), |id| format!("entry {index} ({id:?})"))
}

/// The file is not a list of cases.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DisFileError {
    /// Not JSON, or not a list of objects. `NaN` is not JSON.
    NotAList {
        file: String,
        /// What the JSON reader says, with entry, field, line and column as far as they are known.
        reason: String,
    },
    /// There is nothing in the list, or in the file.
    Empty { file: String },
    /// A field is missing or makes no sense.
    Field {
        file: String,
        /// The entry's place in the list, counted from zero.
        index: usize,
        id: Option<String>,
        field: &'static str,
        problem: FieldProblem,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldProblem {
    Missing,
    Expected(&'static str),
    UnknownSemantics { drm: u8, found: String },
}

impl fmt::Display for DisFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAList { file, reason } => write!(f, "{file}: {reason}"),
            Self::Empty { file } => write!(f, "{file}: there are no entries in it"),
            Self::Field { file, index, id, field, problem } => {
                write!(f, "{file}: {}: field {field}: {problem}", entry_name(*index, id.as_deref()))
            }
        }
    }
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing"),
            Self::Expected(what) => write!(f, "expected {what}"),
            Self::UnknownSemantics { drm, found } => {
                let known: Vec<String> =
                    readings(*drm).map(|reading| format!("{:?}", semantics(reading))).collect();
                write!(f, "drm {drm} has no reading {found:?}, only {}", known.join(" and "))
            }
        }
    }
}

impl std::error::Error for DisFileError {}

fn entry(index: usize, fields: &Fields) -> Result<FileEntry, BadField> {
    let model = model(fields)?;
    let primary = field(fields, "primary", "true or false", Value::as_bool)?;
    let [psi, theta, phi] = field(fields, "euler0", "three numbers", |value| three(value, finite))?;
    let start = Dis {
        model,
        position: vector_field(fields, "p0")?,
        velocity: vector_field(fields, "v0")?,
        acceleration: vector_field(fields, "a0")?,
        orientation: Quat::from_euler(Euler { psi, theta, phi }),
        angular_velocity: vector_field(fields, "omega")?,
    };
    let dt_secs = field(fields, "dt", "a number", finite)?;
    let expect = field(fields, "expect", "an object", Value::as_object)?;
    let displacement = vector_field(expect, "disp").map_err(BadField::within_expect("expect.disp"))?;
    let axes = field(expect, "matrix_w2b", "three rows of three numbers", |value| three(value, vector))
        .map_err(BadField::within_expect("expect.matrix_w2b"))?;
    Ok(FileEntry { index, id: id(fields), primary, start, dt_secs, displacement, axes })
}

/// A string is a name as it is, a number as it is written.
fn id(fields: &Fields) -> Option<String> {
    match fields.get("id")? {
        Value::String(name) => Some(name.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn model(fields: &Fields) -> Result<Model, BadField> {
    let default_reading = field(fields, "drm", "a whole number from 1 to 9", |value| {
        Model::from_number(value.as_u64()?.try_into().ok()?)
    })?;
    let drm = default_reading.number();
    let found = field(fields, "semantics", "a piece of text", Value::as_str)?;
    readings(drm).find(|reading| semantics(*reading) == found).ok_or_else(|| BadField {
        field: "semantics",
        problem: FieldProblem::UnknownSemantics { drm, found: found.to_owned() },
    })
}

fn vector_field(fields: &Fields, name: &'static str) -> Result<Vec3, BadField> {
    field(fields, name, "three numbers", vector)
}

/// A field that `read` makes something of, because it is what was `expected`.
fn field<'a, T>(
    fields: &'a Fields,
    name: &'static str,
    expected: &'static str,
    read: impl FnOnce(&'a Value) -> Option<T>,
) -> Result<T, BadField> {
    let bad = |problem| BadField { field: name, problem };
    let value = fields.get(name).ok_or_else(|| bad(FieldProblem::Missing))?;
    read(value).ok_or_else(|| bad(FieldProblem::Expected(expected)))
}

fn vector(value: &Value) -> Option<Vec3> {
    let [x, y, z] = three(value, finite)?;
    Some(Vec3::new(x, y, z))
}

fn three<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<[T; 3]> {
    let [first, second, third] = value.as_array()?.as_slice() else { return None };
    Some([read(first)?, read(second)?, read(third)?])
}

fn finite(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

struct BadField {
    field: &'static str,
    problem: FieldProblem,
}

impl BadField {
    /// The same mistake, called by the whole way to it.
    fn within_expect(field: &'static str) -> impl Fn(Self) -> Self {
        move |Self { problem, .. }| Self { field, problem }
    }
}

type Fields = Map<String, Value>;

/// The file before it is understood. Unlike `Vec<Fields>`, errors add entry and field to the line.
struct RawList(Vec<RawEntry>);
struct RawEntry(Fields);

impl<'de> Deserialize<'de> for RawList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor;

        impl<'de> Visitor<'de> for ListVisitor {
            type Value = RawList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of entries")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<RawList, A::Error> {
                let mut list = Vec::new();
                loop {
                    let index = list.len();
                    let next =
                        entries.next_element().map_err(|e| A::Error::custom(format!("entry {index}: {e}")));
                    let Some(entry) = next? else { return Ok(RawList(list)) };
                    list.push(entry);
                }
            }
        }

        deserializer.deserialize_seq(ListVisitor)
    }
}

impl<'de> Deserialize<'de> for RawEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;

        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = RawEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<RawEntry, A::Error> {
                let mut entry = Fields::new();
                while let Some(field) = fields.next_key::<String>()? {
                    let value = fields
                        .next_value()
                        .map_err(|e| A::Error::custom(format!("field {}: {e}", field.escape_debug())))?;
                    entry.insert(field, value);
                }
                Ok(RawEntry(entry))
            }
        }

        deserializer.deserialize_map(EntryVisitor)
    }
}
