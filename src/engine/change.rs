//! A change of several files, decided hunk by hunk.
//!
//! Each file with text has a [`Review`] of its own. Any other change to a file is an [`Operation`]:
//! to create, delete or rename it, or to change its mode, link target or binary content. Operations
//! are decided like hunks, by the same table of states ([`step`]). Only the caller can see whether
//! one has been done; it reports that with [`Change::observe`].
//!
//! A command is planned for all files that it concerns before the first of them changes. The caller
//! carries the [`ChangePlan`] out, in all files or in none, and then commits it. There is one
//! history of decisions for all files.
//!
//! The creation of a file with lines is decided with these: accepting the first of them creates the
//! file, and taking the last one out removes it, unless others typed lines into it. Only for a new
//! file without lines is its creation a decision of its own.

mod git;
mod history;

use std::ops::Range;

use crate::review::{
    Basis, Command, Counts, Decision, Fact, Mark, Plan, Position, Refusal, Review, Role, Snapshot,
    Stage, Standing, Step, step,
};
use crate::weave::LineEdit;

pub use git::{Described, Doubt, GitError, Reading, describe};
use history::Moment;

/// A proposed change to a file other than to its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// The file is created, empty and with this mode; its lines are hunks. It is the first
    /// operation.
    Create {
        /// The permission bits and type, as git writes them.
        mode: u32,
    },
    /// The file is deleted.
    Delete {
        /// Its content.
        text: Vec<u8>,
    },
    /// The file is renamed. Its hunks apply to it under either name.
    Rename,
    /// The mode of the file changes.
    Mode {
        /// The mode before.
        old: u32,
        /// The mode after.
        new: u32,
    },
    /// The file is a symbolic link, which is created, deleted, or given another target.
    Link {
        /// Its target before; `None` if it is created.
        old: Option<Vec<u8>>,
        /// Its target after; `None` if it is deleted.
        new: Option<Vec<u8>>,
    },
    /// The content of a binary file changes.
    Binary,
    /// The file is read in another way: its coding, byte order mark or line ends change. Its lines are hunks.
    Reading {
        /// The coding before, as the editor names it.
        old: Vec<u8>,
        /// The coding after.
        new: Vec<u8>,
    },
    /// A file becomes a symbolic link, or a link a file.
    Kind {
        /// It before.
        old: Node,
        /// It after.
        new: Node,
    },
}

/// What a path is, as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A symbolic link.
    Link {
        /// Where it leads.
        target: Vec<u8>,
    },
    /// A file.
    File {
        /// The permission bits; of a diff, as git writes them.
        mode: u32,
        /// Its bytes.
        content: Vec<u8>,
    },
}

impl Node {
    /// Returns what tells it from others.
    pub(crate) fn words(&self) -> Vec<u8> {
        match self {
            Node::Link { target } => [b"link ", &target[..]].concat(),
            Node::File { mode, content } => {
                [format!("file {mode:o} ").as_bytes(), content].concat()
            }
        }
    }
}

impl Operation {
    /// Returns why it can be neither done nor undone if others have changed its file.
    fn obstacle(&self) -> &'static str {
        match self {
            Operation::Create { .. } | Operation::Link { old: None, .. } => {
                "there is another file of that name"
            }
            Operation::Rename => "its old name is gone, or its new name is taken",
            Operation::Delete { .. }
            | Operation::Mode { .. }
            | Operation::Link { .. }
            | Operation::Kind { .. }
            | Operation::Reading { .. }
            | Operation::Binary => "the file has been changed since",
        }
    }
}

/// Whether an operation has been done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The file is as proposed.
    In,
    /// The file is as it was before.
    Out,
    /// Others have changed the file, so that it is neither.
    Neither,
}

/// Something that is decided in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entry {
    /// The operation with this index.
    Operation(usize),
    /// The hunk with this index.
    Hunk(usize),
}

/// Why a command is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unable {
    /// There is no such file, operation or hunk.
    #[error("the change has no such hunk")]
    NoSuchEntry,
    /// It is an operation.
    #[error("only changed lines can be split, edited, merged or placed")]
    NoLines,
    /// The operation's file is neither as it was nor as proposed; says how that can be.
    #[error("{0}")]
    Changed(String),
    /// The reason is in the file's text.
    #[error(transparent)]
    Text(#[from] Refusal),
}

