//! Beginning a review, and the text of its hunks.

use std::convert::Infallible;
use std::path::Path;

use agent_q_diff_engine::change::{
    self, Described, Doubt, Entry, Node, Operation, Reading, Unable,
};
use agent_q_diff_engine::diff::{Budget, HeadingRule};
use agent_q_diff_engine::key::{self, Found, Key, Keys, Part};
use agent_q_diff_engine::patch::codex::{self, Action, FilePatch};
use agent_q_diff_engine::patch::hunk;
use agent_q_diff_engine::patch::parse::{self, FileDiff};
use agent_q_diff_engine::proposal::{Proposal, ProposalError, Spacing};
use agent_q_diff_engine::review::{Refusal, Review};
use agent_q_diff_engine::show::alike;
use agent_q_diff_engine::show::{confusables, rows, words};
use agent_q_diff_engine::text::{Decoding, Place, Syntax};
use agent_q_diff_reviewed::file::{self, Links};
use emacs::{Env, IntoLisp, Result, Value, defun};

use crate::lisp::{answer, catching_panics, elements, list, list_of, rule, signal, symbol, text};
use crate::session::{Session, ongoing, session, splitting, text_of, with_hunk};

/// Return a new review of the change from ORIGINAL to MODIFIED.
///
/// Its hunks have CONTEXT lines of context.  BUDGET is the largest number of
/// steps to compare the texts, or nil for the default; see
/// `agent-q-diff-module-is-coarse'.
#[defun(user_ptr)]
fn review(
    env: &Env,
    original: Vec<u8>,
    modified: Vec<u8>,
    context: usize,
    budget: Option<usize>,
) -> Result<Session> {
    catching_panics(env, || {
        let budget = budget.map_or(Budget::default(), |n_steps| Budget(n_steps as u64));
        let proposal = Proposal::from_texts_within(original, modified, context, budget);
        Ok(session(Review::new(answer(env, proposal)?)))
    })
}

/// Return t if comparing the texts of REVIEW exceeded the budget.
///
/// Its hunks may then be larger than necessary, but are correct.
#[defun]
fn is_coarse(env: &Env, session: &mut Session) -> Result<bool> {
    catching_panics(env, || Ok(text_of(env, session)?.proposal().is_coarse()))
}

/// Return a new review of the unified diff DIFF, which came without its original.
#[defun(user_ptr)]
fn review_diff(env: &Env, diff: Vec<u8>) -> Result<Session> {
    catching_panics(env, || {
        Ok(session(Review::new(answer(
            env,
            Proposal::from_diff(&diff),
        )?)))
    })
}

/// Return a list of (OLD NEW DIFF) for each file with hunks in the unified diff TEXT.
///
/// OLD and NEW are the names in its file header, or nil if it has none.  DIFF
/// is the text of its hunks, after git's `index' line if there is one.
#[defun]
fn files<'e>(env: &'e Env, text: Vec<u8>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let files = answer(env, parse::parse_hunks(&text).map_err(ProposalError::from))?;
        let entry = |file: &FileDiff| {
            let name = |name: Option<&[u8]>| maybe_text(env, name.map(hunk::unquoted));
            env.list((
                name(file.old_name)?,
                name(file.new_name)?,
                hunks_text(env, file)?,
            ))
        };
        list_of(env, files.iter().map(entry))
    })
}

/// Returns `bytes` as [`text`] does, or nil if there are none.
fn maybe_text(env: &Env, bytes: Option<impl AsRef<[u8]>>) -> Result<Value<'_>> {
    let bytes = bytes.map(|bytes| text(env, bytes.as_ref()));
    bytes.transpose()?.into_lisp(env)
}

/// Returns the hunks of `file` as a diff, after git's `index` line if there is one.
fn hunks_text<'e>(env: &'e Env, file: &FileDiff) -> Result<Value<'e>> {
    let hunks: Vec<_> = file
        .hunks
        .iter()
        .map(|parsed| parsed.hunk.clone())
        .collect();
    let ids = file.blobs.as_ref();
    let ids = ids.map(|ids| format!("index {}..{}\n", ids.old, ids.new));
    let hunks = hunk::print_hunks(&hunks).bytes;
    text(env, &[ids.unwrap_or_default().into_bytes(), hunks].concat())
}

