//! Beginning a review, and the text of its hunks.

use emacs::{Env, Result, Value, defun};

use agent_q_diff_engine::diff::{Budget, HeadingRule};
use agent_q_diff_engine::patch::parse::{self, FileDiff};
use agent_q_diff_engine::patch::{print, quote};
use agent_q_diff_engine::proposal::{Proposal, ProposalError};
use agent_q_diff_engine::review::{Refusal, Review};
use agent_q_diff_engine::show::{confusables, words};

use crate::error::{answer, catching_panics};
use crate::lisp::{list, rule, text};
use crate::session::{Session, ongoing, session, with_hunk};

/// Return a new review of ORIGINAL to MODIFIED, with CONTEXT lines of context.
///
/// BUDGET is the largest number of steps to compare them, or nil for the
/// usual one; see `agent-q-diff-module-is-coarse'.
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

/// Return t if the texts of REVIEW were too much to compare.
///
/// Its hunks may then be bigger than they need to be; they are right.
#[defun]
fn is_coarse(env: &Env, session: &mut Session) -> Result<bool> {
    catching_panics(env, || Ok(ongoing(env, session)?.proposal().is_coarse()))
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

/// Return a list of (OLD NEW DIFF) for each file that the unified diff TEXT changes.
///
/// OLD and NEW are the names in its file header, or nil if it has none;
/// DIFF is the text of its hunks, under the line with the ids of the two
/// texts if git wrote one.
#[defun]
fn files<'e>(env: &'e Env, text: Vec<u8>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let files = answer(env, parse::parse(&text).map_err(ProposalError::from))?;
        let entry = |file: &FileDiff| {
            let name = |name: Option<&[u8]>| match name {
                Some(name) => self::text(env, &quote::unquoted(name)),
                None => env.intern("nil"),
            };
            let hunks: Vec<_> = file
                .hunks
                .iter()
                .map(|parsed| parsed.hunk.clone())
                .collect();
            let ids = file.blobs.as_ref();
            let ids = ids.map(|ids| format!("index {}..{}\n", ids.old, ids.new));
            let hunks = print::print_hunks(&hunks).bytes;
            let diff = [ids.unwrap_or_default().into_bytes(), hunks].concat();
            let diff = self::text(env, &diff)?;
            env.list((name(file.old_name)?, name(file.new_name)?, diff))
        };
        list(env, files.iter().map(entry).collect::<Result<Vec<_>>>()?)
    })
}

/// Return (DIFF . LINES) for REVIEW.
///
/// DIFF is its unified diff with PATH in the file header; if IS-LISP is
/// non-nil, section headings are found as in Lisp files.  LINES are the
/// numbers of its hunk headers' lines in DIFF, from 0.
#[defun]
fn print<'e>(
    env: &'e Env,
    session: &mut Session,
    path: Vec<u8>,
    is_lisp: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let printed = print::print(
            &path,
            &ongoing(env, session)?.proposal().hunks(rule(is_lisp)),
        );
        let lines = list(env, printed.header_lines)?;
        env.cons(text(env, &printed.bytes)?, lines)
    })
}

/// Return (DIFF . LINES) for some hunks of REVIEW.
///
/// They are those from FROM up to TO, not included.  DIFF is their text
/// without a file header, LINES are the numbers of their headers' lines in
/// it, from 0.  IS-LISP is as for printing all.
#[defun]
fn print_hunks<'e>(
    env: &'e Env,
    session: &mut Session,
    from: usize,
    to: usize,
    is_lisp: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let proposal = ongoing(env, session)?.proposal();
        let n_hunks = proposal.n_hunks();
        if to > n_hunks || from > to {
            let hunk = from.max(to.saturating_sub(1));
            return answer(env, Err(Refusal::NoSuchHunk { hunk, n_hunks }));
        }
        let printed = print::print_hunks(&proposal.hunks_in(from..to, rule(is_lisp)));
        let lines = list(env, printed.header_lines)?;
        env.cons(text(env, &printed.bytes)?, lines)
    })
}

/// Return the numbers of the lines of REVIEW's hunk headers, from 0.
///
/// They count lines of the diff that it was made of; nil if it was made of
/// two texts.
#[defun]
fn header_lines<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let lines = ongoing(env, session)?.proposal().header_lines().to_vec();
        list(env, lines)
    })
}

