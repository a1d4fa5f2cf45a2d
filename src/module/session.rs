//! The object through which Lisp holds a change, or one file of it.

use std::cell::{RefCell, RefMut};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_q_diff_engine::change::{Change, ChangePlan, Entry, FileChange, Node, Operation, Unable};
use agent_q_diff_engine::diff::HeadingRule;
use agent_q_diff_engine::key::{self, Key, Keys};
use agent_q_diff_engine::patch::hunk::Hunk;
use agent_q_diff_engine::proposal::{Seen, Side};
use agent_q_diff_engine::review::{Refusal, Review};
use agent_q_diff_engine::show::alike::Syntaxes;
use agent_q_diff_engine::show::moved::Moves;
use emacs::{Env, IntoLisp, Result, Value, defun};

use crate::lisp::{answer, catching_panics, elements, list_of, signal};
use crate::written::Written;

/// The only type of `user-ptr`. One of a second type could be mistaken for it, since Emacs compares
/// only the addresses of their finalizers.
pub(crate) struct Session {
    /// The change; `None` once the review of this file has ended.
    change: Option<Rc<RefCell<Ongoing>>>,
    /// The index of the file.
    file: usize,
}

/// A change while it is decided. It is counted as long as it holds memory.
pub(crate) struct Ongoing {
    pub(crate) change: Change,
    /// The last plan, if it has neither been committed nor failed.
    pub(crate) plan: Option<ChangePlan>,
    /// What is known of it if it was written before the review.
    pub(crate) written: Option<Rc<RefCell<Written>>>,
    /// By indices of files, the keys of their entries at a [`Review::revision`].
    keys: HashMap<usize, (usize, Vec<Key>)>,
    /// What moved between these hunks.
    moves: Option<(Known, Rc<Moves>)>,
}

/// The ids of the hunks of each file, and whether its syntax was known.
type Known = Vec<(Vec<usize>, bool)>;

/// The number of changes that hold memory.
static N_CHANGES: AtomicUsize = AtomicUsize::new(0);

impl Ongoing {
    fn new(change: Change) -> Ongoing {
        N_CHANGES.fetch_add(1, Ordering::Relaxed);
        Ongoing {
            change,
            plan: None,
            written: None,
            keys: HashMap::new(),
            moves: None,
        }
    }

    /// Drops the plan, since a target may change.
    pub(crate) fn leave_off(&mut self) {
        self.plan = None;
    }

    /// Returns the key of the hunk with the number `hunk`, of the file with the index `file`. It is made
    /// anew only when something else is kept there.
    pub(crate) fn key(&mut self, file: usize, hunk: usize) -> &Key {
        let entries = &self.change.files()[file];
        let revision = entries.review().map_or(0, Review::revision);
        let (known, keys) = self.keys.entry(file).or_default();
        if keys.is_empty() || *known != revision {
            *keys = Keys::of(entries).all().to_vec();
            *known = revision;
        }
        &keys[hunk - self.change.entries_of(file).start]
    }

    /// Returns the hunks of each file.
    pub(crate) fn hunks(&self) -> Vec<Vec<Hunk<'_>>> {
        let files = self.change.files().iter();
        let hunks = files.map(|file| match file.review() {
            Some(review) => review.proposal().hunks(HeadingRule::Default),
            None => Vec::new(),
        });
        hunks.collect()
    }

    /// Returns how many hunks the files above `file` have, as [`Moves`] counts them.
    pub(crate) fn n_hunks_above(&self, file: usize) -> usize {
        let above = self.change.files().iter().take(file);
        let reviews = above.filter_map(|file| file.review());
        reviews.map(|review| review.proposal().n_hunks()).sum()
    }

    /// Returns what is known of the syntax of each file.
    pub(crate) fn syntaxes(&self) -> Vec<Syntaxes<'_>> {
        let reviews = self.change.files().iter().map(FileChange::review);
        let syntaxes = reviews.map(|review| review?.proposal().syntaxes());
        syntaxes.collect()
    }

    /// Returns what moved. It is found anew only when there are other hunks, or more is known of the syntax.
    pub(crate) fn moves(&mut self) -> Rc<Moves> {
        let syntaxes = self.syntaxes();
        let files = self.change.files().iter().zip(&syntaxes);
        let known = files.map(|(file, syntaxes)| {
            let ids = file.review().map_or(&[][..], Review::ids);
            (ids, syntaxes.is_some())
        });
        if let Some((before, moves)) = &self.moves
            && known
                .clone()
                .eq(before.iter().map(|(ids, is)| (&ids[..], *is)))
        {
            return Rc::clone(moves);
        }
        let known = known.map(|(ids, is)| (ids.to_vec(), is)).collect();
        let moves = Rc::new(Moves::of(&self.hunks(), &syntaxes));
        self.moves = Some((known, Rc::clone(&moves)));
        moves
    }

    /// Returns the file and the entry of the hunk with the number `hunk`; signals
    /// `agent-q-diff-no-hunk` if there is none.
    pub(crate) fn entry(&self, env: &Env, hunk: usize) -> Result<(usize, Entry)> {
        let n_hunks = self.change.n_entries();
        let entry = self.change.entry(hunk);
        answer(
            env,
            entry.map_err(|_| Refusal::NoSuchHunk { hunk, n_hunks }),
        )
    }

    /// Returns the file of the hunk with the number `hunk`, and its number among the lines that
    /// change there; signals `agent-q-diff-no-hunk` if it changes no lines.
    pub(crate) fn lines(&self, env: &Env, hunk: usize) -> Result<(usize, usize)> {
        match self.entry(env, hunk)? {
            (file, Entry::Hunk(hunk)) => Ok((file, hunk)),
            (_, Entry::Operation(_)) => answer(env, Err(Unable::NoLines)),
        }
    }

    /// Returns the review of the file with the hunk `hunk`, and the number of the hunk in it; see
    /// [`Ongoing::lines`].
    pub(crate) fn review(&mut self, env: &Env, hunk: usize) -> Result<(&mut Review, usize)> {
        let (file, hunk) = self.lines(env, hunk)?;
        let review = self.change.review_mut(file);
        Ok((review.expect("the hunk is a part of it"), hunk))
    }
}