/// Return a list of (READINGS IS-GIT OPERATIONS . DIFF) for each file in the unified diff TEXT.
///
/// READINGS is a list of (STRIPPED DOUBT OLD NEW), the likeliest first, which
/// say how the names in the header may be meant.  OLD and NEW are the names
/// before and after; OLD is nil if the file is new, NEW if it is deleted.  STRIPPED
/// is how many leading directories were taken off, or nil if the diff has the
/// names without prefixes.  DOUBT is 0, 1 for a reading that counts only if
/// there is no file for one with 0, or 2 for one that is only a guess.  IS-GIT
/// tells whether git wrote the header.  OPERATIONS is as for
/// `agent-q-diff-module-join'.  DIFF is the text of its hunks, after git's
/// `index' line if there is one, or nil if its text does not change.
#[defun]
fn describe<'e>(env: &'e Env, text: Vec<u8>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let files = answer(env, change::describe(&text))?;
        let reading = |reading: &Reading| {
            let doubt: i64 = match reading.doubt {
                Doubt::Usual => 0,
                Doubt::Unusual => 1,
                Doubt::Guess => 2,
            };
            env.list((
                reading.n_stripped.into_lisp(env)?,
                doubt,
                maybe_text(env, reading.old_path.as_ref())?,
                maybe_text(env, reading.new_path.as_ref())?,
            ))
        };
        let entry = |file: &Described| {
            let readings = file.readings.iter().map(reading);
            let readings = list_of(env, readings)?;
            let operations = file.operations.iter().map(|one| operation_value(env, one));
            let operations = list_of(env, operations)?;
            let diff = file.text.as_ref().map(|text| hunks_text(env, text));
            let rest = env.cons(operations, diff.transpose()?)?;
            let rest = env.cons(file.is_git, rest)?;
            env.cons(readings, rest)
        };
        list_of(env, files.iter().map(entry))
    })
}

/// Return a list with an element for each file in TEXT, a patch in Codex's format.
///
/// An element is (PATH add TEXT), (PATH delete) or (PATH update NEW-PATH).
/// NEW-PATH is nil if the file keeps its name; for its new text, see
/// `agent-q-diff-module-codex-updated'.
#[defun]
fn codex_files<'e>(env: &'e Env, text: String) -> Result<Value<'e>> {
    catching_panics(env, || {
        let files = answer(env, codex::parse(&text))?;
        let entry = |file: &FilePatch| match &file.action {
            Action::Add { text } => env.list((file.path, env.intern("add")?, text.as_str())),
            Action::Delete => env.list((file.path, env.intern("delete")?)),
            Action::Update { new_path, .. } => {
                env.list((file.path, env.intern("update")?, new_path.into_lisp(env)?))
            }
        };
        list_of(env, files.iter().map(entry))
    })
}

/// Return ORIGINAL as updated by file INDEX of TEXT, a patch in Codex's format.
///
/// The patch must update that file.
#[defun]
fn codex_updated<'e>(
    env: &'e Env,
    text: String,
    index: usize,
    original: Vec<u8>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let files = answer(env, codex::parse(&text))?;
        match files.get(index).map(|file| &file.action) {
            Some(Action::Update { chunks, .. }) => {
                self::text(env, &answer(env, codex::updated(&original, chunks))?)
            }
            _ => signal(env, "agent-q-diff-error", "the patch updates no such file"),
        }
    })
}

/// Returns `operation` as a Lisp list; see `agent-q-diff-module-join`.
fn operation_value<'e>(env: &'e Env, operation: &Operation) -> Result<Value<'e>> {
    let name = |name: &Option<Vec<u8>>| maybe_text(env, name.as_ref());
    match operation {
        Operation::Create { mode } => env.list((env.intern("create")?, i64::from(*mode))),
        Operation::Delete { text } => env.list((env.intern("delete")?, self::text(env, text)?)),
        Operation::Rename => env.list((env.intern("rename")?,)),
        Operation::Mode { old, new } => {
            env.list((env.intern("mode")?, i64::from(*old), i64::from(*new)))
        }
        Operation::Link { old, new } => env.list((env.intern("link")?, name(old)?, name(new)?)),
        Operation::Binary => env.list((env.intern("binary")?,)),
        Operation::Reading { .. } => env.list((env.intern("reading")?,)),
        Operation::Kind { old, new } => env.list((
            env.intern("kind")?,
            node_value(env, old)?,
            node_value(env, new)?,
        )),
    }
}

/// Returns (link TARGET) or (file MODE TEXT).
fn node_value<'e>(env: &'e Env, node: &Node) -> Result<Value<'e>> {
    match node {
        Node::Link { target } => env.list((env.intern("link")?, self::text(env, target)?)),
        Node::File { mode, content } => env.list((
            env.intern("file")?,
            i64::from(*mode),
            self::text(env, content)?,
        )),
    }
}

