#![no_main]

use fairpath::vector::Vec2;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fairpath_fuzz::updates_are_canonical::<Vec2>(bytes));
