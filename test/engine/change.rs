//! A change of several files.

mod git;

use agent_q_diff_engine::change::{
    Change, ChangePlan, Entry, FileChange, Operation, Presence, Unable,
};
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::Command::{self, Accept, Reject, Toggle, Unapply};
use agent_q_diff_engine::review::Mark::{self, Applied, Pending, Rejected};
use agent_q_diff_engine::review::{Basis, Decision, Note, Position, Refusal, Review};

use crate::common::desk::edited;
use crate::common::dice::Dice;
use crate::common::n_cases;

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
struct File {
    path: String,
    mode: u32,
    /// What is in it; of a link, where it leads.
    bytes: Vec<u8>,
}

/// One file of a change, and what is proposed for it.
#[derive(Clone)]
struct Proposed {
    old: Option<File>,
    new: Option<File>,
    operations: Vec<Operation>,
    /// The original's line that each hunk replaces, in order; empty if the text does not change.
    hunks: Vec<usize>,
    /// How many lines others have typed at the beginning.
    n_typed: usize,
}

const N_LINES: usize = 40;

fn text_of(n_lines: usize, changed: &[usize]) -> Vec<u8> {
    let line = |at: usize| match changed.contains(&at) {
        true => format!("changed {at}\n"),
        false => format!("line {at}\n"),
    };
    (0..n_lines).map(line).collect::<String>().into_bytes()
}

impl Proposed {
    /// Throws dice for what happens to the file number `number`.
    fn random(number: usize, dice: &mut Dice) -> Proposed {
        let file = |path: &str, mode, bytes| {
            Some(File {
                path: format!("{path}{number}"),
                mode,
                bytes,
            })
        };
        let lines: Vec<usize> = (0..3)
            .map(|hunk| hunk * 12 + 4)
            .filter(|_| dice.roll(2) < 1)
            .collect();
        let original = text_of(N_LINES, &[]);
        let plain = file("old", 0o100_644, original.clone());
        let edited = |path, mode| file(path, mode, text_of(N_LINES, &lines));
        let (old, new, operations) = match dice.roll(8) {
            0 => {
                let text = if dice.roll(3) < 1 {
                    Vec::new()
                } else {
                    original
                };
                let mode = 0o100_755;
                (
                    None,
                    file("new", mode, text),
                    vec![Operation::Create { mode }],
                )
            }
            1 => (plain, None, vec![Operation::Delete { text: original }]),
            2 => (plain, edited("new", 0o100_644), vec![Operation::Rename]),
            3 | 4 => {
                let (old, new) = (0o100_644, 0o100_755);
                (
                    plain,
                    edited("old", new),
                    vec![Operation::Mode { old, new }],
                )
            }
            5 => {
                let (old, new) = (0o100_644, 0o100_755);
                let operations = vec![Operation::Rename, Operation::Mode { old, new }];
                (plain, edited("new", new), operations)
            }
            6 => {
                let (old, new) = (b"here".to_vec(), b"there".to_vec());
                let operation = Operation::Link {
                    old: Some(old.clone()),
                    new: Some(new.clone()),
                };
                let link = |bytes| file("link", 0o120_000, bytes);
                (link(old), link(new), vec![operation])
            }
            _ => (plain, edited("old", 0o100_644), Vec::new()),
        };
        let is_text = old.as_ref().is_some_and(|old| old.mode != 0o120_000) && new.is_some();
        let is_full = old.is_none() && new.as_ref().is_some_and(|new| !new.bytes.is_empty());
        Proposed {
            old,
            new,
            operations,
            // The lines of a new file are one hunk.
            hunks: if is_full {
                vec![0]
            } else if is_text {
                lines
            } else {
                Vec::new()
            },
            n_typed: 0,
        }
    }

    fn file_change(&self) -> FileChange {
        let bytes =
            |file: &Option<File>| file.as_ref().map_or(Vec::new(), |file| file.bytes.clone());
        let review = (!self.hunks.is_empty()).then(|| {
            let (old, new) = (bytes(&self.old), bytes(&self.new));
            let mut review = Review::new(Proposal::from_texts(old.clone(), new, 3).unwrap());
            review.follow(&old);
            assert_eq!(review.tally().0, self.hunks.len());
            review
        });
        FileChange::new(self.operations.clone(), review)
    }