/// Return (DIFF . LINES), the unified diff of REVIEW.
///
/// DIFF has PATH in its file header.  If IS-LISP is non-nil, section headings
/// are found as in Lisp files.  LINES are the lines of the hunk headers in
/// DIFF, from 0.
#[defun]
fn print<'e>(
    env: &'e Env,
    session: &mut Session,
    path: Vec<u8>,
    is_lisp: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let printed = hunk::print(
            &path,
            &text_of(env, session)?.proposal().hunks(rule(is_lisp)),
        );
        let lines = list(env, printed.header_lines)?;
        env.cons(text(env, &printed.bytes)?, lines)
    })
}

/// Return (DIFF . LINES), the unified diff of some hunks of REVIEW.
///
/// These are the hunks from FROM up to but not including TO, which are all of
/// one file.  DIFF has no file header.  LINES are the lines of the hunk headers in DIFF, from 0.
/// IS-LISP is as for `agent-q-diff-module-print'.  If IS-SHOWN is non-nil, they have the
/// context of `agent-q-diff-module-show-context'.
#[defun]
fn print_hunks<'e>(
    env: &'e Env,
    session: &mut Session,
    from: usize,
    to: usize,
    is_lisp: Value<'e>,
    is_shown: Option<Value<'e>>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        let n_hunks = ongoing.change.n_entries();
        if to > n_hunks || from > to {
            let hunk = from.max(to.saturating_sub(1));
            return answer(env, Err(Refusal::NoSuchHunk { hunk, n_hunks }));
        }
        if from == to {
            return env.cons("", ());
        }
        let (review, last) = ongoing.review(env, to - 1)?;
        let Some(first) = (last + 1).checked_sub(to - from) else {
            return answer(env, Err(Unable::NoLines));
        };
        let (proposal, hunks) = (review.proposal(), first..last + 1);
        let hunks = match is_shown {
            Some(_) => proposal.shown_hunks_in(hunks, rule(is_lisp)),
            None => proposal.hunks_in(hunks, rule(is_lisp)),
        };
        let printed = hunk::print_hunks(&hunks);
        let lines = list(env, printed.header_lines)?;
        env.cons(text(env, &printed.bytes)?, lines)
    })
}

/// Have UP lines of context more than usual shown above hunk HUNK of REVIEW, and DOWN below it.
///
/// If they are negative, as many fewer are shown.  Return (UP . DOWN), how many that
/// are now: a hunk does not grow beyond its text, nor into others, and keeps its changes.
#[defun]
fn show_context<'e>(
    env: &'e Env,
    session: &mut Session,
    hunk: usize,
    up: i64,
    down: i64,
) -> Result<Value<'e>> {
    with_hunk(env, session, hunk, |review, hunk| {
        let more = [up, down].map(|lines| isize::try_from(lines).unwrap_or_default());
        let [up, down] = review.show_context(hunk, more);
        env.cons(up as i64, down as i64)
    })
}

/// Return the lines, from 0, of the hunk headers in REVIEW's own diff.
///
/// That is the diff from which it was made; if it was made from two texts,
/// return nil.
#[defun]
fn header_lines<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let lines = text_of(env, session)?.proposal().header_lines().to_vec();
        list(env, lines)
    })
}

/// Return t if no hunk of REVIEW changes anything.
#[defun]
fn is_idle(env: &Env, session: &mut Session) -> Result<bool> {
    catching_panics(env, || Ok(text_of(env, session)?.proposal().is_idle()))
}

/// Split hunk HUNK of REVIEW into its smallest parts and return their number.
///
/// The parts replace HUNK and keep its mark.  If it cannot be split, return
/// 1.
#[defun]
fn split(env: &Env, session: &mut Session, hunk: usize) -> Result<usize> {
    splitting(env, session, hunk, |change, file, hunk| {
        answer(env, change.split(file, hunk))
    })
}

/// Make a separate hunk of some changed lines of hunk HUNK of REVIEW.
///
/// These are the changed lines from FROM up to but not including TO, counted
/// from 0 in the order of the diff.  Return (N . INDEX): N hunks replace HUNK
/// and keep its mark, and the one at INDEX among them has the lines.
#[defun]
fn pick<'e>(
    env: &'e Env,
    session: &mut Session,
    hunk: usize,
    from: usize,
    to: usize,
) -> Result<Value<'e>> {
    splitting(env, session, hunk, |change, file, hunk| {
        let (n_parts, index) = answer(env, change.pick(file, hunk, from..to))?;
        env.cons(n_parts, index)
    })
}

