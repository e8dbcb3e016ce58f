//! Templates of paths, `/repos/{owner}/{repo}`.

use toolmux_core::nearest::nearest;

use super::operation::{OperationParameter, ParameterPlace, PathPiece};

/// The pieces of a template. Says what is wrong with one that names something else than the parameters of the path, or
/// not all of them.
pub(crate) fn path_pieces(
    template: &str,
    parameters: &[OperationParameter],
) -> Result<Vec<PathPiece>, String> {
    let in_path = |parameter: &OperationParameter| parameter.place == ParameterPlace::Path;
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            return Err(format!("the path `{template}` has a `{{` without a `}}`"));
        };
        if !literal.is_empty() {
            pieces.push(PathPiece::Literal(literal.to_owned()));
        }
        let found = parameters.iter().position(|known| in_path(known) && known.name == name);
        pieces.push(PathPiece::Parameter(found.ok_or_else(|| unknown(template, name, parameters))?));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(PathPiece::Literal(rest.to_owned()));
    }
    let is_used = |index: usize| pieces.contains(&PathPiece::Parameter(index));
    match parameters.iter().enumerate().find(|(index, parameter)| in_path(parameter) && !is_used(*index)) {
        Some((_, parameter)) => Err(format!(
            "the path `{template}` has no `{{{}}}`, which is a parameter of the path",
            parameter.name
        )),
        None => Ok(pieces),
    }
}

/// The names in the braces of a template.
pub(crate) fn path_names(template: &str) -> impl Iterator<Item = &str> {
    template.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
}

fn unknown(template: &str, name: &str, parameters: &[OperationParameter]) -> String {
    let what = format!("the path `{template}` uses `{{{name}}}`, which is no parameter of the path");
    match nearest(name, parameters.iter().map(|parameter| parameter.name.as_str())) {
        Some(near) => format!("{what}; did you mean `{{{near}}}`?"),
        None => what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, expect: Result<&[PathPiece], &str>) {
        let parameters = [
            OperationParameter::new("city", ParameterPlace::Path),
            OperationParameter::new("days", ParameterPlace::Query),
        ];
        let pieces = path_pieces(template, &parameters);
        match (&pieces, expect) {
            (Ok(pieces), Ok(expect)) => assert_eq!(pieces, expect),
            (Err(what), Err(expect)) => assert!(what.contains(expect), "{what}"),
            _ => panic!("{template}: {pieces:?}"),
        }
    }

    #[test]
    fn a_template_names_each_parameter_of_the_path() {
        let literal = |text: &str| PathPiece::Literal(text.to_owned());
        check("/a/{city}/b", Ok(&[literal("/a/"), PathPiece::Parameter(0), literal("/b")]));
        check("/{city}{city}", Ok(&[literal("/"), PathPiece::Parameter(0), PathPiece::Parameter(0)]));
        check("/a", Err("has no `{city}`"));
        check("/{city}/{days}", Err("uses `{days}`, which is no parameter of the path"));
        check("/{ctiy}", Err("did you mean `{city}`?"));
        check("/{city", Err("without a `}`"));
    }
}
