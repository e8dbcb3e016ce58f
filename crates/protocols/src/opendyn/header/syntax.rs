//! The functions that a header declares, with their types behind all typedefs and the comments beside them.

use tree_sitter::{Node, Parser};

use super::c_type::{CType, Typedefs};
use super::preprocess::{HeaderError, Preprocessed};

/// A function as it is declared.
#[derive(Debug)]
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) returns: CType,
    pub(super) parameters: Vec<Declared>,
    pub(super) variadic: bool,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

#[derive(Debug)]
pub(super) struct Declared {
    pub(super) name: Option<String>,
    pub(super) c: CType,
}

/// Reads every function that the header itself declares.
pub(super) fn declarations(preprocessed: &Preprocessed) -> Result<Vec<Declaration>, HeaderError> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_c::LANGUAGE.into()).map_err(|_| HeaderError::Grammar)?;
    let tree = parser.parse(&preprocessed.text, None).ok_or(HeaderError::Grammar)?;
    let mut reading = Reading {
        text: &preprocessed.text,
        own: &preprocessed.own,
        typedefs: Typedefs::default(),
        found: Vec::new(),
    };
    reading.walk(tree.root_node());
    Ok(reading.found)
}

struct Reading<'a> {
    text: &'a str,
    own: &'a [bool],
    typedefs: Typedefs,
    found: Vec<Declaration>,
}

/// A declared name and its type.
struct Named {
    name: Option<String>,
    c: CType,
    parameters: Option<(Vec<Declared>, bool)>,
}

impl<'a> Reading<'a> {
    fn walk(&mut self, parent: Node<'a>) {
        let mut cursor = parent.walk();
        let children: Vec<Node<'a>> = parent.children(&mut cursor).collect();
        for (index, node) in children.iter().enumerate() {
            match node.kind() {
                "type_definition" => self.type_definition(*node),
                "declaration" => self.declaration(*node, &children, index),
                // What the grammar stumbled over may still hold good declarations.
                "ERROR" | "linkage_specification" | "declaration_list" => self.walk(*node),
                _ => {}
            }
        }
    }

    fn type_definition(&mut self, node: Node<'a>) {
        let base = self.base(node);
        let mut cursor = node.walk();
        let declarators: Vec<Node<'a>> = node.children_by_field_name("declarator", &mut cursor).collect();
        for declarator in declarators {
            let named = self.declarator(declarator, base.clone(), self.is_constant(node));
            if let Some(name) = named.name {
                // The name that people write is the one without `struct`.
                let c = match (named.c, named.parameters) {
                    (_, Some(_)) => CType::Function,
                    (CType::Opaque(_), None) => CType::Opaque(name.clone()),
                    (c, None) => c,
                };
                self.typedefs.0.insert(name, c);
            }
        }
    }