/// An operation and what was decided about it.
#[derive(Debug, Clone)]
struct Decided {
    operation: Operation,
    mark: Mark,
    presence: Presence,
    /// Why it can be neither done nor undone, if the caller knows more than its kind tells.
    obstacle: Option<String>,
    /// Whether a command did it, if it is done.
    is_ours: bool,
    /// Whether the last attempt to do it failed and the user has not rejected it since.
    has_failed: bool,
}

impl Decided {
    /// Returns why it can be neither done nor undone if others have changed its file.
    fn obstacle(&self) -> String {
        let known = self.obstacle.as_deref();
        known.unwrap_or(self.operation.obstacle()).to_owned()
    }

    fn decision(&self, basis: Basis) -> Decision {
        let is_accepted = match basis {
            Basis::Marks => self.mark == Mark::Applied,
            Basis::Facts => self.presence == Presence::In,
        };
        match (is_accepted, self.has_failed) {
            (true, _) => Decision::Accepted,
            (false, true) => Decision::NotApplied,
            (false, false) => Decision::Rejected,
        }
    }
}

/// What is proposed for one file.
#[derive(Debug, Clone)]
pub struct FileChange {
    /// What tells the bytes of an operation that the engine does not know from others.
    pub content: Option<u64>,
    operations: Vec<Decided>,
    /// How many of the first operations are decided with the lines: 0 or 1.
    n_implied: usize,
    review: Option<Review>,
    stage: Stage,
}

impl FileChange {
    /// Proposes `operations` on a file, and the hunks of `review`, if any.
    pub fn new(operations: Vec<Operation>, review: Option<Review>) -> FileChange {
        let pending = |operation| Decided {
            operation,
            mark: Mark::Pending,
            obstacle: None,
            presence: Presence::Out,
            is_ours: false,
            has_failed: false,
        };
        let has_lines = review.as_ref().is_some_and(|review| review.tally().0 > 0);
        let is_new = matches!(operations.first(), Some(Operation::Create { .. }));
        FileChange {
            content: None,
            n_implied: usize::from(has_lines && is_new),
            operations: operations.into_iter().map(pending).collect(),
            review,
            stage: Stage::Proposed,
        }
    }

    /// The operations, in order.
    pub fn operations(&self) -> impl ExactSizeIterator<Item = &Operation> {
        self.operations.iter().map(|decided| &decided.operation)
    }

    /// The review of the text, if it changes.
    pub fn review(&self) -> Option<&Review> {
        self.review.as_ref()
    }

