//! Reading the list: every mistake in it is answered with the file, the entry and the field.

use std::fmt;

use fairpath::motion::Dis;
use fairpath::motion::dis::{AccelerationReading, FpbReading, FvbReading, Model};
use fairpath::rotation::{Euler, Quat};
use fairpath::vector::{Vec3, Vector};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// One case: a start, a time, and where that leads.
pub(super) struct Entry {
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
pub(super) fn read(json: &[u8], file_name: &str) -> Result<Vec<Entry>, DisFileError> {
    let file = || file_name.to_owned();
    if json.trim_ascii().is_empty() {
        return Err(DisFileError::Empty { file: file() });
    }
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

/// What a file calls each reading of each model.
const SEMANTICS: [(Model, &str); 13] = [
    (Model::Static, "std"),
    (Model::Fpw, "std"),
    (Model::Rpw, "std"),
    (Model::Rvw, "std"),
    (Model::Fvw, "std"),
    (Model::Fpb(FpbReading::OmegaIgnored), "omega_ignored"),
    (Model::Fpb(FpbReading::Literal), "literal_R1_with_omega"),
    (Model::Rpb, "std"),
    (Model::Rvb(AccelerationReading::Inertial), "a0_is_inertial_accel (A_b=a0-w x V)"),
    (Model::Rvb(AccelerationReading::BodyRate), "a0_is_dVb_dt (A_b=a0)"),
    (Model::Fvb(FvbReading::OmegaIgnored), "omega_ignored"),
    (Model::Fvb(FvbReading::Literal(AccelerationReading::Inertial)), "literal_R1R2_with_omega, A_b=a0-w x V"),
    (Model::Fvb(FvbReading::Literal(AccelerationReading::BodyRate)), "literal_R1R2_with_omega, A_b=a0"),
];

/// What a file calls this reading.
pub(super) fn semantics(model: Model) -> &'static str {
    SEMANTICS.iter().find(|(named, _)| *named == model).map_or("", |(_, semantics)| semantics)
}

/// How messages call an entry.
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
        /// The file's name.
        file: String,
        /// What the JSON reader says, with entry, field, line and column as far as they are known.
        reason: String,
    },
    /// There is nothing in the list, or in the file.
    Empty {
        /// The file's name.
        file: String,
    },
    /// A field is missing or makes no sense.
    Field {
        /// The file's name.
        file: String,
        /// The entry's place in the list, counted from zero.
        index: usize,
        /// The entry's name, if it has one.
        id: Option<String>,
        /// The field's name.
        field: &'static str,
        /// What is wrong with it.
        problem: FieldProblem,
    },
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldProblem {
    /// It is not there.
    Missing,
    /// It is something else than this.
    Expected(&'static str),
    /// No reading of this model is called that.
    UnknownSemantics {
        /// The model's number in the standard.
        drm: u8,
        /// What the file says.
        found: String,
    },
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
                let known: Vec<String> = SEMANTICS
                    .iter()
                    .filter(|(model, _)| model.number() == *drm)
                    .map(|(_, semantics)| format!("{semantics:?}"))
                    .collect();
                write!(f, "drm {drm} has no reading {found:?}, only {}", known.join(" and "))
            }
        }
    }
}

impl std::error::Error for DisFileError {}

fn entry(index: usize, fields: &Map<String, Value>) -> Result<Entry, BadField> {
    let model = model(fields)?;
    let primary = boolean(fields, "primary")?;
    let [psi, theta, phi] = numbers(fields, "euler0")?;
    let expect = object(fields, "expect")?;
    Ok(Entry {
        index,
        id: id(fields),
        primary,
        start: Dis {
            model,
            position: vector(fields, "p0")?,
            velocity: vector(fields, "v0")?,
            acceleration: vector(fields, "a0")?,
            orientation: Quat::from_euler(Euler { psi, theta, phi }),
            angular_velocity: vector(fields, "omega")?,
        },
        dt_secs: finite(value(fields, "dt")?).ok_or(BadField::expected("dt", "a number"))?,
        displacement: within_expect(vector(expect, "disp"), "expect.disp")?,
        axes: within_expect(matrix(expect, "matrix_w2b"), "expect.matrix_w2b")?,
    })
}

