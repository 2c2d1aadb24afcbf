//! The inverse of the integral: when the accumulated error reaches a given amount.

use std::ops::ControlFlow;

use super::panels::{self, Panel};
use super::{Path, Tolerance};
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// Returns the first microsecond at which the error accumulated since `from` is `amount` or more;
/// `None` if that is after `until`.
///
/// Returns `from` if the amount is zero or less. Right to the microsecond as far as the integral
/// itself is known: at the returned instant the true accumulated error is at least `amount`, and a
/// microsecond earlier it is less, both up to the bound of [`accumulated`](super::accumulated).
pub fn when_reaches<V: Planar>(
    one: &Path<V>,
    other: &Path<V>,
    from: SharedInstant,
    amount: f64,
    until: SharedInstant,
) -> Option<SharedInstant> {
    if until < from {
        return None;
    }
    if amount <= 0.0 {
        return Some(from);
    }
    let mut left = amount;
    let mut reached = None;
    panels::walk(one, other, from, until, &Tolerance::DEFAULT, |panel| {
        if panel.integral.value >= left {
            reached = Some(from + first_span(panel, left));
            return ControlFlow::Break(());
        }
        left -= panel.integral.value;
        ControlFlow::Continue(())
    });
    // Seconds round; an instant after `until` must not be returned.
    reached.map(|instant| instant.min(until))
}

/// The first whole microsecond at which the panel's integral is `amount` or more. The integral of
/// the whole panel is. Newton's method, whose derivative is at hand, kept within a bracket. Every
/// eighth step halves the bracket instead, so that the search ends whatever the distance does.
fn first_span<V: Planar>(panel: &Panel<'_, V>, amount: f64) -> Span {
    let mut low = (panel.secs.start * 1e6).floor() as i64;
    let mut high = (panel.secs.end * 1e6).ceil() as i64;
    let mut guess = panel.secs.start + secs_if_even(panel, amount);
    for step in 1.. {
        if high - low <= 1 {
            break;
        }
        let micros = if step % 8 == 0 { low + (high - low) / 2 } else { (guess * 1e6).ceil() as i64 };
        let micros = micros.clamp(low + 1, high - 1);
        let at = Span::from_micros(micros).as_secs_f64();
        let excess = panel.integral_until(at) - amount;
        if excess >= 0.0 {
            high = micros;
        } else {
            low = micros;
        }
        guess = at - excess / panel.distance_at(at);
    }
    Span::from_micros(high)
}

/// When the panel's integral would reach `amount` if the distance changed linearly over the panel:
/// the positive root of d·t + ½·κ·t² = amount, in the form that divides by nothing small.
fn secs_if_even<V: Planar>(panel: &Panel<'_, V>, amount: f64) -> f64 {
    let (first, last) = (panel.distance_at(panel.secs.start), panel.distance_at(panel.secs.end));
    let growth = (last - first) / (panel.secs.end - panel.secs.start);
    2.0 * amount / (first + (first * first + 2.0 * growth * amount).max(0.0).sqrt())
}