/// Make a separate hunk of some rows of hunk HUNK of REVIEW, whose lines stand side by side.
///
/// These are its removed lines from OLD up to but not including OLD-END, and its
/// added lines from NEW up to NEW-END, each counted from 0.  Return as
/// `agent-q-diff-module-pick' does, or nil if a change cannot be cut there: in a
/// diff without its original, or if the target has part of it.
#[defun]
fn pick_rows<'e>(
    env: &'e Env,
    session: &mut Session,
    hunk: usize,
    old: usize,
    old_end: usize,
    new: usize,
    new_end: usize,
) -> Result<Value<'e>> {
    splitting(env, session, hunk, |change, file, hunk| {
        let picked = change.pick_rows(file, hunk, old..old_end, new..new_end);
        let picked = answer(env, picked)?.map(|(n_parts, index)| env.cons(n_parts, index));
        picked.transpose()?.into_lisp(env)
    })
}

/// Undo the split of a hunk of REVIEW, if that is what can be undone next.
///
/// Return (HUNK . N): HUNK replaces its N parts; or nil if something else is
/// next.  If IS-FOR-DECISION is non-nil, undo the split only if it was made
/// for the decision that was undone just now.
///
/// Signal `agent-q-diff-conflict' if the parts cannot be joined any more.
/// Then what was done before can be undone next.
#[defun]
fn undo_split<'e>(
    env: &'e Env,
    session: &mut Session,
    is_for_decision: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        ongoing.leave_off();
        let undone = ongoing.change.undo_split(is_for_decision.is_not_nil());
        match answer(env, undone)? {
            Some((file, hunk, n)) => env.cons(ongoing.change.number(file, Entry::Hunk(hunk)), n),
            None => env.intern("nil"),
        }
    })
}

/// Redo the split of a hunk of REVIEW, if that is what can be redone next.
///
/// Return (HUNK N . IS-FOR-NEXT): N parts replace HUNK, and if IS-FOR-NEXT is
/// t, they were made for the decision that can be redone next; or nil if
/// something else is next.
#[defun]
fn redo_split<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        ongoing.leave_off();
        let redone = ongoing.change.redo_split();
        match answer(env, redone)? {
            Some((file, hunk, n, is_for_next)) => {
                let hunk = ongoing.change.number(file, Entry::Hunk(hunk));
                env.cons(hunk, env.cons(n, is_for_next)?)
            }
            None => env.intern("nil"),
        }
    })
}

/// Return the lines that hunk HUNK of REVIEW leaves, including its context.
///
/// If IS-BEFORE is non-nil, return those that it replaces.
#[defun]
fn proposed<'e>(
    env: &'e Env,
    session: &mut Session,
    hunk: usize,
    is_before: Option<Value<'e>>,
) -> Result<Value<'e>> {
    with_hunk(env, session, hunk, |review, hunk| {
        let proposal = review.proposal();
        text(
            env,
            match is_before {
                None => proposal.proposed(hunk),
                Some(_) => proposal.replaced(hunk),
            },
        )
    })
}

/// Return (LINE . TEXT), the current lines in the place of hunk HUNK of REVIEW.
///
/// LINE is the line of the target, from 0, at which the hunk with its context
/// begins; TEXT is the lines.
#[defun]
fn live_lines<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    with_hunk(env, session, hunk, |review, hunk| {
        let found = review.live_lines(hunk);
        let (line, lines) = answer(env, found)?;
        env.cons(line, text(env, lines.bytes())?)
    })
}

/// Return (IS-CLEAN IS-COARSE . TEXT), the merge of hunk HUNK of REVIEW.
///
/// TEXT is its lines merged with the current lines of the target in their
/// place.  If both have changed the same lines, IS-CLEAN is nil, and TEXT has
/// conflict markers around those of target, original and proposal.  IS-COARSE
/// is t if comparing them exceeded the budget; conflicts may then be larger
/// than necessary.
#[defun]
fn merge<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    with_hunk(env, session, hunk, |review, hunk| {
        let merged = review.merge(hunk);
        let merged = answer(env, merged)?;
        let rest = env.cons(merged.is_coarse, text(env, &merged.marked())?)?;
        env.cons(merged.n_conflicts() == 0, rest)
    })
}

