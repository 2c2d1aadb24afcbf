//! Section 5: feedback.

use std::fmt::Write as _;

use crate::bits::{Bits, Rejected};
use crate::precision::Given;
use crate::{in_time, nearest};

pub(crate) fn decode(bits: &mut Bits, given: &Given, sent: i128, text: &mut String) -> Result<(), Rejected> {
    let complete = if bits.flag("complete")? { "yes" } else { "no" };
    writeln!(text, "complete {complete}").expect("a string");
    let n = bits.bits("count", 8)? as usize;
    if n > bits.left() {
        return Err(Rejected("more receipts than bits"));
    }
    if n == 0 {
        return Ok(());
    }
    let packets = packets(bits, given, n as u64)?;
    let mut received = vec![sent - bits.signed_golomb("hold", 10)?];
    if n > 1 {
        for interval in column(bits, "interval", n - 1)?.into_iter().rev() {
            received.insert(0, received[0] - interval);
        }
    }
    let delays = column(bits, "delay", n)?;
    for ((packet, received), delay) in packets.into_iter().zip(received).zip(delays) {
        in_time(received)?;
        let stale = stale(bits)?;
        writeln!(text, "receipt packet {packet} received {received} delay {delay} stale{stale}")
            .expect("a string");
    }
    Ok(())
}

fn packets(bits: &mut Bits, given: &Given, n: u64) -> Result<Vec<i128>, Rejected> {
    let low = bits.bits("newest", 16)?;
    let mut newest = nearest(low, 16, given.newest_sent);
    if newest < 0 {
        newest += 1 << 16;
    }
    if n == 1 {
        return Ok(vec![newest]);
    }
    let span = bits.golomb("span", 0)? + (n - 1);
    if span >= 1 << 15 || i128::from(span) > newest {
        return Err(Rejected("packets too far apart"));
    }
    let mut offsets = vec![0];
    offsets.extend(bits.ascending("packet", n - 2, 1, span)?);
    offsets.push(span);
    Ok(offsets.into_iter().map(|offset| newest - i128::from(span) + i128::from(offset)).collect())
}

fn column(bits: &mut Bits, name: &str, n: usize) -> Result<Vec<i128>, Rejected> {
    let least = bits.signed_golomb("least", 14)?;
    let order = bits.bits("order", 5)?;
    let mut above = vec![0; n];
    if order < 31 {
        for number in &mut above {
            *number = i128::from(bits.golomb(name, order as u32)?);
        }
    }
    let numbers: Vec<i128> = above.iter().map(|above| least + above).collect();
    if numbers.iter().any(|number| number.abs() > 1 << 45) {
        return Err(Rejected("a number beyond its column's limit"));
    }
    if !above.contains(&0) || order != order_of(&above) {
        return Err(Rejected("a column that is not canonical"));
    }
    Ok(numbers)
}

fn order_of(above: &[i128]) -> u64 {
    let sum: i128 = above.iter().sum();
    if sum == 0 {
        return 31;
    }
    let mean = (sum / above.len() as i128).max(1);
    (0..=30).rev().find(|order| 1i128 << order <= mean).expect("one is a power of two")
}

fn stale(bits: &mut Bits) -> Result<String, Rejected> {
    if !bits.flag("any stale")? {
        return Ok(String::new());
    }
    let last = bits.bits("last stale", 8)?;
    if last > 254 {
        return Err(Rejected("an index beyond the largest datagram"));
    }
    let mut text = String::new();
    for place in 0..last {
        if bits.flag("stale")? {
            write!(text, " {place}").expect("a string");
        }
    }
    Ok(text + &format!(" {last}"))
}
