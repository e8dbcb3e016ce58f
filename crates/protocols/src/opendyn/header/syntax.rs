//! The functions that headers declare, with their types behind all typedefs and the comments beside them.

use tree_sitter::{Node, Parser};

use super::c_type::{CType, Declared, Signature, Types};
use super::comment::{Documentation, bare_text};
use super::constants::Constants;
use super::preprocess::{HeaderError, Preprocessed};
use super::request::Comments;

/// A function as it is declared.
#[derive(Debug)]
pub(super) struct Declaration {
    pub(super) name: String,
    /// As it is written, in one line.
    pub(super) text: String,
    pub(super) returns: CType,
    pub(super) parameters: Vec<Declared>,
    pub(super) variadic: bool,
    pub(super) documentation: Documentation,
}

/// A variable of the library.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) c: CType,
}

/// Everything that was read.
pub(super) struct Header {
    pub(super) declarations: Vec<Declaration>,
    pub(super) variables: Vec<Variable>,
    pub(super) types: Types,
    pub(super) constants: Constants,
}

/// Reads every function that the library's own lines declare.
pub(super) fn read_header(preprocessed: &Preprocessed, comments: Comments) -> Result<Header, HeaderError> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_c::LANGUAGE.into()).map_err(|_| HeaderError::Grammar)?;
    let tree = parser.parse(&preprocessed.text, None).ok_or(HeaderError::Grammar)?;
    let mut reading = Reading {
        preprocessed,
        types: Types::default(),
        constants: Constants::of_macros(&preprocessed.macros),
        found: Vec::new(),
        variables: Vec::new(),
        anonymous: 0,
    };
    reading.walk(tree.root_node());
    let comments = match comments {
        Comments::Auto => usual_place(&reading.found),
        Comments::Before | Comments::After => comments,
    };
    let declarations = documented(reading.found, comments);
    let (variables, types) = (reading.variables, reading.types);
    Ok(Header { declarations, variables, types, constants: reading.constants })
}

/// A declaration with the comments around it.
struct Found {
    declaration: Declaration,
    before: Option<String>,
    /// Whether a line without text is between it and the comment before.
    is_apart: bool,
    after: Option<String>,
    behind: Behind,
    /// Whether it follows the declaration before it without a line between.
    is_joined: bool,
}

/// Where the comment behind a declaration begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    SameLine,
    NextLine,
    FurtherOn,
}

/// Where most comments of a header are.
fn usual_place(found: &[Found]) -> Comments {
    let before = found.iter().filter(|one| one.before.is_some() && !one.is_apart).count();
    let after = found.iter().filter(|one| one.behind == Behind::NextLine && one.is_apart).count();
    if after > before { Comments::After } else { Comments::Before }
}

/// Gives each declaration its comment. Declarations without a line between them share one.
fn documented(found: Vec<Found>, comments: Comments) -> Vec<Declaration> {
    let mut last = Documentation::default();
    let mut declarations = Vec::with_capacity(found.len());
    for one in found {
        let beside = one.after.as_ref().filter(|_| one.behind == Behind::SameLine);
        let own = match comments {
            Comments::After => one.after.as_ref().filter(|_| one.behind != Behind::FurtherOn),
            Comments::Before | Comments::Auto => beside.or(one.before.as_ref()),
        };
        let read = own.and_then(|text| Documentation::read(text));
        last = match read {
            Some(read) => read,
            None if one.is_joined && comments != Comments::After => last,
            None => Documentation::default(),
        };
        declarations.push(Declaration { documentation: last.clone(), ..one.declaration });
    }
    declarations
}

pub(super) struct Reading<'a> {
    preprocessed: &'a Preprocessed,
    pub(super) types: Types,
    pub(super) constants: Constants,
    found: Vec<Found>,
    variables: Vec<Variable>,
    pub(super) anonymous: usize,
}

/// A declared name and its type.
pub(super) struct Named {
    pub(super) name: Option<String>,
    pub(super) c: CType,
    parameters: Option<(Vec<Declared>, bool)>,
}

impl Named {
    fn plain(name: Option<String>, c: CType) -> Self {
        Named { name, c, parameters: None }
    }

    /// The type of it: that of a function where it is one.
    pub(super) fn into_type(self) -> CType {
        match self.parameters {
            Some((parameters, _)) => CType::Function(Box::new(Signature { returns: self.c, parameters })),
            None => self.c,
        }
    }
}

