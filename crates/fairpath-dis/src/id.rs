//! Identifiers of DIS: entities, applications, entity types, and filters on them.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Identifies a simulation application: site and application number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Application {
    /// The site.
    pub site: u16,
    /// The application at the site.
    pub application: u16,
}

/// Identifies an entity in an exercise: site, application, entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DisId {
    /// The application that simulates the entity.
    pub application: Application,
    /// The entity's number at the application.
    pub entity: u16,
}

impl DisId {
    /// Returns the id of these three numbers.
    pub const fn new(site: u16, application: u16, entity: u16) -> Self {
        Self { application: Application { site, application }, entity }
    }

    /// Reads an id from six bytes in network order.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let number = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        Self::new(number(0), number(2), number(4))
    }

    /// Returns the six bytes in network order.
    pub fn to_bytes(self) -> [u8; 6] {
        let Self { application: Application { site, application }, entity } = self;
        let ([a, b], [c, d], [e, f]) = (site.to_be_bytes(), application.to_be_bytes(), entity.to_be_bytes());
        [a, b, c, d, e, f]
    }
}

impl Display for Application {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.site, self.application)
    }
}

impl Display for DisId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.application, self.entity)
    }
}

/// Text that is not an id, a filter or a rule. It says what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseIdError {
    text: String,
    expected: &'static str,
}

impl Display for ParseIdError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read {:?}: expected {}", self.text, self.expected)
    }
}

impl std::error::Error for ParseIdError {}

impl FromStr for Application {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let bad = || ParseIdError { text: text.into(), expected: "SITE:APPLICATION, for example 17:1" };
        let (site, application) = text.split_once(':').ok_or_else(bad)?;
        let number = |part: &str| part.parse().map_err(|_| bad());
        Ok(Self { site: number(site)?, application: number(application)? })
    }
}

/// Matches applications: a whole site, or one application of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteFilter {
    /// The site.
    pub site: u16,
    /// One application of the site; `None` matches all.
    pub application: Option<u16>,
}

impl SiteFilter {
    /// Returns whether the application matches.
    pub fn matches(self, application: Application) -> bool {
        self.site == application.site && self.application.is_none_or(|own| own == application.application)
    }
}

impl FromStr for SiteFilter {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let bad = || ParseIdError {
            text: text.into(),
            expected: "SITE or SITE:APPLICATION, for example 17 or 17:1",
        };
        let number = |part: &str| part.parse().map_err(|_| bad());
        Ok(match text.split_once(':') {
            Some((site, application)) => {
                Self { site: number(site)?, application: Some(number(application)?) }
            }
            None => Self { site: number(text)?, application: None },
        })
    }
}

/// The type of an entity: kind, domain, country, category, subcategory, specific, extra.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityType(pub [u8; 8]);

impl EntityType {
    fn fields(self) -> [u16; 7] {
        let [kind, domain, high, low, category, subcategory, specific, extra] = self.0;
        let country = u16::from_be_bytes([high, low]);
        [
            kind.into(),
            domain.into(),
            country,
            category.into(),
            subcategory.into(),
            specific.into(),
            extra.into(),
        ]
    }
}

impl Display for EntityType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [kind, domain, country, category, subcategory, specific, extra] = self.fields();
        write!(f, "{kind}.{domain}.{country}.{category}.{subcategory}.{specific}.{extra}")
    }
}

/// How far the prediction of an entity may be off before it is sent again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// In metres. Default 1, the standard's `DRA_POS_THRSH`.
    pub metres: f64,
    /// In degrees. Default 3, the standard's `DRA_ORIENT_THRSH`.
    pub degrees: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { metres: 1.0, degrees: 3.0 }
    }
}

/// Thresholds for the entity types that begin with these numbers: `1.2` is every aircraft.
///
/// As text: `1.2=0.5,2` for half a metre and two degrees.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeRule {
    /// The first numbers of the type.
    pub prefix: Vec<u16>,
    /// Their thresholds.
    pub thresholds: Thresholds,
}

impl TypeRule {
    /// Returns whether the rule applies to a type.
    pub fn matches(&self, kind: EntityType) -> bool {
        kind.fields().starts_with(&self.prefix)
    }

    /// Returns the thresholds of the longest rule that applies to a type, or `otherwise`.
    pub fn find(rules: &[Self], kind: EntityType, otherwise: Thresholds) -> Thresholds {
        let best = rules.iter().filter(|rule| rule.matches(kind)).max_by_key(|rule| rule.prefix.len());
        best.map_or(otherwise, |rule| rule.thresholds)
    }
}

impl FromStr for TypeRule {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let bad =
            || ParseIdError { text: text.into(), expected: "TYPE=METRES,DEGREES, for example 1.2=0.5,2" };
        let (prefix, limits) = text.split_once('=').ok_or_else(bad)?;
        let (metres, degrees) = limits.split_once(',').ok_or_else(bad)?;
        let limit = |part: &str| part.parse::<f64>().ok().filter(|it| *it > 0.0).ok_or_else(bad);
        let prefix: Result<Vec<u16>, _> =
            prefix.split('.').map(|part| part.parse().map_err(|_| bad())).collect();
        let thresholds = Thresholds { metres: limit(metres)?, degrees: limit(degrees)? };
        Ok(Self { prefix: prefix?, thresholds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_of_a_type_decides() {
        let rules: Vec<TypeRule> = ["1.2=0.5,2", "1.2.225=0.25,1"].map(|text| text.parse().unwrap()).to_vec();
        let of = |kind: [u8; 8]| TypeRule::find(&rules, EntityType(kind), Thresholds::default()).metres;
        assert_eq!(of([1, 2, 0, 225, 1, 0, 0, 0]), 0.25, "an aircraft of the United States");
        assert_eq!(of([1, 2, 0, 224, 1, 0, 0, 0]), 0.5, "another aircraft");
        assert_eq!(of([1, 1, 0, 225, 1, 0, 0, 0]), 1.0, "a tank");
    }

    #[test]
    fn filters_match_a_site_or_one_application() {
        let site: SiteFilter = "17".parse().unwrap();
        let one: SiteFilter = "17:2".parse().unwrap();
        let (first, second) =
            (Application { site: 17, application: 1 }, Application { site: 17, application: 2 });
        assert!(site.matches(first) && site.matches(second) && one.matches(second) && !one.matches(first));
        assert!("17:x".parse::<SiteFilter>().unwrap_err().to_string().contains("17:1"));
    }
}
