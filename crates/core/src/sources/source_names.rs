//! The names of one source's tools: two own names that would become one name both stay callable.

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::names::{FLAT_LENGTH, flat_name, plain_name};

/// How many hexadecimal digits of the hash a suffix has. The next is used only where a tool of the same source
/// has the name with the shorter suffix.
const SUFFIX_DIGITS: [usize; 3] = [8, 16, 32];

/// The names a tool gets.
pub(crate) struct GivenNames {
    pub(crate) flat: String,
    /// The tool part of its id.
    pub(crate) plain: String,
    /// The tool of the same source that has the name this one would have had.
    pub(crate) collides_with: Option<Arc<str>>,
}

/// Gives names to the tools of one source, in the order it lists them. The first tool that wants a name gets
/// it; a later one gets a suffix that depends on its own name alone, so that every replica and every restart
/// give the same names for the same list.
pub(crate) struct SourceNames<'a> {
    prefix: Option<&'a str>,
    flat: HashMap<String, Arc<str>>,
    plain: HashMap<String, Arc<str>>,
}

impl<'a> SourceNames<'a> {
    /// For a source whose flat names begin with this toolkit, or are bare.
    pub(crate) fn new(prefix: Option<&'a str>) -> Self {
        SourceNames { prefix, flat: HashMap::new(), plain: HashMap::new() }
    }

    /// The names of a tool; versions of one tool have the same. `None` when other tools of the source have
    /// every name it could get.
    pub(crate) fn give(&mut self, own: &Arc<str>) -> Option<GivenNames> {
        let (flat, flat_holder) = take(&mut self.flat, &flat_name(self.prefix, own), own, FLAT_LENGTH)?;
        let (plain, plain_holder) = take(&mut self.plain, &plain_name(own), own, usize::MAX)?;
        Some(GivenNames { flat, plain, collides_with: flat_holder.or(plain_holder) })
    }
}

/// Takes `wanted`, or `wanted` with a suffix when another tool has it; gives that other tool too.
fn take(
    taken: &mut HashMap<String, Arc<str>>,
    wanted: &str,
    own: &Arc<str>,
    longest: usize,
) -> Option<(String, Option<Arc<str>>)> {
    let is_free =
        |taken: &HashMap<String, Arc<str>>, name: &str| taken.get(name).is_none_or(|holder| holder == own);
    let holder = taken.get(wanted).filter(|holder| *holder != own).cloned();
    let name = match &holder {
        None => wanted.to_owned(),
        Some(_) => SUFFIX_DIGITS
            .into_iter()
            .map(|digits| suffixed(wanted, own, digits, longest))
            .find(|name| is_free(taken, name))?,
    };
    taken.insert(name.clone(), Arc::clone(own));
    Some((name, holder))
}

fn suffixed(name: &str, own: &str, digits: usize, longest: usize) -> String {
    let digest = Sha256::digest(own);
    let hash = digest.iter().take(16).fold(0, |hash: u128, byte| hash << 8 | u128::from(*byte));
    let hash = format!("{hash:032x}");
    let kept = name.len().min(longest - digits - 1);
    format!("{}_{}", &name[..kept], &hash[..digits])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::names::is_plain;

    fn names(own: &[&str]) -> Vec<(String, String)> {
        let mut names = SourceNames::new(Some("Kit"));
        let given = own.iter().map(|own| names.give(&Arc::from(*own)).expect("a name"));
        given.map(|given| (given.flat, given.plain)).collect()
    }

    #[test]
    fn the_later_of_two_gets_a_suffix_of_its_own_name() {
        let both = names(&["a.list", "a_list"]);
        assert_eq!(both[0], ("Kit_a_list".to_owned(), "a_list".to_owned()));
        assert_eq!(both[1], ("Kit_a_list_8910e31c".to_owned(), "a_list_8910e31c".to_owned()));
        assert_eq!(names(&["other", "a.list", "more", "a_list"])[3], both[1], "whatever else is listed");
    }

    #[test]
    fn only_the_name_that_is_taken_changes() {
        let both = names(&["get-item", "get_item"]);
        assert_eq!(both[0], ("Kit_get-item".to_owned(), "get_item".to_owned()));
        assert_eq!(both[1].0, "Kit_get_item");
        assert_ne!(both[1].1, "get_item");
    }

    #[test]
    fn versions_of_one_tool_have_one_name() {
        let given = names(&["a.list", "a_list", "a.list", "a_list"]);
        assert_eq!((&given[0], &given[1]), (&given[2], &given[3]));
    }

    #[test]
    fn a_tool_named_like_a_suffixed_one_keeps_its_name_and_the_other_gets_a_longer_suffix() {
        let given = names(&["a_list_8910e31c", "a.list", "a_list"]);
        assert_eq!(given[0].0, "Kit_a_list_8910e31c");
        assert_eq!(given[2].0.len(), "Kit_a_list_".len() + 16, "{}", given[2].0);
    }

    proptest! {
        #[test]
        fn names_are_servable_and_distinct(own in proptest::collection::hash_set("[ab._ -]{0,3}|[ab.]{60,66}", 1..40)) {
            let own: Vec<&str> = own.iter().map(String::as_str).collect();
            let given = names(&own);
            let mut flat = std::collections::HashSet::new();
            let mut plain = std::collections::HashSet::new();
            for (a, b) in &given {
                prop_assert!((1..=FLAT_LENGTH).contains(&a.len()) && is_plain(b));
                prop_assert!(flat.insert(a) && plain.insert(b), "{given:?}");
            }
        }
    }
}