    /// The operations and hunks of this file that are decided, in order.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        let n_hunks = self
            .review
            .as_ref()
            .map_or(0, |review| review.proposal().n_hunks());
        let operations = (self.n_implied..self.operations.len()).map(Entry::Operation);
        operations.chain((0..n_hunks).map(Entry::Hunk))
    }

    /// Returns the mark of `entry`. Panics if there is no such entry.
    pub fn mark(&self, entry: Entry) -> Mark {
        match entry {
            Entry::Operation(at) => self.operations[at].mark,
            Entry::Hunk(hunk) => self.review_or_panic().mark(hunk),
        }
    }

    /// Returns whether `entry` is in the target, wholly or in part. Panics if there is no such
    /// entry.
    pub fn is_in(&self, entry: Entry) -> bool {
        match entry {
            Entry::Operation(at) => self.operations[at].presence == Presence::In,
            Entry::Hunk(hunk) => self.review_or_panic().fact(hunk) != Fact::Out,
        }
    }

    fn review_or_panic(&self) -> &Review {
        self.review.as_ref().expect("only a text has hunks")
    }

    /// The operations that are decided by themselves.
    fn decided(&self) -> &[Decided] {
        &self.operations[self.n_implied..]
    }

    /// Returns what `command` does to operation `at`.
    fn operation_step(&self, at: usize, command: Command) -> Result<Step, Unable> {
        let decided = self.operations.get(at).ok_or(Unable::NoSuchEntry)?;
        let fact = match decided.presence {
            Presence::In => Fact::In,
            Presence::Out => Fact::Out,
            // Not to do it needs no file.
            Presence::Neither if command == Command::Reject && self.stage == Stage::Proposed => {
                Fact::Out
            }
            Presence::Neither => return Err(Unable::Changed(decided.obstacle())),
        };
        step(self.stage, decided.mark, fact, command).map_err(|why| match why {
            Refusal::Gone => Unable::Changed("it has been undone since".to_owned()),
            why => why.into(),
        })
    }

    /// Returns whether `command` is for `entry` when it is for all entries; see [`Review::is_for`]. Panics
    /// if there is no such entry.
    pub fn is_for(&self, command: Command, entry: Entry) -> bool {
        let at = match entry {
            Entry::Operation(at) => at,
            Entry::Hunk(hunk) => return self.review_or_panic().is_for(command, hunk),
        };
        let decided = &self.operations[at];
        match (command, self.stage, decided.presence) {
            (Command::Unapply, Stage::Proposed, Presence::In) => true,
            (Command::Unapply, Stage::Proposed, Presence::Out) => false,
            // Of what others have changed since, the user must read that it stays.
            (Command::Unapply, Stage::Proposed, Presence::Neither) => decided.is_ours,
            (Command::Unapply, Stage::Written, _) => decided.mark != Mark::Pending,
            _ => decided.mark == Mark::Pending,
        }
    }

    /// Returns the steps of `command` on the operations for which `is_meant` holds. What is not
    /// possible goes into `refused`.
    fn steps(
        &self,
        command: Command,
        is_meant: impl Fn(Entry) -> bool,
        refused: &mut Vec<(Entry, Unable)>,
    ) -> Vec<(usize, Step)> {
        let mut steps = Vec::new();
        let decided = self.n_implied..self.operations.len();
        for at in decided.filter(|&at| is_meant(Entry::Operation(at))) {
            match self.operation_step(at, command) {
                Ok(step) => steps.push((at, step)),
                Err(why) => refused.push((Entry::Operation(at), why)),
            }
        }
        steps
    }

    /// Returns the creation or removal of the file, if that is decided with its lines when they
    /// change by `plan`.
    fn steps_with_lines(&self, plan: &Plan) -> Result<Vec<(usize, Step)>, Unable> {
        let Some(creation) = self.operations[..self.n_implied].first() else {
            return Ok(Vec::new());
        };
        if plan.edits.is_empty() {
            return Ok(Vec::new());
        }
        let is_empty = is_empty_after(self.review_or_panic(), &plan.edits);
        let command = match (creation.presence, is_empty, self.stage) {
            (Presence::In, false, _) | (Presence::Out, true, _) => return Ok(Vec::new()),
            (Presence::In, true, Stage::Written) => Command::Reject,
            (Presence::In, true, Stage::Proposed) => Command::Unapply,
            (Presence::Out | Presence::Neither, _, Stage::Written) => Command::Unapply,
            (Presence::Out | Presence::Neither, _, Stage::Proposed) => Command::Accept,
        };
        Ok(vec![(0, self.operation_step(0, command)?)])
    }

    /// Returns `plan` for its text, after adding what is decided with the lines to `operations`; `None`
    /// if that is not possible. What is not possible, as `unable`, goes into `refused`.
    fn text_part(
        &self,
        plan: Plan,
        unable: Vec<(usize, Refusal)>,
        operations: &mut Vec<(usize, Step)>,
        refused: &mut Vec<(Entry, Unable)>,
    ) -> Option<Plan> {
        let unable = unable.into_iter();
        refused.extend(unable.map(|(hunk, why)| (Entry::Hunk(hunk), self.unable(why))));
        match self.steps_with_lines(&plan) {
            Ok(steps) => {
                operations.splice(0..0, steps);
                Some(plan)
            }
            Err(why) => {
                let hunks = plan.steps.iter().map(|&(hunk, _)| Entry::Hunk(hunk));
                refused.extend(hunks.map(|entry| (entry, why.clone())));
                None
            }
        }
    }

    /// Returns why the file, which is new, cannot be created for its lines, if that is so.
    fn obstacle_to_lines(&self) -> Option<String> {
        let creation = self.operations[..self.n_implied].first()?;
        (creation.presence == Presence::Neither).then(|| creation.obstacle())
    }

    /// Returns why a command on its lines is not possible, which the text says is because of `why`.
    fn unable(&self, why: Refusal) -> Unable {
        match self.obstacle_to_lines() {
            Some(obstacle) => Unable::Changed(obstacle),
            None => why.into(),
        }
    }
}