/// Returns what is known of the change of `session` that was written before its review; signals an error if
/// it was not.
pub(crate) fn written(env: &Env, session: &mut Session) -> Result<Rc<RefCell<Written>>> {
    match &ongoing(env, session)?.written {
        Some(written) => Ok(written.clone()),
        None => signal(env, "agent-q-diff-error", "it was not written before"),
    }
}

/// Calls `body` with the review of the file that has the hunk with the number `hunk`, and the number of
/// the hunk in it; see [`Ongoing::lines`].
pub(crate) fn with_hunk<T>(
    env: &Env,
    session: &mut Session,
    hunk: usize,
    body: impl FnOnce(&mut Review, usize) -> Result<T>,
) -> Result<T> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        let (review, hunk) = ongoing.review(env, hunk)?;
        body(review, hunk)
    })
}

/// Calls `body` to split the hunk with the number `hunk`, with the change, the file of the hunk, and the
/// number of the hunk in it; see [`Ongoing::lines`].
pub(crate) fn splitting<T>(
    env: &Env,
    session: &mut Session,
    hunk: usize,
    body: impl FnOnce(&mut Change, usize, usize) -> Result<T>,
) -> Result<T> {
    catching_panics(env, || {
        let mut ongoing = ongoing(env, session)?;
        ongoing.leave_off();
        let (file, hunk) = ongoing.lines(env, hunk)?;
        body(&mut ongoing.change, file, hunk)
    })
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        N_CHANGES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Wraps a review for Lisp, as a change of one file.
pub(crate) fn session(review: Review) -> Session {
    let file = FileChange::new(Vec::new(), Some(review));
    Session {
        change: Some(Rc::new(RefCell::new(Ongoing::new(Change::new(vec![file]))))),
        file: 0,
    }
}

/// Return the number of changes whose memory has not been freed.
#[defun]
fn n_reviews() -> Result<usize> {
    Ok(N_CHANGES.load(Ordering::Relaxed))
}

/// Free the memory of REVIEW, which is then no longer needed for its file.
///
/// Any later use of it is an error.  The memory of a change is freed when
/// that has been done for all its files.
#[defun]
fn free(session: &mut Session) -> Result<()> {
    session.change = None;
    Ok(())
}

/// Join FILES to one change, and return a list of its reviews, one for each file.
///
/// An element of FILES is (REVIEW . OPERATIONS).  REVIEW is that of the
/// file's text, not decided yet, or nil; it becomes a part of the change.
/// OPERATIONS are other changes to the file, a list of (create MODE),
/// (delete TEXT), (rename), (mode OLD NEW), (link OLD NEW), (reading OLD NEW), (kind OLD NEW)
/// or (binary).  OLD and NEW of the reading are names of coding systems.
/// OLD and NEW of the kind are (link TARGET) or (file MODE BYTES).
///
/// The hunks of all files are numbered from 0.  In each file, the operations
/// come before the hunks of its text.
#[defun]
fn join<'e>(env: &'e Env, files: Value<'e>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let (mut changes, mut handles) = (Vec::new(), Vec::new());
        for element in elements(files)? {
            let handle: Value = element.car()?;
            let forms = elements(element.cdr()?)?;
            let content = content(env, &forms)?;
            let operations = forms.into_iter().map(|one| operation(env, one));
            let operations = operations.collect::<Result<Vec<_>>>()?;
            let review = handle.is_not_nil().then(|| take_review(env, handle));
            let mut change = FileChange::new(operations, review.transpose()?);
            change.content = content;
            changes.push(change);
            handles.push(handle);
        }
        let change = Rc::new(RefCell::new(Ongoing::new(Change::new(changes))));
        let sessions = handles.into_iter().enumerate().map(|(file, handle)| {
            let session = Session {
                change: Some(Rc::clone(&change)),
                file,
            };
            if handle.is_not_nil() {
                *handle.into_ref_mut::<Session>()? = session;
                return Ok(handle);
            }
            RefCell::new(session).into_lisp(env)
        });
        list_of(env, sessions)
    })
}