/// Return the lines of the hunks of REVIEW from FROM up to but not including TO, as they are shown.
///
/// That is a list of [OLD N-OLD NEW N-NEW KINDS], or nil for what changes no lines: OLD
/// and NEW are the first lines in the original and in the modified text, and N-OLD and
/// N-NEW are how many there are, context included; all count from 0.  KINDS is a string with
/// a character for each line below the header: `c' for context, `r' for a removed and `a'
/// for an added line, and `n' for the marker of a missing newline.
#[defun]
fn shown_lines<'e>(
    env: &'e Env,
    session: &mut Session,
    from: usize,
    to: usize,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        let mut all = Vec::new();
        for number in from..to {
            all.push(match ongoing.entry(env, number)? {
                (_, Entry::Operation(_)) => env.intern("nil")?,
                _ => {
                    let (review, hunk) = ongoing.review(env, number)?;
                    let hunk = review.proposal().shown_hunk(hunk);
                    let (before, after) = (&hunk.before, &hunk.after);
                    let (old, new) = ((before.start, before.len()), (after.start, after.len()));
                    env.vector((old.0, old.1, new.0, new.1, hunk.kinds()))?
                }
            });
        }
        list(env, all)
    })
}

/// Return the changed words of hunk HUNK of REVIEW, a list of (LINE FROM TO).
///
/// LINE counts the hunk's lines from 0, without its header.  The word has the
/// characters from FROM up to but not including TO, counted from 0 after the
/// line's sign.
#[defun]
fn changed_words<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        let moves = ongoing.moves();
        let (file, _) = ongoing.lines(env, hunk)?;
        let n_above = ongoing.n_hunks_above(file);
        let (review, hunk) = ongoing.review(env, hunk)?;
        let shown = review.proposal().shown_hunk(hunk);
        let spans = words::changed_words(&shown, |at| moves.line(n_above + hunk, at));
        let spans = spans
            .into_iter()
            .map(|span| env.list((span.line, span.columns.start, span.columns.end)));
        list_of(env, spans)
    })
}

/// Return the changes of hunk HUNK of REVIEW side by side, a list of (FIRST REMOVED ADDED).
///
/// Each is a run of removed lines and of the added ones that follow.  FIRST is its
/// first line, of the lines of the hunk from 0, without its header.  REMOVED and
/// ADDED are lists with the row of each line, ascending, counted from 0 in the run.
#[defun]
fn side_rows<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    with_hunk(env, session, hunk, |review, hunk| {
        let blocks = rows::blocks(&review.proposal().shown_hunk(hunk));
        let blocks = blocks.into_iter().map(|block| {
            let side = |rows: Vec<usize>| {
                let rows = rows.into_iter().map(|row| row.into_lisp(env));
                list_of(env, rows)
            };
            env.list((block.first, side(block.removed)?, side(block.added)?))
        });
        list_of(env, blocks)
    })
}

/// Return the changes of file FILE of REVIEW that can be drawn in its target, in order.
///
/// They are those at its lines from FROM up to TO, both counted from 0.  Each is (HUNK
/// LINE IS-IN OLD NEW WORDS): a change of HUNK is, or would be, at LINE, and the target has
/// the lines NEW if IS-IN is non-nil, and otherwise the lines OLD.  WORDS are its changed
/// words as from `agent-q-diff-module-changed-words'; those lines are counted from 0 in OLD,
/// and then in NEW.  A hunk without a certain place has none, nor are there changes that
/// others have changed.
#[defun]
fn drawn<'e>(
    env: &'e Env,
    session: &mut Session,
    file: usize,
    from: usize,
    to: usize,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        let moves = ongoing.moves();
        let n_above = ongoing.n_hunks_above(file);
        let mut all = Vec::new();
        let review = ongoing
            .change
            .files()
            .get(file)
            .and_then(|file| file.review());
        if let Some(review) = review {
            let proposal = review.proposal();
            for hunk in 0..proposal.n_hunks() {
                let number = ongoing.change.number(file, Entry::Hunk(hunk));
                let mut drawn = proposal.drawn(hunk);
                drawn.retain(|drawn| (from..to).contains(&drawn.line));
                if drawn.is_empty() {
                    continue;
                }
                let shown = proposal.shown_hunk(hunk);
                let words = words::changed_words(&shown, |at| moves.line(n_above + hunk, at));
                let changed: Vec<_> = shown.changed().collect();
                for drawn in drawn {
                    let (old, new) = (text(env, drawn.old)?, text(env, drawn.new)?);
                    // Its lines follow one another.
                    let first = changed.get(drawn.at).copied().unwrap_or_default();
                    let lines = first..first + drawn.n_lines;
                    let words = words.iter().filter(|span| lines.contains(&span.line));
                    let words = words.map(|span| {
                        env.list((span.line - first, span.columns.start, span.columns.end))
                    });
                    let words = list_of(env, words)?;
                    all.push(env.list((number, drawn.line, drawn.is_in, old, new, words))?);
                }
            }
        }
        list(env, all)
    })
}

