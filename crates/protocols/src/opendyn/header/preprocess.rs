//! The text of headers after the preprocessor, and which lines of it are the library's own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use super::package::Package;
use super::request::HeaderRequest;
use crate::child::{ChildGroup, Program};

/// Where compilers and pkg-config look beside the folders of the system.
const COMPILER_VARIABLES: [&str; 3] = ["CPATH", "C_INCLUDE_PATH", "PKG_CONFIG_PATH"];
/// Words of compilers that say nothing about how a function is called.
const EMPTY_MACROS: [&str; 11] = [
    "-D__attribute__(x)=",
    "-D__asm__(x)=",
    "-D__asm(x)=",
    "-D__extension__=",
    "-D__restrict=",
    "-D__restrict__=",
    "-D__inline=inline",
    "-D__inline__=inline",
    "-D_Noreturn=",
    "-D__declspec(x)=",
    "-D__volatile__=",
];

/// Why a header cannot be described.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// No C compiler.
    #[error("cannot run `{0}`")]
    NoProgram(&'static str, #[source] std::io::Error),
    /// The preprocessor refuses the header.
    #[error("the preprocessor refuses the header: {0}")]
    Refused(String),
    /// No such package.
    #[error("`pkg-config` refuses the package: {0}")]
    Package(String),
    /// The grammar cannot be used.
    #[error("the C grammar cannot be used")]
    Grammar,
}

/// Text without line markers and definitions of macros.
#[derive(Debug, Default)]
pub(super) struct Preprocessed {
    pub(super) text: String,
    /// For each line, whether it is the library's own.
    pub(super) own: Vec<bool>,
    /// Lines where a macro was defined: a comment in front of one is not about what follows it.
    pub(super) macro_lines: BTreeSet<usize>,
    /// Macros without parameters in their order: the name, what it stands for, whether it is the library's own.
    pub(super) macros: Vec<Macro>,
}

#[derive(Debug)]
pub(super) struct Macro {
    pub(super) name: String,
    pub(super) body: String,
    pub(super) own: bool,
}

/// Dropping the future kills the preprocessor.
pub(super) async fn preprocess(request: &HeaderRequest) -> Result<Preprocessed, HeaderError> {
    let words: Vec<&str> = ["-E", "-C", "-dD"].into_iter().chain(EMPTY_MACROS).collect();
    let argv = compiler_words(request, &words).await?;
    let source = include_lines(request).await?;
    let (text, error) = run("cc", &argv, source.as_bytes()).await?;
    let text = text.ok_or_else(|| HeaderError::Refused(error.trim().to_owned()))?;
    let flags = package_flags(&request.packages).await?;
    let headers: Vec<PathBuf> = request.headers.iter().map(|header| found(header, request, &flags)).collect();
    let package = Package::new(&headers, &request.includes);
    Ok(separate(&text, &|file| package.owns(file)))
}

/// The compiler with its flags for these headers, reading standard input.
pub(super) async fn compiler_words(
    request: &HeaderRequest,
    words: &[&str],
) -> Result<Vec<String>, HeaderError> {
    let folders = request.includes.iter().map(|folder| format!("-I{}", folder.display()));
    let defines = request.defines.iter().map(|define| format!("-D{define}"));
    let first = ["cc"].iter().chain(words).map(|word| (*word).to_owned());
    let flags = package_flags(&request.packages).await?;
    let rest = folders.chain(flags).chain(defines).chain(["-xc".to_owned(), "-".to_owned()]);
    Ok(first.chain(rest).collect())
}

/// A source that includes all headers.
pub(super) async fn include_lines(request: &HeaderRequest) -> Result<String, HeaderError> {
    let flags = package_flags(&request.packages).await?;
    let headers = request.headers.iter().map(|header| found(header, request, &flags));
    let lines: Vec<String> = headers.map(|header| format!("#include \"{}\"\n", header.display())).collect();
    Ok(lines.concat())
}

/// A header that is not a file here is looked for where the compiler would.
fn found(header: &Path, request: &HeaderRequest, flags: &[String]) -> PathBuf {
    if header.is_file() {
        return std::path::absolute(header).unwrap_or_else(|_| header.to_owned());
    }
    let folders = flags.iter().filter_map(|flag| flag.strip_prefix("-I")).map(PathBuf::from);
    let folders = request.includes.iter().cloned().chain(folders).chain(["/usr/include".into()]);
    let places = folders.map(|folder| folder.join(header));
    places.into_iter().find(|place| place.is_file()).unwrap_or_else(|| header.to_owned())
}

async fn package_flags(packages: &[String]) -> Result<Vec<String>, HeaderError> {
    if packages.is_empty() {
        return Ok(Vec::new());
    }
    let words = ["pkg-config", "--cflags", "--"].into_iter().map(str::to_owned);
    let argv: Vec<String> = words.chain(packages.iter().cloned()).collect();
    let (flags, error) = run("pkg-config", &argv, b"").await?;
    let flags = flags.ok_or_else(|| HeaderError::Package(error.trim().to_owned()))?;
    Ok(flags.split_whitespace().map(str::to_owned).collect())
}