/// Returns the review of the only file of `handle`, a session, which then has none.
fn take_review(env: &Env, handle: Value<'_>) -> Result<Review> {
    let mut session = handle.into_ref_mut::<Session>()?;
    let mut change = ongoing(env, &mut session)?;
    let review = change.change.take_only_review();
    let several = "only the review of one text can be joined";
    review.map_or_else(|| signal(env, "agent-q-diff-error", several), Ok)
}

/// Returns what tells the bytes that are for Lisp from others, of `(create MODE BYTES)` or of
/// `(binary OLD NEW)` among `forms`.
fn content(env: &Env, forms: &[Value<'_>]) -> Result<Option<u64>> {
    let names = [env.intern("create")?, env.intern("binary")?];
    for form in forms {
        let parts = elements(*form)?;
        if parts.len() == 3 && names.contains(&parts[0]) && parts[2].is_not_nil() {
            return Ok(Some(key::content(&parts[2].clone_string_contents()?)));
        }
    }
    Ok(None)
}

/// Returns the operation that the list `form` names; see [`join`].
fn operation(env: &Env, form: Value<'_>) -> Result<Operation> {
    let parts = elements(form)?;
    let named = |name: &str| Ok::<_, emacs::Error>(parts[0] == env.intern(name)?);
    let mode = |at: usize| {
        parts[at]
            .into_rust::<i64>()
            .and_then(|mode| Ok(u32::try_from(mode)?))
    };
    let name = |at: usize| parts[at].into_rust::<Option<Vec<u8>>>();
    Ok(match parts.len() {
        1 if named("rename")? => Operation::Rename,
        // The bytes before and after are for Lisp.
        1 | 3 if named("binary")? => Operation::Binary,
        // What it is created with, if that is no text, is for Lisp, too.
        2 | 3 if named("create")? => Operation::Create { mode: mode(1)? },
        2 if named("delete")? => Operation::Delete {
            text: parts[1].into_rust()?,
        },
        3 if named("mode")? => Operation::Mode {
            old: mode(1)?,
            new: mode(2)?,
        },
        3 if named("link")? => Operation::Link {
            old: name(1)?,
            new: name(2)?,
        },
        3 if named("reading")? => Operation::Reading {
            old: symbol_name(env, parts[1])?,
            new: symbol_name(env, parts[2])?,
        },
        3 if named("kind")? => Operation::Kind {
            old: node(parts[1])?,
            new: node(parts[2])?,
        },
        _ => return signal(env, "agent-q-diff-error", "no such operation"),
    })
}

fn symbol_name(env: &Env, symbol: Value<'_>) -> Result<Vec<u8>> {
    env.call("symbol-name", (symbol,))?.into_rust()
}

/// Reads (link TARGET) or (file MODE BYTES).
fn node(value: Value<'_>) -> Result<Node> {
    let parts = elements(value)?;
    Ok(match parts[..] {
        [_, mode, bytes] => Node::File {
            mode: u32::try_from(mode.into_rust::<i64>()?)?,
            content: bytes.into_rust()?,
        },
        _ => Node::Link {
            target: parts[1].into_rust()?,
        },
    })
}

/// Returns the change of `session`, in which a run of edits may not have ended.
fn change_of<'s>(env: &Env, session: &'s Session) -> Result<RefMut<'s, Ongoing>> {
    match &session.change {
        Some(change) => Ok(change.borrow_mut()),
        None => signal(env, "agent-q-diff-ended", "the review has ended"),
    }
}