    /// Returns what the file is with exactly the entries for which `is_in` holds: the oracle.
    fn with(&self, is_in: impl Fn(Entry) -> bool) -> Option<File> {
        let mut file = self.old.clone();
        for (at, operation) in self.operations.iter().enumerate() {
            let new = self.new.as_ref();
            // A new file is there as long as it has lines, of the proposal or of others.
            let is_done = match self.hunks.is_empty() || self.old.is_some() {
                true => is_in(Entry::Operation(at)),
                false => is_in(Entry::Hunk(0)) || self.n_typed > 0,
            };
            if !is_done {
                continue;
            }
            match (operation, &mut file) {
                (Operation::Create { mode }, file) => {
                    *file = Some(File {
                        path: new.unwrap().path.clone(),
                        mode: *mode,
                        bytes: Vec::new(),
                    });
                }
                (Operation::Delete { .. }, file) => *file = None,
                (Operation::Rename, Some(file)) => file.path = new.unwrap().path.clone(),
                (Operation::Mode { new, .. }, Some(file)) => file.mode = *new,
                (Operation::Link { new, .. }, Some(file)) => file.bytes = new.clone().unwrap(),
                (operation, None) => panic!("{operation:?} of no file"),
                (operation, _) => panic!("{operation:?} is in no case"),
            }
        }
        if !self.hunks.is_empty() {
            let hunks = self.hunks.iter().enumerate();
            let chosen: Vec<usize> = hunks
                .filter(|(hunk, _)| is_in(Entry::Hunk(*hunk)))
                .map(|(_, line)| *line)
                .collect();
            let text = match (&self.old, chosen.is_empty()) {
                (None, true) => Vec::new(),
                (None, false) => self.new.as_ref().unwrap().bytes.clone(),
                (Some(_), _) => text_of(N_LINES, &chosen),
            };
            if let Some(file) = &mut file {
                file.bytes = [typed(self.n_typed), text].concat();
            } else {
                assert_eq!((text.len(), self.n_typed), (0, 0), "lines of no file");
            }
        }
        file
    }
}

fn typed(n_lines: usize) -> Vec<u8> {
    "typed\n".repeat(n_lines).into_bytes()
}

/// A change, and the files that it is about.
#[derive(Clone)]
struct Table {
    proposed: Vec<Proposed>,
    change: Change,
    /// Each of the files as it is now.
    files: Vec<Option<File>>,
}

impl Table {
    fn of(proposed: Vec<Proposed>) -> Table {
        let change = Change::new(proposed.iter().map(Proposed::file_change).collect());
        let files = proposed.iter().map(|file| file.old.clone()).collect();
        Table {
            proposed,
            change,
            files,
        }
    }

    /// Returns the files after `plan`; `None` if its step with the number `fault` fails.
    fn carried_out(&self, plan: &ChangePlan, fault: usize) -> Option<Vec<Option<File>>> {
        let mut files = self.files.clone();
        let mut n_steps = 0;
        let mut is_fine = || {
            n_steps += 1;
            n_steps <= fault
        };
        for part in &plan.parts {
            let proposed = &self.proposed[part.file];
            let file = &mut files[part.file];
            let flips = part.operations.iter().filter(|(_, step)| step.is_flip);
            let is_in = |at: usize| self.change.files()[part.file].is_in(Entry::Operation(at));
            for &(at, _) in flips.clone() {
                if let (Operation::Create { mode }, false) = (&proposed.operations[at], is_in(at)) {
                    is_fine().then_some(())?;
                    assert!(file.is_none());
                    *file = Some(File {
                        path: proposed.new.as_ref().unwrap().path.clone(),
                        mode: *mode,
                        bytes: Vec::new(),
                    });
                }
            }
            if let Some(text) = part.text.as_ref().filter(|text| !text.edits.is_empty()) {
                is_fine().then_some(())?;
                let file = file.as_mut().expect("lines are put into a file");
                file.bytes = edited(&file.bytes, &text.edits);
            }
            for &(at, _) in flips {
                let (old, new) = (proposed.old.as_ref(), proposed.new.as_ref());
                let side = if is_in(at) { old } else { new };
                is_fine().then_some(())?;
                match (&proposed.operations[at], &mut *file) {
                    (Operation::Create { .. }, file) if is_in(at) => {
                        assert_eq!(file.take().unwrap().bytes, b"");
                    }
                    (Operation::Create { .. }, _) => {}
                    (Operation::Delete { .. }, file) => *file = side.cloned(),
                    (Operation::Rename, file) => {
                        file.as_mut().unwrap().path = side.unwrap().path.clone();
                    }
                    (Operation::Mode { .. }, file) => {
                        file.as_mut().unwrap().mode = side.unwrap().mode;
                    }
                    (_, file) => file.as_mut().unwrap().bytes = side.unwrap().bytes.clone(),
                }
            }
        }
        Some(files)
    }

