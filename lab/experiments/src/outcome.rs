use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::figure::Figure;
use crate::judge::{Judgement, Verdict};
use crate::quantity::{decimals_for, show_fixed};

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub rows: Rows,
    /// A shorter table for people, where the other is too long to read. Not in the JSON.
    pub headline: Option<Rows>,
    pub claims: Vec<Claim>,
    pub figures: Vec<Figure>,
    /// What a reader must know to trust the numbers: one paragraph each.
    pub notes: Vec<String>,
}

impl Outcome {
    pub fn new(rows: Rows) -> Self {
        Self { rows, ..Self::default() }
    }

    #[must_use]
    pub fn headline(mut self, headline: Rows) -> Self {
        self.headline = Some(headline);
        self
    }

    #[must_use]
    pub fn claim(mut self, claim: Claim) -> Self {
        self.claims.push(claim);
        self
    }

    #[must_use]
    pub fn figure(mut self, figure: Figure) -> Self {
        self.figures.push(figure);
        self
    }

    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Stable, for machines: `X1.after-error`.
    pub id: String,
    pub text: String,
    pub judgement: Judgement,
    pub unit: Option<String>,
    /// What the paper itself reports, where it does.
    pub paper: Option<String>,
    /// Whose words the claim is in.
    pub class: ClaimClass,
    /// How the paper was read where it can be read in several ways, and how its words were made
    /// numbers where the class is [`ClaimClass::Stricter`].
    pub reading: Option<String>,
    /// Why it did not hold or does not apply, or what else to know.
    pub remark: Option<String>,
}

/// Whose words a claim is in. Verdicts of different classes must not be counted together: a paper
/// is not refuted by a claim that it did not make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimClass {
    /// The paper says so, in these words or in numbers.
    Paper,
    /// The paper says something weaker or less definite: the claim holds it to a number or a
    /// condition of ours.
    Stricter,
    /// No paper says so.
    Ours,
}

impl ClaimClass {
    pub const ALL: [Self; 3] = [Self::Paper, Self::Stricter, Self::Ours];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Paper => "the paper's words",
            Self::Stricter => "our stricter reading",
            Self::Ours => "ours alone",
        }
    }
}

/// How many claims of one class hold and how many do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClaimCount {
    #[serde(serialize_with = "class_as_str")]
    pub class: ClaimClass,
    pub held: usize,
    pub not_held: usize,
    pub not_applicable: usize,
}

fn class_as_str<S: Serializer>(class: &ClaimClass, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(class.as_str())
}

impl ClaimCount {
    /// Counts claims by class, without the classes that have none.
    pub fn of_all(claims: &[Claim]) -> Vec<Self> {
        let of = |class: ClaimClass| {
            let count = |verdict| {
                let is_meant = |claim: &&Claim| claim.class == class && claim.judgement.verdict == verdict;
                claims.iter().filter(is_meant).count()
            };
            Self {
                class,
                held: count(Verdict::Held),
                not_held: count(Verdict::NotHeld),
                not_applicable: count(Verdict::NotApplicable),
            }
        };
        ClaimClass::ALL.map(of).into_iter().filter(|count| count.all() > 0).collect()
    }

    pub fn all(&self) -> usize {
        self.held + self.not_held + self.not_applicable
    }
}

impl Claim {
    /// A claim of [ours](ClaimClass::Ours), until a [paper](Self::paper) says so.
    pub fn new(id: impl Into<String>, text: impl Into<String>, judgement: Judgement) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
            judgement,
            unit: None,
            paper: None,
            class: ClaimClass::Ours,
            reading: None,
            remark: None,
        }
    }

    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// The paper claims this, and reports `paper`. The claim is in its words, unless one of them
    /// was [given a number](Judgement::word) or [`stricter`](Self::stricter) was called.
    #[must_use]
    pub fn paper(mut self, paper: impl Into<String>) -> Self {
        self.paper = Some(paper.into());
        if self.class != ClaimClass::Ours {
            return self;
        }
        match self.judgement.word {
            Some(word) => self.stricter(word),
            None => Self { class: ClaimClass::Paper, ..self },
        }
    }

    /// The paper claims something like this: `reading` says what we added.
    #[must_use]
    pub fn stricter(mut self, reading: impl Into<String>) -> Self {
        self.class = ClaimClass::Stricter;
        self.reading(reading)
    }

    /// How the paper was read.
    #[must_use]
    pub fn reading(mut self, reading: impl Into<String>) -> Self {
        let reading = reading.into();
        self.reading = Some(match self.reading {
            Some(before) => format!("{before}; {reading}"),
            None => reading,
        });
        self
    }

    #[must_use]
    pub fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = Some(remark.into());
        self
    }
}

