//! Edits by others: what undoing them brings back, also when the history of edits is cut or
//! forgotten.

mod walk;

use agent_q_diff_engine::proposal::Proposal;

use crate::common::texts::numbered;

/// A proposal, and its target as lines.
struct Edited {
    proposal: Proposal,
    live: Vec<String>,
}

impl Edited {
    fn new(original: &str, modified: &str) -> Edited {
        let texts = [original, modified].map(|text| text.as_bytes().to_vec());
        let [bytes, modified] = texts;
        let mut proposal = Proposal::from_texts(bytes, modified, 0).unwrap();
        proposal.follow(original.as_bytes());
        let live = original.split_inclusive('\n').map(String::from).collect();
        Edited { proposal, live }
    }

    /// Replaces `n` lines from line `line` on by `text`, and reports the edit.
    fn edit(&mut self, line: usize, n: usize, text: &str, is_undo: bool) {
        let lines = text.split_inclusive('\n').map(String::from);
        self.live.splice(line..line + n, lines);
        (self.proposal).edit_outside(line, n, text.as_bytes(), is_undo);
        self.check();
    }

    /// Makes the target `live` without reporting an edit.
    fn miss(&mut self, live: Vec<String>) {
        self.live = live;
        self.proposal.follow(self.live.concat().as_bytes());
        self.check();
    }

    fn type_lines(&mut self, n_edits: usize) {
        for n in 0..n_edits {
            self.edit(n % 5, 1, &format!("typed {n}\n"), false);
        }
    }

    /// Deletes one of several equal blocks without reporting it, so that it is open which one.
    fn miss_a_block(&mut self) {
        let live = self.live.concat().replacen("{\nx\n}\n", "", 1);
        self.miss(live.split_inclusive('\n').map(String::from).collect());
    }

    /// Rewrites two lines far from all hunks, and undoes that.
    fn rewrite_and_undo(&mut self) {
        let was = self.live[10..12].concat();
        self.edit(10, 2, "a\nb\nc\n", false);
        self.edit(10, 3, &was, true);
    }

    fn check(&self) {
        assert_eq!(self.proposal.target(), self.live.concat().into_bytes());
    }

    fn is_doubted(&self) -> bool {
        self.proposal.obstacle(0).is_some()
    }
}

/// Equal blocks, of which hunk 0 changes one; hunk 1 adds a line at the end.
fn among_blocks() -> Edited {
    let text = |blocks: String, end: &str| format!("{}{blocks}tail\n{end}", numbered(40).concat());
    let block = "{\nx\n}\n";
    let changed = format!("{}{{\nnew\n}}\n{}", block.repeat(3), block.repeat(2));
    Edited::new(&text(block.repeat(6), ""), &text(changed, "new tail\n"))
}

#[test]
fn doubts_stay_when_what_was_before_them_is_too_long_ago_to_be_undone() {
    let mut edited = among_blocks();
    edited.type_lines(300);
    assert!(!edited.is_doubted());
    edited.miss_a_block();
    assert!(edited.is_doubted());
    edited.type_lines(215);
    edited.rewrite_and_undo();
    assert!(edited.is_doubted());
}

#[test]
fn doubts_stay_when_another_program_has_applied_a_hunk() {
    let mut edited = among_blocks();
    edited.type_lines(1);
    edited.miss_a_block();
    edited.miss([edited.live.clone(), vec!["new tail\n".into()]].concat());
    assert!(edited.proposal.is_in(1) && edited.is_doubted());
    edited.rewrite_and_undo();
    assert!(edited.is_doubted());
}

#[test]
fn doubts_go_with_the_edit_that_brought_them() {
    let mut edited = among_blocks();
    edited.miss_a_block();
    assert!(edited.is_doubted());
    // The comparison found the last block deleted.
    edited.edit(55, 0, "{\nx\n}\n", true);
    assert!(!edited.is_doubted());
}

#[test]
fn an_edit_of_many_parts_is_undone_as_one_or_not_at_all() {
    let original = numbered(1000).concat();
    let mut edited = Edited::new(&original, &original.replace("line 990\n", "new\n"));
    edited.type_lines(300);
    let before = edited.live.clone();
    let is_left = |n: &usize| n % 2 == 1 || !(20..620).contains(n);
    // Its parts alone are more than the history keeps.
    edited.miss(
        (0..1000)
            .filter(is_left)
            .map(|n| before[n].clone())
            .collect(),
    );
    edited.edit(20, 299, &before[20..619].concat(), true);
    assert_eq!(edited.live, before);
    for at in 20..620 {
        let mut edited = Edited {
            proposal: edited.proposal.clone(),
            live: before.clone(),
        };
        edited.edit(at, 0, &before[at], true);
    }
}
