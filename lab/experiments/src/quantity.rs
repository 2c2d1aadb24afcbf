//! Numbers as people read them: few digits, never a false zero.

/// About four significant digits: `0.03142`, `12.50`, `1834`, `3.1e-12`; a dash if not finite.
pub fn show(number: f64) -> String {
    if !number.is_finite() {
        return "–".into();
    }
    let magnitude = number.abs();
    if number == 0.0 || (1e-4..1e7).contains(&magnitude) {
        let text = format!("{number:.*}", decimals_for(magnitude));
        return trimmed(&text).into();
    }
    short_exponent(number)
}

/// With exactly `decimals` decimals, unless that would show a number that is not zero as zero.
pub fn show_fixed(number: f64, decimals: usize) -> String {
    if !number.is_finite() {
        return "–".into();
    }
    let text = format!("{number:.decimals$}");
    let looks_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.' | b'-'));
    match (looks_zero, number == 0.0) {
        (true, true) => "0".into(),
        (true, false) => short_exponent(number),
        (false, _) => text,
    }
}

/// How many decimals show `magnitude` with about four significant digits.
pub fn decimals_for(magnitude: f64) -> usize {
    match magnitude {
        m if m >= 1000.0 => 0,
        m if m >= 100.0 => 1,
        m if m >= 10.0 => 2,
        m if m >= 1.0 => 3,
        m if m >= 0.1 => 4,
        m if m >= 0.01 => 5,
        m if m > 0.0 => 6,
        _ => 0,
    }
}

fn short_exponent(number: f64) -> String {
    let text = format!("{number:.2e}");
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{}e{exponent}", trimmed(digits)),
        None => text,
    }
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_a_false_zero() {
        let shown: Vec<String> =
            [0.0, 1.0, 12.5, 0.031_415_9, 1834.2, 3.14e-12, -2.0e9, f64::NAN].map(show).into();
        assert_eq!(shown, ["0", "1", "12.5", "0.03142", "1834", "3.14e-12", "-2e9", "–"]);
        assert_eq!(show_fixed(7.0, 2), "7.00");
        assert_eq!(show_fixed(1e-12, 2), "1e-12");
        assert_eq!(show_fixed(-0.0, 2), "0");
    }
}
