//! The read-only programs and their read-only options.

/// A program and its allowed arguments.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadOnlyProgram {
    pub(super) names: &'static [&'static str],
    /// Letters without a value.
    pub(super) flags: &'static str,
    /// Letters whose value follows, attached or as the next argument.
    pub(super) valued: &'static str,
    /// Long options, without their dashes.
    pub(super) longs: &'static [&'static str],
    pub(super) operands: OperandKind,
}

/// What its operands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperandKind {
    None,
    /// Words that it prints or computes with.
    Text,
    Paths,
    /// A folder to change to.
    OneFolder,
    /// A search pattern, then paths.
    PatternThenPaths,
}

use OperandKind::{OneFolder, Paths, PatternThenPaths, Text};

const fn program(
    names: &'static [&'static str],
    flags: &'static str,
    valued: &'static str,
    longs: &'static [&'static str],
    operands: OperandKind,
) -> ReadOnlyProgram {
    ReadOnlyProgram { names, flags, valued, longs, operands }
}

/// The table. Options that follow links, read lists of files, or write are left out.
#[rustfmt::skip]
pub(super) const PROGRAMS: &[ReadOnlyProgram] = &[
    program(&["echo", "printf", "true", "false", ":", "sleep", "seq", "expr", "exit", "return", "break", "continue"], "", "", &[], Text),
    program(&["basename", "dirname"], "az", "s", &["suffix", "multiple", "zero"], Text),
    program(&["tr"], "cCdst", "", &["complement", "delete", "squeeze-repeats", "truncate-set1"], Text),
    program(&["which", "type"], "apt", "", &["all"], Text),
    program(&["whoami", "tty", "logname"], "", "", &[], OperandKind::None),
    program(&["uname"], "asnrvmpio", "", &["all"], OperandKind::None),
    program(&["nproc"], "", "", &["all"], OperandKind::None),
    program(&["id"], "gGnruz", "", &[], OperandKind::None),
    program(&["pwd"], "LP", "", &[], OperandKind::None),
    program(&["cd"], "P", "", &[], OneFolder),
    program(&["test", "["], "abcdefghknoprstuwxzGLNOSeqlmi", "", &[], Paths),
    program(&["ls"], "1aAbBcCdfFghiklmnopqQrRsStuUvxXZ", "wIT", &["all", "almost-all", "human-readable", "recursive", "reverse", "sort", "time", "color", "classify", "directory", "group-directories-first", "hide", "ignore", "inode", "size", "full-time", "time-style", "format", "no-group", "numeric-uid-gid", "file-type", "si", "width", "help", "version"], Paths),
    program(&["cat"], "AbeEnstTuv", "", &["show-all", "number", "number-nonblank", "show-ends", "show-tabs", "squeeze-blank"], Paths),
    program(&["head", "tail"], "qvzfF0123456789", "nc", &["lines", "bytes", "quiet", "silent", "verbose"], Paths),
    program(&["wc"], "clmLw", "", &["bytes", "chars", "lines", "words", "max-line-length"], Paths),
    program(&["stat"], "ftL", "c", &["format", "printf", "terse", "file-system"], Paths),
    program(&["file"], "bihkN0", "", &["brief", "mime", "mime-type", "mime-encoding"], Paths),
    program(&["du"], "abchklmsSx0", "dBt", &["max-depth", "human-readable", "summarize", "total", "all", "apparent-size", "exclude"], Paths),
    program(&["realpath", "readlink"], "efmnqsz", "", &["canonicalize"], Paths),
    program(&["sort"], "bdfghiMnrRVcCmsuz", "kt", &["numeric-sort", "reverse", "unique", "key", "field-separator", "ignore-case", "human-numeric-sort", "version-sort", "stable", "check", "merge"], Paths),
    program(&["uniq"], "cdDiuz", "fsw", &["count", "repeated", "unique", "ignore-case"], Paths),
    program(&["cut"], "snz", "bcdf", &["bytes", "characters", "delimiter", "fields", "only-delimited", "complement", "output-delimiter"], Paths),
    program(&["nl"], "p", "bdfhilnsvw", &[], Paths),
    program(&["tac", "rev"], "", "", &[], Paths),
    program(&["fold"], "bs", "w", &["width", "spaces"], Paths),
    program(&["comm"], "123z", "", &[], Paths),
    program(&["cmp"], "bls", "in", &["silent", "quiet", "verbose"], Paths),
    program(&["paste"], "sz", "d", &["delimiters", "serial"], Paths),
    program(&["od"], "abcdfiloxv", "AjNSt", &[], Paths),
    program(&["xxd"], "abeipu", "clsg", &[], Paths),
    program(&["strings"], "afo", "ntes", &[], Paths),
    program(&["md5sum", "sha1sum", "sha256sum", "sha512sum", "b2sum", "cksum"], "btz", "", &["binary", "text", "tag", "zero"], Paths),
    program(&["diff"], "abBcdeEfHiNpqrsTtuwy0123456789", "UCIxFWL", &["unified", "context", "brief", "recursive", "ignore-case", "ignore-all-space", "ignore-space-change", "ignore-blank-lines", "color", "side-by-side", "width", "new-file", "text", "exclude", "minimal", "suppress-common-lines", "strip-trailing-cr", "report-identical-files"], Paths),
    program(&["grep", "egrep", "fgrep"], "abcEFGHhiIlLnoPqrsTvVwxyzZU0123456789", "eABCmd", &["extended-regexp", "fixed-strings", "basic-regexp", "perl-regexp", "regexp", "ignore-case", "word-regexp", "line-regexp", "invert-match", "count", "color", "colour", "files-with-matches", "files-without-match", "max-count", "only-matching", "quiet", "silent", "no-messages", "with-filename", "no-filename", "line-number", "null", "after-context", "before-context", "context", "include", "exclude", "exclude-dir", "recursive", "binary-files", "text", "byte-offset", "line-buffered"], PatternThenPaths),
    program(&["rg"], "acinINlopqsSuUvwxFPH.0123456789", "eABCmgtTjMEr", &["ignore-case", "smart-case", "case-sensitive", "word-regexp", "line-regexp", "fixed-strings", "files", "files-with-matches", "files-without-match", "count", "count-matches", "line-number", "no-line-number", "heading", "no-heading", "hidden", "no-ignore", "glob", "iglob", "type", "type-not", "type-list", "max-count", "max-depth", "max-filesize", "context", "after-context", "before-context", "only-matching", "invert-match", "multiline", "color", "colors", "column", "sort", "sortr", "stats", "vimgrep", "json", "trim", "regexp", "pcre2", "replace", "null", "with-filename", "no-filename", "no-messages", "passthru", "version"], PatternThenPaths),
    program(&["tree"], "aCdDfFghiJprsStuvx", "LPI", &["dirsfirst", "noreport", "gitignore", "prune", "du", "filelimit", "matchdirs", "ignore-case"], Paths),
    program(&["set"], "euxfCEo", "", &[], Text),
];
