//! Setting members of a structure that lives in the library. To C it is a function like any other, but its arguments are
//! looked at here: how many there are depends on the structure.

/// Bits of the lower half of a number that says where a member is: its size. The upper half is its offset.
const HALF: u32 = 32;

/// Stands for the code of a function that is done here.
pub(super) extern "C" fn store() {}

/// Copies members into a structure. The arguments are the structure, how many members there may be, and for each where it
/// is and a pointer to its new value, which is NULL for one that stays as it is.
///
/// # Safety
/// The structure is NULL or has these members, and each pointer leads to as many bytes as its member has.
pub(super) unsafe fn store_members(words: &[u64]) {
    let [structure, _, members @ ..] = words else { return };
    if *structure == 0 {
        return;
    }
    for member in members.chunks_exact(2) {
        let [place, value] = member else { continue };
        if *value != 0 {
            let (offset, size) = (place >> HALF, place & (u64::MAX >> HALF));
            // SAFETY: as above; the value was placed for this call and cannot overlap with memory of the library.
            unsafe {
                let to = (structure + offset) as *mut u8;
                to.copy_from_nonoverlapping(*value as *const u8, size as usize);
            }
        }
    }
}
