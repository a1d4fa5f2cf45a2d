//! The Emacs module: the only crate that depends on the `emacs` crate.
//!
//! Each function here copies its arguments in, calls the engine and hands a plain Lisp value out;
//! none keeps a Lisp value or calls back while a review is borrowed. The documentation of a
//! function is its Lisp docstring. `agent-q-diff-engine.el` wraps them all.

use std::any::Any;
use std::cell::RefCell;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};

use emacs::{Env, IntoLisp, Result, Value, defun};

use agent_q_diff_engine::diff::{Budget, HeadingRule};
use agent_q_diff_engine::patch::locate::Place;
use agent_q_diff_engine::patch::parse::{self, FileDiff};
use agent_q_diff_engine::patch::print;
use agent_q_diff_engine::patch::quote;
use agent_q_diff_engine::proposal::{Candidate, Obstacle, Proposal, ProposalError, Seen, Side};
use agent_q_diff_engine::review::{
    Basis, Command, Decision, Fact, Mark, Note, Plan, Refusal, Review,
};
use agent_q_diff_engine::show::confusables::{self, Deceit, Suspect};
use agent_q_diff_engine::show::words;
use agent_q_diff_engine::text::n_chars;
use agent_q_diff_engine::tool::diff_lines::{
    Kind, TypedLine, typed_lines as typed_lines_of, typed_replacement,
};
use agent_q_diff_engine::tool::nearest::Difference;
use agent_q_diff_engine::tool::replacement::{self, Match, ReplaceError, Scope};
use agent_q_diff_engine::weave::{LineEdit, Next, Reading};

emacs::plugin_is_GPL_compatible!();

thread_local! {
    /// What the last panic on this thread said and where it was.
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
    /// Where parts of a buffer are copied.
    static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Most bytes of a character of Unicode in UTF-8.
const MAX_CHAR_LEN: usize = 4;

const ROOM_LEN: usize = MAX_CHAR_LEN * Reading::PART_LEN + 1;

/// Prepares the module. The default panic hook would write over a terminal frame, and what it
/// writes is what the Lisp error must say.
#[emacs::module(
    name = "agent-q-diff-module",
    defun_prefix = "agent-q-diff-module",
    separator = "-",
    mod_in_name = false
)]
fn init(_: &Env) -> Result<()> {
    panic::set_hook(Box::new(|info| LAST_PANIC.set(info.to_string())));
    Ok(())
}

/// The one type that Lisp holds. A `user-ptr` of a second type could be taken for it, since Emacs
/// compares only the address of its finalizer.
struct Session {
    /// `None` once the review has ended and its memory is given back.
    review: Option<Counted>,
    /// What was planned last and is neither committed nor failed.
    plan: Option<Plan>,
    /// How far the target was read.
    reading: Option<Reading>,
}

/// A review for Lisp.
fn session(review: Review) -> Session {
    N_REVIEWS.fetch_add(1, Ordering::Relaxed);
    Session {
        review: Some(Counted(review)),
        plan: None,
        reading: None,
    }
}

impl Session {
    /// Leaves off what was planned, and what was read: the target may be another one then.
    fn leave_off(&mut self) {
        self.plan = None;
        self.reading = None;
    }
}

/// The number of reviews that hold memory.
static N_REVIEWS: AtomicUsize = AtomicUsize::new(0);

/// A review that is counted while it holds memory.
struct Counted(Review);

impl Drop for Counted {
    fn drop(&mut self) {
        N_REVIEWS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Return the number of reviews whose memory was not given back.
#[defun]
fn n_reviews() -> Result<usize> {
    Ok(N_REVIEWS.load(Ordering::Relaxed))
}

/// Return the version of the engine, a string.
#[defun]
fn version() -> Result<&'static str> {
    Ok(env!("CARGO_PKG_VERSION"))
}

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

/// Give back what REVIEW holds.  Every later use of it is an error.
#[defun]
fn free(session: &mut Session) -> Result<()> {
    session.review = None;
    session.leave_off();
    Ok(())
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

/// Tell REVIEW that its target's text is now LIVE.  Return t if that is news.
#[defun]
fn follow(env: &Env, session: &mut Session, live: Vec<u8>) -> Result<bool> {
    catching_panics(env, || {
        session.leave_off();
        let review = ongoing(env, session)?;
        // What it then reads as, it has found out.
        Ok(review.follow(&live) || review.recognize())
    })
}

/// Return `original' or `modified' if REVIEW's target is that text, else nil.
///
/// They are the texts that REVIEW was made of.  N-CHARS is the number of
/// characters that the target has.
#[defun]
fn side<'e>(env: &'e Env, session: &mut Session, n_chars: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let proposal = ongoing(env, session)?.proposal();
        // Else raw bytes in the target make up a character.
        let is_text = proposal.n_chars() == n_chars;
        env.intern(match is_text.then(|| proposal.side()).flatten() {
            Some(Side::Old) => "original",
            Some(Side::New) => "modified",
            None => "nil",
        })
    })
}