/// Return (START . END), the lines that hunk HUNK of REVIEW changes.
///
/// They are lines of the modified text, from 0, without the one at END and
/// without context; what stands between two changes is among them.
#[defun]
fn changed_lines<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    with_hunk(env, session, hunk, |review, hunk| {
        let lines = review.proposal().changed_lines(hunk);
        env.cons(lines.start, lines.end)
    })
}

/// Return the lines that hunk HUNK of REVIEW changes, [OLD OLD-END NEW NEW-END LINES].
///
/// OLD is the first in the original, from 0, and OLD-END is after the last.  NEW is the
/// first that it adds, and NEW-END is after the last; they are equal if it adds none.
/// LINES are those that it removes and adds, with their signs.  Return nil if HUNK
/// changes no lines.
#[defun]
fn hunk_lines<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        if let (_, Entry::Operation(_)) = ongoing.entry(env, hunk)? {
            return env.intern("nil");
        }
        let (review, hunk) = ongoing.review(env, hunk)?;
        let edits = review.proposal().edits(hunk);
        let (first, last) = (&edits[0], &edits[edits.len() - 1]);
        let added = edits.iter().map(|edit| &edit.after);
        let mut added = added.filter(|lines| !lines.is_empty());
        let start = added.next().unwrap_or(&first.after);
        let end = added.next_back().unwrap_or(start);
        env.vector((
            first.before.start,
            last.before.end,
            start.start,
            end.end,
            text(env, &key::changed_lines(review.proposal(), hunk))?,
        ))
    })
}

/// Return the key of hunk HUNK of REVIEW, a string.
///
/// It stands for the lines of a hunk and their place in what is reviewed now, or for
/// the kind and the values of an operation.  It is the same in the next review, also
/// after a restart, but changes when another hunk of the file is kept.
#[defun]
fn hunk_key(env: &Env, session: &mut Session, hunk: usize) -> Result<String> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        let (file, _) = ongoing.entry(env, hunk)?;
        Ok(ongoing.key(file, hunk).to_string())
    })
}

/// Return what each of KEYS stands for in file FILE of REVIEW, a list.
///
/// An element is (HUNK) if it is that, (HUNK OLD OLD-END NEW NEW-END) if it is a part
/// of that, as for `agent-q-diff-module-pick-rows', or (unsure HUNK ...) if it can be
/// any of these.  If it is gone, it is (gone HUNK) if HUNK changes the lines there now,
/// and else (gone).
#[defun]
fn find_keys<'e>(
    env: &'e Env,
    session: &mut Session,
    file: usize,
    keys: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let ongoing = ongoing(env, session)?;
        let wanted = elements(keys)?.into_iter().map(|key| {
            let key: String = key.into_rust()?;
            key.parse().map_err(|never: Infallible| match never {})
        });
        let wanted: Vec<Key> = wanted.collect::<Result<_>>()?;
        let Some(entries) = ongoing.change.files().get(file) else {
            return env.intern("nil");
        };
        let (first, keys) = (ongoing.change.entries_of(file).start, Keys::of(entries));
        let found = wanted.iter().map(|key| match keys.find(key) {
            Found::Gone(None) => env.list((env.intern("gone")?,)),
            Found::Gone(Some(hunk)) => env.list((env.intern("gone")?, first + hunk)),
            Found::Sure(hunk, None) => env.list((first + hunk,)),
            Found::Sure(hunk, Some(Part { removed, added })) => {
                let (old, new) = ((removed.start, removed.end), (added.start, added.end));
                env.list((first + hunk, old.0, old.1, new.0, new.1))
            }
            Found::Unsure(hunks) => {
                let hunks = hunks.into_iter().map(|hunk| (first + hunk).into_lisp(env));
                let hunks = list(env, hunks.collect::<Result<Vec<_>>>()?)?;
                env.cons(env.intern("unsure")?, hunks)
            }
        });
        list(env, found.collect::<Result<Vec<_>>>()?)
    })
}

