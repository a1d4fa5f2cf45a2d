//! Placing the hunks of a bare diff: the lines of a hunk are at its place, and nowhere else;
//! applying it and taking it out change those lines and no others.
#![no_main]

#[allow(dead_code)]
#[path = "../../engine/common/compared.rs"]
mod compared;
#[allow(dead_code)]
#[path = "../../engine/common/desk.rs"]
mod desk;
mod input;

use agent_q_diff_engine::patch::hunk::{Hunk, Line, LineKind, print_hunks};
use agent_q_diff_engine::patch::locate::NotPlaced;
use agent_q_diff_engine::patch::parse::parse;
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::{Command, Fact, Refusal};
use agent_q_diff_engine::text::is_unterminated;
use agent_q_diff_engine::weave::FlipError;
use desk::{Desk, lines_of};
use input::{Input, Pair};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let pair = input.pair();
    let Some(diff) = diff(&pair, &mut input) else {
        return;
    };
    let live = live(&pair, &mut input);
    // Hunks without context that end the file can be out of order once they are moved.
    let Ok(proposal) = Proposal::from_diff(&diff) else {
        return;
    };
    let files = parse(&diff).expect("from_diff has read it");
    let hunks = files[0].hunks.iter().map(|parsed| Shown::new(&parsed.hunk));
    let hunks: Vec<Shown> = hunks.collect();
    let mut desk = Desk::open(proposal, &live);
    check_places(&desk, &hunks);
    check_there_and_back(&mut desk, &hunks, &mut input);
});

/// Returns a diff of some hunks of `pair`, perhaps with other line numbers or without its last
/// byte.
fn diff(pair: &Pair, input: &mut Input) -> Option<Vec<u8>> {
    let mut hunks = pair.compared.hunks(input.below(5));
    let shift = input.below(4);
    for hunk in &mut hunks {
        hunk.before = hunk.before.start + shift..hunk.before.end + shift;
        hunk.after = hunk.after.start + shift..hunk.after.end + shift;
    }
    if input.below(2) == 0 {
        hunks.truncate(1);
    }
    let mut diff = (!hunks.is_empty()).then(|| print_hunks(&hunks).bytes)?;
    if input.below(4) == 0 {
        diff.pop();
    }
    Some(diff)
}

/// Returns a target: one of the two texts or lines of the same family, after a few edits.
fn live(pair: &Pair, input: &mut Input) -> Vec<u8> {
    let text = match input.below(4) {
        0 => &pair.compared.modified,
        _ => &pair.compared.original,
    };
    let mut lines = lines_of(text.bytes());
    for _ in 0..input.below(4) {
        let range = input.range_in(lines.len(), 3);
        lines.splice(range, input.lines(pair.family, 6));
    }
    lines.concat()
}

/// A hunk as its diff shows it.
struct Shown<'a> {
    hunk: &'a Hunk<'a>,
    /// Context lines before the first change and after the last.
    lead: usize,
    trail: usize,
    /// Whether the diff breaks off in the last line, so that only the target shows if that has a
    /// newline. It has one if the diff marks the other side as having none.
    is_open: bool,
}

impl<'a> Shown<'a> {
    fn new(hunk: &'a Hunk<'a>) -> Shown<'a> {
        let is_context = |line: &&Line| line.kind == LineKind::Context;
        let is_whole = |line: &Line| !is_unterminated(line.text);
        Shown {
            hunk,
            lead: hunk.lines.iter().take_while(is_context).count(),
            trail: hunk.lines.iter().rev().take_while(is_context).count(),
            is_open: hunk.is_open_ended && hunk.lines.iter().rev().skip(1).all(is_whole),
        }
    }

    /// Returns the lines with the change or without it. Where the diff breaks off in the last line,
    /// that gets a newline.
    fn side(&self, is_in: bool) -> Vec<Vec<u8>> {
        let not_there = match is_in {
            true => LineKind::Removed,
            false => LineKind::Added,
        };
        let lines = self.hunk.lines.iter().enumerate();
        let here = lines.filter(|(_, line)| line.kind != not_there);
        let whole = |(at, line): (usize, &Line)| {
            let is_open = self.hunk.is_open_ended && at + 1 == self.hunk.lines.len();
            [line.text, if is_open { b"\n" } else { b"" }].concat()
        };
        here.map(whole).collect()
    }

    /// Tells whether a marker says that a side ends its file without a newline.
    fn is_marked(&self) -> bool {
        let is_open = |line: &Line| is_unterminated(line.text);
        !self.is_open && self.hunk.lines.iter().any(is_open)
    }

    /// Returns how many context lines `fuzz` ignores at the head and at the tail. On each side with
    /// context one line is left.
    fn cut(&self, fuzz: usize) -> (usize, usize) {
        let spare = |context: usize| fuzz.min(context.saturating_sub(1));
        (spare(self.lead), spare(self.trail))
    }

    /// Returns the lines of `side` that `fuzz` does not ignore.
    fn run(&self, is_in: bool, fuzz: usize) -> Vec<Vec<u8>> {
        let side = self.side(is_in);
        let (head, tail) = self.cut(fuzz);
        side[head..side.len() - tail].to_vec()
    }
}