/// What a program wrote, unless it failed, and what it complained about.
pub(super) async fn run(
    name: &'static str,
    argv: &[String],
    input: &[u8],
) -> Result<(Option<String>, String), HeaderError> {
    let failed = |error| HeaderError::NoProgram(name, error);
    let set = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
    let env: BTreeMap<String, String> = COMPILER_VARIABLES.into_iter().filter_map(set).collect();
    let program = Program { argv, env: &env, folder: Path::new("."), sandbox: None };
    let mut started = ChildGroup::start(&program).map_err(failed)?;
    if let Some(mut stdin) = started.child.stdin.take() {
        // A program that does not read says why on its standard error.
        stdin.write_all(input).await.ok();
    }
    let (stdout, stderr) = (started.child.stdout.take(), started.child.stderr.take());
    let (stdout, stderr) = tokio::try_join!(read(stdout), read(stderr)).map_err(failed)?;
    let status = started.child.wait().await.map_err(failed)?;
    let text = status.success().then(|| String::from_utf8_lossy(&stdout).into_owned());
    Ok((text, String::from_utf8_lossy(&stderr).into_owned()))
}

async fn read(stream: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        stream.read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// Markers may stand within a declaration, so they are taken out and kept beside the text.
pub(super) fn separate(output: &str, owns: &dyn Fn(&str) -> bool) -> Preprocessed {
    let mut preprocessed =
        Preprocessed { text: String::with_capacity(output.len()), ..Preprocessed::default() };
    let mut files = Files { owns, own: vec![false] };
    let mut in_comment = false;
    for line in output.lines() {
        if !in_comment && is_marker(line) {
            files.follow(&line[2..]);
            continue;
        }
        let own = files.own.last() == Some(&true);
        let definition = line.strip_prefix("#define ").filter(|_| !in_comment);
        if let Some(definition) = definition {
            preprocessed.macro_lines.insert(preprocessed.own.len());
            preprocessed.macros.extend(constant(definition, own));
        } else if in_comment || !line.starts_with("#undef ") {
            preprocessed.text.push_str(line);
            in_comment = ends_in_comment(line, in_comment);
        }
        preprocessed.text.push('\n');
        preprocessed.own.push(own);
    }
    preprocessed
}

/// `# 12 "file.h" 1`
fn is_marker(line: &str) -> bool {
    line.strip_prefix("# ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// A macro without parameters.
fn constant(definition: &str, own: bool) -> Option<Macro> {
    let (name, body) = definition.split_once(' ')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| Macro { name: name.to_owned(), body: body.trim().to_owned(), own })
}

/// Whether a comment that may have begun before is open at the end of a line.
fn ends_in_comment(line: &str, mut inside: bool) -> bool {
    let mut rest = line;
    loop {
        let next = if inside {
            rest.find("*/")
        } else {
            let start = rest.find("/*");
            start.filter(|start| rest.find("//").is_none_or(|other| other > *start))
        };
        let Some(at) = next else { return inside };
        rest = &rest[at + 2..];
        inside = !inside;
    }
}

/// The files that are included within each other, and whether each is the library's own.
struct Files<'a> {
    owns: &'a dyn Fn(&str) -> bool,
    own: Vec<bool>,
}

impl Files<'_> {
    fn follow(&mut self, marker: &str) {
        let mut parts = marker.split('"');
        let (file, flags) = (parts.nth(1).unwrap_or_default(), parts.next().unwrap_or_default());
        let flag = |wanted: &str| flags.split_whitespace().any(|flag| flag == wanted);
        if flag("1") {
            // The C library keeps parts of a header in files of a folder `bits`.
            let own = (self.owns)(file) || (file.contains("/bits/") && self.own.last() == Some(&true));
            self.own.push(own);
            return;
        }
        if flag("2") && self.own.len() > 1 {
            self.own.pop();
        }
        if let [outermost] = &mut self.own[..] {
            *outermost = (self.owns)(file);
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
        let separated = separate(output, &|file| file == "a.h");
        assert_eq!(separated.text, "int f(\nint x;\nint y;\nint a);\nint z;\n");
        assert_eq!(separated.own, [true, false, false, true, true]);
    }

    #[test]
    fn macros_are_kept_beside_the_text_and_comments_are_not_macros() {
        let output = "# 1 \"a.h\"\n#define A 1\n#define F(x) x\n/* say\n#define B 2\n# 7 \"b.h\"\n*/\n#undef A\nint f(void); // #define\n";
        let separated = separate(output, &|file| file == "a.h");
        let names: Vec<&str> = separated.macros.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["A"]);
        assert_eq!(separated.text, "\n\n/* say\n#define B 2\n# 7 \"b.h\"\n*/\n\nint f(void); // #define\n");
        assert_eq!(separated.macro_lines, BTreeSet::from([0, 1]));
    }
}