/// Return (OLD . NEW), the ids of the texts that REVIEW's diff compares, or nil.
///
/// They are as git wrote them: as many hexadecimal digits as it found
/// enough, 7 or more.  Once one of the texts is known, the value is nil.
#[defun]
fn blobs<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || match ongoing(env, session)?.proposal().blobs() {
        Some(ids) => env.cons(ids.old.as_str(), ids.new.as_str()),
        None => ().into_lisp(env),
    })
}

/// Tell REVIEW that LIVE, its target's text, is one that its diff compares.
///
/// It is the one after the change if IS-NEW is non-nil, or else the one
/// before.  Then each hunk is where its header says; return t.  If the
/// lines are not there, return nil, and nothing is learned.
#[defun]
fn adopt(env: &Env, session: &mut Session, live: Vec<u8>, is_new: Value) -> Result<bool> {
    catching_panics(env, || {
        session.leave_off();
        let side = match is_new.is_not_nil() {
            true => Side::New,
            false => Side::Old,
        };
        Ok(ongoing(env, session)?.adopt(&live, side))
    })
}

/// Begin to read the text of REVIEW's target, of N-CHARS characters.
///
/// Return (FROM . TO), the characters from 0 that `read-on' wants; nil if
/// the review can only `follow' the whole text.
#[defun]
fn read<'e>(env: &'e Env, session: &mut Session, n_chars: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        session.leave_off();
        session.reading = ongoing(env, session)?.reading(n_chars);
        match &session.reading {
            Some(reading) => chars(env, reading.part()),
            None => ().into_lisp(env),
        }
    })
}

/// Go on reading the target of REVIEW: TEXT is what was asked for.
///
/// Return what is wanted next, as (FROM . TO).  At the end return t if the
/// text is news, nil if not.
#[defun]
fn read_on<'e>(env: &'e Env, session: &mut Session, text: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let Some(mut reading) = session.reading.take() else {
            return signal(env, "error", "nothing is being read");
        };
        let review = ongoing(env, session)?;
        let next = with_part(text, reading.part().len(), |text| {
            review.read_on(&mut reading, text)
        })?;
        match next {
            Next::Read(part) => {
                session.reading = Some(reading);
                chars(env, part)
            }
            // What it then reads as, it has found out.
            Next::Changed(_) => true.into_lisp(env),
            Next::Same => review.recognize().into_lisp(env),
        }
    })
}

/// Calls `body` with the bytes of `text`, a string of `n_chars` characters.
///
/// Emacs encodes a string once to tell its length and once to copy it. Into room that is there and
/// large enough it is copied at once.
fn with_part<T>(text: Value<'_>, n_chars: usize, body: impl FnOnce(&[u8]) -> T) -> Result<T> {
    // With the zero byte that Emacs puts behind it.
    if MAX_CHAR_LEN * n_chars + 1 > ROOM_LEN {
        return Ok(body(&text.clone_string_contents()?));
    }
    ROOM.with_borrow_mut(|room| {
        room.resize(ROOM_LEN, 0);
        Ok(body(text.copy_string_contents(room)?))
    })
}

/// Returns characters of a buffer for Lisp: (FROM . TO), from 0.
fn chars<'e>(env: &'e Env, chars: Range<usize>) -> Result<Value<'e>> {
    env.cons(chars.start, chars.end)
}

/// Take it in that REVIEW was told of every edit of its target.
///
/// N-CHARS is the number of characters that the target now has.  Return
/// `follow' if that cannot be all, so that the whole text is needed; t if
/// the target reads as a choice of hunks, although others had a hand in
/// it; nil otherwise.
#[defun]
fn recognize<'e>(env: &'e Env, session: &mut Session, n_chars: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        session.leave_off();
        let review = ongoing(env, session)?;
        if review.proposal().n_chars() != n_chars {
            return env.intern("follow");
        }
        env.intern(if review.recognize() { "t" } else { "nil" })
    })
}

/// Tell REVIEW that somebody else edited its target; nil if that cannot be.
///
/// All but the first N-BEFORE characters and the last N-BEHIND are now
/// TEXT, whole lines; there were N-CHARS of them before.  HOW is a number:
/// 1 if the edit began at the start of a line, and 2 more if it undid
/// another.
#[defun]
fn edit_outside(
    env: &Env,
    session: &mut Session,
    n_before: usize,
    n_behind: usize,
    n_chars: usize,
    text: Vec<u8>,
    how: usize,
) -> Result<bool> {
    catching_panics(env, || {
        session.leave_off();
        let seen = Seen {
            n_before,
            n_behind,
            n_chars,
            text: &text,
            is_at_start: how & 1 != 0,
            is_undo: how & 2 != 0,
        };
        Ok(told(env, session)?.see_edit_loosely(&seen))
    })
}

