//! A decoder written from `PROTOCOL.md` alone. It shares no code with the library, so that mistakes
//! of the library or of the document show as a difference. It is slow.
//!
//! [`decode`] turns a message into the text that the golden files hold beside it; [`Bits::story`]
//! lists the meaning of each bit. Section numbers in the comments are those of `PROTOCOL.md`.
#![forbid(unsafe_code)]

mod bits;
mod feedback;
mod lobby;
mod precision;
mod sealed;
mod session;
mod updates;

pub use bits::{Bits, Rejected};
pub use precision::Given;
pub use sealed::decode_sealed;
pub use session::{decode_session, game_fingerprint};

/// Returns the message as text, one fact per line.
pub fn decode(bits: &mut Bits, given: &Given) -> Result<String, Rejected> {
    let (kind, has_parents, sent, mut text) = header(bits, given)?;
    match kind {
        0 => updates::decode(bits, given, 2, has_parents, sent, &mut text)?,
        1 => updates::decode(bits, given, 3, has_parents, sent, &mut text)?,
        2 => feedback::decode(bits, given, sent, &mut text)?,
        _ => return Err(Rejected("unknown kind")),
    }
    bits.finish()?;
    Ok(text)
}

/// Decodes the header: section 3.
fn header(bits: &mut Bits, given: &Given) -> Result<(u64, bool, i128, String), Rejected> {
    if bits.bits("version", 3)? != 2 {
        return Err(Rejected("unknown version"));
    }
    let kind = bits.bits("kind", 3)?;
    let confirms = bits.flag("confirms")?;
    let has_parents = bits.flag("parents")?;
    if has_parents && kind == 2 {
        return Err(Rejected("feedback with parents"));
    }
    let packet = bits.bits("packet", 16)?;
    let sent = nearest(bits.bits("sent", 28)?, 28, given.near);
    in_time(sent)?;
    let nonce = bits.bits("nonce", 8)?;
    let confirmed = if confirms { bits.bits("confirmed", 16)?.to_string() } else { "none".to_owned() };
    let name = ["updates 2d", "updates 3d", "feedback"].get(kind as usize).ok_or(Rejected("unknown kind"))?;
    let text = format!("{name}\npacket {packet}\nsent {sent}\nnonce {nonce}\nconfirmed {confirmed}\n");
    Ok((kind, has_parents, sent, text))
}

/// Returns the number nearest to `near` with these low bits, or the greater of two.
fn nearest(low: u64, width: u32, near: i128) -> i128 {
    let whole = 1i128 << width;
    let ahead = (i128::from(low) - near).rem_euclid(whole);
    if ahead <= whole / 2 { near + ahead } else { near + ahead - whole }
}

fn in_time(micros: i128) -> Result<i128, Rejected> {
    if micros.abs() <= 1 << 60 { Ok(micros) } else { Err(Rejected("beyond the ends of time")) }
}