/// A string names itself; a number does too, as it is written.
fn id(fields: &Map<String, Value>) -> Option<String> {
    match fields.get("id")? {
        Value::String(name) => Some(name.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn model(fields: &Map<String, Value>) -> Result<Model, BadField> {
    let drm = value(fields, "drm")?
        .as_u64()
        .and_then(|number| u8::try_from(number).ok())
        .filter(|number| Model::from_number(*number).is_some())
        .ok_or(BadField::expected("drm", "a whole number from 1 to 9"))?;
    let found =
        value(fields, "semantics")?.as_str().ok_or(BadField::expected("semantics", "a piece of text"))?;
    SEMANTICS
        .iter()
        .find(|(model, semantics)| model.number() == drm && *semantics == found)
        .map(|(model, _)| *model)
        .ok_or_else(|| BadField {
            field: "semantics",
            problem: FieldProblem::UnknownSemantics { drm, found: found.to_owned() },
        })
}

fn boolean(fields: &Map<String, Value>, field: &'static str) -> Result<bool, BadField> {
    value(fields, field)?.as_bool().ok_or(BadField::expected(field, "true or false"))
}

fn object<'a>(
    fields: &'a Map<String, Value>,
    field: &'static str,
) -> Result<&'a Map<String, Value>, BadField> {
    value(fields, field)?.as_object().ok_or(BadField::expected(field, "an object"))
}

fn matrix(fields: &Map<String, Value>, field: &'static str) -> Result<[Vec3; 3], BadField> {
    three(value(fields, field)?)
        .and_then(|rows| three_of(rows, |row| three_of(three(row)?, finite)))
        .map(|rows| rows.map(to_vector))
        .ok_or(BadField::expected(field, "three rows of three numbers"))
}

fn vector(fields: &Map<String, Value>, field: &'static str) -> Result<Vec3, BadField> {
    numbers(fields, field).map(to_vector)
}

fn numbers(fields: &Map<String, Value>, field: &'static str) -> Result<[f64; 3], BadField> {
    three(value(fields, field)?)
        .and_then(|values| three_of(values, finite))
        .ok_or(BadField::expected(field, "three numbers"))
}

fn value<'a>(fields: &'a Map<String, Value>, field: &'static str) -> Result<&'a Value, BadField> {
    fields.get(field).ok_or(BadField { field, problem: FieldProblem::Missing })
}

fn finite(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

fn three(value: &Value) -> Option<&[Value; 3]> {
    value.as_array()?.as_slice().try_into().ok()
}

fn three_of<T>(values: &[Value; 3], read: impl Fn(&Value) -> Option<T>) -> Option<[T; 3]> {
    let [first, second, third] = values;
    Some([read(first)?, read(second)?, read(third)?])
}

fn to_vector(numbers: [f64; 3]) -> Vec3 {
    Vec3::from_components(|axis| numbers[axis])
}

/// A field with a mistake in it.
struct BadField {
    field: &'static str,
    problem: FieldProblem,
}

impl BadField {
    fn expected(field: &'static str, what: &'static str) -> Self {
        Self { field, problem: FieldProblem::Expected(what) }
    }
}

/// The same mistake, called by the whole way to it.
fn within_expect<T>(read: Result<T, BadField>, field: &'static str) -> Result<T, BadField> {
    read.map_err(|BadField { problem, .. }| BadField { field, problem })
}

/// Everything in the file, before anything is made of it. These two read what `Vec<Map<String, Value>>` would,
/// but where that knows only line and column of a slip, they add entry and field.
struct RawList(Vec<RawEntry>);
struct RawEntry(Map<String, Value>);

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
                let mut entry = Map::new();
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