/// Return (MARK FACT REASON PLACE) of hunk HUNK of REVIEW.
///
/// MARK is `applied', `rejected' or nil; FACT is t if its change is in the
/// target, `mixed' if a part of it is; REASON is nil, or a string that says
/// why it cannot be changed there.  PLACE is `next-to-edit', `ambiguous',
/// `conflict', `lost' if it was there and others have changed its lines
/// since, the number of lines by which it is shifted, or nil if nothing is
/// to be said about it.
#[defun]
fn state<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = with_hunk(env, session, hunk)?;
        let mark = mark_symbol(env, review.mark(hunk))?;
        let fact = env.intern(match review.fact(hunk) {
            Fact::In => "t",
            Fact::Out => "nil",
            Fact::Mixed => "mixed",
        })?;
        let obstacle = review.proposal().obstacle(hunk);
        let proposal = review.proposal();
        let place = match &obstacle {
            None if proposal.is_next_to_edit(hunk) => env.intern("next-to-edit")?,
            None => match proposal.place(hunk) {
                Ok(Place { offset: 0, .. }) | Err(_) => env.intern("nil")?,
                Ok(Place { offset, .. }) => i64::try_from(offset)?.into_lisp(env)?,
            },
            Some(_) if proposal.is_lost(hunk) => env.intern("lost")?,
            Some(Obstacle::NotPlaced(why)) if why.is_ambiguous() => env.intern("ambiguous")?,
            Some(_) => env.intern("conflict")?,
        };
        let reason = obstacle.map(|obstacle| obstacle.to_string());
        env.list((mark, fact, reason, place))
    })
}

/// Return the mark of hunk HUNK of REVIEW: `applied', `rejected' or nil.
#[defun]
fn mark<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = with_hunk(env, session, hunk)?;
        mark_symbol(env, review.mark(hunk))
    })
}

/// Return the marks of all hunks of REVIEW, a list of `applied', `rejected' or nil.
#[defun]
fn marks<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = ongoing(env, session)?;
        let hunks = 0..review.proposal().n_hunks();
        let marks = hunks.map(|hunk| mark_symbol(env, review.mark(hunk)));
        list(env, marks.collect::<Result<Vec<_>>>()?)
    })
}

/// Set the mark of hunk HUNK of REVIEW to MARK: `applied', `rejected' or nil.
#[defun]
fn set_mark(env: &Env, session: &mut Session, hunk: usize, mark: Value) -> Result<()> {
    catching_panics(env, || {
        let marks = [Mark::Pending, Mark::Applied, Mark::Rejected];
        let named = |candidate: &Mark| Ok(mark_symbol(env, *candidate)? == mark);
        let chosen: Option<Mark> = find(marks, named)?;
        let Some(chosen) = chosen else {
            return signal(
                env,
                "agent-q-diff-error",
                "a mark is `applied', `rejected' or nil",
            );
        };
        with_hunk(env, session, hunk)?.set_mark(hunk, chosen);
        Ok(())
    })
}

/// Return (TOTAL APPLIED REJECTED IN-TARGET), numbers of hunks of REVIEW.
#[defun]
fn counts<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let counts = ongoing(env, session)?.counts();
        env.list((
            counts.total,
            counts.applied,
            counts.rejected,
            counts.in_target,
        ))
    })
}

/// Return (TOTAL APPLIED REJECTED), numbers of hunks of REVIEW by their marks.
#[defun]
fn tally<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let (total, applied, rejected) = ongoing(env, session)?.tally();
        env.list((total, applied, rejected))
    })
}

/// Return the next pending hunk of REVIEW after HUNK, or nil if no other is.
///
/// After the last hunk comes the first one.
#[defun]
fn next_pending(env: &Env, session: &mut Session, hunk: usize) -> Result<Option<usize>> {
    catching_panics(
        env,
        || Ok(with_hunk(env, session, hunk)?.next_pending(hunk)),
    )
}

/// Return (CONFLICT AMBIGUOUS SHIFTED IN), numbers of hunks of REVIEW.
///
/// They are those that cannot be changed, those whose place is ambiguous,
/// those that are not where they were expected, and those that are in the
/// target.  None is counted twice.
#[defun]
fn standing<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let standing = ongoing(env, session)?.standing();
        env.list((
            standing.conflict,
            standing.ambiguous,
            standing.shifted,
            standing.is_in,
        ))
    })
}

/// Return (LINE OFFSET FUZZ) of hunk HUNK of REVIEW.
///
/// LINE is the line of the target, from 0, where its first change is or
/// would be; OFFSET is how many lines that is from the expected place;
/// FUZZ is how many outer context lines on a side were ignored.
#[defun]
fn place<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let proposal = with_hunk(env, session, hunk)?.proposal();
        let place = answer(env, proposal.place(hunk).map_err(Refusal::from))?;
        let offset = i64::try_from(place.offset)?;
        env.list((place.line, offset, proposal.fuzz(hunk)))
    })
}

