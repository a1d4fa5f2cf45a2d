//! Deciding hunks: commands are planned here, carried out in Lisp, and committed here.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;

use agent_q_diff_engine::change::{Change, ChangePlan, Entry, Part, Presence, Refused, Unable};
use agent_q_diff_engine::patch::hunk;
use agent_q_diff_engine::proposal::{Candidate, Side};
use agent_q_diff_engine::review::{
    Basis, Counts, Decision, Fact, Mark, Note, OnDisk, Position, Review, Step, Whereabouts,
};
use agent_q_diff_engine::weave::LineEdit;
use emacs::{Env, IntoLisp, Result, Value, defun};

use crate::lisp::{
    answer, catching_panics, command_named, elements, find, list, list_of, mark_symbol, rule,
    signal, text, vector,
};
use crate::round::earlier;
use crate::session::{Ongoing, Session, file_of, ongoing};
use crate::written::{self, CarriedOut, Outcome, Written};

/// Return the marks of all hunks of REVIEW, a list of `applied', `rejected' or nil.
#[defun]
fn marks<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || all_marks(env, &ongoing(env, session)?.change))
}

fn all_marks<'e>(env: &'e Env, change: &Change) -> Result<Value<'e>> {
    let files = change.files().iter();
    let marks = files.flat_map(|file| file.entries().map(|entry| file.mark(entry)));
    let marks = marks.map(|mark| mark_symbol(env, mark));
    list(env, marks.collect::<Result<Vec<_>>>()?)
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
        let mut ongoing = ongoing(env, session)?;
        let (file, entry) = ongoing.entry(env, hunk)?;
        ongoing.change.set_mark(file, entry, chosen);
        Ok(())
    })
}

/// Return (TOTAL APPLIED REJECTED IN-TARGET), the numbers of hunks of REVIEW.
///
/// IN-TARGET counts the hunks whose change is in the target, whatever
/// their mark.
#[defun]
fn counts<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        counts_value(env, ongoing(env, session)?.change.counts())
    })
}

fn counts_value(env: &Env, counts: Counts) -> Result<Value<'_>> {
    env.list((
        counts.total,
        counts.applied,
        counts.rejected,
        counts.in_target,
    ))
}

/// Return (TOTAL APPLIED REJECTED), the numbers of hunks of REVIEW by mark.
#[defun]
fn tally<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || env.list(ongoing(env, session)?.change.tally()))
}

/// Return the next pending hunk of REVIEW after HUNK, or nil if there is none.
///
/// The search wraps around after the last hunk.
#[defun]
fn next_pending(env: &Env, session: &mut Session, hunk: usize) -> Result<Option<usize>> {
    catching_panics(env, || {
        let ongoing = ongoing(env, session)?;
        ongoing.entry(env, hunk)?;
        answer(env, ongoing.change.next_pending(hunk))
    })
}

/// Return (CONFLICT AMBIGUOUS SHIFTED IN), the numbers of hunks of REVIEW.
///
/// CONFLICT counts the hunks that cannot be changed, AMBIGUOUS those whose
/// place is ambiguous, SHIFTED those that are not where they were expected,
/// and IN those that are in the target.  No hunk is counted twice.
#[defun]
fn standing<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let standing = ongoing(env, session)?.change.standing();
        env.list((
            standing.conflict,
            standing.ambiguous,
            standing.shifted,
            standing.is_in,
        ))
    })
}

/// Return the places where HUNK of REVIEW may be: (LINE CHANGE IS-IN FUZZ N-LINES).
///
/// The value is a list with the likeliest place first: the one that the
/// hunk's header states, or else the nearest to it.  LINE is the line of the
/// target, from 0, at which the hunk's lines begin, and CHANGE the line of
/// its first change.  IS-IN is non-nil if the lines there include the change.
/// FUZZ is the number of outer context lines on each side that differ there,
/// and N-LINES the number of the hunk's lines.  A hunk with a certain place
/// has only that one; a hunk that cannot be found has none.
#[defun]
fn candidates<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        let (review, hunk) = match ongoing.entry(env, hunk)? {
            (_, Entry::Operation(_)) => return env.intern("nil"),
            (_, Entry::Hunk(_)) => ongoing.review(env, hunk)?,
        };
        let places = review.proposal().candidates(hunk);
        let entry = |place: &Candidate| {
            let Candidate { line, change, .. } = *place;
            env.list((line, change, place.is_in, place.fuzz, place.len))
        };
        list(env, places.iter().map(entry).collect::<Result<Vec<_>>>()?)
    })
}