/// Return (ORIGINAL . MODIFIED), the texts of file FILE of REVIEW, or nil.
///
/// It is nil if their syntax is known (see `agent-q-diff-module-set-language'), if
/// they are not known, as those of a bare diff, and if one has more than LIMIT bytes.
#[defun]
fn texts_without_syntax<'e>(
    env: &'e Env,
    session: &mut Session,
    file: usize,
    limit: usize,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let ongoing = ongoing(env, session)?;
        let review = ongoing
            .change
            .files()
            .get(file)
            .and_then(change::FileChange::review);
        let texts = review.and_then(|review| review.proposal().texts_without_syntax());
        match texts.filter(|texts| texts.iter().all(|text| text.len() <= limit)) {
            Some([original, modified]) => env.cons(text(env, original)?, text(env, modified)?),
            None => env.intern("nil"),
        }
    })
}

/// Tell REVIEW in which language file FILE of it is.
///
/// SPACING is the symbol that `agent-q-diff-white-space-free' has for how white space
/// is read there, or nil if it may mean something everywhere.  ORIGINAL and MODIFIED are
/// what of these texts are strings and comments, a list of FROM, TO, FROM, TO: from
/// which character, counted from 0, to before which one.  A comment has -1 - FROM
/// instead of FROM.
#[defun]
fn set_language(
    env: &Env,
    session: &mut Session,
    file: usize,
    spacing: Value,
    original: Value,
    modified: Value,
) -> Result<()> {
    catching_panics(env, || {
        let spacing = match spacing.is_not_nil() {
            true => Spacing::named(&env.call("symbol-name", (spacing,))?.into_rust::<String>()?),
            false => None,
        };
        let spans = [spans(original)?, spans(modified)?];
        let mut ongoing = ongoing(env, session)?;
        let Some(review) = ongoing.change.review_mut(file) else {
            return Ok(());
        };
        let Some(texts) = review.proposal().texts_without_syntax() else {
            return Ok(());
        };
        let [original, modified] = spans;
        let syntaxes = [
            Syntax::new(texts[0], original),
            Syntax::new(texts[1], modified),
        ];
        if let [Some(original), Some(modified)] = syntaxes {
            review.set_language(spacing, Some([original, modified]));
        }
        Ok(())
    })
}

/// Reads strings and comments; see [`set_language`].
fn spans(values: Value) -> Result<Vec<(usize, usize, Place)>> {
    let numbers = elements(values)?
        .into_iter()
        .map(|value| value.into_rust::<i64>());
    let numbers = numbers.collect::<Result<Vec<_>>>()?;
    let spans = numbers.chunks_exact(2).map(|pair| {
        let (from, place) = match pair[0] {
            from @ 0.. => (from, Place::String),
            from => (-1 - from, Place::Comment),
        };
        Ok((usize::try_from(from)?, usize::try_from(pair[1])?, place))
    });
    spans.collect()
}

/// Return a list of the hunks of REVIEW that change only white space, which means nothing there.
///
/// They are those of FILES, a list of indices in order: in all others it may mean something.
#[defun]
fn blank_hunks<'e>(env: &'e Env, session: &mut Session, files: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let ongoing = ongoing(env, session)?;
        let mut blank = Vec::new();
        for file in elements(files)? {
            let file: usize = file.into_rust()?;
            let change = ongoing.change.files().get(file);
            let Some(review) = change.and_then(|change| change.review()) else {
                continue;
            };
            let first = ongoing.change.number(file, Entry::Hunk(0));
            let here = review.proposal().white_space_hunks();
            blank.extend(here.into_iter().map(|hunk| first + hunk));
        }
        list(env, blank)
    })
}

/// Return how many lines the hunks of each file of REVIEW add and remove.
///
/// That is a list of (ADDED . REMOVED).
#[defun]
fn line_counts<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let ongoing = ongoing(env, session)?;
        let counts = ongoing.change.files().iter().map(|change| {
            let review = change.review();
            let (added, removed) = review.map_or((0, 0), |review| review.proposal().line_counts());
            env.cons(added, removed)
        });
        list_of(env, counts)
    })
}

