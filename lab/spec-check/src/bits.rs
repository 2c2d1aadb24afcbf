//! Section 1: bits and codes.

/// The reason why a message was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected(pub &'static str);

/// A message, read bit by bit.
pub struct Bits {
    bits: Vec<bool>,
    at: usize,
    story: Vec<String>,
}

impl Bits {
    /// Reads hexadecimal digits, with white space anywhere between them.
    pub fn from_hex(text: &str) -> Self {
        let digit = |c: char| c.to_digit(16).unwrap_or_else(|| panic!("{c:?} is not a hexadecimal digit"));
        let digits = text.chars().filter(|c| !c.is_whitespace()).map(digit);
        let bits = digits.flat_map(|digit| (0..4).rev().map(move |at| digit >> at & 1 == 1)).collect();
        Self { bits, at: 0, story: Vec::new() }
    }

    /// Returns the fields read so far: name, bits, meaning.
    pub fn story(&self) -> &[String] {
        &self.story
    }

    pub(crate) fn left(&self) -> usize {
        self.bits.len() - self.at
    }

    pub(crate) fn finish(&mut self) -> Result<(), Rejected> {
        if self.left() >= 8 {
            return Err(Rejected("a byte too many"));
        }
        let start = self.at;
        while self.left() > 0 {
            if self.one()? {
                return Err(Rejected("fill bit"));
            }
        }
        self.tell(start, "fill", "");
        Ok(())
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, Rejected> {
        Ok(self.bits(name, 1)? == 1)
    }

    pub(crate) fn bits(&mut self, name: &str, width: u32) -> Result<u64, Rejected> {
        let start = self.at;
        let number = self.take(width)?;
        self.tell(start, name, number);
        Ok(number)
    }

    pub(crate) fn below(&mut self, name: &str, n: u64) -> Result<u64, Rejected> {
        let start = self.at;
        let mut width = 0;
        while 1u64 << width < n {
            width += 1;
        }
        if width == 0 {
            return Ok(0);
        }
        let short = (1 << width) - n;
        let mut number = self.take(width - 1)?;
        if number >= short {
            number = 2 * number + self.take(1)? - short;
        }
        self.tell(start, name, number);
        Ok(number)
    }

    pub(crate) fn golomb(&mut self, name: &str, order: u32) -> Result<u64, Rejected> {
        let start = self.at;
        let mut zeros = 0;
        while !self.one()? {
            zeros += 1;
            if zeros > 48 - order {
                return Err(Rejected("golomb code too long"));
            }
        }
        let above = (1 << zeros) + self.take(zeros)?;
        let number = ((above - 1) << order) + self.take(order)?;
        self.tell(start, name, number);
        Ok(number)
    }

    pub(crate) fn signed_golomb(&mut self, name: &str, order: u32) -> Result<i128, Rejected> {
        Ok(unzigzag(self.golomb(name, order)?))
    }

    pub(crate) fn ascending(&mut self, name: &str, m: u64, low: u64, end: u64) -> Result<Vec<u64>, Rejected> {
        if m == 0 {
            return Ok(Vec::new());
        }
        let c = m / 2;
        let x = low + c + self.below(name, end - low - m + 1)?;
        let mut numbers = self.ascending(name, c, low, x)?;
        numbers.push(x);
        numbers.extend(self.ascending(name, m - c - 1, x + 1, end)?);
        Ok(numbers)
    }

    fn take(&mut self, width: u32) -> Result<u64, Rejected> {
        let mut number = 0;
        for _ in 0..width {
            number = number << 1 | u64::from(self.one()?);
        }
        Ok(number)
    }

    fn one(&mut self) -> Result<bool, Rejected> {
        let bit = *self.bits.get(self.at).ok_or(Rejected("ends too early"))?;
        self.at += 1;
        Ok(bit)
    }

    fn tell(&mut self, start: usize, name: &str, meaning: impl std::fmt::Display) {
        let bits: String = self.bits[start..self.at].iter().map(|bit| if *bit { '1' } else { '0' }).collect();
        self.story.push(format!("{name:<16} {bits:<34} {meaning}").trim_end().to_owned());
    }
}

/// Decodes 0, 1, 2, 3, 4 … as 0, −1, 1, −2, 2 ….
pub(crate) fn unzigzag(code: u64) -> i128 {
    let half = i128::from(code / 2);
    if code.is_multiple_of(2) { half } else { -half - 1 }
}