/// Return the hunk of REVIEW with the id ID, or nil if it no longer exists.
#[defun]
fn hunk_with_id(env: &Env, session: &mut Session, id: usize) -> Result<Option<usize>> {
    catching_panics(env, || Ok(ongoing(env, session)?.change.number_with_id(id)))
}

/// Plan COMMAND on hunk HUNK of REVIEW and return the plan.
///
/// COMMAND is `accept', `reject', `toggle' or `unapply'.  PLACE is nil, or
/// the line of one of `agent-q-diff-module-candidates', or (LINE . IS-IN) if
/// two of these have that line; the hunk is then placed there.  If PLACE is
/// t, the hunk's known but ambiguous place is taken to be right.
///
/// The plan is a vector [NOTE PARTS HUNKS REFUSED]; see
/// `agent-q-diff-engine-planned'.  NOTE is `edited', `marked', `unchanged',
/// `already-in', `stays-in' or `already-out', or nil unless it is for one
/// hunk.  HUNKS are the hunks that the plan changes, REFUSED those that it
/// cannot change, a list of (HUNK . REASON).
///
/// PARTS has a vector [FILE OPERATIONS EDITS OFFSETS] for each file that must
/// change; see `agent-q-diff-engine-part'.  FILE is its index.  OPERATIONS is
/// a list of (INDEX . IS-IN): the file's operation INDEX is to be done, or if
/// IS-IN is nil, undone.  EDITS is a list of (LINE N-REMOVED TEXT), last line
/// first: TEXT replaces N-REMOVED lines of the target from LINE, counted from
/// 0.  OFFSETS is (N-CHARS . LIST): LIST has for each edit the number of
/// characters of the target before it.  LIST is valid only if the target has
/// N-CHARS characters: Emacs counts more if raw bytes in it make up a
/// character.  Carry all of them out, then call `agent-q-diff-module-commit'.
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
        let mut ongoing = ongoing(env, session)?;
        let planned = if !place.is_not_nil() {
            let (file, entry) = ongoing.entry(env, hunk)?;
            ongoing.change.plan(file, entry, command)
        } else if place == env.intern("t")? {
            let (file, hunk) = ongoing.lines(env, hunk)?;
            let plan = |review: &mut Review| review.plan_vouched(hunk, command);
            ongoing.change.plan_lines(file, plan)
        } else {
            let place = match place.car::<usize>() {
                Ok(line) => (line, Some(place.cdr::<Value>()?.is_not_nil())),
                Err(_) => (place.into_rust()?, None),
            };
            let (file, hunk) = ongoing.lines(env, hunk)?;
            let plan = |review: &mut Review| review.plan_at(hunk, place, command);
            ongoing.change.plan_lines(file, plan)
        };
        let plan = answer(env, planned)?;
        keep(env, &mut ongoing, plan, Vec::new(), Some(hunk))
    })
}

/// Plan that hunk HUNK of REVIEW leaves TEXT, and return the plan.
///
/// TEXT replaces the lines that the hunk would have left, including its
/// context.  If IS-MERGED is non-nil, it replaces the current lines of the
/// target instead.  The plan is as in `agent-q-diff-module-plan'.
#[defun]
fn plan_text<'e>(
    env: &'e Env,
    session: &mut Session,
    hunk: usize,
    text: Vec<u8>,
    is_merged: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        let (file, at) = ongoing.lines(env, hunk)?;
        let planned = ongoing.change.plan_lines(file, |review| {
            if is_merged.is_not_nil() {
                review.plan_merge(at, &text)
            } else {
                review.plan_edit(at, &text)
            }
        });
        let plan = answer(env, planned)?;
        keep(env, &mut ongoing, plan, Vec::new(), Some(hunk))
    })
}

/// Return a list with the number of the first hunk of each file of REVIEW.
///
/// If a file has no hunks, that is where they would begin.
#[defun]
fn first_hunks<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let ongoing = ongoing(env, session)?;
        let files = 0..ongoing.change.files().len();
        list(
            env,
            files
                .map(|file| ongoing.change.entries_of(file).start)
                .collect(),
        )
    })
}

/// Return the number of decisions and splits in REVIEW that can be undone.
#[defun]
fn n_decisions(env: &Env, session: &mut Session) -> Result<usize> {
    catching_panics(env, || Ok(ongoing(env, session)?.change.n_decisions()))
}

