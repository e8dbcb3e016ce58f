//! Which mutations an example gets. Documents are mutated as documents half of the time: bytes alone rarely get past
//! a JSON parser.

use serde_json::Value;

use crate::random::Random;
use crate::{bytes, json};

/// The longest case: what is longer costs time and finds nothing else.
const LONGEST: usize = 16 << 10;
/// The most mutations of one case.
const MOST: usize = 6;

/// A case made of these examples, of which there is at least one.
pub(crate) fn case(examples: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let (one, other) = (random.pick(examples), random.pick(examples));
    let (mut case, other) = (one.cloned().unwrap_or_default(), other.cloned().unwrap_or_default());
    if random.below(2) == 0 {
        case = as_document(&case, &other, random).unwrap_or(case);
    }
    if random.below(3) > 0 {
        for _ in 0..=random.below(MOST) {
            bytes::mutate(&mut case, &other, random);
        }
    }
    case.truncate(LONGEST);
    case
}

fn as_document(case: &[u8], other: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(case).ok()?;
    let other = serde_json::from_slice(other).unwrap_or_default();
    for _ in 0..=random.below(MOST) {
        json::mutate(&mut document, &other, random);
    }
    serde_json::to_vec(&document).ok()
}
