//! A mixing function, for request ids and for the random decisions of planned faults.

/// The finaliser of splitmix64: a permutation of the 64-bit numbers, so distinct numbers stay distinct.
pub(crate) fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