/// Returns the review of the text of file `file`.
fn text_in<'s>(env: &Env, change: RefMut<'s, Ongoing>, file: usize) -> Result<RefMut<'s, Review>> {
    let review = RefMut::filter_map(change, |change| change.change.review_mut(file));
    review.or_else(|_| answer(env, Err(Unable::NoLines)))
}

/// Returns the change of `session`, after ending any run of edits.
pub(crate) fn ongoing<'s>(env: &Env, session: &'s mut Session) -> Result<RefMut<'s, Ongoing>> {
    let mut change = change_of(env, session)?;
    change.change.settle();
    Ok(change)
}

/// Returns the review of the text of `session`'s file for reporting one in a run of edits; nothing
/// else may be called on it.
pub(crate) fn told<'s>(env: &Env, session: &'s mut Session) -> Result<RefMut<'s, Review>> {
    let mut change = change_of(env, session)?;
    change.leave_off();
    text_in(env, change, session.file)
}

/// Returns the review of the text of `session`'s file, after ending any run of edits.
pub(crate) fn text_of<'s>(env: &Env, session: &'s mut Session) -> Result<RefMut<'s, Review>> {
    let file = session.file;
    text_in(env, ongoing(env, session)?, file)
}

/// Returns the index of the file of `session`.
pub(crate) fn file_of(session: &Session) -> usize {
    session.file
}

// Functions by which Lisp tells a review what is in its target.

/// Tell REVIEW that its target's text is now LIVE.  Return t if that is a change.
#[defun]
fn follow(env: &Env, session: &mut Session, live: Vec<u8>) -> Result<bool> {
    catching_panics(env, || {
        let mut review = told(env, session)?;
        review.settle();
        // If the text has changed, following it has already recognized a choice of hunks.
        Ok(review.follow(&live) || review.recognize())
    })
}

/// Tell REVIEW that every edit of its target has been reported.
///
/// N-CHARS is the number of characters that the target now has.  Return
/// `follow' if an edit must have been missed, so that the whole text is
/// needed; t if the target equals the original with some of the hunks applied
/// although others edited it; otherwise nil.
#[defun]
fn recognize<'e>(env: &'e Env, session: &mut Session, n_chars: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let mut review = told(env, session)?;
        review.settle();
        if review.proposal().n_chars() != n_chars {
            return env.intern("follow");
        }
        env.intern(if review.recognize() { "t" } else { "nil" })
    })
}

/// Tell REVIEW, which was written before, that its target was saved after the user edited it.
///
/// What was taken out and an undo has brought back is pending again.  Return
/// non-nil if there is any.
#[defun]
fn follow_undo(env: &Env, session: &mut Session) -> Result<bool> {
    catching_panics(env, || {
        let mut review = told(env, session)?;
        review.settle();
        Ok(review.follow_undo())
    })
}

/// Tell REVIEW that somebody else edited its target.  Return nil if that is impossible.
///
/// TEXT has replaced all but the first N-BEFORE characters and the last
/// N-BEHIND ones of the target, which had N-CHARS characters.  IS-UNDO is
/// non-nil if the edit undid another one.
#[defun]
fn edit_outside(
    env: &Env,
    session: &mut Session,
    n_before: usize,
    n_behind: usize,
    n_chars: usize,
    text: Vec<u8>,
    is_undo: Value,
) -> Result<bool> {
    catching_panics(env, || {
        let seen = Seen {
            n_before,
            n_behind,
            n_chars,
            text: &text,
            is_undo: is_undo.is_not_nil(),
        };
        Ok(told(env, session)?.see_edit_loosely(&seen))
    })
}

/// Return (OLD . NEW), git's ids of the texts that REVIEW's diff compares, or nil.
///
/// They are abbreviated as git wrote them, to 7 or more hexadecimal digits.
/// Once one of the texts is known, the value is nil.
#[defun]
fn blobs<'e>(env: &'e Env, session: &mut Session) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = text_of(env, session)?;
        let ids = review.proposal().blobs();
        let ids = ids.map(|ids| env.cons(ids.old.as_str(), ids.new.as_str()));
        ids.transpose()?.into_lisp(env)
    })
}

/// Tell REVIEW that LIVE, its target's text, is one of those that its diff compares.
///
/// If IS-NEW is non-nil, it is the text after the change, otherwise the one
/// before.  Each hunk is then where its header says; return t.  If its lines
/// are not there, change nothing and return nil.
#[defun]
fn adopt(env: &Env, session: &mut Session, live: Vec<u8>, is_new: Value) -> Result<bool> {
    catching_panics(env, || {
        let side = if is_new.is_not_nil() {
            Side::New
        } else {
            Side::Old
        };
        let mut review = told(env, session)?;
        review.settle();
        Ok(review.adopt(&live, side))
    })
}