/// Join the latest N decisions and splits in REVIEW, to be undone together.
#[defun]
fn join_decisions(env: &Env, session: &mut Session, n: usize) -> Result<()> {
    catching_panics(env, || {
        ongoing(env, session)?.change.join_decisions(n);
        Ok(())
    })
}

/// Record that hunk HUNK of REVIEW was accepted but could not be applied.
#[defun]
fn fail(env: &Env, session: &mut Session, hunk: usize) -> Result<()> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        ongoing.leave_off();
        let (file, entry) = ongoing.entry(env, hunk)?;
        ongoing.change.fail(file, entry);
        Ok(())
    })
}

/// Tell REVIEW that its change was written before it is reviewed.
///
/// What is not decided is in the targets then.  WRITTEN is nil, or what is needed
/// to record decisions: [ROOT FILES NOWS OPERATIONS].  FILES are those of the project at
/// ROOT of which REVIEW is made, in their order, as in
/// `agent-q-diff-module-pending'.  NOWS is a list of what is reviewed of each now,
/// its NOW-TEXT as text, or nil.  OPERATIONS has for each a list of what its
/// operations do, those that are decided by themselves, in words.
#[defun]
fn begin_written(env: &Env, session: &mut Session, written: Value) -> Result<()> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        ongoing.change.begin_written();
        if written.is_not_nil() {
            ongoing.written = Some(Rc::new(RefCell::new(Written::read(env, written)?)));
        }
        Ok(())
    })
}

/// Reject every pending hunk of REVIEW.
///
/// If FILE is not nil, reject only those of the file with that index.
#[defun]
fn reject_all(env: &Env, session: &mut Session, file: Option<usize>) -> Result<()> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        let files = files(env, &ongoing.change, file)?;
        ongoing.change.reject_all(files);
        Ok(())
    })
}

/// Returns the index of file `file`, or of all files of `change`.
fn files(env: &Env, change: &Change, file: Option<usize>) -> Result<Range<usize>> {
    let n_files = change.files().len();
    match file {
        None => Ok(0..n_files),
        Some(file) if file < n_files => Ok(file..file + 1),
        Some(_) => answer(env, Err(Unable::NoSuchEntry)),
    }
}

/// Tell REVIEW whether operation AT of file FILE, both counted from 0, has been done.
///
/// PRESENCE is t if it has been done, nil if it has not, or a string: if
/// others have changed the file, so that it is neither as it was nor as
/// proposed, what they have changed.
#[defun]
fn observe(
    env: &Env,
    session: &mut Session,
    file: usize,
    at: usize,
    presence: Value,
) -> Result<()> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        let files = ongoing.change.files();
        if files
            .get(file)
            .is_none_or(|file| at >= file.operations().len())
        {
            return answer(env, Err(Unable::NoSuchEntry));
        }
        if let Ok(why) = presence.into_rust::<String>() {
            ongoing.change.observe_obstacle(file, at, why);
        } else {
            let presence = if presence.is_not_nil() {
                Presence::In
            } else {
                Presence::Out
            };
            ongoing.change.observe(file, at, presence);
        }
        Ok(())
    })
}

/// Return the decision on REVIEW: `accepted', `rejected' or `not-applied'.
///
/// If BY-FACTS is non-nil, it follows from what is in the target, otherwise
/// from the marks.
#[defun]
fn decision<'e>(env: &'e Env, session: &mut Session, by_facts: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let basis = if by_facts.is_not_nil() {
            Basis::Facts
        } else {
            Basis::Marks
        };
        env.intern(match ongoing(env, session)?.change.decision(basis) {
            Decision::Accepted => "accepted",
            Decision::Rejected => "rejected",
            Decision::NotApplied => "not-applied",
        })
    })
}

