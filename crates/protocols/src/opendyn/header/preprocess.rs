//! The text of a header after the preprocessor, and which lines of it are the header's own.

use std::collections::BTreeMap;
use std::path::Path;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::child::{ChildGroup, Program};

/// Where compilers look for headers beside the folders of the system.
const COMPILER_VARIABLES: [&str; 2] = ["CPATH", "C_INCLUDE_PATH"];
/// Words of compilers that say nothing about how a function is called.
const EMPTY_MACROS: [&str; 6] = [
    "-D__attribute__(x)=",
    "-D__asm__(x)=",
    "-D__asm(x)=",
    "-D__extension__=",
    "-D__restrict=",
    "-D__inline=",
];

/// Why a header cannot be described.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// No C compiler.
    #[error("cannot run the C preprocessor `cc`")]
    NoCompiler(#[source] std::io::Error),
    /// The preprocessor refuses the header.
    #[error("the preprocessor refuses the header: {0}")]
    Refused(String),
    /// The grammar cannot be used.
    #[error("the C grammar cannot be used")]
    Grammar,
}

/// Text without line markers.
pub(super) struct Preprocessed {
    pub(super) text: String,
    /// For each line, whether it is the header's own.
    pub(super) own: Vec<bool>,
}

/// Dropping the future kills the preprocessor.
pub(super) async fn preprocess(header: &Path) -> Result<Preprocessed, HeaderError> {
    let words = ["cc", "-E", "-CC", "-xc"].into_iter().chain(EMPTY_MACROS).map(str::to_owned);
    let argv: Vec<String> = words.chain([header.to_string_lossy().into_owned()]).collect();
    let set = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
    let env: BTreeMap<String, String> = COMPILER_VARIABLES.into_iter().filter_map(set).collect();
    let program = Program { argv: &argv, env: &env, folder: Path::new("."), sandbox: None };
    let mut cc = ChildGroup::start(&program).map_err(HeaderError::NoCompiler)?;
    drop(cc.child.stdin.take());
    let (stdout, stderr) = (cc.child.stdout.take(), cc.child.stderr.take());
    let (stdout, stderr) = tokio::try_join!(read(stdout), read(stderr)).map_err(HeaderError::NoCompiler)?;
    let status = cc.child.wait().await.map_err(HeaderError::NoCompiler)?;
    if !status.success() {
        return Err(HeaderError::Refused(String::from_utf8_lossy(&stderr).trim().to_owned()));
    }
    Ok(separate(&String::from_utf8_lossy(&stdout), &header.to_string_lossy()))
}

async fn read(stream: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        stream.read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// Markers may stand within a declaration, so they are taken out and kept beside the text.
pub(super) fn separate(output: &str, header: &str) -> Preprocessed {
    let mut preprocessed = Preprocessed { text: String::with_capacity(output.len()), own: Vec::new() };
    let mut files = Files { header, own: vec![false] };
    for line in output.lines() {
        if let Some(marker) = line.strip_prefix("# ") {
            files.follow(marker);
            continue;
        }
        preprocessed.text.push_str(line);
        preprocessed.text.push('\n');
        preprocessed.own.push(files.own.last() == Some(&true));
    }
    preprocessed
}

/// The files that are included within each other, and whether each is the header's own.
struct Files<'a> {
    header: &'a str,
    own: Vec<bool>,
}

impl Files<'_> {
    fn follow(&mut self, marker: &str) {
        let mut parts = marker.split('"');
        let (file, flags) = (parts.nth(1).unwrap_or_default(), parts.next().unwrap_or_default());
        let flag = |wanted: &str| flags.split_whitespace().any(|flag| flag == wanted);
        if flag("1") {
            // The C library keeps parts of a header in files of a folder `bits`.
            let own = file == self.header || (file.contains("/bits/") && self.own.last() == Some(&true));
            self.own.push(own);
            return;
        }
        if flag("2") && self.own.len() > 1 {
            self.own.pop();
        }
        if let [outermost] = &mut self.own[..] {
            *outermost = file == self.header;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_leave_the_text_and_tell_whose_lines_are() {
        let output = "# 1 \"a.h\"\nint f(\n# 1 \"/usr/b.h\" 1\nint x;\n# 1 \"/usr/bits/c.h\" 1\nint y;\n\
            # 2 \"/usr/b.h\" 2\n# 3 \"a.h\" 2\nint a);\n# 1 \"/usr/bits/a.h\" 1 3\nint z;\n";
        let separated = separate(output, "a.h");
        assert_eq!(separated.text, "int f(\nint x;\nint y;\nint a);\nint z;\n");
        assert_eq!(separated.own, [true, false, false, true, true]);
    }
}