    /// Carries out `plan` in all files, or, if its step with the number `fault` fails, in none.
    fn carry_out(&mut self, plan: &ChangePlan, fault: usize) {
        let Some(files) = self.carried_out(plan, fault) else {
            return;
        };
        self.files = files;
        self.change.commit(plan);
    }

    fn check(&mut self) {
        for (at, proposed) in self.proposed.iter().enumerate() {
            let change = &self.change.files()[at];
            assert_eq!(
                self.files[at],
                proposed.with(|entry| change.is_in(entry)),
                "file {at}"
            );
            if let Some(review) = self.change.review_mut(at) {
                let live = self.files[at].as_ref().map_or(&b""[..], |file| &file.bytes);
                assert!(!review.follow(live), "our own edits are no news");
            }
        }
    }

    fn entries(&self) -> Vec<(usize, Entry)> {
        let files = (0..).zip(self.change.files());
        files
            .flat_map(|(at, file)| file.entries().map(move |entry| (at, entry)))
            .collect()
    }

    fn marks(&self) -> Vec<Vec<Mark>> {
        let files = self.change.files().iter();
        files
            .map(|file| file.entries().map(|entry| file.mark(entry)).collect())
            .collect()
    }

    /// Has others type a line at the beginning of file `at`, if that has lines.
    fn type_into(&mut self, at: usize) {
        let proposed = &mut self.proposed[at];
        if let (Some(file), Some(review)) = (&mut self.files[at], self.change.review_mut(at)) {
            proposed.n_typed += 1;
            file.bytes = [typed(1), file.bytes.clone()].concat();
            review.edit_outside(0, 0, &typed(1), false);
        }
    }

    /// Does something at random.
    fn step(&mut self, dice: &mut Dice) {
        // Most commands succeed.
        let fault = if dice.roll(4) < 1 {
            dice.roll(4)
        } else {
            usize::MAX
        };
        let file = dice.roll(self.proposed.len());
        let one = || file..file + 1;
        let all = || 0..self.proposed.len();
        let plan = match dice.roll(16) {
            0 => self.change.plan_all(all(), Accept).0,
            1 => self.change.plan_all(all(), Reject).0,
            2 => self.change.plan_all(all(), Unapply).0,
            3 => self.change.plan_all(one(), Accept).0,
            4 => self.change.plan_all(one(), Reject).0,
            5 => self.change.plan_all(one(), Unapply).0,
            6 | 7 => match self.change.plan_undo() {
                Ok(plan) => plan,
                Err(_) => return,
            },
            8 => match self.change.plan_redo() {
                Ok(plan) => plan,
                Err(_) => return,
            },
            9 => return self.type_into(file),
            _ => {
                let entries: Vec<Entry> = self.change.files()[file].entries().collect();
                if entries.is_empty() {
                    return;
                }
                let entry = entries[dice.roll(entries.len())];
                let command = [Accept, Reject, Toggle, Unapply][dice.roll(4)];
                match self.change.plan(file, entry, command) {
                    Ok(plan) => plan,
                    Err(_) => return,
                }
            }
        };
        self.carry_out(&plan, fault);
    }
}

#[test]
fn after_every_step_each_file_is_the_original_with_exactly_what_is_in_it() {
    for case in 0..n_cases(300) {
        let mut dice = Dice::new(case as u64);
        let n_files = 1 + dice.roll(5);
        let proposed = (0..n_files)
            .map(|at| Proposed::random(at, &mut dice))
            .collect();
        let mut table = Table::of(proposed);
        for _ in 0..60 {
            table.step(&mut dice);
            table.check();
        }
    }
}