/// Return the changes that REVIEW makes in several places, a list of
/// [KIND BEFORE AFTER PLACES WHERE CHANGED REMOVED ADDED].
///
/// If BY-SYNTAX is non-nil, changes are equal only if they are made in the same of code,
/// strings and comments, as far as `agent-q-diff-module-set-language' has told.  WHERE is nil,
/// or if the same change is made elsewhere in the syntax, too, in what this one is made: a
/// list of symbols, `code', `string' and `comment'.  There may be only one place of it then.
///
/// KIND is one of the symbols `words', `added', `removed', `lines', `indent' and `moved';
/// BEFORE and AFTER are the texts that go and come, of `words' perhaps several,
/// with a character 31 between them, and with those around them that are joined to
/// them in all places.  PLACES is a list of
/// [HUNK FROM TO IS-WHOLE LINE], where the change is the changed lines of HUNK from
/// FROM up to but not including TO, as for `agent-q-diff-module-pick';
/// IS-WHOLE is non-nil if these are all, and LINE is where they begin, from 0: of the original if
/// the first of them is removed, else of the modified text.  CHANGED, REMOVED and ADDED are lists of
/// such places, too: of a block that moved, the lines that changed inside, and those that were only
/// removed or added.  Of the lines that moved, and of those that changed, every other place is where
/// they were removed, and the one after it where they were added.
#[defun]
fn groups<'e>(env: &'e Env, session: &mut Session, by_syntax: Value) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        let moves = ongoing.moves();
        let hunks = ongoing.hunks();
        let numbers = hunks.iter().enumerate().flat_map(|(file, hunks)| {
            let first = ongoing.change.number(file, Entry::Hunk(0));
            first..first + hunks.len()
        });
        let numbers: Vec<_> = numbers.collect();
        let place = |place: &alike::Place| {
            env.vector((
                numbers[place.hunk],
                place.lines.start,
                place.lines.end,
                place.is_whole,
                place.line,
            ))
        };
        let syntaxes = match by_syntax.is_not_nil() {
            true => ongoing.syntaxes(),
            false => Vec::new(),
        };
        let groups = alike::groups(&hunks, &moves, &syntaxes)
            .into_iter()
            .map(|group| {
                let kind = symbol(env, group.kind)?;
                let places = list_of(env, group.places.iter().map(place))?;
                let within = group.within.iter().map(|place| symbol(env, place));
                let within = list_of(env, within)?;
                let block = group.block.unwrap_or_default();
                let changed = list_of(env, block.changed.iter().flatten().map(place))?;
                let removed = list_of(env, block.removed.iter().map(place))?;
                let added = list_of(env, block.added.iter().map(place))?;
                env.vector((
                    kind,
                    group.before,
                    group.after,
                    places,
                    within,
                    changed,
                    removed,
                    added,
                ))
            });
        list_of(env, groups)
    })
}

/// Split hunk HUNK of REVIEW where lines that differ only in white space are next to others.
///
/// Return the number of its parts; 1 if it has only one kind of lines.
#[defun]
fn split_white_space(env: &Env, session: &mut Session, hunk: usize) -> Result<usize> {
    splitting(env, session, hunk, |change, file, hunk| {
        answer(env, change.split_white_space(file, hunk))
    })
}

/// Return the lines that hunk HUNK of REVIEW would leave without its changes of white space.
///
/// Context is among them.  Return nil if that is not defined: if it replaces lines by more
/// or fewer others.
#[defun]
fn without_white_space<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    with_hunk(env, session, hunk, |review, hunk| {
        maybe_text(env, answer(env, review.without_white_space(hunk))?)
    })
}

/// Return the number of misleading characters in the hunks of REVIEW.
#[defun]
fn n_suspects(env: &Env, session: &mut Session) -> Result<usize> {
    catching_panics(env, || {
        let review = text_of(env, session)?;
        let hunks = review.proposal().hunks(HeadingRule::Default);
        let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
        Ok(confusables::n_suspects(lines.map(|line| line.text)))
    })
}

// Comparing a file with a proposal, without a buffer.

/// Return whether FILE certainly shows the original of REVIEW when it is visited.
///
/// REVIEW was made from two texts; FILE is the encoded name of a local file.
/// If the change was written before, the text that REVIEW follows is meant,
/// not the original.  Return t if the file has its bytes, and these are lines
/// of UTF-8.  Return `may-declare' if they also have a word with which a coding
/// system can be declared.  Otherwise, or if FILE cannot be read, return nil.
#[defun]
fn file_has_original<'e>(env: &'e Env, session: &mut Session, file: Vec<u8>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = text_of(env, session)?;
        let target = review.is_written().then(|| review.proposal().target());
        let original = target.as_deref().unwrap_or(review.proposal().original());
        let name = std::str::from_utf8(&file).unwrap_or_default();
        let there = file::read(Path::new(name), Links::Followed, original.len() as u64);
        let decoding = match there {
            Ok(bytes) if bytes == original => Decoding::of(original),
            _ => Decoding::Unknown,
        };
        env.intern(match decoding {
            Decoding::Plain => "t",
            Decoding::MayDeclare => "may-declare",
            Decoding::Unknown => "nil",
        })
    })
}
