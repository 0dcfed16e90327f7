//! Logs that a power cut has torn, and logs that were hurt, against what was written.

use super::written::{Written, damage};
use super::*;

/// Bytes that reach the disk together.
const SECTOR: usize = 512;

/// Bytes of a frame.
const FRAME: usize = FRAME_HEADER_BYTES + 512;

/// A history of a log, as bytes tell it: what is left of them decides what is torn.
fn history<'i>(input: &'i [u8], log: &mut Written) -> (&'i [u8], Vec<usize>) {
    let (acts, rest) = input.split_at(input.len() / 2);
    let mut commits = vec![];
    for act in acts.iter().take(12) {
        let frames = usize::from(act >> 3) % 7 + 1;
        match act % 8 {
            0 => log.begin_again(),
            1 | 2 => log.give_up(frames),
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
fn a_log_is_damaged_where_it_was_hurt_and_not_where_it_was_torn() {
    bolero::check!(name = "wal").for_each(check);
}

fn check(input: &[u8]) {
    // Whatever it is.
    let _ = damage(input);
    let mut log = Written::new();
    let (rest, commits) = history(input, &mut log);
    let Some((&last, rest)) = rest.split_first() else { return };
    let before = log.bytes().to_vec();
    assert_eq!(damage(&before), None);

    // A power cut while a transaction is written: any of its sectors are there.
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

    // One byte of a transaction behind which there are two more.
    let sound: usize = commits.iter().rev().skip(1).sum();
    let hurt = rest.iter().fold(1, |hurt, byte| (hurt * 31 + usize::from(*byte)) % 1_000_003);
    if sound > 0 {
        let byte = HEADER_BYTES + hurt % (sound * FRAME);
        let mut log = after;
        log[byte] ^= u8::try_from(hurt % 255 + 1).unwrap();
        assert_eq!(
            damage(&log),
            Some(Place::Frame(((byte - HEADER_BYTES) / FRAME + 1) as u64)),
            "{commits:?}"
        );
    }
}
