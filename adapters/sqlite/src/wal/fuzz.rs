//! Fuzz test. A torn log counts as undamaged, and a changed byte is found at its position.

use super::test_log::{TestLog, damage};
use super::*;

/// Number of bytes that a disk writes as a whole.
const SECTOR: usize = 512;

/// The frame size in bytes.
const FRAME: usize = FRAME_HEADER_BYTES + 512;

/// Writes a log that the input describes. Returns the rest of the input, which decides which parts are torn, and the
/// number of frames of each commit.
fn history<'i>(input: &'i [u8], log: &mut TestLog) -> (&'i [u8], Vec<usize>) {
    let (acts, rest) = input.split_at(input.len() / 2);
    let mut commits = vec![];
    for act in acts.iter().take(12) {
        let frames = usize::from(act >> 3) % 7 + 1;
        match act % 8 {
            0 => log.restart(),
            1 | 2 => log.abandon(frames),
            _ => log.commit(frames),
        }
        if act % 8 == 0 {
            commits.clear();
        } else if act % 8 > 2 {
            commits.push(frames);
        }
    }
    (rest, commits)
}

#[test]
fn a_changed_byte_is_damage_and_a_torn_end_is_not() {
    bolero::check!(name = "wal").for_each(check);
}

fn check(input: &[u8]) {
    // The input itself is a log. The scan of it must not panic.
    let _ = damage(input);
    let mut log = TestLog::new();
    let (rest, commits) = history(input, &mut log);
    let Some((&last, rest)) = rest.split_first() else { return };
    let before = log.bytes().to_vec();
    assert_eq!(damage(&before), None);

    // A power cut during a transaction leaves any subset of its sectors.
    log.commit(usize::from(last) % 9 + 1);
    let after = log.bytes().to_vec();
    let mut torn = before.clone();
    for (number, begins) in (0..after.len()).step_by(SECTOR).enumerate() {
        let sector = begins..(begins + SECTOR).min(after.len());
        let is_there = rest.get(number / 8).is_some_and(|byte| byte >> (number % 8) & 1 == 1);
        if is_there {
            torn.resize(torn.len().max(sector.end), 0);
            torn[sector.clone()].copy_from_slice(&after[sector]);
        }
    }
    assert_eq!(damage(&torn), None, "after {commits:?}");

    // One byte is changed in a transaction that at least two others follow.
    let sound: usize = commits.iter().rev().skip(1).sum();
    let seed = rest.iter().fold(1, |seed, byte| (seed * 31 + usize::from(*byte)) % 1_000_003);
    if sound > 0 {
        let byte = HEADER_BYTES + seed % (sound * FRAME);
        let mut log = after;
        log[byte] ^= u8::try_from(seed % 255 + 1).unwrap();
        assert_eq!(
            damage(&log),
            Some(LogPosition::Frame(((byte - HEADER_BYTES) / FRAME + 1) as u64)),
            "{commits:?}"
        );
    }
}