/// Returns every place of `run` in `lines`; an empty run is found in an empty text only. With
/// `is_open_ended`, the newline of the last line does not count.
fn occurrences(lines: &[Vec<u8>], run: &[Vec<u8>], is_open_ended: bool) -> Vec<usize> {
    if run.is_empty() {
        return if lines.is_empty() {
            vec![0]
        } else {
            Vec::new()
        };
    }
    let trimmed = |line: &Vec<u8>| line.strip_suffix(b"\n").unwrap_or(line).to_vec();
    let is_here = |window: &[Vec<u8>]| {
        let (Some((a, head)), Some((b, other))) = (window.split_last(), run.split_last()) else {
            return false;
        };
        head == other && (a == b || is_open_ended && trimmed(a) == trimmed(b))
    };
    let windows = lines.windows(run.len()).enumerate();
    windows
        .filter(|(_, w)| is_here(w))
        .map(|(at, _)| at)
        .collect()
}

fn check_places(desk: &Desk, hunks: &[Shown]) {
    let lines = lines_of(&desk.live);
    let is_open = |at: usize| hunks[at].is_open;
    let mut end_of_last = 0;
    for (at, shown) in hunks.iter().enumerate() {
        let is_in = desk.is_in(at);
        assert_ne!(desk.review.fact(at), Fact::Mixed);
        match desk.review.proposal().place(at) {
            Ok(place) => {
                let fuzz = desk.review.proposal().fuzz(at);
                let run = shown.run(is_in, fuzz);
                let start = place.line - (shown.lead - shown.cut(fuzz).0);
                let here = occurrences(&lines, &run, is_open(at));
                assert!(here.contains(&start));
                if hunks.len() == 1 && !shown.is_open {
                    check_only_place(shown, &lines, is_in, fuzz, start, place.offset);
                }
                assert!(start >= end_of_last || hunks.len() > 1);
                end_of_last = start + run.len();
            }
            Err(reason) => check_reason(&reason, hunks, at, &lines),
        }
    }
}

/// Checks that `shown`, found at `start`, has no other place. Of several places only an end of the
/// file may be chosen, by a hunk without context at that end.
fn check_only_place(
    shown: &Shown,
    lines: &[Vec<u8>],
    is_in: bool,
    fuzz: usize,
    start: usize,
    offset: isize,
) {
    let stated = shown.hunk.before.start + shown.cut(fuzz).0;
    assert_eq!(stated.checked_add_signed(offset), Some(start));
    let [own, other] = [is_in, !is_in].map(|is_in| shown.run(is_in, 0));
    let has_edge = shown.lead == 0 || shown.trail == 0;
    if fuzz > 0 {
        // No more of the context is ignored than necessary.
        assert!(!is_in && occurrences(lines, &own, false).is_empty() || shown.is_marked());
        let less = shown.run(is_in, fuzz - 1);
        assert!(occurrences(lines, &less, false).is_empty() || shown.is_marked());
        let run = shown.run(is_in, fuzz);
        assert!(has_edge || occurrences(lines, &run, false) == [start]);
    } else if !has_edge && own != other {
        assert_eq!(occurrences(lines, &own, false), [start]);
        assert_eq!(occurrences(lines, &other, false), []);
    }
}