/// Plan COMMAND on many hunks of REVIEW and return the plan.
///
/// If ONLY is nil, these are the pending ones, or if COMMAND is `unapply', those
/// that are in the target or, if they were written before, decided.  Otherwise
/// they are those in the list ONLY, whatever was decided of them.  If FILE is not
/// nil, plan it only for the file with that index, and never for the hunks in the
/// list LEFT-OUT.  The plan is as in `agent-q-diff-module-plan'.
#[defun]
fn plan_all<'e>(
    env: &'e Env,
    session: &mut Session,
    command: Value<'e>,
    file: Option<usize>,
    left_out: Value<'e>,
    only: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        let change = &ongoing.change;
        let files = files(env, change, file)?;
        let entries = |hunks| -> Result<HashSet<_>> {
            let hunks = elements(hunks)?.into_iter();
            hunks
                .map(|hunk| ongoing.entry(env, hunk.into_rust()?))
                .collect()
        };
        let (left_out, only_these) = (entries(left_out)?, entries(only)?);
        let command = command_named(env, command)?;
        let (plan, refused) = change.plan_each(files, command, |file, entry| {
            let is_meant = match only.is_not_nil() {
                true => only_these.contains(&(file, entry)),
                false => change.files()[file].is_for(command, entry),
            };
            is_meant && !left_out.contains(&(file, entry))
        });
        keep(env, &mut ongoing, plan, refused, None)
    })
}

/// Plan to undo the latest decision on REVIEW and return the plan.
///
/// If IS-REDO is non-nil, plan to redo the decision that was undone last.
/// The plan is as in `agent-q-diff-module-plan'.
#[defun]
fn plan_back<'e>(env: &'e Env, session: &mut Session, is_redo: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        let planned = if is_redo.is_not_nil() {
            ongoing.change.plan_redo()
        } else {
            ongoing.change.plan_undo()
        };
        let plan = answer(env, planned.map_err(|(_, why)| why))?;
        keep(env, &mut ongoing, plan, Vec::new(), None)
    })
}

/// Commit the last plan for REVIEW, after its edits have been made.
///
/// Also record it.  CARRIED-OUT is nil if that is not wanted, or [FILES CODINGS
/// STAGES COMMENTS SAID].  FILES are those that have changed, as for `agent-q-diff-module-record'.
/// CODINGS is an alist from indices of files to coding systems, of those that are
/// not UTF-8.  If STAGES is non-nil, what is kept of a
/// change that was written before is put into git's index.  COMMENTS is an alist
/// from its hunks to the user's comments, the reasons of those that are rejected.
/// SAID is one from ids of its hunks to (ID . TEXT), the comments on exactly their
/// lines: such a comment is the reason, and closed, as long as its hunk is rejected.
///
/// Return a vector [TOTAL APPLIED REJECTED NEXT UNPLACED MARKS IN-TARGET
/// HUNKS FAILED UNSTAGED COMMENTS]; see `agent-q-diff-engine-committed'.  FAILED is
/// nil, or says why the decision is not recorded.  UNSTAGED has, for each file that
/// could not be staged, a sentence that says why.  COMMENTS is a list of (HUNK OLD .
/// NEW): its comment is OLD, or it has none, and becomes NEW, or is gone, since a
/// hunk has the reason of an earlier rejection, or one of SAID, as long as it is
/// rejected.  The first three are the
/// numbers of hunks by mark.  If the plan was for one hunk, NEXT is the next
/// pending hunk after it, or nil; HUNKS has the value of
/// `agent-q-diff-module-hunk' for it; MARKS and IN-TARGET are nil.  Otherwise
/// NEXT is nil, MARKS are the marks of all hunks, IN-TARGET is the number of
/// hunks whose change is in the target, and HUNKS has such a value for each
/// hunk, or is nil if there are more than LIMIT hunks.  UNPLACED is nil, or
/// if COUNT is non-nil, (CONFLICTS . AMBIGUOUS), the numbers of hunks that do
/// not apply, and of those that may belong to several places.
#[defun]
fn commit<'e>(
    env: &'e Env,
    session: &mut Session,
    limit: usize,
    count: Value<'e>,
    carried_out: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let carried_out = CarriedOut::read(carried_out)?;
        let mut ongoing = ongoing(env, session)?;
        let Some(plan) = ongoing.plan.take() else {
            return signal(env, "agent-q-diff-error", "nothing is planned");
        };
        ongoing.change.commit(&plan);
        drop(ongoing);
        let outcome = match carried_out {
            Some(carried_out) => written::record_decision(env, session, &plan, carried_out)?,
            None => Outcome::default(),
        };
        let ongoing = self::ongoing(env, session)?;
        committed(env, &ongoing, &plan, (limit, count.is_not_nil()), outcome)
    })
}

