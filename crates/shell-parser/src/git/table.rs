//! The options of each git command that are allowed without asking. An option that is not listed may name a program, a
//! file or settings; so may options of later versions.

/// A git command, with its options that start no program and touch no path but its operands.
#[derive(Debug, Clone, Copy)]
pub(super) struct GitCommand {
    pub(super) name: &'static str,
    /// Letters without a value.
    pub(super) flags: &'static str,
    /// Letters whose value follows, attached or as the next argument.
    pub(super) valued: &'static str,
    /// Letters whose value, if any, is attached.
    pub(super) attached: &'static str,
    /// Long options, without their dashes and their `no-`.
    pub(super) longs: &'static [&'static [&'static str]],
}

const fn command(
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
    attached: &'static str,
    longs: &'static [&'static [&'static str]],
) -> GitCommand {
    GitCommand { name, flags, valued, attached, longs }
}

/// Options about how differences are shown.
#[rustfmt::skip]
const DIFF: &[&str] = &[
    "patch", "unified", "raw", "stat", "numstat", "shortstat", "dirstat", "cumulative", "summary", "name-only",
    "name-status", "color", "color-words", "word-diff", "word-diff-regex", "color-moved", "color-moved-ws", "minimal",
    "patience", "histogram", "diff-algorithm", "anchored", "compact-summary", "patch-with-stat", "patch-with-raw",
    "full-index", "binary", "abbrev", "break-rewrites", "find-renames", "find-copies", "find-copies-harder", "renames",
    "rename-empty", "irreversible-delete", "diff-filter", "pickaxe-all", "pickaxe-regex", "text",
    "ignore-space-at-eol", "ignore-space-change", "ignore-all-space", "ignore-blank-lines", "ignore-matching-lines",
    "ignore-cr-at-eol", "inter-hunk-context", "function-context", "exit-code", "quiet", "ignore-submodules",
    "submodule", "src-prefix", "dst-prefix", "prefix", "default-prefix", "line-prefix", "ita-invisible-in-index",
    "ita-visible-in-index", "check", "ws-error-highlight", "relative", "skip-to", "rotate-to", "cached", "staged",
    "merge-base", "base", "ours", "theirs", "no-index", "indent-heuristic", "cc", "combined-all-paths", "diff-merges",
    "remerge-diff", "output-indicator-new", "output-indicator-old", "output-indicator-context", "no-ext-diff",
    "no-textconv", "root", "column",
];

/// Options about which commits are shown, and how.
#[rustfmt::skip]
const LOG: &[&str] = &[
    "oneline", "pretty", "format", "abbrev-commit", "graph", "decorate", "decorate-refs", "decorate-refs-exclude",
    "clear-decorations", "all", "branches", "tags", "remotes", "glob", "exclude", "since", "since-as-filter", "after",
    "until", "before", "author", "committer", "grep", "all-match", "invert-grep", "regexp-ignore-case",
    "basic-regexp", "extended-regexp", "fixed-strings", "perl-regexp", "merges", "min-parents", "max-parents",
    "first-parent", "exclude-first-parent-only", "not", "max-count", "skip", "reverse", "date", "relative-date",
    "follow", "full-diff", "log-size", "walk-reflogs", "grep-reflog", "reflog", "topo-order", "date-order",
    "author-date-order", "simplify-by-decoration", "full-history", "dense", "sparse", "simplify-merges",
    "ancestry-path", "left-right", "left-only", "right-only", "cherry-pick", "cherry-mark", "cherry", "boundary",
    "parents", "children", "walk", "do-walk", "source", "use-mailmap", "mailmap", "notes", "standard-notes",
    "show-notes", "encoding", "expand-tabs", "count", "objects", "show-pulls", "timestamp", "header", "commit-header",
    "disk-usage", "use-bitmap-index", "ignore-missing", "show-linear-break", "merge",
];

/// Options of listings.
#[rustfmt::skip]
const LIST: &[&str] = &[
    "list", "sort", "format", "contains", "merged", "points-at", "color", "column", "ignore-case", "omit-empty",
    "abbrev", "verbose", "quiet", "count", "exclude",
];

const DIFF_FLAGS: &str = "pusRabwzWctmrd0123456789";
const DIFF_VALUED: &str = "SGI";
const DIFF_ATTACHED: &str = "UMCBlXD";
const LOG_FLAGS: &str = "pusRabwzWctmrdgiEFP0123456789";
const LOG_VALUED: &str = "SGInL";

/// The known commands. Any other name may be an alias or another program.
#[rustfmt::skip]
pub(super) const COMMANDS: &[GitCommand] = &[
    command("add", "nvfuAN", "", "", &[&["dry-run", "verbose", "force", "update", "all", "ignore-removal", "intent-to-add", "refresh", "ignore-errors", "ignore-missing", "sparse", "chmod", "renormalize"]]),
    command("am", "q", "", "", &[&["abort", "quit", "skip", "quiet"]]),
    command("apply", "vR", "", "p", &[&["check", "stat", "numstat", "summary", "verbose", "quiet", "reverse"]]),
    command("annotate", "bltfpencsw", "L", "MC", &[&["root", "porcelain", "line-porcelain", "show-name", "show-number", "show-email", "date", "abbrev"]]),
    command("archive", "lv0123456789", "", "", &[&["format", "list", "prefix", "verbose", "mtime"]]),
    command("bisect", "", "", "", &[&["no-checkout", "first-parent", "term-good", "term-bad", "term-old", "term-new"]]),
    command("blame", "bltfpencsw", "L", "MC", &[&["root", "show-stats", "porcelain", "line-porcelain", "incremental", "show-name", "show-number", "show-email", "ignore-rev", "color-lines", "color-by-age", "date", "abbrev", "minimal", "progress", "reverse", "first-parent"]]),
    command("branch", "avrqlfdDmMcCit", "u", "", &[LIST, &["all", "remotes", "show-current", "delete", "force", "move", "copy", "track", "set-upstream-to", "unset-upstream", "create-reflog"]]),
    command("bundle", "q", "", "", &[&["quiet", "progress"]]),
    command("cat-file", "tesp", "", "", &[&["batch", "batch-check", "batch-all-objects", "buffer", "unordered", "use-mailmap"]]),
    command("check-attr", "az", "", "", &[&["all", "cached", "source"]]),
    command("check-ignore", "qvnz", "", "", &[&["quiet", "verbose", "non-matching", "index"]]),
    command("check-mailmap", "", "", "", &[]),
    command("check-ref-format", "", "", "", &[&["branch", "normalize", "allow-onelevel", "refspec-pattern"]]),
    command("checkout", "qfltdm", "bB", "", &[&["quiet", "progress", "force", "track", "guess", "detach", "orphan", "merge", "ours", "theirs", "overlay", "conflict", "ignore-skip-worktree-bits", "ignore-other-worktrees"]]),
    command("cherry", "v", "", "", &[&["abbrev"]]),
    command("cherry-pick", "xns", "mX", "", &[&["commit", "mainline", "signoff", "ff", "abort", "quit", "skip", "allow-empty", "allow-empty-message", "keep-redundant-commits", "empty", "no-edit", "strategy-option", "rerere-autoupdate"]]),
    command("clean", "nfdqxX", "e", "", &[&["dry-run", "force", "quiet", "exclude"]]),
    command("clone", "qvn", "bo", "", &[&["depth", "branch", "single-branch", "no-tags", "quiet", "verbose", "progress", "no-checkout", "filter", "shallow-since", "shallow-exclude", "no-recurse-submodules", "sparse", "origin"]]),
    command("commit", "avqsnzioS", "mFC", "u", &[&["all", "message", "file", "amend", "no-edit", "author", "date", "signoff", "verify", "allow-empty", "allow-empty-message", "quiet", "verbose", "dry-run", "short", "branch", "porcelain", "long", "null", "status", "fixup", "squash", "reuse-message", "reset-author", "cleanup", "trailer", "post-rewrite", "include", "only", "untracked-files", "gpg-sign"]]),
    command("commit-graph", "", "", "", &[&["reachable", "append", "progress", "shallow", "split"]]),
    command("config", "lz", "", "", &[&["get", "get-all", "get-regexp", "list", "global", "local", "system", "worktree", "show-origin", "show-scope", "null", "name-only", "type", "default", "bool", "int", "path", "all", "regexp", "includes"]]),
    command("count-objects", "vH", "", "", &[&["verbose", "human-readable"]]),
    command("describe", "", "", "", &[&["tags", "all", "always", "long", "abbrev", "exact-match", "dirty", "broken", "contains", "candidates", "match", "exclude", "first-parent"]]),
    command("diff", DIFF_FLAGS, DIFF_VALUED, DIFF_ATTACHED, &[DIFF]),
    command("diff-files", DIFF_FLAGS, DIFF_VALUED, DIFF_ATTACHED, &[DIFF]),
    command("diff-index", DIFF_FLAGS, DIFF_VALUED, DIFF_ATTACHED, &[DIFF]),
    command("diff-tree", DIFF_FLAGS, DIFF_VALUED, DIFF_ATTACHED, &[DIFF, LOG]),
    command("fetch", "apPqvtnfk46", "j", "", &[&["all", "prune", "prune-tags", "tags", "force", "depth", "deepen", "unshallow", "shallow-since", "shallow-exclude", "dry-run", "quiet", "verbose", "progress", "append", "keep", "jobs", "multiple", "atomic", "update-shallow", "no-recurse-submodules", "ipv4", "ipv6", "auto-gc", "auto-maintenance", "write-fetch-head", "porcelain", "filter", "refetch", "show-forced-updates"]]),
    command("for-each-ref", "spc", "", "", &[LIST, &["shell", "perl", "python", "tcl"]]),
    command("format-patch", "nNksv0123456789", "", DIFF_ATTACHED, &[DIFF, LOG, &["stdout", "numbered", "subject-prefix", "signoff", "start-number", "keep-subject", "attach", "inline", "thread", "in-reply-to", "rfc", "zero-commit", "base", "from", "to", "reroll-count", "signature"]]),
    command("fsck", "v", "", "", &[&["full", "strict", "verbose", "dangling", "unreachable", "root", "tags", "cache", "reflogs", "connectivity-only", "name-objects", "progress", "references"]]),
    command("gc", "q", "", "", &[&["auto", "quiet", "prune", "aggressive", "detach"]]),
    command("grep", "aIinwvhHEGFPlLcopqWzr0123456789", "eABCm", "", &[&["cached", "untracked", "index", "exclude-standard", "text", "ignore-case", "word-regexp", "invert-match", "full-name", "extended-regexp", "basic-regexp", "fixed-strings", "perl-regexp", "line-number", "column", "files-with-matches", "name-only", "files-without-match", "null", "only-matching", "count", "color", "break", "heading", "show-function", "context", "after-context", "before-context", "function-context", "and", "or", "not", "all-match", "quiet", "max-depth", "max-count", "threads", "recursive"]]),
    command("hash-object", "w", "t", "", &[&["stdin", "literally", "no-filters"]]),
    command("init", "q", "b", "", &[&["quiet", "initial-branch", "object-format", "ref-format"]]),
    command("log", LOG_FLAGS, LOG_VALUED, DIFF_ATTACHED, &[DIFF, LOG]),
    command("ls-files", "cdmoiskutvfzp", "x", "", &[&["cached", "deleted", "modified", "others", "ignored", "stage", "unmerged", "killed", "directory", "empty-directory", "eol", "exclude", "exclude-standard", "error-unmatch", "full-name", "abbrev", "debug", "deduplicate", "sparse", "format"]]),
    command("ls-remote", "htqb", "", "", &[&["heads", "branches", "tags", "refs", "quiet", "exit-code", "get-url", "sort", "symref"]]),
    command("ls-tree", "drtlz", "", "", &[&["name-only", "name-status", "object-only", "full-name", "full-tree", "abbrev", "long", "format"]]),
    command("merge", "nqv", "mFX", "", &[&["commit", "no-edit", "ff", "ff-only", "squash", "abort", "quit", "stat", "log", "signoff", "message", "file", "quiet", "verbose", "allow-unrelated-histories", "strategy-option", "autostash", "verify", "progress", "summary", "rerere-autoupdate"]]),
    command("merge-base", "a", "", "", &[&["all", "octopus", "independent", "is-ancestor", "fork-point"]]),
    command("merge-tree", "z", "X", "", &[&["write-tree", "name-only", "messages", "allow-unrelated-histories", "merge-base", "strategy-option"]]),
    command("mv", "fnkv", "", "", &[&["force", "dry-run", "verbose", "sparse"]]),
    command("name-rev", "", "", "", &[&["tags", "refs", "exclude", "all", "name-only", "always", "undefined"]]),
    command("notes", "", "", "", &[&["ref"]]),
    command("pack-refs", "", "", "", &[&["all", "prune", "auto"]]),
    command("patch-id", "", "", "", &[&["stable", "unstable", "verbatim"]]),
    command("prune", "nv", "", "", &[&["dry-run", "verbose", "progress", "expire"]]),
    command("pull", "rqvnftap46", "jX", "", &[&["rebase", "ff", "ff-only", "no-edit", "commit", "autostash", "prune", "tags", "force", "depth", "deepen", "unshallow", "quiet", "verbose", "all", "stat", "log", "squash", "signoff", "allow-unrelated-histories", "progress", "dry-run", "strategy-option", "jobs", "append", "keep", "no-recurse-submodules", "ipv4", "ipv6", "verify"]]),
    command("push", "uqvnfd46", "o", "", &[&["set-upstream", "force", "force-with-lease", "force-if-includes", "delete", "tags", "follow-tags", "all", "branches", "mirror", "dry-run", "porcelain", "quiet", "verbose", "progress", "verify", "prune", "atomic", "push-option", "thin", "no-signed", "no-recurse-submodules", "ipv4", "ipv6"]]),
    command("range-diff", DIFF_FLAGS, DIFF_VALUED, DIFF_ATTACHED, &[DIFF, &["creation-factor", "no-dual-color", "left-only", "right-only", "notes"]]),
    command("rebase", "qvnfmk", "X", "C", &[&["onto", "abort", "quit", "skip", "autostash", "autosquash", "stat", "keep-base", "root", "quiet", "verbose", "force-rebase", "ff", "fork-point", "merge", "apply", "committer-date-is-author-date", "reset-author-date", "ignore-date", "ignore-whitespace", "whitespace", "strategy-option", "empty", "keep-empty", "reapply-cherry-picks", "rerere-autoupdate", "signoff", "update-refs", "verify", "show-current-patch", "rebase-merges", "reschedule-failed-exec"]]),
    command("reflog", LOG_FLAGS, LOG_VALUED, DIFF_ATTACHED, &[DIFF, LOG]),
    command("remote", "v", "", "", &[&["verbose", "push", "all"]]),
    command("repack", "adAfFlqnbk", "", "", &[&["quiet", "local", "write-bitmap-index", "keep-unreachable", "cruft"]]),
    command("rerere", "", "", "", &[]),
    command("reset", "qN", "", "", &[&["soft", "mixed", "hard", "keep", "merge", "quiet", "intent-to-add", "refresh"]]),
    command("restore", "qSW23m", "s", "", &[&["source", "staged", "worktree", "quiet", "progress", "ours", "theirs", "merge", "conflict", "overlay", "ignore-unmerged", "ignore-skip-worktree-bits"]]),
    command("rev-list", LOG_FLAGS, LOG_VALUED, DIFF_ATTACHED, &[DIFF, LOG]),
    command("rev-parse", "q", "", "", &[&["abbrev", "abbrev-ref", "verify", "quiet", "short", "symbolic", "symbolic-full-name", "all", "branches", "tags", "remotes", "show-toplevel", "show-prefix", "show-cdup", "git-dir", "absolute-git-dir", "git-common-dir", "git-path", "is-inside-git-dir", "is-inside-work-tree", "is-bare-repository", "is-shallow-repository", "show-superproject-working-tree", "show-object-format", "show-ref-format", "revs-only", "revs", "flags", "default", "path-format", "sq", "not", "exclude", "glob", "disambiguate", "since", "after", "until", "before", "local-env-vars", "shared-index-path", "end-of-options"]]),
    command("revert", "nsq", "mX", "", &[&["commit", "no-edit", "mainline", "signoff", "abort", "quit", "skip", "strategy-option", "reference", "rerere-autoupdate"]]),
    command("rm", "rfnq", "", "", &[&["cached", "dry-run", "force", "ignore-unmatch", "quiet", "sparse"]]),
    command("shortlog", "nsec0123456789", "", "w", &[LOG, &["numbered", "summary", "email", "group"]]),
    command("show", LOG_FLAGS, LOG_VALUED, DIFF_ATTACHED, &[DIFF, LOG]),
    command("show-branch", "argt", "", "", &[&["all", "remotes", "current", "topo-order", "date-order", "sparse", "more", "list", "merge-base", "independent", "name", "sha1-name", "topics", "reflog", "color"]]),
    command("show-ref", "dqs", "", "", &[&["head", "heads", "branches", "tags", "dereference", "hash", "verify", "abbrev", "quiet", "exists"]]),
    command("sparse-checkout", "", "", "", &[]),
    command("stash", "qkpS", "m", "", &[DIFF, LOG, &["quiet", "keep-index", "message", "index", "staged", "only-untracked"]]),
    command("status", "sbvz", "", "uM", &[&["short", "branch", "porcelain", "long", "verbose", "untracked-files", "ignored", "ignore-submodules", "column", "ahead-behind", "renames", "find-renames", "show-stash", "null"]]),
    command("submodule", "q", "", "", &[&["quiet", "cached", "recursive"]]),
    command("switch", "qftdm", "cC", "", &[&["create", "force-create", "detach", "guess", "quiet", "progress", "force", "discard-changes", "track", "orphan", "merge", "conflict", "ignore-other-worktrees"]]),
    command("symbolic-ref", "qd", "m", "", &[&["quiet", "delete", "short", "recurse"]]),
    command("tag", "ladfi", "mF", "n", &[LIST, &["annotate", "message", "file", "force", "delete", "cleanup", "create-reflog", "no-sign", "trailer"]]),
    command("update-index", "q", "", "", &[&["refresh", "really-refresh", "chmod", "assume-unchanged", "skip-worktree", "ignore-missing", "unmerged", "ignore-submodules"]]),
    command("version", "", "", "", &[&["build-options"]]),
    command("worktree", "vz", "", "", &[&["porcelain", "verbose"]]),
];
