#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairpath_fuzz::readers::http(bytes));