impl<'a> Reading<'a> {
    fn walk(&mut self, parent: Node<'a>) {
        let mut cursor = parent.walk();
        let children: Vec<Node<'a>> = parent.children(&mut cursor).collect();
        for (index, node) in children.iter().enumerate() {
            match node.kind() {
                "type_definition" => self.type_definition(*node),
                "declaration" => self.declaration(*node, &children, index),
                "struct_specifier" | "union_specifier" | "enum_specifier" => drop(self.specifier(*node)),
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
            let mut named = self.declarator(declarator, base.clone(), self.is_constant(node));
            if let Some(name) = named.name.take() {
                self.types.define(&name, named.into_type());
            }
        }
    }

    fn declaration(&mut self, node: Node<'a>, siblings: &[Node<'a>], index: usize) {
        let base = self.base(node);
        if !self.is_own(node) || self.has_storage(node, &["static", "inline"]) {
            return;
        }
        let mut cursor = node.walk();
        let declarators: Vec<Node<'a>> = node.children_by_field_name("declarator", &mut cursor).collect();
        for declarator in declarators {
            let named = self.declarator(declarator, base.clone(), self.is_constant(node));
            let text = self.words(node).split_whitespace().collect::<Vec<_>>().join(" ");
            let Some(name) = named.name else { continue };
            let Some((parameters, variadic)) = named.parameters else {
                if self.has_storage(node, &["extern"]) {
                    self.variables.push(Variable { name, text, c: named.c });
                }
                continue;
            };
            let documentation = Documentation::default();
            let declaration =
                Declaration { name, text, returns: named.c, parameters, variadic, documentation };
            let found = self.with_comments(declaration, siblings, index);
            self.found.push(found);
        }
    }

    fn has_storage(&self, node: Node<'a>, wanted: &[&str]) -> bool {
        let mut cursor = node.walk();
        node.children(&mut cursor)
            .any(|child| child.kind() == "storage_class_specifier" && wanted.contains(&self.words(child)))
    }

    pub(super) fn base(&mut self, node: Node<'a>) -> CType {
        let Some(kind) = node.child_by_field_name("type") else {
            return CType::Other("a missing type".to_owned());
        };
        match kind.kind() {
            "struct_specifier" | "union_specifier" | "enum_specifier" => self.specifier(kind),
            _ => self.types.base(self.words(kind)),
        }
    }

    pub(super) fn is_constant(&self, node: Node<'a>) -> bool {
        let mut cursor = node.walk();
        node.children(&mut cursor)
            .any(|child| child.kind() == "type_qualifier" && matches!(self.words(child), "const" | "__const"))
    }

    /// From the outside of a declarator to its name.
    pub(super) fn declarator(&mut self, node: Node<'a>, c: CType, constant: bool) -> Named {
        let inner = node.child_by_field_name("declarator");
        match node.kind() {
            "pointer_declarator" | "abstract_pointer_declarator" => {
                let pointer = CType::Pointer { to: Box::new(c), constant };
                let constant = self.is_constant(node);
                match inner {
                    Some(inner) => self.declarator(inner, pointer, constant),
                    None => Named::plain(None, pointer),
                }
            }
            "function_declarator" | "abstract_function_declarator" => {
                let parameters = node.child_by_field_name("parameters").map(|list| self.parameters(list));
                let Some(inner) = inner else { return Named { name: None, c, parameters } };
                // `(*name)(…)` is a pointer to a function, `name(…)` is one.
                if inner.kind().contains("parenthesized") && self.words(inner).contains('*') {
                    let parameters = parameters.map(|(all, _)| all).unwrap_or_default();
                    let signature = Signature { returns: c, parameters };
                    return self.declarator(inner, CType::Function(Box::new(signature)), false);
                }
                Named { parameters, ..self.declarator(inner, c, constant) }
            }
            "array_declarator" | "abstract_array_declarator" => {
                let size = node.child_by_field_name("size").map(|size| self.words(size));
                let count = size.and_then(|size| self.constants.evaluate(size));
                let array = CType::Array(Box::new(c), count.and_then(|count| u64::try_from(count).ok()));
                match inner {
                    Some(inner) => self.declarator(inner, array, constant),
                    None => Named::plain(None, array),
                }
            }
            kind if kind.contains("parenthesized") => match node.named_child(0) {
                Some(inner) => self.declarator(inner, c, constant),
                None => Named::plain(None, c),
            },
            _ => Named::plain(Some(self.words(node).to_owned()), c),
        }
    }

