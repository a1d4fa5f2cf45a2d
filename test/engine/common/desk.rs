//! A review and its target, which is a plain text here, and the naive ways to change that.
//!
//! The fuzz targets include this file.

use agent_q_diff_engine::diff::HeadingRule;
use agent_q_diff_engine::patch::hunk::print_hunks;
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::{Command, Fact, Mark, Note, Plan, Refusal, Review};
use agent_q_diff_engine::weave::LineEdit;

/// Returns the lines of `text`, each with its terminator.
pub fn lines_of(text: &[u8]) -> Vec<Vec<u8>> {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    lines.map(<[u8]>::to_vec).collect()
}

/// Returns `text` after `edits`; panics if they are out of order, overlap or reach past the end.
pub fn edited(text: &[u8], edits: &[LineEdit]) -> Vec<u8> {
    let lines = lines_of(text);
    let mut result = Vec::new();
    let mut done = 0;
    for edit in edits {
        result.extend(lines[done..edit.line].concat());
        result.extend_from_slice(&edit.text);
        done = edit.line + edit.n_removed;
    }
    result.extend(lines[done..].concat());
    result
}

/// What one of several edits did to a text.
pub struct Replaced {
    /// First line that the edit added, in the text after all of the edits.
    pub line: usize,
    /// How many lines it added.
    pub n_added: usize,
    /// What it removed.
    pub removed: Vec<u8>,
}

/// Returns what each of `edits` did to `text`, in their order.
pub fn replaced(text: &[u8], edits: &[LineEdit]) -> Vec<Replaced> {
    let lines = lines_of(text);
    let (mut n_added, mut n_removed) = (0, 0);
    let replace = |edit: &LineEdit| {
        let replaced = Replaced {
            line: edit.line + n_added - n_removed,
            n_added: lines_of(&edit.text).len(),
            removed: lines[edit.line..edit.line + edit.n_removed].concat(),
        };
        n_added += replaced.n_added;
        n_removed += edit.n_removed;
        replaced
    };
    edits.iter().map(replace).collect()
}

/// A review and its target.
pub struct Desk {
    pub review: Review,
    /// The bytes of the target.
    pub live: Vec<u8>,
}

impl Desk {
    /// Plans to accept every pending hunk.
    pub fn plan_all(&self) -> (Plan, Vec<(usize, Refusal)>) {
        self.plan_for_all(Command::Accept)
    }

    /// Plans `command` on every hunk that it is for.
    pub fn plan_for_all(&self, command: Command) -> (Plan, Vec<(usize, Refusal)>) {
        let is_for = |hunk| self.review.is_for(command, hunk);
        self.review.plan_each(command, is_for)
    }

    /// Opens a review of two texts, with the original as target.
    pub fn of_texts(original: &str, modified: &str) -> Desk {
        let (original, modified) = (original.as_bytes(), modified.as_bytes());
        let proposal = Proposal::from_texts(original.to_vec(), modified.to_vec(), 3);
        Desk::open(proposal.expect("texts that differ"), original)
    }

    /// Opens a review of a bare diff, with the target `live`.
    pub fn of_diff(diff: &str, live: &str) -> Desk {
        let proposal = Proposal::from_diff(diff.as_bytes());
        Desk::open(proposal.expect("a diff"), live.as_bytes())
    }

    pub fn open(proposal: Proposal, live: &[u8]) -> Desk {
        let mut review = Review::new(proposal);
        review.follow(live);
        let live = live.to_vec();
        Desk { review, live }
    }

    /// Carries out `command` on hunk `hunk`: plans it, edits the target and commits.
    pub fn act(&mut self, hunk: usize, command: Command) -> Result<Note, Refusal> {
        let plan = self.review.plan(hunk, command)?;
        self.carry_out(&plan);
        Ok(plan.steps[0].1.note)
    }

    /// Like [`Desk::act`], with the place of the hunk named: line `line` of the target.
    pub fn act_at(&mut self, hunk: usize, line: usize, command: Command) -> Result<Note, Refusal> {
        let plan = self.review.plan_at(hunk, (line, None), command)?;
        self.carry_out(&plan);
        Ok(plan.steps[0].1.note)
    }

    pub fn carry_out(&mut self, plan: &Plan) {
        self.live = edited(&self.live, &plan.edits);
        self.review.commit(plan);
        assert!(!self.review.follow(&self.live), "our own edits are no news");
        assert_eq!(self.review.proposal().target(), self.live);
    }

    /// Makes the target `live`; the engine learns it by comparing.
    pub fn becomes(&mut self, live: &str) {
        self.live = live.into();
        self.review.follow(&self.live);
    }

    /// Replaces lines of the target as somebody else's edit, and reports the edit to the engine.
    pub fn edit_outside(&mut self, line: usize, n_removed: usize, text: &[u8], is_undo: bool) {
        let text = text.to_vec();
        let edit = LineEdit {
            line,
            n_removed,
            text,
        };
        self.live = edited(&self.live, std::slice::from_ref(&edit));
        (self.review).edit_outside(line, n_removed, &edit.text, is_undo);
        assert_eq!(self.review.proposal().target(), self.live);
    }

    /// Checks that the lines which the engine reports in the place of each hunk are there.
    pub fn check_live_lines(&self) {
        let lines = lines_of(&self.live);
        for hunk in 0..self.review.proposal().n_hunks() {
            if let Ok((line, found)) = self.review.live_lines(hunk) {
                let there = &lines[line..line + found.len()];
                assert!(there.concat() == found.bytes(), "hunk {hunk}, line {line}");
            }
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.live).into_owned()
    }

    /// Returns all hunks of the review as a diff shows them.
    pub fn shown(&self) -> String {
        let proposal = self.review.proposal();
        let hunks = proposal.hunks_in(0..proposal.n_hunks(), HeadingRule::Default);
        String::from_utf8(print_hunks(&hunks).bytes).expect("UTF-8")
    }

    /// Returns mark and fact of `hunk`.
    pub fn state(&self, hunk: usize) -> (Mark, Fact) {
        (self.review.mark(hunk), self.review.fact(hunk))
    }

    pub fn is_in(&self, hunk: usize) -> bool {
        self.review.fact(hunk) == Fact::In
    }

    /// Returns for each hunk whether it is in the target.
    pub fn facts(&self) -> Vec<bool> {
        let hunks = 0..self.review.proposal().n_hunks();
        hunks.map(|hunk| self.is_in(hunk)).collect()
    }
}