/// Return a list of (LINE CHANGE IS-IN FUZZ N-LINES): where HUNK of REVIEW may be.
///
/// The likeliest place comes first: that which the hunk's header states, or
/// else the nearest to it.  LINE is the line of the target, from 0, where
/// the hunk's lines begin, CHANGE that of its first change.  IS-IN is
/// non-nil if the lines there have the change.  FUZZ is how many outer
/// context lines on a side differ there, and N-LINES how many lines of the
/// target are its own.  A hunk that has a certain place has no other, and
/// one that cannot be found has none.
#[defun]
fn candidates<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = ongoing(env, session)?;
        answer(env, review.check_hunk(hunk))?;
        let places = review.proposal().candidates(hunk);
        let entry = |place: &Candidate| {
            let Candidate { line, change, .. } = *place;
            env.list((line, change, place.is_in, place.fuzz, place.len))
        };
        list(env, places.iter().map(entry).collect::<Result<Vec<_>>>()?)
    })
}

/// Return (PLACES FUZZ WAS-IN) of hunk HUNK of REVIEW.
///
/// PLACES are the lines of the target, from 0 and in order, among which
/// somebody has to choose, or nil if there is no choice; FUZZ is how many outer context lines on a side
/// were ignored to find it; WAS-IN is t if its change is in the target and
/// no command put it there.
#[defun]
fn certainty<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = ongoing(env, session)?;
        answer(env, review.check_hunk(hunk))?;
        let proposal = review.proposal();
        let places = match proposal.obstacle(hunk) {
            Some(Obstacle::NotPlaced(why)) => why.candidates().to_vec(),
            _ => Vec::new(),
        };
        let fuzz = proposal.fuzz(hunk);
        env.list((list(env, places)?, fuzz, review.was_in(hunk)))
    })
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

/// Return the headers of all hunks of REVIEW, a line for each.
///
/// IS-LISP is as for printing them.
#[defun]
fn print_headers<'e>(env: &'e Env, session: &mut Session, is_lisp: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let hunks = ongoing(env, session)?.proposal().hunks(rule(is_lisp));
        text(env, &print::print_headers(&hunks))
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

/// Return the lines that hunk HUNK of REVIEW leaves, its context among them.
#[defun]
fn proposed<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = with_hunk(env, session, hunk)?;
        text(env, review.proposal().proposed(hunk))
    })
}

/// Return whether the user has made something else of hunk HUNK of REVIEW.
#[defun]
fn is_edited(env: &Env, session: &mut Session, hunk: usize) -> Result<bool> {
    catching_panics(env, || {
        let review = with_hunk(env, session, hunk)?;
        Ok(review.is_edited(hunk))
    })
}

/// Return a number that hunk HUNK of REVIEW keeps while its lines are the same.
#[defun]
fn hunk_id(env: &Env, session: &mut Session, hunk: usize) -> Result<usize> {
    catching_panics(env, || {
        let review = with_hunk(env, session, hunk)?;
        Ok(review.id(hunk))
    })
}

/// Return the hunk of REVIEW with the number ID, or nil if there is none any more.
#[defun]
fn hunk_with_id(env: &Env, session: &mut Session, id: usize) -> Result<Option<usize>> {
    catching_panics(env, || Ok(ongoing(env, session)?.hunk_with_id(id)))
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

/// Return the characters of TEXT that read as something else.
///
/// They are a list of (INDEX . DECEIT): their indices, from 0, and as what
/// they deceive: `direction', `invisible', `space', `control', `lookalike'
/// or `combining'.
#[defun]
fn suspects<'e>(env: &'e Env, text: Vec<u8>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let suspects = confusables::suspects(&text);
        let names = Deceit::ALL.map(deceit_name).map(|name| env.intern(name));
        let names = names.into_iter().collect::<Result<Vec<_>>>()?;
        let pair = |suspect: &Suspect| env.cons(suspect.index, names[suspect.deceit as usize]);
        let pairs = suspects.iter().map(pair).collect::<Result<Vec<_>>>()?;
        list(env, pairs)
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

fn deceit_name(deceit: Deceit) -> &'static str {
    match deceit {
        Deceit::Direction => "direction",
        Deceit::Invisible => "invisible",
        Deceit::Space => "space",
        Deceit::Control => "control",
        Deceit::Lookalike => "lookalike",
        Deceit::Combining => "combining",
    }
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

/// Plan that hunk HUNK of REVIEW leaves TEXT, and return (NOTE . EDITS).
///
/// TEXT is to take the place of the lines that the hunk was to leave, its
/// context among them, or if IS-MERGED is non-nil, of what stands in the
/// target now.  NOTE and EDITS are as in `agent-q-diff-module-plan'; commit
/// as there.
#[defun]
fn plan_text<'e>(
    env: &'e Env,
    session: &mut Session,
    hunk: usize,
    text: Vec<u8>,
    is_merged: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = ongoing(env, session)?;
        let planned = match is_merged.is_not_nil() {
            true => review.plan_merge(hunk, &text),
            false => review.plan_edit(hunk, &text),
        };
        let plan = answer(env, planned)?;
        keep(env, session, plan)
    })
}