fn check_reason(reason: &NotPlaced, hunks: &[Shown], at: usize, lines: &[Vec<u8>]) {
    let shown = &hunks[at];
    let is_open = shown.is_open;
    match reason {
        // A line that ends the file on one side is not looked for in its middle.
        NotPlaced::NotFound if shown.is_marked() => {}
        NotPlaced::NotFound => {
            for fuzz in 0..=2 {
                assert_eq!(occurrences(lines, &shown.run(false, fuzz), false), []);
            }
        }
        NotPlaced::Ambiguous { candidates } | NotPlaced::Doubtful { candidates, .. } => {
            let fuzzy = (0..=2).flat_map(|fuzz| {
                [false, true].map(|is_in| occurrences(lines, &shown.run(is_in, fuzz), is_open))
            });
            let all: Vec<usize> = fuzzy.flatten().collect();
            // A hunk can fit one place in two ways.
            let is_both = |at: &usize| all.iter().filter(|&place| place == at).count() > 1;
            let is_doubtful = matches!(reason, NotPlaced::Doubtful { .. });
            assert!(candidates.len() > 1 || is_both(&candidates[0]) || is_doubtful);
            assert!(candidates.iter().all(|candidate| all.contains(candidate)));
        }
        NotPlaced::Overlaps { other } => assert!(*other < hunks.len() && *other != at),
        NotPlaced::NoContext => assert!(shown.side(false).is_empty() && !lines.is_empty()),
        NotPlaced::Cut => unreachable!("nothing was cut"),
        NotPlaced::NotThere { .. } => unreachable!("no place was named"),
    }
}

/// Flips hunks in any order, checks each against its lines, and reverts all of it.
fn check_there_and_back(desk: &mut Desk, hunks: &[Shown], input: &mut Input) {
    let (live, was_in) = (desk.live.clone(), desk.facts());
    for _ in 0..8 {
        let at = input.below(hunks.len());
        flip(desk, at, &hunks[at]);
    }
    for (at, &is_in) in was_in.iter().enumerate().rev() {
        if desk.facts()[at] != is_in {
            flip(desk, at, &hunks[at]);
        }
    }
    // A missing newline at the end can prevent one order and not another.
    if desk.facts() == was_in {
        assert_eq!(desk.live, live);
    } else {
        assert!(is_unterminated(&live) || is_unterminated(&desk.live));
    }
}

/// Applies hunk `at` or takes it out, and checks that only its changed lines changed.
fn flip(desk: &mut Desk, at: usize, shown: &Shown) {
    let is_in = desk.is_in(at);
    let command = match is_in {
        true => Command::Unapply,
        false => Command::Accept,
    };
    let before = desk.live.clone();
    let place = desk.review.proposal().place(at);
    match (desk.act(at, command), place) {
        (Ok(_), Ok(place)) => {
            let expected = flipped_lines(&before, shown, place.line, is_in).concat();
            let is_open = shown.is_open;
            let told = |text: &[u8]| match is_open {
                true => text.strip_suffix(b"\n").unwrap_or(text).to_vec(),
                false => text.to_vec(),
            };
            assert_eq!(told(&desk.live), told(&expected));
            assert_eq!(desk.is_in(at), !is_in);
        }
        (Err(Refusal::Flip(FlipError::Glued)), Ok(place)) => {
            let lines = flipped_lines(&before, shown, place.line, is_in);
            let is_open = |line: &Vec<u8>| is_unterminated(line);
            let is_glued = lines
                .split_last()
                .is_some_and(|(_, rest)| rest.iter().any(is_open));
            assert!(is_glued || shown.is_open);
            assert_eq!(desk.live, before);
        }
        (Err(Refusal::NotPlaced(reason)), Err(place)) => {
            assert_eq!(reason, place);
            assert_eq!(desk.live, before);
        }
        (result, place) => panic!("{result:?} at {place:?}"),
    }
}

/// Returns the lines of `text` with the changed lines of `shown`, the first of which is or would be
/// at
/// `line`, replaced by those of its other side. The context lines stay those of the text.
fn flipped_lines(text: &[u8], shown: &Shown, line: usize, is_in: bool) -> Vec<Vec<u8>> {
    let mut lines = lines_of(text);
    let from = if is_in {
        LineKind::Added
    } else {
        LineKind::Removed
    };
    let changes = &shown.hunk.lines[shown.lead..shown.hunk.lines.len() - shown.trail];
    let mut at = line;
    for (number, change) in changes.iter().enumerate() {
        if change.kind == LineKind::Context {
            at += 1;
        } else if change.kind == from {
            lines.remove(at);
        } else {
            let is_last = shown.trail == 0 && number + 1 == changes.len();
            let mut text = change.text.to_vec();
            if is_last && shown.hunk.is_open_ended {
                text.push(b'\n');
            }
            lines.insert(at, text);
            at += 1;
        }
    }
    lines
}