#[test]
fn entries_in_any_state_are_decided_at_once_as_one_after_the_other() {
    let (mut n_decided, mut n_refused) = (0, 0);
    for case in 0..n_cases(300) {
        let mut dice = Dice::new(2_000_000 + case as u64);
        let proposed = (0..4).map(|at| Proposed::random(at, &mut dice)).collect();
        let mut table = Table::of(proposed);
        if dice.roll(2) == 0 {
            let (plan, _) = table.change.plan_all(0..4, Accept);
            table.carry_out(&plan, usize::MAX);
            for (file, entry) in table.entries() {
                table.change.set_mark(file, entry, Pending);
            }
            table.change.begin_written();
        }
        for _ in 0..20 {
            table.step(&mut dice);
            let command = [Accept, Reject, Unapply][dice.roll(3)];
            let entries = table.entries().into_iter();
            let meant: Vec<_> = entries.filter(|_| dice.roll(3) > 0).collect();
            let (mut other, mut expected) = (table.clone(), Vec::new());
            for &(file, entry) in &meant {
                match other.change.plan(file, entry, command) {
                    Ok(plan) => other.carry_out(&plan, usize::MAX),
                    Err(why) => expected.push((file, entry, why)),
                }
            }
            let is_meant = |file, entry| meant.contains(&(file, entry));
            let n_before = table.change.n_decisions();
            let (plan, refused) = table.change.plan_each(0..4, command, is_meant);
            table.carry_out(&plan, usize::MAX);
            table.check();
            assert_eq!(refused, expected);
            assert_eq!((table.marks(), &table.files), (other.marks(), &other.files));
            assert!(table.change.n_decisions() <= n_before + 1);
            n_decided += meant.len() - refused.len();
            n_refused += refused.len();
        }
    }
    assert!(n_decided > 1_000 && n_refused > 100);
}

#[test]
fn undone_to_the_beginning_everything_is_as_it_was() {
    for case in 0..n_cases(100) {
        let mut dice = Dice::new(1_000_000 + case as u64);
        let proposed: Vec<Proposed> = (0..4).map(|at| Proposed::random(at, &mut dice)).collect();
        let originals: Vec<_> = proposed.iter().map(|file| file.old.clone()).collect();
        let mut table = Table::of(proposed);
        for _ in 0..20 {
            match dice.roll(4) {
                0 => {
                    let plan = table.change.plan_all(0..4, Accept).0;
                    table.carry_out(&plan, usize::MAX);
                }
                1 => {
                    let plan = table.change.plan_all(0..4, Unapply).0;
                    table.carry_out(&plan, usize::MAX);
                }
                _ => {
                    let file = dice.roll(4);
                    let entry = table.change.files()[file].entries().next();
                    let plan = entry.map(|entry| table.change.plan(file, entry, Toggle));
                    if let Some(Ok(plan)) = plan {
                        table.carry_out(&plan, usize::MAX);
                    }
                }
            }
        }
        let (marks, files) = (table.marks(), table.files.clone());
        let n_decisions = table.change.n_decisions();
        for _ in 0..n_decisions {
            let plan = table.change.plan_undo().unwrap();
            table.carry_out(&plan, usize::MAX);
            table.check();
        }
        assert_eq!(table.files, originals);
        assert!(table.marks().concat().iter().all(|mark| *mark == Pending));
        for _ in 0..n_decisions {
            let plan = table.change.plan_redo().unwrap();
            table.carry_out(&plan, usize::MAX);
        }
        assert_eq!((table.marks(), table.files), (marks, files));
    }
}

fn file(path: &str, bytes: &[u8]) -> Option<File> {
    Some(File {
        path: path.to_owned(),
        mode: 0o100_644,
        bytes: bytes.to_vec(),
    })
}

fn proposed(old: Option<File>, new: Option<File>, operation: Operation) -> Proposed {
    let hunks = match &operation {
        Operation::Create { .. } => vec![0],
        _ => Vec::new(),
    };
    Proposed {
        old,
        new,
        operations: vec![operation],
        hunks,
        n_typed: 0,
    }
}

fn new_file() -> Table {
    let create = Operation::Create { mode: 0o100_644 };
    Table::of(vec![proposed(None, file("new", b"a\nb\n"), create)])
}

const FILE: Entry = Entry::Operation(0);
const LINES: Entry = Entry::Hunk(0);

impl Table {
    fn act(&mut self, entry: Entry, command: Command) -> Result<(), Unable> {
        let plan = self.change.plan(0, entry, command)?;
        self.carry_out(&plan, usize::MAX);
        self.check();
        Ok(())
    }
}

