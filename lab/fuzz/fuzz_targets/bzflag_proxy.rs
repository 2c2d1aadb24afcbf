#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairpath_fuzz::bzflag::any_bytes_pass_or_are_dropped(bytes));