/// Return the line, from 0, where hunk HUNK of REVIEW would be changed, or nil.
#[defun]
fn line(env: &Env, session: &mut Session, hunk: usize) -> Result<Option<usize>> {
    catching_panics(env, || {
        Ok(with_hunk(env, session, hunk)?.proposal().line(hunk))
    })
}

/// Plan COMMAND on hunk HUNK of REVIEW and return (NOTE . EDITS).
///
/// COMMAND is `accept', `reject', `toggle' or `unapply'.  NOTE is `edited',
/// `marked', `unchanged', `already-in', `stays-in' or `already-out'.
/// EDITS is a list of (LINE N-REMOVED TEXT), last line first: N-REMOVED
/// lines of the target from LINE, counted from 0, give way to TEXT.
/// Make them, then call `agent-q-diff-module-commit'.  PLACE is nil, or the
/// line at which the hunk is to be, one of `agent-q-diff-module-candidates',
/// or (LINE . IS-IN) for one of two with that line, or t: then the place that
/// is known, though ambiguous, is taken for right.
#[defun]
fn plan<'e>(
    env: &'e Env,
    session: &mut Session,
    command: Value<'e>,
    hunk: usize,
    place: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let command = command_named(env, command)?;
        let review = ongoing(env, session)?;
        let planned = if !place.is_not_nil() {
            review.plan(hunk, command)
        } else if place == env.intern("t")? {
            review.plan_vouched(hunk, command)
        } else {
            let place = match place.car::<usize>() {
                Ok(line) => (line, Some(place.cdr::<Value>()?.is_not_nil())),
                Err(_) => (place.into_rust()?, None),
            };
            review.plan_at(hunk, place, command)
        };
        let plan = answer(env, planned)?;
        keep(env, session, plan)
    })
}

/// Plan to accept every pending hunk of REVIEW and return (EDITS . REFUSED).
///
/// If IS-OUT is non-nil, plan to take every hunk out of the target instead.
/// EDITS is as in `agent-q-diff-module-plan'.  REFUSED is a list of
/// (HUNK . REASON): those that cannot be accepted, with a string.
#[defun]
fn plan_all<'e>(env: &'e Env, session: &mut Session, is_out: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = ongoing(env, session)?;
        let (plan, refused) = match is_out.is_not_nil() {
            true => review.plan_none(),
            false => review.plan_all(),
        };
        let pair = |(hunk, reason): (usize, Refusal)| env.cons(hunk, reason.to_string());
        let pairs = refused.into_iter().map(pair).collect::<Result<Vec<_>>>()?;
        let planned = env.cons(edits(env, &plan.edits)?, list(env, pairs)?);
        session.plan = Some(plan);
        planned
    })
}

/// Return (TOTAL . OFFSETS) for what was planned for REVIEW last.
///
/// OFFSETS are the characters of the target before each of its edits, in
/// their order; TOTAL is the number of all.  Emacs counts the same unless
/// raw bytes in the target make up a character: then it has more.
#[defun]
fn offsets<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let Some(plan) = &session.plan else {
            return signal(env, "agent-q-diff-error", "nothing is planned");
        };
        let Some(review) = &session.review else {
            return signal(env, "agent-q-diff-ended", "the review has ended");
        };
        let mut offsets = review.0.proposal().offsets_of(&plan.edits);
        offsets.reverse();
        env.cons(review.0.proposal().n_chars(), list(env, offsets)?)
    })
}

/// Plan to take the latest decision on REVIEW back and return (HUNKS . EDITS).
///
/// If IS-REDO is non-nil, plan to redo the decision that was undone last.
/// HUNKS are the hunks that it changes, EDITS as in `agent-q-diff-module-plan'.
#[defun]
fn plan_back<'e>(env: &'e Env, session: &mut Session, is_redo: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = ongoing(env, session)?;
        let planned = match is_redo.is_not_nil() {
            true => review.plan_redo(),
            false => review.plan_undo(),
        };
        let plan = answer(env, planned)?;
        let hunks = list(env, plan.steps.iter().map(|(hunk, _)| *hunk).collect())?;
        let edits = edits(env, &plan.edits)?;
        session.plan = Some(plan);
        env.cons(hunks, edits)
    })
}

/// Return the number of decisions on REVIEW that can be taken back.
#[defun]
fn n_decisions(env: &Env, session: &mut Session) -> Result<usize> {
    catching_panics(env, || Ok(ongoing(env, session)?.n_decisions()))
}

/// Make the latest N decisions on REVIEW one, to be taken back together.
#[defun]
fn join_decisions(env: &Env, session: &mut Session, n: usize) -> Result<()> {
    catching_panics(env, || {
        ongoing(env, session)?.join_decisions(n);
        Ok(())
    })
}

/// Take over what was planned for REVIEW last, now that its edits are made.
#[defun]
fn commit(env: &Env, session: &mut Session) -> Result<()> {
    session.reading = None;
    catching_panics(env, || match session.plan.take() {
        Some(plan) => {
            ongoing(env, session)?.commit(&plan);
            Ok(())
        }
        None => signal(env, "agent-q-diff-error", "nothing is planned"),
    })
}