#[test]
fn a_new_file_is_one_decision() {
    let mut table = new_file();
    let entries: Vec<Entry> = table.change.files()[0].entries().collect();
    assert_eq!((entries, table.change.tally()), (vec![LINES], (1, 0, 0)));
    table.act(LINES, Accept).unwrap();
    assert_eq!(table.marks(), [[Applied]]);
    assert_eq!(table.files, [file("new", b"a\nb\n")]);
    assert_eq!(table.change.counts().in_target, 1);
    let plan = table.change.plan_undo().unwrap();
    table.carry_out(&plan, usize::MAX);
    assert_eq!(
        (table.marks(), &table.files[0]),
        (vec![vec![Pending]], &None)
    );
    table.act(LINES, Reject).unwrap();
    assert_eq!(
        (table.marks(), &table.files[0]),
        (vec![vec![Rejected]], &None)
    );
}

#[test]
fn a_new_file_without_lines_has_this_decision_alone() {
    let create = Operation::Create { mode: 0o100_644 };
    let mut proposed = proposed(None, file("new", b""), create);
    proposed.hunks.clear();
    let mut table = Table::of(vec![proposed]);
    let entries: Vec<Entry> = table.change.files()[0].entries().collect();
    assert_eq!((entries, table.change.tally()), (vec![FILE], (1, 0, 0)));
    table.act(FILE, Accept).unwrap();
    assert_eq!(table.files, [file("new", b"")]);
    table.act(FILE, Unapply).unwrap();
    assert_eq!(table.files, [None]);
}

#[test]
fn of_a_new_file_some_lines_can_be_refused() {
    let mut table = new_file();
    assert_eq!(table.change.pick(0, 0, 0..1), Ok((2, 0)));
    let mut act = |entry, command| {
        let plan = table.change.plan(0, entry, command).unwrap();
        table.carry_out(&plan, usize::MAX);
        table.files[0].clone()
    };
    assert_eq!(act(LINES, Reject), None);
    assert_eq!(act(Entry::Hunk(1), Accept), file("new", b"b\n"));
    assert_eq!(act(LINES, Accept), file("new", b"a\nb\n"));
    // The other line keeps the file there.
    assert_eq!(act(Entry::Hunk(1), Unapply), file("new", b"a\n"));
    assert_eq!(act(LINES, Unapply), None);
}

#[test]
fn a_new_file_goes_with_its_lines_unless_others_have_written_there() {
    for whole in [false, true] {
        let mut table = new_file();
        table.act(LINES, Accept).unwrap();
        table.act(LINES, Unapply).unwrap();
        assert_eq!(
            (table.marks(), &table.files[0]),
            (vec![vec![Pending]], &None)
        );
        table.act(LINES, Accept).unwrap();
        table.type_into(0);
        if whole {
            let (plan, refused) = table.change.plan_all(0..1, Unapply);
            assert_eq!(refused, []);
            table.carry_out(&plan, usize::MAX);
        } else {
            table.act(LINES, Unapply).unwrap();
        }
        assert_eq!(table.files, [file("new", b"typed\n")]);
        table.check();
        // The file is there, and only its lines come back.
        let plan = table.change.plan_undo().unwrap();
        assert_eq!(plan.parts[0].operations, []);
        table.carry_out(&plan, usize::MAX);
        assert_eq!(table.files, [file("new", b"typed\na\nb\n")]);
        table.check();
    }
}

#[test]
fn lines_are_not_put_into_another_file_of_that_name() {
    let mut table = new_file();
    table
        .change
        .observe_obstacle(0, 0, "it is there".to_owned());
    let changed = Unable::Changed("it is there".to_owned());
    assert_eq!(table.change.plan(0, LINES, Accept), Err(changed.clone()));
    let (plan, refused) = table.change.plan_all(0..1, Accept);
    assert!(plan.parts.is_empty());
    assert_eq!(refused, [(0, LINES, changed)]);
    let snapshot = table.change.snapshot(0).unwrap();
    assert_eq!(snapshot.position, Position::Conflict);
    assert_eq!(snapshot.reason.as_deref(), Some("it is there"));
    assert_eq!(table.change.standing().conflict, 1);
    table.act(LINES, Reject).unwrap();
    assert_eq!(table.marks(), [[Rejected]]);
}

