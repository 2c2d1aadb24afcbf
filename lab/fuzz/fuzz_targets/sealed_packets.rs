#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairpath_fuzz::sealed::sealed_packets_are_opened_once(bytes));
