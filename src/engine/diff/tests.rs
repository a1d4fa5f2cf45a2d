//! The ways of comparing, each beside a slower or naive one.

use imara_diff::{Algorithm, Diff, InternedInput, Token};

use super::*;

/// A random number generator whose numbers are the same each time (an LCG of Knuth's).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n_sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1);
        (self.0 >> 33) % n_sides
    }
}

fn text(lines: &[String]) -> Text {
    Text::new(lines.concat().into_bytes())
}

/// Four thousand small pairs of texts, with lines that recur and lines that do not.
fn pairs() -> impl Iterator<Item = (Text, Text)> {
    let mut dice = Dice(1);
    (0..4000).map(move |_| {
        let mut side = || {
            let lines = (0..dice.roll(40)).map(|at| match dice.roll(3) {
                0 => format!("{}\n", dice.roll(3)),
                _ => format!("line {}\n", at + dice.roll(4)),
            });
            Text::new(lines.collect::<String>().into_bytes())
        };
        (side(), side())
    })
}

/// Lines like those of a source file: copies of blocks, lines that recur, few that are unique.
fn source(n_lines: u64, dice: &mut Dice) -> Vec<String> {
    let line = |at: u64, dice: &mut Dice| match dice.roll(8) {
        0 => "}\n".into(),
        1 => "\n".into(),
        2 => "    return 0;\n".into(),
        3 => format!("    common({});\n", dice.roll(30)),
        4 => format!("fn f{at}() {{\n"),
        _ => format!("    call({at});\n"),
    };
    (0..n_lines).map(|at| line(at, dice)).collect()
}

/// Changes `lines` in `n` places by a few lines, some of which are copies of those around.
fn edit(lines: &mut Vec<String>, n: u64, dice: &mut Dice) {
    for _ in 0..n {
        let at = dice.roll(lines.len() as u64) as usize;
        let end = lines.len().min(at + dice.roll(4) as usize);
        let added = match dice.roll(4) {
            0 => lines[at..lines.len().min(at + dice.roll(12) as usize)].to_vec(),
            _ => (0..dice.roll(4))
                .map(|_| format!("    new({});\n", dice.roll(9999)))
                .collect(),
        };
        lines.splice(at..end, added);
    }
}

/// Pairs of texts of some thousand lines that differ in a few places.
fn near_identical() -> impl Iterator<Item = (Text, Text)> {
    let mut dice = Dice(2);
    (0..200).map(move |round| {
        let mut lines = source(500 + 10 * round, &mut dice);
        let original = text(&lines);
        let n_edits = 1 + dice.roll(40);
        edit(&mut lines, n_edits, &mut dice);
        (original, text(&lines))
    })
}

fn whole(original: &Text, modified: &Text) -> Edit {
    Edit {
        before: 0..original.len(),
        after: 0..modified.len(),
    }
}

fn n_changed(edits: &[Edit]) -> usize {
    edits.iter().map(Edit::n_lines).sum()
}

#[track_caller]
fn check_edits(original: &Text, modified: &Text, edits: &[Edit]) {
    let mut result = Vec::new();
    let mut done = 0;
    for edit in edits {
        assert!(edit.n_lines() > 0);
        assert!(edit.before.start > done || done == 0, "{edits:?}");
        result.extend_from_slice(original.lines_bytes(done..edit.before.start));
        result.extend_from_slice(modified.lines_bytes(edit.after.clone()));
        done = edit.before.end;
    }
    result.extend_from_slice(original.lines_bytes(done..original.len()));
    assert_eq!(result, modified.bytes());
}

#[test]
fn any_budget_gives_exact_edits_that_are_apart() {
    for (original, modified) in pairs().chain(near_identical().take(20)) {
        for budget in [0, 1, 10, 100, 1000].map(Budget) {
            let found = edits_within(&original, &modified, budget);
            check_edits(&original, &modified, &found.edits);
            let best = edits_within(&original, &modified, Budget::default());
            assert!(!best.is_coarse);
            assert!(found.is_coarse || found == best);
        }
    }
}

#[test]
fn without_a_budget_all_but_plain_changes_are_coarse() {
    let mut dice = Dice(4);
    let mut lines = || {
        (0..300)
            .map(|_| format!("{}\n", dice.roll(3)))
            .collect::<Vec<_>>()
    };
    let (original, modified) = (text(&lines()), text(&lines()));
    assert!(edits_within(&original, &modified, Budget(0)).is_coarse);
    let same = edits_within(&original, &original, Budget(0));
    assert!(same.edits.is_empty() && !same.is_coarse);
}

#[test]
fn texts_compared_in_parts_give_exact_edits_that_are_apart() {
    let mut dice = Dice(3);
    for _ in 0..4 {
        let mut lines = source(8_000, &mut dice);
        let original = text(&lines);
        lines.rotate_left(3_000);
        edit(&mut lines, 200, &mut dice);
        let modified = text(&lines);
        check_edits(&original, &modified, &edits(&original, &modified));
    }
}