#[test]
fn a_file_that_others_changed_is_left_alone_and_can_be_rejected() {
    let mut table = Table::of(vec![proposed(
        file("f", b"a\n"),
        None,
        Operation::Delete {
            text: b"a\n".to_vec(),
        },
    )]);
    table.change.observe(0, 0, Presence::Neither);
    let changed = Unable::Changed("the file has been changed since".to_owned());
    for command in [Accept, Unapply, Toggle] {
        assert_eq!(table.change.plan(0, FILE, command), Err(changed.clone()));
    }
    let (plan, refused) = table.change.plan_all(0..1, Accept);
    assert!(plan.parts.is_empty());
    assert_eq!(refused, [(0, FILE, changed)]);
    let plan = table.change.plan(0, FILE, Reject).unwrap();
    assert_eq!(plan.parts[0].operations[0].1.note, Note::Marked);
    table.change.commit(&plan);
    assert_eq!(table.marks(), [[Rejected]]);
}

#[test]
fn a_new_file_that_others_deleted_appears_again_with_its_lines() {
    let mut table = new_file();
    table.act(LINES, Accept).unwrap();
    table.files[0] = None;
    table.change.observe(0, 0, Presence::Out);
    table.change.review_mut(0).unwrap().follow(b"");
    assert_eq!(table.marks(), [[Applied]]);
    table.act(LINES, Accept).unwrap();
    assert_eq!(table.files, [file("new", b"a\nb\n")]);
}

#[test]
fn keeping_what_was_written_before_does_nothing_that_others_have_undone() {
    let delete = Operation::Delete {
        text: b"a\n".to_vec(),
    };
    let mut change = Table::of(vec![proposed(file("f", b"a\n"), None, delete)]).change;
    change.begin_written();
    let undone = Unable::Changed("it has been undone since".to_owned());
    for command in [Accept, Toggle] {
        assert_eq!(change.plan(0, FILE, command), Err(undone.clone()));
    }
    let (plan, refused) = change.plan_all(0..1, Accept);
    assert!(plan.parts.is_empty());
    assert_eq!(refused, [(0, FILE, undone)]);
    // Nor does undoing a keep.
    change.observe(0, 0, Presence::In);
    change.commit(&change.plan(0, FILE, Accept).unwrap());
    for presence in [Presence::Out, Presence::Neither] {
        change.observe(0, 0, presence);
        let plan = change.plan_undo().unwrap();
        assert!(!plan.parts[0].operations[0].1.is_flip);
    }
}

#[test]
fn a_new_file_that_was_taken_out_is_put_back_with_its_lines() {
    let mut table = new_file();
    table.act(LINES, Accept).unwrap();
    table.change.set_mark(0, LINES, Pending);
    table.change.begin_written();
    for command in [Accept, Unapply] {
        for (command, is_there) in [(Reject, false), (command, true)] {
            let plan = table.change.plan(0, LINES, command).unwrap();
            table.carry_out(&plan, usize::MAX);
            let there = is_there.then(|| file("new", b"a\nb\n").unwrap());
            assert_eq!(table.files, [there]);
        }
    }
}

#[test]
fn decisions_that_are_joined_go_together() {
    let mut table = new_file();
    assert_eq!(table.change.pick(0, 0, 0..1), Ok((2, 0)));
    let plan = table.change.plan(0, LINES, Accept).unwrap();
    table.carry_out(&plan, usize::MAX);
    assert_eq!(table.files, [file("new", b"a\n")]);
    table.change.join_decisions(2);
    assert_eq!(table.change.n_decisions(), 1);
    let plan = table.change.plan_undo().unwrap();
    table.carry_out(&plan, usize::MAX);
    assert_eq!(table.files, [None]);
    assert_eq!(table.change.undo_split(true), Ok(Some((0, 0, 2))));
    assert_eq!(table.change.redo_split(), Ok(Some((0, 0, 2, true))));
    let plan = table.change.plan_redo().unwrap();
    table.carry_out(&plan, usize::MAX);
    assert_eq!(table.files, [file("new", b"a\n")]);
}