/// Returns whether `edits` leave nothing of the target of `review`.
fn is_empty_after(review: &Review, edits: &[LineEdit]) -> bool {
    let target = review.proposal().target();
    let n_lines = target.split_inclusive(|&byte| byte == b'\n').count();
    let n_removed: usize = edits.iter().map(|edit| edit.n_removed).sum();
    n_removed == n_lines && edits.iter().all(|edit| edit.text.is_empty())
}

/// What a command would do to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The index of the file.
    pub file: usize,
    /// The step of each operation concerned, with its index, in order.
    pub operations: Vec<(usize, Step)>,
    /// What would become of the text.
    pub text: Option<Plan>,
}

impl Part {
    fn is_empty(&self) -> bool {
        let has_steps = |plan: &Plan| !plan.steps.is_empty();
        self.operations.is_empty() && !self.text.as_ref().is_some_and(has_steps)
    }
}

/// What a command would do: the parts of all files, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePlan {
    /// One for each file concerned.
    pub parts: Vec<Part>,
    role: Role,
}

impl ChangePlan {
    fn of_file(file: usize, operations: Vec<(usize, Step)>, text: Option<Plan>) -> ChangePlan {
        let part = Part {
            file,
            operations,
            text,
        };
        ChangePlan {
            parts: vec![part],
            role: Role::Decision,
        }
    }
}

/// What a command on several entries refuses, each with its file and the reason.
pub type Refused = Vec<(usize, Entry, Unable)>;

/// Several files, decided together.
#[derive(Debug, Clone, Default)]
pub struct Change {
    files: Vec<FileChange>,
    done: Vec<Moment>,
    undone: Vec<Moment>,
}

impl Change {
    /// Begins to decide `files`; everything is pending.
    pub fn new(files: Vec<FileChange>) -> Change {
        Change {
            files,
            ..Change::default()
        }
    }

    /// Records that the change was written before the review.
    pub fn begin_written(&mut self) {
        for file in &mut self.files {
            file.stage = Stage::Written;
            if let Some(review) = &mut file.review {
                review.begin_written();
            }
        }
    }

    /// Takes the review of the only file out of a change that has nothing else, and nothing
    /// decided; `None` if there is more.
    pub fn take_only_review(&mut self) -> Option<Review> {
        let is_undecided = self.done.is_empty() && self.undone.is_empty();
        match &mut self.files[..] {
            [file] if is_undecided && file.operations.is_empty() => file.review.take(),
            _ => None,
        }
    }

    /// Ends any run of edits of the targets; see [`Review::settle`].
    pub fn settle(&mut self) {
        for file in &mut self.files {
            if let Some(review) = &mut file.review {
                review.settle();
            }
        }
    }

    /// The files, in order.
    pub fn files(&self) -> &[FileChange] {
        &self.files
    }

    /// Returns the review of file `file`, to tell it about its target. `None` if there is none.
    /// Decide through the change, which keeps the history.
    pub fn review_mut(&mut self, file: usize) -> Option<&mut Review> {
        self.files.get_mut(file)?.review.as_mut()
    }

    /// Records whether operation `at` of file `file` has been done. Panics if there is no such
    /// operation.
    pub fn observe(&mut self, file: usize, at: usize, presence: Presence) {
        let decided = &mut self.files[file].operations[at];
        decided.presence = presence;
        decided.obstacle = None;
    }

    /// Records that operation `at` of file `file` can be neither done nor undone, because of `why`.
    /// Panics if there is no such operation.
    pub fn observe_obstacle(&mut self, file: usize, at: usize, why: String) {
        self.observe(file, at, Presence::Neither);
        self.files[file].operations[at].obstacle = Some(why);
    }

    /// Returns the numbers of all entries, of those marked applied, and of those marked rejected.
    pub fn tally(&self) -> (usize, usize, usize) {
        let mut sum = (0, 0, 0);
        for change in &self.files {
            let with = |mark| change.decided().iter().filter(move |one| one.mark == mark);
            let (total, applied, rejected) = change.review().map_or((0, 0, 0), Review::tally);
            sum.0 += total + change.decided().len();
            sum.1 += applied + with(Mark::Applied).count();
            sum.2 += rejected + with(Mark::Rejected).count();
        }
        sum
    }