    fn parameters(&mut self, list: Node<'a>) -> (Vec<Declared>, bool) {
        let mut cursor = list.walk();
        let children: Vec<Node<'a>> = list.named_children(&mut cursor).collect();
        let variadic = children.iter().any(|child| child.kind() == "variadic_parameter");
        let declared: Vec<Declared> = children
            .into_iter()
            .filter(|child| child.kind() == "parameter_declaration")
            .map(|child| self.parameter(child))
            .collect();
        let nothing = matches!(declared[..], [Declared { name: None, c: CType::Void }]);
        (if nothing { Vec::new() } else { declared }, variadic)
    }

    fn parameter(&mut self, node: Node<'a>) -> Declared {
        let (base, constant) = (self.base(node), self.is_constant(node));
        let mut named = match node.child_by_field_name("declarator") {
            Some(declarator) => self.declarator(declarator, base, constant),
            None => Named::plain(None, base),
        };
        let name = named.name.take();
        // An array is passed as a pointer to its first element, and so is a function.
        let c = match named.into_type() {
            array @ CType::Array(..) => CType::Pointer { to: Box::new(array), constant },
            other => other,
        };
        Declared { name, c }
    }

    fn with_comments(&self, declaration: Declaration, siblings: &[Node<'a>], index: usize) -> Found {
        let node = siblings[index];
        let start = comments_start(siblings, index);
        let first = node.start_position().row;
        let own: Vec<Node<'a>> = self.own_comments(&siblings[start..index], siblings, start, first);
        let end = own.last().map(|last| last.end_position().row);
        let behind = siblings.get(index + 1).filter(|next| next.kind() == "comment");
        let last_row = node.end_position().row;
        let previous = start.checked_sub(1).map(|index| siblings[index]);
        let previous_end = siblings[..index].last().map_or(0, |last| last.end_position().row);
        Found {
            before: self.joined_text(&own),
            is_apart: end.is_none_or(|end| end + 1 < first),
            after: behind.and_then(|next| self.joined_text(&[*next])),
            behind: match behind.map(|next| next.start_position().row) {
                Some(row) if row == last_row => Behind::SameLine,
                Some(row) if row == last_row + 1 => Behind::NextLine,
                Some(_) | None => Behind::FurtherOn,
            },
            is_joined: own.is_empty()
                && previous.is_some_and(|previous| previous.kind() == "declaration")
                && previous_end + 1 >= first,
            declaration,
        }
    }

    /// The comments right in front of a declaration: all `//` lines, or the last block. Not one on the line of another
    /// declaration, nor one that a macro follows.
    fn own_comments(
        &self,
        comments: &[Node<'a>],
        siblings: &[Node<'a>],
        start: usize,
        first: usize,
    ) -> Vec<Node<'a>> {
        let mut own: Vec<Node<'a>> = Vec::new();
        for comment in comments.iter().rev() {
            let is_line = self.words(*comment).starts_with("//");
            let next = own.last().map_or(first, |next| next.start_position().row);
            let end = comment.end_position().row;
            let is_of_macro = self.preprocessed.macro_lines.range(end..next).next().is_some();
            let is_joined = own
                .last()
                .is_none_or(|last| self.words(*last).starts_with("//") && is_line && end + 1 >= next);
            let other = start.checked_sub(1).map(|index| siblings[index]);
            let is_shared =
                other.is_some_and(|other| other.end_position().row == comment.start_position().row);
            if is_of_macro || !is_joined || is_shared {
                break;
            }
            own.push(*comment);
        }
        own.reverse();
        own
    }

    fn joined_text(&self, comments: &[Node<'a>]) -> Option<String> {
        let texts: Vec<&str> = comments.iter().map(|comment| bare_text(self.words(*comment))).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// Whether a node is in a file of the library that is described.
    pub(super) fn is_own(&self, node: Node<'a>) -> bool {
        self.preprocessed.own.get(node.start_position().row).copied().unwrap_or(false)
    }

    pub(super) fn words(&self, node: Node<'a>) -> &'a str {
        self.preprocessed.text.get(node.byte_range()).unwrap_or_default()
    }
}

/// Where the comments in front of a node begin among its siblings.
fn comments_start(siblings: &[Node<'_>], index: usize) -> usize {
    let comments = siblings[..index].iter().rev().take_while(|node| node.kind() == "comment").count();
    index - comments
}
