//! Checks Thrift's compact protocol before the parquet crate trusts it.
//!
//! Footers and page headers say how long lists, words and dictionaries are, and the crate reserves
//! memory by these numbers. This walk visits everything without keeping anything, so a length that
//! the bytes cannot hold ends it.
//!
//! The crate reads a field by its number and ignores the type that the bytes give it. A walk that
//! believes the type would look at other bytes than the crate does, so a footer has only the fields
//! of [`FOOTER_FIELDS`], each of its type.

/// Nesting of honest footers: file, row group, column, its metadata, statistics.
const DEPTH_MAX: usize = 8;

/// Types of fields, as bytes have them. `BOOL` stands for true and false.
const BOOL: u8 = 1;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const STRUCT: u8 = 12;
/// A list; with the type of its elements, if it has any.
const LIST: u8 = 0x90;

/// The fields of a footer, by the numbers that lead to them, with their types: those of the
/// format's definition, without encryption and without logical types that no table here has.
const FOOTER_FIELDS: &[(&[i16], u8)] = &[
    (&[1], I32),
    (&[2], LIST | STRUCT),
    (&[3], I64),
    (&[4], LIST | STRUCT),
    (&[5], LIST | STRUCT),
    (&[6], BINARY),
    (&[7], LIST | STRUCT),
    // An element of the schema, and its logical type: text or an integer.
    (&[2, 1], I32),
    (&[2, 2], I32),
    (&[2, 3], I32),
    (&[2, 4], BINARY),
    (&[2, 5], I32),
    (&[2, 6], I32),
    (&[2, 7], I32),
    (&[2, 8], I32),
    (&[2, 9], I32),
    (&[2, 10], STRUCT),
    (&[2, 10, 1], STRUCT),
    (&[2, 10, 10], STRUCT),
    (&[2, 10, 10, 1], BYTE),
    (&[2, 10, 10, 2], BOOL),
    // A row group, and the columns by which it is sorted.
    (&[4, 1], LIST | STRUCT),
    (&[4, 2], I64),
    (&[4, 3], I64),
    (&[4, 4], LIST | STRUCT),
    (&[4, 4, 1], I32),
    (&[4, 4, 2], BOOL),
    (&[4, 4, 3], BOOL),
    (&[4, 5], I64),
    (&[4, 6], I64),
    (&[4, 7], I16),
    // A column of it.
    (&[4, 1, 1], BINARY),
    (&[4, 1, 2], I64),
    (&[4, 1, 3], STRUCT),
    (&[4, 1, 4], I64),
    (&[4, 1, 5], I32),
    (&[4, 1, 6], I64),
    (&[4, 1, 7], I32),
    // What is known about the column.
    (&[4, 1, 3, 1], I32),
    (&[4, 1, 3, 2], LIST | I32),
    (&[4, 1, 3, 3], LIST | BINARY),
    (&[4, 1, 3, 4], I32),
    (&[4, 1, 3, 5], I64),
    (&[4, 1, 3, 6], I64),
    (&[4, 1, 3, 7], I64),
    (&[4, 1, 3, 8], LIST | STRUCT),
    (&[4, 1, 3, 8, 1], BINARY),
    (&[4, 1, 3, 8, 2], BINARY),
    (&[4, 1, 3, 9], I64),
    (&[4, 1, 3, 10], I64),
    (&[4, 1, 3, 11], I64),
    (&[4, 1, 3, 12], STRUCT),
    (&[4, 1, 3, 12, 1], BINARY),
    (&[4, 1, 3, 12, 2], BINARY),
    (&[4, 1, 3, 12, 3], I64),
    (&[4, 1, 3, 12, 4], I64),
    (&[4, 1, 3, 12, 5], BINARY),
    (&[4, 1, 3, 12, 6], BINARY),
    (&[4, 1, 3, 12, 7], BOOL),
    (&[4, 1, 3, 12, 8], BOOL),
    (&[4, 1, 3, 12, 9], I64),
    (&[4, 1, 3, 13], LIST | STRUCT),
    (&[4, 1, 3, 13, 1], I32),
    (&[4, 1, 3, 13, 2], I32),
    (&[4, 1, 3, 13, 3], I32),
    (&[4, 1, 3, 14], I64),
    (&[4, 1, 3, 15], I32),
    (&[4, 1, 3, 16], STRUCT),
    (&[4, 1, 3, 16, 1], I64),
    (&[4, 1, 3, 16, 2], LIST | I64),
    (&[4, 1, 3, 16, 3], LIST | I64),
    // A note, and the order of a column.
    (&[5, 1], BINARY),
    (&[5, 2], BINARY),
    (&[7, 1], STRUCT),
    (&[7, 2], STRUCT),
    (&[7, 3], STRUCT),
];