    /// Records that `entry` of file `file` was accepted but could not be done. Panics if there is
    /// no such entry.
    pub fn fail(&mut self, file: usize, entry: Entry) {
        let change = &mut self.files[file];
        match (entry, &mut change.review) {
            (Entry::Operation(at), _) => change.operations[at].has_failed = true,
            (Entry::Hunk(hunk), Some(review)) => review.fail(hunk),
            (Entry::Hunk(_), None) => panic!("only a text has hunks"),
        }
    }

    /// Returns the decision on all files if the review ended now: accepted if anything is, and not
    /// applied if nothing is because it could not be.
    pub fn decision(&self, basis: Basis) -> Decision {
        let operations = self.files.iter().flat_map(FileChange::decided);
        let decisions = operations.map(|decided| decided.decision(basis));
        let reviews = self.files.iter().filter_map(FileChange::review);
        let decisions = decisions.chain(reviews.map(|review| review.decision(basis)));
        decisions.fold(Decision::Rejected, |sum, decision| match (sum, decision) {
            (Decision::Accepted, _) | (_, Decision::Accepted) => Decision::Accepted,
            (Decision::NotApplied, _) | (_, Decision::NotApplied) => Decision::NotApplied,
            (Decision::Rejected, Decision::Rejected) => Decision::Rejected,
        })
    }

    /// Plans `command` on `entry` of file `file`.
    ///
    /// # Errors
    ///
    /// [`Unable`] says why that is not possible.
    pub fn plan(&self, file: usize, entry: Entry, command: Command) -> Result<ChangePlan, Unable> {
        let change = self.files.get(file).ok_or(Unable::NoSuchEntry)?;
        match entry {
            Entry::Operation(at) => {
                let step = change.operation_step(at, command)?;
                Ok(ChangePlan::of_file(file, vec![(at, step)], None))
            }
            Entry::Hunk(hunk) => {
                let review = change.review().ok_or(Unable::NoSuchEntry)?;
                let planned = review.plan(hunk, command);
                self.with_file(file, planned.map_err(|why| change.unable(why))?)
            }
        }
    }

    /// Plans what `plan` returns for the text of file `file`, as [`Review::plan_edit`] or
    /// [`Review::plan_merge`] do.
    ///
    /// # Errors
    ///
    /// As for [`Change::plan`].
    pub fn plan_lines(
        &mut self,
        file: usize,
        plan: impl FnOnce(&mut Review) -> Result<Plan, Refusal>,
    ) -> Result<ChangePlan, Unable> {
        let plan = plan(self.review_mut(file).ok_or(Unable::NoSuchEntry)?)?;
        self.with_file(file, plan)
    }

    /// Returns `plan` for the text of file `file`, together with what is decided with it.
    fn with_file(&self, file: usize, plan: Plan) -> Result<ChangePlan, Unable> {
        let operations = self.files[file].steps_with_lines(&plan)?;
        Ok(ChangePlan::of_file(file, operations, Some(plan)))
    }

    /// Plans `command` on everything in `files` that it is for; see [`FileChange::is_for`] and
    /// [`Change::plan_each`].
    pub fn plan_all(
        &self,
        files: impl IntoIterator<Item = usize>,
        command: Command,
    ) -> (ChangePlan, Refused) {
        let is_for = |file: usize, entry| self.files[file].is_for(command, entry);
        self.plan_each(files, command, is_for)
    }