#[test]
fn lines_that_the_user_rewrote_have_no_earlier_decisions() {
    let mut table = new_file();
    let plan = table
        .change
        .plan_lines(0, |review| review.plan_merge(0, b"c\n"));
    table.carry_out(&plan.unwrap(), usize::MAX);
    assert_eq!(table.files, [file("new", b"c\n")]);
    assert_eq!(table.marks(), [[Applied]]);
    assert_eq!(table.change.n_decisions(), 0);
}

#[test]
fn what_could_not_be_done_is_not_called_rejected() {
    let mut table = new_file();
    let decisions = |change: &Change| [Basis::Marks, Basis::Facts].map(|it| change.decision(it));
    assert_eq!(decisions(&table.change), [Decision::Rejected; 2]);
    table.change.fail(0, LINES);
    assert_eq!(decisions(&table.change), [Decision::NotApplied; 2]);
    table.act(LINES, Reject).unwrap();
    assert_eq!(decisions(&table.change), [Decision::Rejected; 2]);
    // Rejecting everything rejects one that was rejected before and then failed, too.
    table.change.fail(0, LINES);
    assert_eq!(decisions(&table.change), [Decision::NotApplied; 2]);
    table.change.reject_all(0..1);
    assert_eq!(decisions(&table.change), [Decision::Rejected; 2]);

    let delete = Operation::Delete {
        text: b"a\n".to_vec(),
    };
    let mut table = Table::of(vec![proposed(file("f", b"a\n"), None, delete)]);
    table.change.fail(0, FILE);
    assert_eq!(decisions(&table.change), [Decision::NotApplied; 2]);
    table.act(FILE, Reject).unwrap();
    assert_eq!(decisions(&table.change), [Decision::Rejected; 2]);
    table.change.fail(0, FILE);
    assert_eq!(decisions(&table.change), [Decision::NotApplied; 2]);
    table.act(FILE, Accept).unwrap();
    assert_eq!(decisions(&table.change), [Decision::Accepted; 2]);
    // Marked applied, but others have made the file again.
    table.change.observe(0, 0, Presence::Out);
    assert_eq!(
        decisions(&table.change),
        [Decision::Accepted, Decision::Rejected]
    );
}

#[test]
fn what_does_not_exist_is_refused() {
    let change = new_file().change;
    for (file, entry) in [(1, LINES), (0, Entry::Operation(1))] {
        assert_eq!(change.plan(file, entry, Accept), Err(Unable::NoSuchEntry));
    }
    let refused = change.plan(0, Entry::Hunk(1), Accept);
    assert!(matches!(
        refused,
        Err(Unable::Text(Refusal::NoSuchHunk { .. }))
    ));
}

#[test]
fn a_split_is_a_step_of_the_history() {
    let texts = (text_of(N_LINES, &[]), text_of(N_LINES, &[4, 8]));
    let proposed = Proposed {
        old: file("f", &texts.0),
        new: file("f", &texts.1),
        operations: Vec::new(),
        hunks: vec![4],
        n_typed: 0,
    };
    let mut table = Table::of(vec![proposed]);
    assert_eq!(table.change.split(0, 0), Ok(2));
    let plan = table.change.plan(0, LINES, Accept).unwrap();
    table.carry_out(&plan, usize::MAX);
    assert_eq!(table.change.undo_split(false), Ok(None));
    let plan = table.change.plan_undo().unwrap();
    table.carry_out(&plan, usize::MAX);
    assert_eq!(table.change.undo_split(false), Ok(Some((0, 0, 2))));
    assert_eq!(table.files, [file("f", &texts.0)]);
    assert_eq!(table.change.n_decisions(), 0);
    assert_eq!(table.change.redo_split(), Ok(Some((0, 0, 2, false))));
    let plan = table.change.plan_redo().unwrap();
    table.carry_out(&plan, usize::MAX);
    assert_eq!(table.marks(), [[Applied, Pending]]);
}

#[test]
fn the_next_pending_one_may_be_in_another_file() {
    let files = ["a", "b"].map(|path| {
        proposed(
            file(path, b"a\n"),
            None,
            Operation::Delete {
                text: b"a\n".to_vec(),
            },
        )
    });
    let mut table = Table::of(files.into());
    assert_eq!(table.change.next_pending(0), Ok(Some(1)));
    assert_eq!(table.change.next_pending(1), Ok(Some(0)));
    table.act(FILE, Reject).unwrap();
    assert_eq!(table.change.next_pending(1), Ok(None));
    assert_eq!(table.change.tally(), (2, 0, 1));
}