/// Which fields a struct may have, of which types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fields {
    /// Those of a footer: the crate reads them too.
    OfFooter,
    /// Any: only we read them.
    Any,
}

impl Fields {
    fn allow(self, path: &[i16], kind: u8) -> bool {
        let is_it = |known: u8| known == kind || (kind == LIST && known & 0xF0 == LIST);
        self == Self::Any || FOOTER_FIELDS.iter().any(|(field, known)| *field == path && is_it(*known))
    }
}

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
    fields: Fields,
    see: impl FnMut(&[i16], i64) -> Result<(), Broken>,
) -> Result<Walked, Broken> {
    let mut walk = Walk { bytes, at: 0, structs: 0, path: Vec::new(), allowed: fields, see };
    walk.fields(0)?;
    Ok(Walked { length: walk.at, structs: walk.structs })
}

struct Walk<'a, See> {
    bytes: &'a [u8],
    at: usize,
    structs: usize,
    path: Vec<i16>,
    allowed: Fields,
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
            match head & 15 {
                // A list says what it holds.
                9 => {}
                2 => self.check(BOOL)?,
                kind => self.check(kind)?,
            }
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
            9 => self.list(depth),
            12 => self.fields(depth + 1),
            // Sets, maps and ids: no Parquet file has them.
            _ => Err(Broken),
        }
    }

    fn list(&mut self, depth: usize) -> Result<(), Broken> {
        let head = self.byte()?;
        let length = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        if length > (self.bytes.len() - self.at) as u64 || depth >= DEPTH_MAX {
            return Err(Broken);
        }
        self.check(if length == 0 { LIST } else { LIST | (head & 15) })?;
        (0..length).try_for_each(|_| self.value(head & 15, depth + 1))
    }

    fn check(&self, kind: u8) -> Result<(), Broken> {
        if self.allowed.allow(&self.path, kind) { Ok(()) } else { Err(Broken) }
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
        walk(bytes, Fields::Any, |path, number| {
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

    /// The fuzzer found a footer whose sixth field, a text, had the type of a byte: the walk went
    /// on at another place than the parquet crate, which found other rows and lengths there.
    #[test]
    fn a_footer_has_its_own_fields_and_types() {
        let footer = |bytes: &[u8]| walk(bytes, Fields::OfFooter, |_, _| Ok(())).map(|walked| walked.length);
        // 1: i32 1; 2: no elements; 3: i64 0; 6: "ab".
        assert_eq!(footer(&[0x15, 2, 0x19, 0x0C, 0x16, 0, 0x38, 2, b'a', b'b', 0]), Ok(11));
        assert_eq!(footer(&[0x63, 0x11, 0x11, 0]), Err(Broken), "a byte instead of a text");
        assert_eq!(footer(&[0x25, 2, 0]), Err(Broken), "a number instead of a list");
        assert_eq!(footer(&[0x29, 0x15, 2, 0]), Err(Broken), "a list of numbers instead of structs");
        assert_eq!(footer(&[0x85, 2, 0]), Err(Broken), "encryption");
    }

    #[test]
    fn lengths_that_the_bytes_cannot_hold_are_broken() {
        assert_eq!(numbers(&[0x19, 0xFC, 0xFF, 0xFF, 0xFF, 0x0F, 0]), Err(Broken), "a list");
        assert_eq!(numbers(&[0x18, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0]), Err(Broken), "a word");
        assert_eq!(numbers(&[0x1C; 100]), Err(Broken), "structs in structs");
        assert_eq!(numbers(&[0x19; 100]), Err(Broken), "lists of lists");
    }
}