    /// Plans `command` on those entries of `files` for which `is_meant` holds, whatever was decided of
    /// them, as one plan. Also returns those on which it is not possible.
    pub fn plan_each(
        &self,
        files: impl IntoIterator<Item = usize>,
        command: Command,
        is_meant: impl Fn(usize, Entry) -> bool,
    ) -> (ChangePlan, Refused) {
        let (mut parts, mut all_refused) = (Vec::new(), Vec::new());
        for file in files {
            let change = &self.files[file];
            let mut refused = Vec::new();
            let is_meant = |entry| is_meant(file, entry);
            let mut operations = change.steps(command, is_meant, &mut refused);
            let text = change.review().and_then(|review| {
                let (plan, unable) = review.plan_each(command, |hunk| is_meant(Entry::Hunk(hunk)));
                change.text_part(plan, unable, &mut operations, &mut refused)
            });
            let part = Part {
                file,
                operations,
                text: text.filter(|plan| !plan.steps.is_empty()),
            };
            parts.extend((!part.is_empty()).then_some(part));
            let refused = refused.into_iter();
            all_refused.extend(refused.map(|(entry, why)| (file, entry, why)));
        }
        let role = Role::Decision;
        (ChangePlan { parts, role }, all_refused)
    }
}

// All entries of a change, numbered from 0 through all its files, and what there is to show of
// them.

impl FileChange {
    /// Returns the number of entries.
    pub fn n_entries(&self) -> usize {
        self.decided().len()
            + self
                .review()
                .map_or(0, |review| review.proposal().n_hunks())
    }

    /// Returns the number of `entry` among those of this file.
    fn number(&self, entry: Entry) -> usize {
        match entry {
            Entry::Operation(at) => at - self.n_implied,
            Entry::Hunk(hunk) => self.decided().len() + hunk,
        }
    }

    /// Returns the entry with the number `number` among those of this file.
    fn numbered(&self, number: usize) -> Entry {
        match number.checked_sub(self.decided().len()) {
            None => Entry::Operation(number + self.n_implied),
            Some(hunk) => Entry::Hunk(hunk),
        }
    }
}

impl Change {
    /// Returns the number of all entries.
    pub fn n_entries(&self) -> usize {
        self.files.iter().map(FileChange::n_entries).sum()
    }

    /// Returns the numbers of the entries of file `file`. Panics if there is no such file.
    pub fn entries_of(&self, file: usize) -> Range<usize> {
        let start = self.files[..file].iter().map(FileChange::n_entries).sum();
        start..start + self.files[file].n_entries()
    }

    /// Returns the number of `entry` of file `file`. Panics if there is no such file.
    pub fn number(&self, file: usize, entry: Entry) -> usize {
        self.entries_of(file).start + self.files[file].number(entry)
    }

    /// Returns the file of the entry with the number `number`, and the entry.
    ///
    /// # Errors
    ///
    /// [`Unable::NoSuchEntry`].
    pub fn entry(&self, number: usize) -> Result<(usize, Entry), Unable> {
        let mut rest = number;
        for (file, change) in (0..).zip(&self.files) {
            let n = change.n_entries();
            if rest < n {
                return Ok((file, change.numbered(rest)));
            }
            rest -= n;
        }
        Err(Unable::NoSuchEntry)
    }

    /// Returns the number of the next pending entry after `number`, wrapping around at the end;
    /// `None` if no other is pending.
    ///
    /// # Errors
    ///
    /// [`Unable::NoSuchEntry`].
    pub fn next_pending(&self, number: usize) -> Result<Option<usize>, Unable> {
        self.entry(number)?;
        let marks = self.files.iter().flat_map(|change| {
            let entries = change.entries();
            entries.map(|entry| change.mark(entry))
        });
        let marks: Vec<Mark> = marks.collect();
        let mut others = (number + 1..marks.len()).chain(0..number);
        Ok(others.find(|&other| marks[other] == Mark::Pending))
    }

    /// Sets the mark of `entry` of file `file`, and changes nothing else. Panics if there is no
    /// such entry.
    pub fn set_mark(&mut self, file: usize, entry: Entry, mark: Mark) {
        let change = &mut self.files[file];
        match (entry, &mut change.review) {
            (Entry::Operation(at), _) => {
                change.operations[at].mark = mark;
                change.operations[at].has_failed &= mark == Mark::Pending;
            }
            (Entry::Hunk(hunk), Some(review)) => review.set_mark(hunk, mark),
            (Entry::Hunk(_), None) => panic!("only a text has hunks"),
        }
    }

