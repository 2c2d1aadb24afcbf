//! Wrapping is undone in one place, and it is the inverse of wrapping.

use fairpath::number::{Generation, PacketNumber, widen};
use fairpath_laws::{law, proptest::prelude::*};

#[test]
fn a_number_survives_the_wire_if_the_receiver_is_near() {
    law!((any::<u64>(), 1u32..40, any::<i64>()), |(number, bits, drift)| {
        let number = number >> 1; // room for the drift
        let window = 1i64 << (bits - 1);
        let near = number.saturating_add_signed(drift % window);
        let low = number & ((1u64 << bits) - 1);
        // Right at zero a window would reach below it: then the smallest number that fits is the
        // answer.
        if near >= window as u64 {
            prop_assert_eq!(widen(low, bits, near), number);
        }
        Ok(())
    });
}

#[test]
fn widening_keeps_the_low_bits_and_stays_near() {
    law!((any::<u64>(), 1u32..40, any::<u64>()), |(low, bits, near)| {
        let near = near >> 1;
        let mask = (1u64 << bits) - 1;
        let wide = widen(low, bits, near);
        prop_assert_eq!(wide & mask, low & mask);
        prop_assert!(wide.abs_diff(near) <= mask);
        Ok(())
    });
}

#[test]
fn counting_and_widening_agree_for_ever() {
    law!((any::<u32>(), 0u64..100), |(start, steps)| {
        let start = u64::from(start);
        let mut generation = Generation(start as u8);
        let mut wide = start;
        for _ in 0..steps {
            generation = generation.next();
            wide = generation.widen(wide);
        }
        prop_assert_eq!(wide, start + steps);
        prop_assert_eq!(PacketNumber(wide).on_wire().widen(PacketNumber(start)), PacketNumber(wide));
        Ok(())
    });
}