#[test]
fn big_texts_of_few_lines_are_compared_as_well() {
    let original = Text::new(b"a\nb\n".repeat(30_000));
    let modified = Text::new(b"b\na\n".repeat(30_000));
    let found = edits(&original, &modified);
    check_edits(&original, &modified, &found);
    assert_eq!(n_changed(&found), 2);
}

fn searched(original: &Text, modified: &Text) -> Comparison {
    let mut search = Search::new(original, modified);
    search.compare(whole(original, modified), Budget::default());
    search.finish()
}

#[test]
fn lockstep_and_search_change_the_same_lines() {
    let (mut n_in_step, mut n_searched, mut n_pairs, mut n_same) = (0, 0, 0, 0);
    for (original, modified) in near_identical() {
        let differing = without_equal_ends(&original, &modified, whole(&original, &modified));
        let Some(in_step) = lockstep::edits(&original, &modified, &differing, Budget::default())
        else {
            continue;
        };
        let in_step = in_step.edits;
        check_edits(&original, &modified, &in_step);
        let searched = searched(&original, &modified).edits;
        n_in_step += n_changed(&in_step);
        n_searched += n_changed(&searched);
        let [in_step, searched] = [in_step, searched]
            .map(|edits| slide::settled(&original, &modified, &edits, &mut 1_000_000));
        n_pairs += 1;
        n_same += usize::from(in_step == searched);
        assert!(n_changed(&in_step) <= n_changed(&searched) + 8);
    }
    // One in four of these edits copies lines from nearby, which is harder than what people do.
    assert!(n_pairs >= 150, "{n_pairs}");
    assert!(
        1000 * n_in_step <= 1001 * n_searched,
        "{n_in_step} {n_searched}"
    );
    assert!(100 * n_same >= 98 * n_pairs, "{n_same} {n_pairs}");
}

#[test]
fn lockstep_leaves_a_block_that_moved_far_to_the_search() {
    let mut dice = Dice(5);
    let mut lines: Vec<String> = (0..60_000).map(|at| format!("line {at}\n")).collect();
    let original = text(&lines);
    lines[5_000..55_000].rotate_left(20_000);
    edit(&mut lines, 5, &mut dice);
    let modified = text(&lines);
    let whole = without_equal_ends(&original, &modified, whole(&original, &modified));
    assert_eq!(
        lockstep::edits(&original, &modified, &whole, Budget::default()),
        None
    );
    let found = edits(&original, &modified);
    check_edits(&original, &modified, &found);
    assert!(n_changed(&found) < 2 * 20_000 + 100);
}

fn input<'a>(original: &'a Text, modified: &'a Text) -> InternedInput<&'a [u8]> {
    let mut input = InternedInput::default();
    input.update_before(original.lines(0..original.len()));
    input.update_after(modified.lines(0..modified.len()));
    input
}

#[test]
fn edits_slide_as_those_of_imara_do() {
    for (original, modified) in pairs() {
        let input = input(&original, &modified);
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        let edits = |diff: &Diff| {
            let lines = |range: std::ops::Range<u32>| range.start as usize..range.end as usize;
            let edit = |hunk: imara_diff::Hunk| Edit {
                before: lines(hunk.before),
                after: lines(hunk.after),
            };
            diff.hunks().map(edit).collect::<Vec<_>>()
        };
        let ours = slide::settled(&original, &modified, &edits(&diff), &mut 1_000_000);
        let best_end = |tokens: &[Token], run: std::ops::Range<u32>, earliest: u32| {
            let lines = tokens.iter().map(|&token| input.interner[token]);
            let run = run.start as usize..run.end as usize;
            indent::best_end(&Text::from_lines(lines), run, earliest as usize) as u32
        };
        diff.postprocess_with_heuristic(&input, best_end);
        let trimmed = edits(&diff).into_iter();
        let trimmed = trimmed.map(|edit| without_equal_ends(&original, &modified, edit));
        let theirs: Vec<_> = trimmed.filter(|edit| edit.n_lines() > 0).collect();
        assert_eq!(ours, theirs);
    }
}

/// Where only blank lines are below, imara-diff 0.2.0 takes a line's number for the number of these,
/// so there its answer depends on how long the text is. This says if a later version is right.
#[test]
fn at_the_end_of_a_text_an_edit_stands_where_it_does_in_a_shorter_one() {
    let function = |name: &str| format!("fn {name}() {{\n    x();\n}}\n\n");
    let (mut ours, mut of_imara) = (Vec::new(), Vec::new());
    for n_above in [1, 2, 3, 10, 40] {
        let above: String = (0..n_above).map(|n| function(&format!("f{n}"))).collect();
        let original = Text::new(above.clone().into_bytes());
        let modified = Text::new((above + &function("last")).into_bytes());
        let found = edits(&original, &modified);
        ours.push(found[0].after.start as isize - original.len() as isize);
        let input = input(&original, &modified);
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_lines(&input);
        let hunk = diff.hunks().next().expect("a hunk");
        of_imara.push(hunk.after.start as isize - original.len() as isize);
    }
    // As in git it begins with its first line and ends with a blank one.
    assert_eq!(ours, [0; 5]);
    assert_ne!(of_imara, [0; 5]);
}