    /// Rejects every entry of `files` that is not marked applied.
    pub fn reject_all(&mut self, files: Range<usize>) {
        let (plan, _) = self.plan_all(files.clone(), Command::Reject);
        self.commit(&plan);
        // One that was rejected already may have failed to be accepted since then.
        for file in files {
            for number in 0..self.files[file].n_entries() {
                let entry = self.files[file].numbered(number);
                if self.files[file].mark(entry) != Mark::Applied {
                    self.set_mark(file, entry, Mark::Rejected);
                }
            }
        }
    }

    /// Returns the numbers of entries in each state.
    pub fn counts(&self) -> Counts {
        let (total, applied, rejected) = self.tally();
        let in_target = self.files.iter().map(|change| {
            let is_in = |one: &&Decided| one.presence == Presence::In;
            let counts = change.review().map(Review::counts).unwrap_or_default();
            change.decided().iter().filter(is_in).count() + counts.in_target
        });
        Counts {
            total,
            applied,
            rejected,
            in_target: in_target.sum(),
        }
    }

    /// Returns how many entries are in the target, in conflict, or not where they were expected.
    pub fn standing(&self) -> Standing {
        let mut sum = Standing::default();
        for change in &self.files {
            let standing = change.review().map(|review| review.standing());
            let standing = standing.unwrap_or_default();
            sum.is_in += standing.is_in;
            if change.obstacle_to_lines().is_some() {
                sum.conflict += change.n_entries() - standing.is_in;
            } else {
                sum.conflict += standing.conflict;
                sum.ambiguous += standing.ambiguous;
                sum.shifted += standing.shifted;
            }
            for decided in change.decided() {
                match decided.presence {
                    Presence::In => sum.is_in += 1,
                    Presence::Neither => sum.conflict += 1,
                    Presence::Out => {}
                }
            }
        }
        sum
    }

    /// Returns everything to be shown of the entry with the number `number`. An operation has no
    /// line.
    ///
    /// # Errors
    ///
    /// [`Unable::NoSuchEntry`].
    pub fn snapshot(&self, number: usize) -> Result<Snapshot, Unable> {
        let (file, entry) = self.entry(number)?;
        let change = &self.files[file];
        let id = self.id(file, entry);
        Ok(match entry {
            Entry::Hunk(hunk) => {
                let snapshot = change.review_or_panic().snapshot(hunk);
                let is_out = snapshot.fact == Fact::Out;
                let obstacle = change.obstacle_to_lines().filter(|_| is_out);
                Snapshot {
                    hunk: number,
                    id,
                    position: match obstacle {
                        Some(_) => Position::Conflict,
                        None => snapshot.position,
                    },
                    reason: obstacle.or(snapshot.reason),
                    ..snapshot
                }
            }
            Entry::Operation(at) => {
                let decided = &change.operations[at];
                let is_changed = decided.presence == Presence::Neither;
                Snapshot {
                    hunk: number,
                    id,
                    mark: decided.mark,
                    fact: match decided.presence {
                        Presence::In => Fact::In,
                        Presence::Out | Presence::Neither => Fact::Out,
                    },
                    reason: is_changed.then(|| decided.obstacle()),
                    position: if is_changed {
                        Position::Conflict
                    } else {
                        Position::Expected
                    },
                    line: None,
                    offset: Some(0),
                    fuzz: 0,
                    places: Vec::new(),
                    was_in: decided.presence == Presence::In && !decided.is_ours,
                    is_edited: false,
                }
            }
        })
    }

    /// Returns a number that `entry` of file `file` keeps, even if its own changes; see
    /// [`Snapshot::id`]. Panics if there is no such entry.
    pub fn id(&self, file: usize, entry: Entry) -> usize {
        let change = &self.files[file];
        let within = match entry {
            Entry::Operation(at) => at,
            Entry::Hunk(hunk) => change.operations.len() + change.review_or_panic().id(hunk),
        };
        // The number of files stays the same.
        within * self.files.len() + file
    }

    /// Returns the number of the entry with the id `id`, if it still exists.
    pub fn number_with_id(&self, id: usize) -> Option<usize> {
        let file = id.checked_rem(self.files.len())?;
        let within = id / self.files.len();
        let change = &self.files[file];
        let entry = match within.checked_sub(change.operations.len()) {
            None => Entry::Operation(within),
            Some(id) => Entry::Hunk(change.review()?.hunk_with_id(id)?),
        };
        Some(self.number(file, entry))
    }
}