/// Note that hunk HUNK of REVIEW was accepted and could not be applied.
#[defun]
fn fail(env: &Env, session: &mut Session, hunk: usize) -> Result<()> {
    catching_panics(env, || {
        session.leave_off();
        with_hunk(env, session, hunk)?.fail(hunk);
        Ok(())
    })
}

/// Reject every pending hunk of REVIEW.
#[defun]
fn reject_all(env: &Env, session: &mut Session) -> Result<()> {
    catching_panics(env, || {
        ongoing(env, session)?.reject_all();
        Ok(())
    })
}

/// Return what REVIEW comes to: `accepted', `rejected' or `not-applied'.
///
/// If BY-FACTS is non-nil, what is in the target decides, else the marks.
#[defun]
fn decision<'e>(env: &'e Env, session: &mut Session, by_facts: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let basis = if by_facts.is_not_nil() {
            Basis::Facts
        } else {
            Basis::Marks
        };
        env.intern(match ongoing(env, session)?.decision(basis) {
            Decision::Accepted => "accepted",
            Decision::Rejected => "rejected",
            Decision::NotApplied => "not-applied",
        })
    })
}

/// Return where OLD is in TEXT, a list of the lines, from 0, on which each match begins.
///
/// Matches that overlap count, each of them.
#[defun]
fn matches<'e>(env: &'e Env, text: Vec<u8>, old: Vec<u8>) -> Result<Value<'e>> {
    catching_panics(env, || {
        if old.is_empty() {
            return answer(env, Err(ReplaceError::Empty));
        }
        let found = replacement::matches(&text, &old);
        list(env, found.into_iter().map(|place| place.line).collect())
    })
}

/// Return (SPANS LINES NEW HASHES . TYPED), what is to be done if OLD shall become NEW in TEXT.
///
/// SPANS is a list of (START . END), offsets in characters, or in bytes if
/// IN-BYTES is non-nil, of what NEW is to replace.  LINES is a list of
/// (FIRST . END): the lines, from 0, on which each NEW then stands.  NEW has
/// the line ends of TEXT.  HASHES is (BEFORE . AFTER), the SHA-256 of TEXT
/// and of the result in UTF-8, or nil if they are not text.  TYPED is as for
/// `agent-q-diff-module-typed-lines', with CONTEXT unchanged lines.  One
/// match is to be found, or any number of them if IS-ALL is non-nil.
#[defun]
fn replace<'e>(
    env: &'e Env,
    text: Vec<u8>,
    old: Vec<u8>,
    new: Vec<u8>,
    is_all: Value<'e>,
    in_bytes: Value<'e>,
    context: usize,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let scope = match is_all.is_not_nil() {
            true => Scope::All,
            false => Scope::Unique,
        };
        let found = match replacement::find(&text, &old, &new, scope) {
            Ok(found) => found,
            Err(error) => return refuse_replacement(env, &error),
        };
        let spans = spans(&text, &found.matches, in_bytes.is_not_nil());
        let affected = found.affected_lines(&text);
        let lines = affected.iter().map(|lines| (lines.start, lines.end));
        let lines = pairs(env, lines)?;
        let spans = pairs(env, spans.into_iter())?;
        let typed = typed_list(env, &typed_replacement(&text, &found, context))?;
        let is_text = [&text[..], &found.new]
            .iter()
            .all(|bytes| str::from_utf8(bytes).is_ok());
        let hashes = match is_text {
            true => {
                let (before, after) = found.hashes(&text);
                env.cons(before, after)?
            }
            false => env.intern("nil")?,
        };
        let rest = env.cons(hashes, typed)?;
        let rest = env.cons(self::text(env, &found.new)?, rest)?;
        env.cons(spans, env.cons(lines, rest)?)
    })
}

/// Return the SHA-256 of TEXT in UTF-8, in hexadecimal digits.
#[defun]
fn hash(env: &Env, text: Vec<u8>) -> Result<String> {
    catching_panics(env, || Ok(replacement::hash(&text)))
}

/// Return what changes ORIGINAL to MODIFIED as a list of (KIND OLD NEW TEXT).
///
/// KIND is `hunk', `context', `added', `removed' or `no-newline'.  OLD and
/// NEW are the numbers of the line, from 1, on either side, or 0 where it
/// is not.  TEXT is without sign and newline.  CONTEXT unchanged lines are
/// around a change.
#[defun]
fn typed_lines<'e>(
    env: &'e Env,
    original: Vec<u8>,
    modified: Vec<u8>,
    context: usize,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        typed_list(env, &typed_lines_of(original, modified, context))
    })
}

/// Panic with MESSAGE, for the test that Emacs survives it.
#[cfg(feature = "test-panic")]
#[defun]
fn panic(env: &Env, message: String) -> Result<()> {
    catching_panics(env, || panic!("{message}"))
}