/// Returns what is to be shown after `plan` was committed; see [`commit`].
fn committed<'e>(
    env: &'e Env,
    ongoing: &Ongoing,
    plan: &ChangePlan,
    (limit, is_counting): (usize, bool),
    outcome: Outcome,
) -> Result<Value<'e>> {
    let change = &ongoing.change;
    let (total, applied, rejected) = change.tally();
    let (next, marks, shown) = match steps(change, plan)[..] {
        [(hunk, _)] => (
            answer(env, change.next_pending(hunk))?,
            None,
            hunk..hunk + 1,
        ),
        _ if total <= limit => (None, Some(all_marks(env, change)?), 0..total),
        _ => (None, Some(all_marks(env, change)?), 0..0),
    };
    let hunks = list_of(env, shown.map(|hunk| hunk_value(env, ongoing, hunk)))?;
    let in_target = marks.map(|_| change.counts().in_target);
    let unplaced = if is_counting {
        let standing = change.standing();
        Some(env.cons(standing.conflict, standing.ambiguous)?)
    } else {
        None
    };
    let said = |said: Option<String>| match said {
        None => env.intern("nil"),
        Some(said) => text(env, said.as_bytes()),
    };
    let comments = outcome.comments.into_iter();
    let comments =
        comments.map(|(hunk, old, new)| env.cons(hunk, env.cons(said(old)?, said(new)?)?));
    let comments = list_of(env, comments)?;
    vector(
        env,
        [
            total.into_lisp(env)?,
            applied.into_lisp(env)?,
            rejected.into_lisp(env)?,
            next.into_lisp(env)?,
            unplaced.into_lisp(env)?,
            marks.into_lisp(env)?,
            in_target.into_lisp(env)?,
            hunks,
            outcome.failed.into_lisp(env)?,
            list(env, outcome.unstaged)?,
            comments,
        ],
    )
}

/// Return everything to be shown of hunk HUNK of REVIEW.
///
/// It is a vector [INDEX ID MARK FACT REASON PLACE LINE OFFSET FUZZ PLACES
/// WAS-IN IS-EDITED EARLIER]; see `agent-q-diff-engine-hunk'.  ID is a number that
/// the hunk keeps as long as its lines are the same.  MARK is `applied',
/// `rejected' or nil.  FACT is t if its change is in the target, `mixed' if a
/// part of it is, and otherwise nil.  REASON is nil, or a string that says
/// why it cannot be changed there.  PLACE is nil if the hunk is where it was
/// expected, the number of lines by which it is shifted, `next-to-edit',
/// `ambiguous', `conflict', or `lost' if it was in the target and others have
/// changed its lines since.  LINE is the line of the target, from 0, at which
/// its first change is or would be, however doubtful, or nil.  OFFSET is how
/// many lines that is below the expected place, or nil if its place is
/// unknown.  FUZZ is the number of outer context lines on each side that were
/// ignored to find it.  PLACES are the lines of the target, from 0 and in
/// order, among which the user must choose, or nil.  WAS-IN is t if its
/// change is in the target although no command put it there.  IS-EDITED is t
/// if the user edited the hunk.  EARLIER is nil, or what the user rejected before
/// the review, which was after the write, that it is like, [HOW TIME REASON].  HOW
/// is t if it is that hunk, `part' if that is a part of it, and `like' if it has
/// the same lines in another place.  TIME is in seconds since 1970, and REASON may
/// be empty.
#[defun]
fn hunk<'e>(env: &'e Env, session: &mut Session, hunk: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let ongoing = ongoing(env, session)?;
        ongoing.entry(env, hunk)?;
        hunk_value(env, &ongoing, hunk)
    })
}

fn fact_word(fact: Fact) -> &'static str {
    match fact {
        Fact::In => "t",
        Fact::Out => "nil",
        Fact::Mixed => "mixed",
    }
}

fn hunk_value<'e>(env: &'e Env, ongoing: &Ongoing, hunk: usize) -> Result<Value<'e>> {
    let earlier = match &ongoing.written {
        None => env.intern("nil")?,
        Some(written) => earlier(env, &mut written.borrow_mut().round, &ongoing.change, hunk)?,
    };
    let hunk = answer(env, ongoing.change.snapshot(hunk))?;
    let fact = fact_word(hunk.fact);
    vector(
        env,
        [
            hunk.hunk.into_lisp(env)?,
            hunk.id.into_lisp(env)?,
            mark_symbol(env, hunk.mark)?,
            env.intern(fact)?,
            hunk.reason.into_lisp(env)?,
            place(env, hunk.position)?,
            hunk.line.into_lisp(env)?,
            hunk.offset.map(i64::try_from).transpose()?.into_lisp(env)?,
            hunk.fuzz.into_lisp(env)?,
            list(env, hunk.places)?,
            hunk.was_in.into_lisp(env)?,
            hunk.is_edited.into_lisp(env)?,
            earlier,
        ],
    )
}

