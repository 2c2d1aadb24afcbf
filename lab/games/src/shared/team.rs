/// One of the two sides of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Team {
    /// Starts at negative x.
    Red,
    /// Starts at positive x.
    Blue,
}

impl Team {
    /// Both teams, red first.
    pub const BOTH: [Self; 2] = [Self::Red, Self::Blue];

    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Red => Self::Blue,
            Self::Blue => Self::Red,
        }
    }

    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the team of every player of a match with these team sizes, red first.
    pub(crate) fn of_players(sizes: [u32; 2]) -> impl Iterator<Item = Self> {
        Self::BOTH.into_iter().flat_map(move |team| (0..sizes[team.index()]).map(move |_| team))
    }
}