/// Return t if all hunks of REVIEW leave their lines as they are.
#[defun]
fn is_idle(env: &Env, session: &mut Session) -> Result<bool> {
    catching_panics(env, || Ok(ongoing(env, session)?.proposal().is_idle()))
}

/// Split hunk HUNK of REVIEW into its smallest parts and return their number.
///
/// The parts take the place of HUNK and keep its mark; 1 means that it
/// has only one.
#[defun]
fn split(env: &Env, session: &mut Session, hunk: usize) -> Result<usize> {
    catching_panics(env, || {
        session.leave_off();
        let n_parts = ongoing(env, session)?.split(hunk);
        answer(env, n_parts)
    })
}

/// Make a hunk of its own of some changed lines of hunk HUNK of REVIEW.
///
/// They are those from FROM up to TO, not included, counted from 0 in the
/// order of the diff.  Return (N . INDEX): N hunks take the place of HUNK
/// and keep its mark, and the one at INDEX among them has the lines.
#[defun]
fn pick<'e>(
    env: &'e Env,
    session: &mut Session,
    hunk: usize,
    from: usize,
    to: usize,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        session.leave_off();
        let picked = ongoing(env, session)?.pick(hunk, from..to);
        let (n_parts, index) = answer(env, picked)?;
        env.cons(n_parts, index)
    })
}

/// Return the lines that hunk HUNK of REVIEW leaves, its context among them.
#[defun]
fn proposed<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = with_hunk(env, session, hunk)?;
        text(env, review.proposal().proposed(hunk))
    })
}

/// Return (LINE . TEXT) for hunk HUNK of REVIEW.
///
/// LINE is the line of the target, from 0, where the hunk with its context
/// begins; TEXT is what stands there now.
#[defun]
fn live_lines<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let found = ongoing(env, session)?.live_lines(hunk);
        let (line, lines) = answer(env, found)?;
        env.cons(line, text(env, lines.bytes())?)
    })
}

/// Return (IS-CLEAN IS-COARSE . TEXT) for hunk HUNK of REVIEW.
///
/// TEXT is its lines merged with what stands in their place in the target.
/// Where both have changed the same lines, IS-CLEAN is nil and TEXT has
/// conflict markers around those of the target, original and proposal.
/// IS-COARSE is t if they were too much to compare in full: conflicts may
/// then be bigger than they need to be.
#[defun]
fn merge<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let merged = ongoing(env, session)?.merge(hunk);
        let merged = answer(env, merged)?;
        let rest = env.cons(merged.is_coarse, text(env, &merged.bytes)?)?;
        env.cons(merged.is_clean, rest)
    })
}

/// Return the changed words of hunk HUNK of REVIEW, a list of (LINE FROM TO).
///
/// LINE counts its lines from 0, its header left out; FROM and TO count the
/// characters of the line from 0 behind its sign, TO not included.
#[defun]
fn changed_words<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = with_hunk(env, session, hunk)?;
        let hunks = review
            .proposal()
            .hunks_in(hunk..hunk + 1, HeadingRule::Default);
        let spans = hunks.iter().flat_map(words::changed_words);
        let spans = spans.map(|span| env.list((span.line, span.columns.start, span.columns.end)));
        list(env, spans.collect::<Result<Vec<_>>>()?)
    })
}

/// Return a list of the hunks of REVIEW that change nothing but white space.
#[defun]
fn blank_hunks<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let hunks = ongoing(env, session)?
            .proposal()
            .hunks(HeadingRule::Default);
        let blank = (0..hunks.len()).filter(|&hunk| words::is_white_space_only(&hunks[hunk]));
        list(env, blank.collect())
    })
}

/// Return the number of characters in the hunks of REVIEW that read as something else.
#[defun]
fn n_suspects(env: &Env, session: &mut Session) -> Result<usize> {
    catching_panics(env, || {
        let proposal = ongoing(env, session)?.proposal();
        let hunks = proposal.hunks(HeadingRule::Default);
        let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
        Ok(confusables::n_suspects(lines.map(|line| line.text)))
    })
}
