#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairpath_fuzz::dis::gateways_survive(bytes));