fn place(env: &Env, position: Position) -> Result<Value<'_>> {
    match position {
        Position::Expected => env.intern("nil"),
        Position::Shifted(offset) => i64::try_from(offset)?.into_lisp(env),
        Position::NextToEdit => env.intern("next-to-edit"),
        Position::Ambiguous => env.intern("ambiguous"),
        Position::Conflict => env.intern("conflict"),
        Position::Lost => env.intern("lost"),
    }
}

/// Return (COUNTS SIDE . HUNKS): the state of REVIEW's file, for a report.
///
/// COUNTS is as from `agent-q-diff-module-counts', of its text alone.  SIDE is `original'
/// or `modified' if the target, which has N-CHARS characters, equals that
/// text; otherwise nil.  HUNKS has an element (HUNK WHERE HEADER . NOW) for each
/// hunk: HUNK is the value of `agent-q-diff-module-hunk', and HEADER its
/// header line.  WHERE says where its change is, or a part of it: `file' is the
/// file on disk, and the target as well; `buffer' the target only, which is not
/// saved; `unsaved' the file only, for the same reason; nil nowhere.  `changed' if
/// others have changed its lines in the target, and `unknown' if they have on
/// disk, or it is unsure where its lines are there.  DISK is what the file has:
/// t for the target's text, another text, nil if there is no such file, `buffer' if
/// only a buffer has it, or `unreadable'.  A hunk that only removes lines is in a file
/// that is not there.  For the first N-NOW hunks, NOW is (LINE . TEXT): the line of
/// the target, from 0, at which the hunk with its context begins, and the
/// current lines there.  For the others, or if that is unknown, NOW is nil.
/// IS-LISP is as for `agent-q-diff-module-print'.
#[defun]
fn report<'e>(
    env: &'e Env,
    session: &mut Session,
    n_chars: usize,
    n_now: usize,
    is_lisp: Value<'e>,
    disk: Value<'e>,
) -> Result<Value<'e>> {
    catching_panics(env, || {
        let disk_text;
        let is_in_buffer = disk == env.intern("buffer")?;
        let disk = if disk == env.intern("t")? {
            OnDisk::Target
        } else if disk == env.intern("unreadable")? {
            OnDisk::Unreadable
        } else if disk.is_not_nil() && !is_in_buffer {
            disk_text = disk.clone_string_contents()?;
            OnDisk::Other(&disk_text)
        } else {
            OnDisk::Missing { is_in_buffer }
        };
        let file = file_of(session);
        let ongoing = ongoing(env, session)?;
        let Some(review) = ongoing.change.files()[file].review() else {
            return answer(env, Err(Unable::NoLines));
        };
        let first = ongoing.change.number(file, Entry::Hunk(0));
        let headers = hunk::print_headers(&review.proposal().hunks(rule(is_lisp)));
        let headers = headers.split_inclusive(|&byte| byte == b'\n');
        let reports = review.report(disk);
        let hunks = headers.enumerate().map(|(hunk, header)| {
            let header = header.strip_suffix(b"\n").unwrap_or(header);
            // This copies lines of the target, so it is done only for the first hunks.
            let now = (hunk < n_now).then(|| review.live_lines(hunk));
            let now = match now {
                Some(Ok((line, lines))) => env.cons(line, text(env, lines.bytes())?)?,
                _ => env.intern("nil")?,
            };
            let rest = env.cons(text(env, header)?, now)?;
            let rest = env.cons(env.intern(where_word(reports[hunk].whereabouts))?, rest)?;
            env.cons(hunk_value(env, &ongoing, first + hunk)?, rest)
        });
        let hunks = list(env, hunks.collect::<Result<Vec<_>>>()?)?;
        let rest = env.cons(side(env, review, n_chars)?, hunks)?;
        env.cons(counts_value(env, review.counts())?, rest)
    })
}

fn where_word(whereabouts: Whereabouts) -> &'static str {
    match whereabouts {
        Whereabouts::File => "file",
        Whereabouts::Target => "buffer",
        Whereabouts::Unsaved => "unsaved",
        Whereabouts::Nowhere => "nil",
        Whereabouts::Changed => "changed",
        Whereabouts::Unknown => "unknown",
    }
}

