//! A target as a plain text, and the naive ways to change it.

use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::{Command, Note, Plan, Refusal, Review};
use agent_q_diff_engine::weave::LineEdit;

/// Returns `text` after `edits`, each done by counting lines; panics if they are out of order,
/// overlap or reach past the end.
pub fn edited(text: &[u8], edits: &[LineEdit]) -> Vec<u8> {
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
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

/// A review and its target.
pub struct Desk {
    pub review: Review,
    pub live: Vec<u8>,
}

impl Desk {
    /// Opens a review of two texts, with the original as target.
    pub fn of_texts(original: &str, modified: &str) -> Desk {
        let (original, modified) = (original.as_bytes(), modified.as_bytes());
        let proposal = Proposal::from_texts(original.to_vec(), modified.to_vec(), 3);
        Desk::open(proposal.expect("texts that differ"), original)
    }

    /// Opens a review of a bare diff of the text `live`.
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

    /// Does `command` to hunk `hunk`: plans it, edits the target and commits.
    pub fn act(&mut self, hunk: usize, command: Command) -> Result<Note, Refusal> {
        let plan = self.review.plan(hunk, command)?;
        self.carry_out(&plan);
        Ok(plan.steps[0].1.note)
    }

    /// Does `command` to hunk `hunk` at line `line` of the target, as who names the place does.
    pub fn act_at(&mut self, hunk: usize, line: usize, command: Command) -> Result<Note, Refusal> {
        let plan = self.review.plan_at(hunk, (line, None), command)?;
        self.carry_out(&plan);
        Ok(plan.steps[0].1.note)
    }

    /// Checks that what is said to stand in the place of a hunk stands there.
    pub fn check_live_lines(&self) {
        let lines: Vec<&[u8]> = self.live.split_inclusive(|&byte| byte == b'\n').collect();
        for hunk in 0..self.review.proposal().n_hunks() {
            if let Ok((line, found)) = self.review.live_lines(hunk) {
                let there = &lines[line..line + found.len()];
                assert!(there.concat() == found.bytes(), "hunk {hunk}, line {line}");
            }
        }
    }

    pub fn carry_out(&mut self, plan: &Plan) {
        self.live = edited(&self.live, &plan.edits);
        self.review.commit(plan);
        assert!(!self.review.follow(&self.live), "our own edits are no news");
        assert_eq!(self.review.proposal().target(), self.live);
    }

    /// Lets the target change from outside.
    pub fn becomes(&mut self, live: &str) {
        self.live = live.into();
        self.review.follow(&self.live);
    }

    /// Replaces lines of the target from outside, where the engine is told of it.
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

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.live).into_owned()
    }
}