    fn declaration(&mut self, node: Node<'a>, siblings: &[Node<'a>], index: usize) {
        let Some(declarator) = node.child_by_field_name("declarator") else { return };
        let line = node.start_position().row;
        if !self.own.get(line).copied().unwrap_or(false) || self.words(node).starts_with("static") {
            return;
        }
        let named = self.declarator(declarator, self.base(node), self.is_constant(node));
        let (Some(name), Some((parameters, variadic))) = (named.name, named.parameters) else { return };
        let (before, after) = (self.comment_before(siblings, index), self.comment_after(siblings, index));
        self.found.push(Declaration { name, returns: named.c, parameters, variadic, before, after });
    }

    fn base(&self, node: Node<'a>) -> CType {
        let Some(kind) = node.child_by_field_name("type") else {
            return CType::Other("a missing type".to_owned());
        };
        match kind.kind() {
            "struct_specifier" | "union_specifier" => {
                let name = kind.child_by_field_name("name").map(|name| self.words(name).to_owned());
                CType::Opaque(name.unwrap_or_else(|| "object".to_owned()))
            }
            "enum_specifier" => CType::Scalar("unsigned int"),
            _ => self.typedefs.base(self.words(kind)),
        }
    }

    fn is_constant(&self, node: Node<'a>) -> bool {
        let mut cursor = node.walk();
        node.children(&mut cursor)
            .any(|child| child.kind() == "type_qualifier" && self.words(child) == "const")
    }

    /// From the outside of a declarator to its name.
    fn declarator(&self, node: Node<'a>, c: CType, constant: bool) -> Named {
        let inner = node.child_by_field_name("declarator");
        match node.kind() {
            "pointer_declarator" | "abstract_pointer_declarator" => {
                let pointer = CType::Pointer { to: Box::new(c), constant };
                let constant = self.is_constant(node);
                match inner {
                    Some(inner) => self.declarator(inner, pointer, constant),
                    None => Named { name: None, c: pointer, parameters: None },
                }
            }
            "function_declarator" | "abstract_function_declarator" => {
                let parameters = node.child_by_field_name("parameters").map(|list| self.parameters(list));
                let Some(inner) = inner else { return Named { name: None, c: CType::Function, parameters } };
                // `(*name)(…)` is a pointer to a function, `name(…)` is one.
                if inner.kind().contains("parenthesized") && self.words(inner).contains('*') {
                    return self.declarator(inner, CType::Function, false);
                }
                Named { parameters, ..self.declarator(inner, c, constant) }
            }
            "array_declarator" | "abstract_array_declarator" => {
                let pointer = CType::Pointer { to: Box::new(CType::Array(Box::new(c))), constant };
                inner.map_or(Named { name: None, c: pointer.clone(), parameters: None }, |inner| {
                    self.declarator(inner, pointer, false)
                })
            }
            kind if kind.contains("parenthesized") => match node.named_child(0) {
                Some(inner) => self.declarator(inner, c, constant),
                None => Named { name: None, c, parameters: None },
            },
            _ => Named { name: Some(self.words(node).to_owned()), c, parameters: None },
        }
    }

    fn parameters(&self, list: Node<'a>) -> (Vec<Declared>, bool) {
        let mut cursor = list.walk();
        let children: Vec<Node<'a>> = list.named_children(&mut cursor).collect();
        let variadic = children.iter().any(|child| child.kind() == "variadic_parameter");
        let declared: Vec<Declared> = children
            .into_iter()
            .filter(|child| child.kind() == "parameter_declaration")
            .map(|child| {
                let (base, constant) = (self.base(child), self.is_constant(child));
                match child.child_by_field_name("declarator") {
                    Some(declarator) => {
                        let named = self.declarator(declarator, base, constant);
                        let function = named.parameters.is_some();
                        Declared { name: named.name, c: if function { CType::Function } else { named.c } }
                    }
                    None => Declared { name: None, c: base },
                }
            })
            .collect();
        let nothing = matches!(declared[..], [Declared { name: None, c: CType::Void }]);
        (if nothing { Vec::new() } else { declared }, variadic)
    }

    fn comment_before(&self, siblings: &[Node<'a>], index: usize) -> Option<String> {
        let comment = siblings.get(index.checked_sub(1)?).filter(|node| node.kind() == "comment")?;
        // A comment on the line of another declaration belongs to that one.
        let other = index.checked_sub(2).and_then(|index| siblings.get(index));
        let shared = other.is_some_and(|other| other.end_position().row == comment.start_position().row);
        (!shared).then(|| plain(self.words(*comment))).flatten()
    }

    fn comment_after(&self, siblings: &[Node<'a>], index: usize) -> Option<String> {
        let comment = siblings.get(index + 1).filter(|node| node.kind() == "comment")?;
        plain(self.words(*comment))
    }

    fn words(&self, node: Node<'a>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }
}

/// A comment without its stars.
fn plain(comment: &str) -> Option<String> {
    let inner = comment.trim_start_matches("//").trim_start_matches("/*").trim_end_matches("*/");
    let lines = inner.lines().map(|line| line.trim().trim_start_matches('*').trim());
    let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}