/// Returns the places of `matches` in `text` as offsets that Emacs can use.
fn spans(text: &[u8], matches: &[Match], in_bytes: bool) -> Vec<(usize, usize)> {
    let (mut offset, mut counted) = (0, 0);
    let mut upto = |end: usize| {
        let more = &text[counted..end];
        offset += if in_bytes { more.len() } else { n_chars(more) };
        counted = end;
        offset
    };
    let places = matches.iter().map(|found| &found.bytes);
    places
        .map(|bytes| (upto(bytes.start), upto(bytes.end)))
        .collect()
}

/// Returns `lines` as a list of (KIND OLD NEW TEXT) for Lisp.
fn typed_list<'e>(env: &'e Env, lines: &[TypedLine]) -> Result<Value<'e>> {
    let entry = |line: &TypedLine| {
        let kind = env.intern(match line.kind {
            Kind::Hunk => "hunk",
            Kind::Context => "context",
            Kind::Added => "added",
            Kind::Removed => "removed",
            Kind::NoNewline => "no-newline",
        })?;
        env.list((
            kind,
            line.old_number,
            line.new_number,
            text(env, &line.text)?,
        ))
    };
    list(env, lines.iter().map(entry).collect::<Result<Vec<_>>>()?)
}

/// Returns `items` as a list of conses for Lisp.
fn pairs<'e>(env: &'e Env, items: impl Iterator<Item = (usize, usize)>) -> Result<Value<'e>> {
    let conses = items.map(|(one, other)| env.cons(one, other));
    list(env, conses.collect::<Result<Vec<_>>>()?)
}

/// Signals why there is no replacement, with what a message needs: the lines of the matches, or
/// `(FIRST END . DIFFERENCES)` of the nearest text.
fn refuse_replacement<T>(env: &Env, error: &ReplaceError) -> Result<T> {
    let details = match error {
        ReplaceError::Several { lines } | ReplaceError::Overlapping { lines } => {
            list(env, lines.clone())?
        }
        ReplaceError::NotFound {
            nearest: Some(nearest),
        } => {
            let kinds = nearest.differences.iter().copied();
            let kinds = kinds.map(|kind| env.intern(difference_name(kind)));
            let kinds = list(env, kinds.collect::<Result<Vec<_>>>()?)?;
            env.cons(nearest.lines.start, env.cons(nearest.lines.end, kinds)?)?
        }
        _ => env.intern("nil")?,
    };
    let data = env.list((error.to_string(), details))?;
    signal_data(env, error.symbol(), data)
}

fn difference_name(difference: Difference) -> &'static str {
    match difference {
        Difference::LineEnds => "line-ends",
        Difference::WhiteSpace => "white-space",
        Difference::Case => "case",
        Difference::Normalization => "normalization",
        Difference::Punctuation => "punctuation",
        Difference::Invisible => "invisible",
        Difference::Wording => "wording",
    }
}

/// Runs `body`, and turns a panic into the Lisp error `agent-q-diff-panic` with its text.
fn catching_panics<T>(env: &Env, body: impl FnOnce() -> Result<T>) -> Result<T> {
    let unwound: std::result::Result<_, Box<dyn Any + Send>> =
        panic::catch_unwind(AssertUnwindSafe(body));
    match unwound {
        Ok(result) => result,
        Err(_) => signal(env, "agent-q-diff-panic", &LAST_PANIC.take()),
    }
}

/// Returns the review of `session`, ready to be asked.
fn ongoing<'s>(env: &Env, session: &'s mut Session) -> Result<&'s mut Review> {
    let review = told(env, session)?;
    review.settle();
    Ok(review)
}

/// Returns the review of `session`, to be told of one of a run of edits and not to be asked.
fn told<'s>(env: &Env, session: &'s mut Session) -> Result<&'s mut Review> {
    match &mut session.review {
        Some(Counted(review)) => Ok(review),
        None => signal(env, "agent-q-diff-ended", "the review has ended"),
    }
}

/// Returns the review of `session`, which has a hunk `hunk`; signals `agent-q-diff-no-hunk` if it
/// has none.
fn with_hunk<'s>(env: &Env, session: &'s mut Session, hunk: usize) -> Result<&'s mut Review> {
    let review = ongoing(env, session)?;
    answer(env, review.check_hunk(hunk))?;
    Ok(review)
}

/// An error of the engine that has a symbol in Lisp.
trait Signal: std::error::Error {
    fn symbol(&self) -> &'static str;
}

impl Signal for ProposalError {
    fn symbol(&self) -> &'static str {
        match self {
            ProposalError::Identical => "agent-q-diff-identical",
            ProposalError::Malformed(_) | ProposalError::EndsEarly { .. } => {
                "agent-q-diff-malformed"
            }
            ProposalError::SeveralFiles { .. } => "agent-q-diff-several-files",
        }
    }
}