/// A table of results: every row has a cell for every column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its field in the JSON: stable, lower case, with the unit last where it has one (`delay_ms`).
    pub key: String,
    pub label: String,
    pub unit: Option<String>,
    /// How many decimals to show; as many as its largest number needs if not set.
    pub decimals: Option<usize>,
    /// Whether its cells are numbers, which stand to the right.
    pub is_number: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Text(String),
    /// A measurement. What is not finite is shown as a dash and is null in the JSON.
    Number(f64),
    Count(u64),
    Missing,
}

impl Rows {
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), rows: Vec::new() }
    }

    /// Adds a row: one cell per column, in their order; see [`cells!`](crate::cells).
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.columns.len(), "a row has one cell per column");
        self.rows.push(row);
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The cells as text, row by row; numbers of one column have the same number of decimals.
    pub fn shown(&self) -> Vec<Vec<String>> {
        let decimals: Vec<usize> = (0..self.columns.len()).map(|column| self.decimals(column)).collect();
        let show = |row: &Vec<Cell>| row.iter().zip(&decimals).map(|(cell, d)| cell.shown(*d)).collect();
        self.rows.iter().map(show).collect()
    }

    fn decimals(&self, column: usize) -> usize {
        self.columns[column].decimals.unwrap_or_else(|| {
            let numbers = self.rows.iter().filter_map(|row| match row[column] {
                Cell::Number(number) if number.is_finite() => Some(number.abs()),
                _ => None,
            });
            decimals_for(numbers.fold(0.0, f64::max))
        })
    }
}

impl Column {
    pub fn text(key: impl Into<String>, label: impl Into<String>) -> Self {
        Self { key: key.into(), label: label.into(), unit: None, decimals: None, is_number: false }
    }

    /// A column of measurements; an empty unit is none.
    pub fn number(key: impl Into<String>, label: impl Into<String>, unit: impl Into<String>) -> Self {
        let unit = Some(unit.into()).filter(|unit| !unit.is_empty());
        Self { unit, is_number: true, ..Self::text(key, label) }
    }

    #[must_use]
    pub fn decimals(mut self, decimals: usize) -> Self {
        self.decimals = Some(decimals);
        self
    }
}

impl Cell {
    fn shown(&self, decimals: usize) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => show_fixed(*number, decimals),
            Self::Count(count) => count.to_string(),
            Self::Missing => "–".into(),
        }
    }
}

/// The cells of one row: words, numbers and counts as they come.
///
/// ```
/// use fairpath_experiments::{cells, outcome::Cell};
///
/// assert_eq!(cells!["tank", 0.5, 3u64][2], Cell::Count(3));
/// ```
#[macro_export]
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$($crate::outcome::Cell::from($cell)),*] };
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

wrap!(Cell: Text(String), Number(f64), Count(u64));

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Self::Missing, Into::into)
    }
}

/// A list of objects, each with the columns' keys in the columns' order.
impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows.iter().map(|row| Row { columns: &self.columns, row }))
    }
}

struct Row<'a> {
    columns: &'a [Column],
    row: &'a [Cell],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.columns.len()))?;
        for (column, cell) in self.columns.iter().zip(self.row) {
            object.serialize_entry(&column.key, cell)?;
        }
        object.end()
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) if number.is_finite() => serializer.serialize_f64(*number),
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Number(_) | Self::Missing => serializer.serialize_none(),
        }
    }
}