/// Returns which text of the proposal the target, which has `n_chars` characters, equals.
fn side<'e>(env: &'e Env, review: &Review, n_chars: usize) -> Result<Value<'e>> {
    let proposal = review.proposal();
    // If not, raw bytes in the target make up a character.
    let is_text = proposal.n_chars() == n_chars;
    env.intern(match is_text.then(|| proposal.side()).flatten() {
        Some(Side::Old) => "original",
        Some(Side::New) => "modified",
        None => "nil",
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

/// Returns `edits` for Lisp, last line first, so that none moves the lines of those after it.
fn edits<'e>(env: &'e Env, edits: &[LineEdit]) -> Result<Value<'e>> {
    let entry = |edit: &LineEdit| env.list((edit.line, edit.n_removed, text(env, &edit.text)?));
    list(
        env,
        edits.iter().rev().map(entry).collect::<Result<Vec<_>>>()?,
    )
}

/// Returns the step of each hunk that `plan` changes, with the hunk's number, in order.
fn steps(change: &Change, plan: &ChangePlan) -> Vec<(usize, Step)> {
    let mut steps = Vec::new();
    for part in &plan.parts {
        // That a file is created may be decided with its lines.
        let is_entry = |entry| {
            change.files()[part.file]
                .entries()
                .any(|other| other == entry)
        };
        let operations = part.operations.iter();
        let operations = operations.map(|&(at, step)| (Entry::Operation(at), step));
        let operations = operations.filter(|&(entry, _)| is_entry(entry));
        steps.extend(operations.map(|(entry, step)| (change.number(part.file, entry), step)));
        if let Some(text) = &part.text {
            let first = change.number(part.file, Entry::Hunk(0));
            steps.extend(text.steps.iter().map(|&(hunk, step)| (first + hunk, step)));
        }
    }
    steps
}

/// Keeps `plan` until it is committed, and returns it for Lisp; `refused` is what it leaves out, and
/// `wanted` is the hunk that it is for, if it is for one.
fn keep<'e>(
    env: &'e Env,
    ongoing: &mut Ongoing,
    plan: ChangePlan,
    refused: Refused,
    wanted: Option<usize>,
) -> Result<Value<'e>> {
    let change = &ongoing.change;
    let steps = steps(change, &plan);
    let note = match (wanted, &steps[..]) {
        (Some(wanted), steps) => steps.iter().find(|(hunk, _)| *hunk == wanted),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let note = note.map_or("nil", |(_, step)| note_name(step.note));
    let pair = |(file, entry, reason): (usize, Entry, Unable)| {
        env.cons(change.number(file, entry), reason.to_string())
    };
    let refused = refused.into_iter().map(pair).collect::<Result<Vec<_>>>()?;
    let parts = plan.parts.iter().map(|part| part_value(env, change, part));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let planned = vector(
        env,
        [
            env.intern(note)?,
            list(env, parts.into_iter().flatten().collect())?,
            list(env, steps.iter().map(|(hunk, _)| *hunk).collect())?,
            list(env, refused)?,
        ],
    );
    ongoing.plan = Some(plan);
    planned
}

/// Returns `part` for Lisp, or `None` if nothing is to be carried out.
fn part_value<'e>(env: &'e Env, change: &Change, part: &Part) -> Result<Option<Value<'e>>> {
    let flips = part.operations.iter().filter(|(_, step)| step.is_flip);
    let flips = flips.map(|&(at, _)| {
        let is_in = change.files()[part.file].is_in(Entry::Operation(at));
        env.cons(at, !is_in)
    });
    let flips = flips.collect::<Result<Vec<_>>>()?;
    let edits = part.text.as_ref().map_or(&[][..], |text| &text.edits);
    if flips.is_empty() && edits.is_empty() {
        return Ok(None);
    }
    let offsets = match change.files()[part.file].review() {
        Some(review) => {
            let mut offsets = review.proposal().offsets_of(edits);
            offsets.reverse();
            env.cons(review.proposal().n_chars(), list(env, offsets)?)?
        }
        None => env.intern("nil")?,
    };
    let part = [
        part.file.into_lisp(env)?,
        list(env, flips)?,
        self::edits(env, edits)?,
        offsets,
    ];
    vector(env, part).map(Some)
}
