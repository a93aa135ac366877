//! Searches file contents with a regular expression.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use protocol::{clip_middle, tool_name};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::text::display_line;
use crate::walk::{FileWalk, GlobPattern, SearchDeadline};
use crate::workspace_files::{PermittedPath, WalkedReader};
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, workspace_files};

/// The `grep` tool.
pub(crate) struct GrepTool;

/// The arguments of `grep`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrepArgs {
    /// Rust regular expression.
    pattern: String,
    /// Folder or file to search; the working folder by default.
    path: Option<String>,
    /// Only files matching this, e.g. `*.rs` or `src/**/*.ts`.
    glob: Option<String>,
    /// Ignore case.
    #[serde(default)]
    ignore_case: bool,
    /// Lines shown around each match.
    #[serde(default)]
    context: u32,
    /// List only the files that match.
    #[serde(default)]
    files_only: bool,
    /// Most matches (or files) shown.
    limit: Option<usize>,
}

impl TypedTool for GrepTool {
    type Args = GrepArgs;
    const NAME: &'static str = tool_name::GREP;
    const ABOUT: &'static str = include_str!("grep.md");
    const ACCESS: ToolAccess = ToolAccess::Read;

    fn required_permissions(args: &GrepArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Read(args.path.clone().unwrap_or_else(|| ".".into()))])
    }

    async fn run(args: GrepArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        workspace_files::blocking(cx, move |cx| {
            let search = GrepSearch::new(&args, cx)?;
            Ok(ToolOutput::text(&search.run(), cx))
        })
        .await
    }
}

/// Maximum bytes shown of a matching line.
const MAX_LINE_BYTES: usize = 400;
/// Maximum lines of context around a match.
const MAX_CONTEXT_LINES: u32 = 20;
/// Maximum bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 16 * 1024;
/// Maximum bytes of a compiled pattern, and of the cache it matches with.
const MAX_COMPILED_BYTES: usize = 10 * 1024 * 1024;
/// Maximum bytes of a parser's message passed on: it underlines the error in a copy of the pattern.
const MAX_MESSAGE_BYTES: usize = 600;
/// Maximum number of unreadable files named.
const MAX_NAMED_FILES: usize = 5;
/// Maximum bytes of one line held in memory; the search of a file ends at a longer line.
const MAX_HEAP_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of a file read before it is searched. Most files are smaller, and are searched in this buffer. It must not
/// exceed what the library examines to detect a binary file.
const BLOCK_BYTES: usize = 64 * 1024;

struct GrepSearch<'a> {
    cx: &'a ToolContext,
    args: &'a GrepArgs,
    matcher: RegexMatcher,
    pattern: Option<GlobPattern>,
    root: PermittedPath,
    limit: usize,
    deadline: SearchDeadline,
}

impl<'a> GrepSearch<'a> {
    fn new(args: &'a GrepArgs, cx: &'a ToolContext) -> Result<GrepSearch<'a>, ToolError> {
        let invalid = |error: &dyn fmt::Display| {
            ToolError::Refused(format!("invalid pattern: {}", clip_middle(&error.to_string(), MAX_MESSAGE_BYTES)))
        };
        if args.pattern.len() > MAX_PATTERN_BYTES {
            return Err(invalid(&format!("{} bytes, at most {MAX_PATTERN_BYTES} are accepted", args.pattern.len())));
        }
        // The matcher wraps the pattern before it parses it, so its errors point at other positions.
        let mut syntax = regex_syntax::ParserBuilder::new().utf8(false).build();
        syntax.parse(&args.pattern).map_err(|error| invalid(&error))?;
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(args.ignore_case)
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_COMPILED_BYTES)
            .build(&args.pattern)
            .map_err(|error| invalid(&error))?;
        let pattern = args.glob.as_deref().map(GlobPattern::new).transpose()?;
        let root = workspace_files::resolve_existing(cx, args.path.as_deref().unwrap_or("."))?;
        let limit = args.limit.unwrap_or(cx.limits.rows).max(1);
        Ok(GrepSearch { cx, args, matcher, pattern, root, limit, deadline: SearchDeadline::new(cx) })
    }

    fn run(&self) -> String {
        let context = self.args.context.min(MAX_CONTEXT_LINES) as usize;
        let mut searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_HEAP_BYTES))
            // Counting lines takes as long as searching them.
            .line_number(!self.args.files_only)
            .before_context(context)
            .after_context(context)
            .build();
        let mut matches =
            GrepMatches { search: self, text: String::new(), count: 0, heading: None, unread: UnreadFiles::default() };
        let (mut searched_files, mut block) = (0_usize, vec![0; BLOCK_BYTES]);
        let mut walk = FileWalk::new(self.cx, &self.root, self.pattern.as_ref(), self.deadline.clone());
        while !matches.is_full()
            && let Some((path, file)) = walk.next_open()
        {
            match file.and_then(|file| matches.search_file(&mut searcher, &mut block, &path, file)) {
                Ok(()) => searched_files += 1,
                Err(_) => matches.unread.add(workspace_files::display_path(self.cx, &path)),
            }
        }
        matches.finish(searched_files, walk.left_out())
    }
}

