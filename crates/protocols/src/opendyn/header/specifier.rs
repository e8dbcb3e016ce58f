//! The structures, unions and enumerations of a header.

use tree_sitter::Node;

use super::c_type::{CType, Field, Fields};
use super::comment::{Documentation, bare_text};
use super::syntax::Reading;

impl<'a> Reading<'a> {
    /// Reads what a specifier defines, and gives the type that it names.
    pub(super) fn specifier(&mut self, node: Node<'a>) -> CType {
        let tag = node.child_by_field_name("name").map(|name| self.words(name).to_owned());
        let tag = tag.unwrap_or_else(|| {
            self.anonymous += 1;
            format!("object{}", self.anonymous)
        });
        let body = node.child_by_field_name("body");
        if node.kind() == "enum_specifier" {
            if let Some(body) = body {
                let values = self.enumerators(body);
                self.types.add_enumeration(&tag, values);
            }
            return CType::Enum(self.types.known_as(&tag));
        }
        if let Some(body) = body {
            let fields = Fields { is_union: node.kind() == "union_specifier", ..self.fields(body) };
            self.types.add_structure(&tag, fields);
        }
        self.types.tagged(&tag)
    }

    fn enumerators(&mut self, body: Node<'a>) -> Vec<(String, i128)> {
        let is_own = self.is_own(body);
        let mut cursor = body.walk();
        let nodes: Vec<Node<'a>> =
            body.named_children(&mut cursor).filter(|child| child.kind() == "enumerator").collect();
        let mut next = Some(0);
        let mut values = Vec::new();
        for node in nodes {
            let Some(name) = node.child_by_field_name("name").map(|name| self.words(name)) else { continue };
            if let Some(value) = node.child_by_field_name("value") {
                next = self.constants.evaluate(self.words(value));
            }
            // Without a known value those behind it have none either.
            let Some(value) = next else { continue };
            self.constants.add_enumerator(name, value, is_own);
            values.push((name.to_owned(), value));
            next = value.checked_add(1);
        }
        values
    }

    fn fields(&mut self, body: Node<'a>) -> Fields {
        let mut cursor = body.walk();
        let nodes: Vec<Node<'a>> =
            body.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect();
        let mut fields = Fields::default();
        for node in nodes {
            if node.kind() != "field_declaration" {
                fields.is_partial = true;
                continue;
            }
            let mut cursor = node.walk();
            let clause = node.children(&mut cursor).find(|child| child.kind() == "bitfield_clause");
            let bits = match clause.map(|clause| self.bits(clause)) {
                Some(None) => {
                    fields.is_partial = true;
                    continue;
                }
                bits => bits.flatten(),
            };
            let description = self.comment_beside(node);
            let (base, constant) = (self.base(node), self.is_constant(node));
            let mut cursor = node.walk();
            let declarators: Vec<Node<'a>> = node.children_by_field_name("declarator", &mut cursor).collect();
            if declarators.is_empty() {
                fields.all.push(Field { name: String::new(), c: base.clone(), bits, description: None });
            }
            for declarator in declarators {
                let mut named = self.declarator(declarator, base.clone(), constant);
                let name = named.name.take().unwrap_or_default();
                let description = description.clone();
                fields.all.push(Field { name, c: named.into_type(), bits, description });
            }
        }
        fields
    }

    /// The number in `: 3`.
    fn bits(&self, clause: Node<'a>) -> Option<u64> {
        let text = self.words(clause).trim_start_matches(':');
        u64::try_from(self.constants.evaluate(text)?).ok().filter(|bits| *bits <= 64)
    }

    /// The comment on the same line behind a member, or right in front of it.
    fn comment_beside(&self, node: Node<'a>) -> Option<String> {
        let row = node.end_position().row;
        let behind = node.next_sibling().filter(|next| next.start_position().row == row);
        let is_own = |comment: &Node<'a>| {
            let first = comment.start_position().row;
            let is_shared = comment.prev_sibling().is_some_and(|other| other.end_position().row == first);
            comment.end_position().row + 1 == node.start_position().row && !is_shared
        };
        let before = node.prev_sibling().filter(is_own);
        let beside = behind.into_iter().chain(before).find(|node| node.kind() == "comment")?;
        Documentation::read(bare_text(self.words(beside)))
            .map(|read| read.text)
            .filter(|text| !text.is_empty())
    }
}
