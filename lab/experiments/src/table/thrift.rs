//! Checks Thrift's compact protocol before the parquet crate trusts it.
//!
//! Footers and page headers say how long lists, words and dictionaries are, and the crate reserves
//! memory by these numbers. This walk visits everything without keeping anything, so a length that
//! the bytes cannot hold ends it.

/// Nesting of honest footers: file, row group, column, its metadata, statistics.
const DEPTH_MAX: usize = 8;

/// The bytes are no Thrift, or they claim more than they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// What a walk found.
pub(super) struct Walked {
    pub(super) length: usize,
    /// Structs, with those in lists.
    pub(super) structs: usize,
}

/// Walks the struct at the start of `bytes`. `see` gets every integer with the numbers of the
/// fields that lead to it.
pub(super) fn walk(
    bytes: &[u8],
    see: impl FnMut(&[i16], i64) -> Result<(), Broken>,
) -> Result<Walked, Broken> {
    let mut walk = Walk { bytes, at: 0, structs: 0, path: Vec::new(), see };
    walk.fields(0)?;
    Ok(Walked { length: walk.at, structs: walk.structs })
}

struct Walk<'a, See> {
    bytes: &'a [u8],
    at: usize,
    structs: usize,
    path: Vec<i16>,
    see: See,
}

impl<See: FnMut(&[i16], i64) -> Result<(), Broken>> Walk<'_, See> {
    fn fields(&mut self, depth: usize) -> Result<(), Broken> {
        if depth > DEPTH_MAX {
            return Err(Broken);
        }
        self.structs += 1;
        let mut field: i16 = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            field = match head >> 4 {
                0 => i16::try_from(self.zigzag()?).map_err(|_| Broken)?,
                step => field.checked_add(i16::from(step)).ok_or(Broken)?,
            };
            self.path.push(field);
            // A field that is true or false has its value in its type.
            if !matches!(head & 15, 1 | 2) {
                self.value(head & 15, depth)?;
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<(), Broken> {
        match kind {
            1..=3 => self.byte().map(drop),
            4..=6 => {
                let number = self.zigzag()?;
                (self.see)(&self.path, number)
            }
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(usize::try_from(length).map_err(|_| Broken)?)
            }
            9 | 10 => self.list(depth),
            12 => self.fields(depth + 1),
            // Maps and ids: no Parquet file has them.
            _ => Err(Broken),
        }
    }

    fn list(&mut self, depth: usize) -> Result<(), Broken> {
        let head = self.byte()?;
        let length = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        if length > (self.bytes.len() - self.at) as u64 || depth >= DEPTH_MAX {
            return Err(Broken);
        }
        (0..length).try_for_each(|_| self.value(head & 15, depth + 1))
    }

    fn zigzag(&mut self) -> Result<i64, Broken> {
        let bits = self.varint()?;
        Ok((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }

    fn varint(&mut self) -> Result<u64, Broken> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Broken)
    }

    fn byte(&mut self) -> Result<u8, Broken> {
        let byte = *self.bytes.get(self.at).ok_or(Broken)?;
        self.at += 1;
        Ok(byte)
    }

    fn skip(&mut self, count: usize) -> Result<(), Broken> {
        if count > self.bytes.len() - self.at {
            return Err(Broken);
        }
        self.at += count;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(bytes: &[u8]) -> Result<Vec<(Vec<i16>, i64)>, Broken> {
        let mut seen = Vec::new();
        walk(bytes, |path, number| {
            seen.push((path.to_vec(), number));
            Ok(())
        })?;
        Ok(seen)
    }

    #[test]
    fn numbers_are_found_where_they_are() {
        // 1: i32 −3; 3: a list of two structs, each with field 5: i64 300; 4: "ab".
        let struct_300 = [0x56, 0xD8, 0x04, 0x00];
        let bytes =
            [&[0x15, 0x05, 0x29, 0x2C][..], &struct_300, &struct_300, &[0x18, 2, b'a', b'b', 0]].concat();
        let expected = vec![(vec![1], -3), (vec![3, 5], 300), (vec![3, 5], 300)];
        assert_eq!(numbers(&bytes), Ok(expected));
        for end in 0..bytes.len() {
            assert_eq!(numbers(&bytes[..end]), Err(Broken), "{end} bytes");
        }
    }

    #[test]
    fn lengths_that_the_bytes_cannot_hold_are_broken() {
        assert_eq!(numbers(&[0x19, 0xFC, 0xFF, 0xFF, 0xFF, 0x0F, 0]), Err(Broken), "a list");
        assert_eq!(numbers(&[0x18, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0]), Err(Broken), "a word");
        assert_eq!(numbers(&[0x1C; 100]), Err(Broken), "structs in structs");
        assert_eq!(numbers(&[0x19; 100]), Err(Broken), "lists of lists");
    }
}