impl Signal for Refusal {
    fn symbol(&self) -> &'static str {
        match self {
            Refusal::NoSuchHunk { .. } => "agent-q-diff-no-hunk",
            Refusal::NoSuchLines => "agent-q-diff-no-hunk",
            Refusal::ChangesNothing => "agent-q-diff-identical",
            Refusal::NotIn => "agent-q-diff-not-in",
            Refusal::NothingToTakeBack => "agent-q-diff-nothing-to-take-back",
            Refusal::NotPlaced(why) if why.is_ambiguous() => "agent-q-diff-ambiguous",
            Refusal::NotPlaced(_) => "agent-q-diff-not-found",
            Refusal::Flip(_) => "agent-q-diff-conflict",
        }
    }
}

impl Signal for ReplaceError {
    fn symbol(&self) -> &'static str {
        match self {
            ReplaceError::Empty => "agent-q-diff-empty-search",
            ReplaceError::Equal => "agent-q-diff-equal-texts",
            ReplaceError::NotFound { .. } => "agent-q-diff-no-match",
            ReplaceError::Several { .. } => "agent-q-diff-several-matches",
            ReplaceError::Overlapping { .. } => "agent-q-diff-overlapping-matches",
        }
    }
}

fn answer<T, E: Signal>(env: &Env, result: std::result::Result<T, E>) -> Result<T> {
    result.or_else(|error| signal(env, error.symbol(), &error.to_string()))
}

/// Signals the Lisp error `symbol` with `message`.
fn signal<T>(env: &Env, symbol: &str, message: &str) -> Result<T> {
    signal_data(env, symbol, env.list((message,))?)
}

fn signal_data<T>(env: &Env, symbol: &str, data: Value<'_>) -> Result<T> {
    match env.call("signal", (env.intern(symbol)?, data)) {
        Err(error) => Err(error),
        Ok(_) => unreachable!("`signal' returned"),
    }
}

fn find<T: Copy, const N: usize>(
    all: [T; N],
    is_it: impl Fn(&T) -> Result<bool>,
) -> Result<Option<T>> {
    for one in all {
        if is_it(&one)? {
            return Ok(Some(one));
        }
    }
    Ok(None)
}

/// Returns how section headings are found in a file that is Lisp or not.
fn rule(is_lisp: Value) -> HeadingRule {
    match is_lisp.is_not_nil() {
        true => HeadingRule::Lisp,
        false => HeadingRule::Default,
    }
}

fn command_named(env: &Env, name: Value) -> Result<Command> {
    let named = [
        ("accept", Command::Accept),
        ("reject", Command::Reject),
        ("toggle", Command::Toggle),
        ("unapply", Command::Unapply),
    ];
    match find(named, |(candidate, _)| Ok(env.intern(candidate)? == name))? {
        Some((_, command)) => Ok(command),
        None => signal(env, "agent-q-diff-error", "no such command"),
    }
}

fn mark_symbol(env: &Env, mark: Mark) -> Result<Value<'_>> {
    env.intern(match mark {
        Mark::Pending => "nil",
        Mark::Applied => "applied",
        Mark::Rejected => "rejected",
    })
}

fn note_name(note: Note) -> &'static str {
    match note {
        Note::Edited => "edited",
        Note::Marked => "marked",
        Note::Unchanged => "unchanged",
        Note::AlreadyIn => "already-in",
        Note::StaysIn => "stays-in",
        Note::AlreadyOut => "already-out",
    }
}

/// Keeps `plan`, which is for one hunk, to be committed, and returns its note and edits.
fn keep<'e>(env: &'e Env, session: &mut Session, plan: Plan) -> Result<Value<'e>> {
    let note = env.intern(note_name(plan.steps[0].1.note))?;
    let planned = env.cons(note, edits(env, &plan.edits)?);
    session.plan = Some(plan);
    planned
}

/// Returns `edits` for Lisp, last line first, so that none moves the place of one that follows.
fn edits<'e>(env: &'e Env, edits: &[LineEdit]) -> Result<Value<'e>> {
    let entry = |edit: &LineEdit| env.list((edit.line, edit.n_removed, text(env, &edit.text)?));
    list(
        env,
        edits.iter().rev().map(entry).collect::<Result<Vec<_>>>()?,
    )
}

/// Returns `bytes` as a Lisp string: multibyte if they are UTF-8, else unibyte, for Lisp to decode.
///
/// ASCII is unibyte as well, which needs no decoding: of a multibyte string Emacs makes two.
fn text<'e>(env: &'e Env, bytes: &[u8]) -> Result<Value<'e>> {
    match std::str::from_utf8(bytes) {
        Ok(string) if !string.is_ascii() => string.into_lisp(env),
        _ => bytes.into_lisp(env),
    }
}

fn list<'e, T: IntoLisp<'e>>(env: &'e Env, items: Vec<T>) -> Result<Value<'e>> {
    let nil = env.intern("nil")?;
    items
        .into_iter()
        .rev()
        .try_fold(nil, |tail, item| env.cons(item, tail))
}