/// The matches so far, as text.
struct GrepMatches<'a> {
    search: &'a GrepSearch<'a>,
    text: String,
    count: usize,
    /// The path to print before the next line of the file being searched.
    heading: Option<PathBuf>,
    unread: UnreadFiles,
}

/// Files that could not be read to their end. Matches that were found in them still count.
#[derive(Default)]
struct UnreadFiles {
    count: usize,
    /// The first few.
    names: Vec<String>,
}

impl UnreadFiles {
    fn add(&mut self, name: String) {
        self.count += 1;
        self.names.extend(Some(name).filter(|_| self.count <= MAX_NAMED_FILES));
    }

    fn describe(&self) -> String {
        let more = if self.count > self.names.len() { " …" } else { "" };
        format!("[{} files could not be read completely: {}{more}]\n", self.count, self.names.join(", "))
    }
}

impl GrepMatches<'_> {
    fn search_file(
        &mut self,
        searcher: &mut Searcher,
        block: &mut [u8],
        path: &Path,
        found: WalkedReader,
    ) -> io::Result<()> {
        self.heading = Some(path.to_owned());
        let mut reader = StoppableFile { file: found.file, deadline: &self.search.deadline };
        let filled = fill(&mut reader, block, found.size)?;
        let start = block.get(..filled).unwrap_or_default();
        if filled < block.len() {
            return searcher.search_slice(&self.search.matcher, start, &mut *self);
        }
        searcher.search_reader(&self.search.matcher, start.chain(reader), &mut *self)
    }

    fn is_full(&self) -> bool {
        self.count >= self.search.limit || self.text.len() >= workspace_files::text_budget(self.search.cx)
    }

    fn write_line(&mut self, number: Option<u64>, mark: char, line: &[u8]) {
        if let Some(path) = self.heading.take() {
            let gap = if self.text.is_empty() { "" } else { "\n" };
            self.text += &format!("{gap}{}\n", workspace_files::display_path(self.search.cx, &path));
        }
        self.text += &format!("{}{mark} {}\n", number.unwrap_or_default(), display_line(line, MAX_LINE_BYTES));
    }

    fn finish(mut self, searched_files: usize, left_out: usize) -> String {
        let stopped = self.search.deadline.is_due();
        if self.count == 0 && !stopped {
            self.text = format!("no matches in {searched_files} files");
            self.text += if self.unread.count + left_out == 0 { "" } else { "\n" };
        }
        if stopped {
            self.text += "[stopped before the end; narrow `path` or `glob`]\n";
        } else if self.is_full() {
            let what = if self.search.args.files_only { "files" } else { "matches" };
            self.text += &format!("[stopped at {} {what}; narrow the search or raise `limit`]\n", self.count);
        }
        if self.unread.count > 0 && !stopped {
            self.text += &self.unread.describe();
        }
        self.text += &workspace_files::left_out_note(left_out);
        self.text
    }
}

impl Sink for GrepMatches<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line_match: &SinkMatch<'_>) -> io::Result<bool> {
        self.count += 1;
        if self.search.args.files_only {
            let path = self.heading.take().unwrap_or_default();
            self.text += &format!("{}\n", workspace_files::display_path(self.search.cx, &path));
            return Ok(false);
        }
        self.write_line(line_match.line_number(), ':', line_match.bytes());
        Ok(!self.is_full())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        if !self.search.args.files_only {
            self.write_line(line.line_number(), '-', line.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.text += "--\n";
        Ok(true)
    }
}

/// Reads until the block is full or the file ends; returns the number of bytes read. A file of that size has ended when
/// all of it is read: most files need no second read.
fn fill(reader: &mut impl Read, block: &mut [u8], size: u64) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = block.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(more) => {
                filled += more;
                if filled as u64 == size {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// A file whose reads fail once the search must stop.
struct StoppableFile<'a> {
    file: File,
    deadline: &'a SearchDeadline,
}

impl Read for StoppableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.deadline.is_due() { Err(io::ErrorKind::TimedOut.into()) } else { self.file.read(buffer) }
    }
}
