//! A parsed Rust file: its tokens in a row, its functions, and the parts of it that are test code.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

pub(crate) struct RustFile {
    pub(crate) path: String,
    pub(crate) tokens: Vec<Token>,
    pub(crate) functions: Vec<Function>,
    /// Lines of items under `#[cfg(test)]` or a test attribute.
    pub(crate) test_lines: Vec<RangeInclusive<usize>>,
    /// What is written `pub`, and not `pub(crate)` or the like.
    pub(crate) public_items: Vec<PublicItem>,
    /// Names of `#[cfg(test)] mod name;`, whose text is in another file.
    pub(crate) test_modules: Vec<String>,
}

pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

pub(crate) struct PublicItem {
    pub(crate) name: String,
    pub(crate) line: usize,
    /// A struct, enum, union, trait or type alias.
    pub(crate) is_type: bool,
}

pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) lines: RangeInclusive<usize>,
    /// It has a test attribute with `start_paused`.
    pub(crate) starts_paused: bool,
}

impl Function {
    pub(crate) fn length(&self) -> usize {
        self.lines.end() + 1 - self.lines.start()
    }
}

impl RustFile {
    pub(crate) fn parse(path: &str, text: &str) -> syn::Result<Self> {
        let syntax = syn::parse_file(text)?;
        let mut file = Self {
            path: path.to_owned(),
            tokens: Vec::new(),
            functions: Vec::new(),
            test_lines: Vec::new(),
            public_items: Vec::new(),
            test_modules: Vec::new(),
        };
        file.visit_file(&syntax);
        flatten(text.parse::<TokenStream>()?, &mut file.tokens);
        Ok(file)
    }

    /// The smallest function around a line.
    pub(crate) fn function_at(&self, line: usize) -> Option<&Function> {
        self.functions
            .iter()
            .filter(|function| function.lines.contains(&line))
            .min_by_key(|found| found.length())
    }

    fn add_function(&mut self, attributes: &[syn::Attribute], signature: &syn::Signature, body: &syn::Block) {
        let lines = signature.fn_token.span.start().line..=body.span().end().line;
        let starts_paused = attributes.iter().any(|attribute| mentions(attribute, "start_paused"));
        self.functions.push(Function { name: signature.ident.to_string(), lines, starts_paused });
    }

    fn add_public(&mut self, visibility: &syn::Visibility, name: &syn::Ident, kind: Kind) {
        if matches!(visibility, syn::Visibility::Public(_)) {
            let line = name.span().start().line;
            self.public_items.push(PublicItem { name: name.to_string(), line, is_type: kind == Kind::Type });
        }
    }

    fn add_test_lines(&mut self, attributes: &[syn::Attribute], item: &impl Spanned) {
        if attributes.iter().any(marks_test) {
            self.test_lines.push(item.span().start().line..=item.span().end().line);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Type,
    Other,
}

impl<'ast> Visit<'ast> for RustFile {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Struct(item) => self.add_public(&item.vis, &item.ident, Kind::Type),
            syn::Item::Enum(item) => self.add_public(&item.vis, &item.ident, Kind::Type),
            syn::Item::Union(item) => self.add_public(&item.vis, &item.ident, Kind::Type),
            syn::Item::Trait(item) => self.add_public(&item.vis, &item.ident, Kind::Type),
            syn::Item::Type(item) => self.add_public(&item.vis, &item.ident, Kind::Type),
            syn::Item::Fn(item) => self.add_public(&item.vis, &item.sig.ident, Kind::Other),
            syn::Item::Const(item) => self.add_public(&item.vis, &item.ident, Kind::Other),
            syn::Item::Static(item) => self.add_public(&item.vis, &item.ident, Kind::Other),
            syn::Item::Mod(item) => self.add_public(&item.vis, &item.ident, Kind::Other),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.add_test_lines(&item.attrs, item);
        if item.content.is_none() && item.attrs.iter().any(marks_test) {
            self.test_modules.push(item.ident.to_string());
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.add_test_lines(&item.attrs, item);
        visit::visit_item_impl(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add_test_lines(&item.attrs, item);
        self.add_function(&item.attrs, &item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add_test_lines(&item.attrs, item);
        self.add_public(&item.vis, &item.sig.ident, Kind::Other);
        self.add_function(&item.attrs, &item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.add_function(&item.attrs, &item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

/// `#[test]`, `#[tokio::test(…)]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`.
fn marks_test(attribute: &syn::Attribute) -> bool {
    if attribute.path().is_ident("cfg") {
        return mentions(attribute, "test") && !mentions(attribute, "not");
    }
    attribute.path().segments.last().is_some_and(|segment| segment.ident == "test")
}

fn mentions(attribute: &syn::Attribute, word: &str) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    let mut tokens = Vec::new();
    flatten(list.tokens.clone(), &mut tokens);
    tokens.iter().any(|token| token.text == word)
}

/// Groups become their brackets and what is between them; `::` becomes one token.
fn flatten(stream: TokenStream, row: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        let TokenTree::Group(group) = tree else {
            push(row, tree.to_string(), line);
            continue;
        };
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::None => ("", ""),
        };
        row.push(Token { text: open.to_owned(), line });
        flatten(group.stream(), row);
        row.push(Token { text: close.to_owned(), line: group.span_close().start().line });
    }
}

fn push(row: &mut Vec<Token>, text: String, line: usize) {
    match row.last_mut() {
        Some(last) if last.text == ":" && text == ":" => last.text.push(':'),
        _ => row.push(Token { text, line }),
    }
}
