#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fairpath_fuzz::feedback_is_canonical(bytes));
