#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairpath_fuzz::dis::pdus_are_read_or_refused(bytes));
