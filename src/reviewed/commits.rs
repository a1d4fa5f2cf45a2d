//! What is reviewed of a text once the user has committed it, staged it, or moved HEAD.
//!
//! The rule: a pending change becomes reviewed if git has it now and had it not before, line by line. All
//! texts are aligned to the working text; what is reviewed is then the working text without the changes
//! that are still pending. This is no three-way merge: a merge puts lines where none of the texts has
//! them, and writes twice what two of them have added.

use std::collections::HashMap;
use std::ops::Range;

use agent_q_diff_engine::diff::{Edit, edits};
use agent_q_diff_engine::text::Text;

use crate::carry::joined;
use crate::version::Version;
use crate::world::{Step, World, text_of, transposed};

/// Returns what is reviewed of `working` after `step`, which the user made; until then, `reviewed` was.
///
/// What one of the steps in `others` brought, which were not the user's, stays pending. Lines that replace
/// others are decided together with these: the old ones do not go without the new ones. Old ones that git
/// never had go only if the user has chosen the new ones, `is_chosen`: by a commit, not by a pull. No line
/// that moved is there twice or missing. Takes the time of one comparison with `working` for each other
/// text.
pub fn reviewed_after(
    working: &Text,
    reviewed: &Text,
    (step, is_chosen): (&Step<Text>, bool),
    others: &[Step<Text>],
) -> Vec<u8> {
    let step = step.map(|text| Aligned::new(working, text));
    let others = others.iter();
    let others = others.map(|other| other.map(|text| Aligned::new(working, text)));
    let others: Vec<Step<Aligned>> = others.collect();
    let kept = |lines: Range<usize>| {
        lines.map(|line| Part {
            line: working.line(line),
            is_working: true,
            is_reviewed: true,
            is_committed: true,
            is_in: true,
        })
    };
    let mut parts: Vec<Part> = Vec::new();
    let mut done = 0;
    for run in edits(working, reviewed) {
        parts.extend(kept(done..run.before.start));
        done = run.before.end;
        let order = |text: &Aligned| text.order(&run, reviewed);
        let mine = step.map(order);
        let theirs: Vec<Step<Order>> = others.iter().map(|other| other.map(order)).collect();
        let is_theirs = |has: &dyn Fn(&Order) -> bool| theirs.iter().any(|one| one.brought(has));
        for (added, removed) in divided(&run, &mine) {
            let is_added = |&line: &usize| {
                let has = |order: &Order| order.has(Line::Working(line));
                mine.brought(has) && !is_theirs(&has)
            };
            let taken: Vec<bool> = added.clone().map(|line| is_added(&line)).collect();
            let is_removed = |line: usize| {
                let lacks = |order: &Order| !order.has(Line::Reviewed(line));
                let is_due = match taken[..] {
                    [] => mine.brought(lacks),
                    _ => {
                        let is_all_chosen = is_chosen && !taken.contains(&false);
                        taken.contains(&true)
                            && lacks(&mine.now)
                            && (mine.brought(lacks) || is_all_chosen)
                    }
                };
                is_due && !is_theirs(&lacks)
            };
            parts.extend(removed.map(|line| Part {
                line: reviewed.line(line),
                is_working: false,
                is_reviewed: true,
                is_committed: mine.now.has(Line::Reviewed(line)),
                is_in: !is_removed(line),
            }));
            parts.extend(added.zip(&taken).map(|(line, &is_taken)| Part {
                line: working.line(line),
                is_working: true,
                is_reviewed: false,
                is_committed: mine.now.has(Line::Working(line)),
                is_in: is_taken,
            }));
        }
    }
    parts.extend(kept(done..working.len()));
    mend_moves(&mut parts);
    let lines = parts.iter().filter(|part| part.is_in);
    joined(lines.map(|part| part.line))
}

/// Returns what is reviewed of a path that holds `working` after `step`, which the user made, while `others`
/// are not; until then, `reviewed` was. See [`reviewed_after`], also for `is_chosen`. What has no lines is
/// reviewed as a whole.
pub(crate) fn followed<W: World>(
    world: &mut W,
    reviewed: Version,
    working: Version,
    (step, is_chosen): (&Step<Version>, bool),
    others: &[Step<Version>],
) -> Result<Version, W::Error> {
    // A file that only git forgets says nothing of its lines.
    if reviewed == working || step.now == Version::Absent && working != Version::Absent {
        return Ok(reviewed);
    }
    let is_mine = |is_there: &dyn Fn(&Version) -> bool| {
        step.brought(is_there) && !others.iter().any(|other| other.brought(is_there))
    };
    let steps = [std::slice::from_ref(step), others].concat();
    let texts = steps.iter().map(|step| texts_of(world, step));
    let texts: Option<Vec<Step<Text>>> = texts.collect::<Result<_, _>>()?;
    let both = transposed([reviewed, working].map(|version| text_of(world, version)))?;
    let ([Some(reviewed_text), Some(working_text)], Some(texts)) = (both, texts) else {
        let is_all = is_mine(&|version| *version == working);
        return Ok(if is_all { working } else { reviewed });
    };
    let is_there = |version: &Version| *version != Version::Absent;
    let is_existence_mine = is_mine(&|version| is_there(version) == is_there(&working));
    if working == Version::Absent && is_existence_mine {
        return Ok(working);
    }
    let (mine, theirs) = texts.split_first().expect("the step is among them");
    // Of a file that is gone, perhaps since it was renamed, git has what it held last.
    let last = if is_there(&working) {
        &working_text
    } else {
        &mine.now
    };
    let text = reviewed_after(last, &reviewed_text, (mine, is_chosen), theirs);
    if text.is_empty() && reviewed == Version::Absent && !is_existence_mine {
        return Ok(reviewed);
    }
    let is_mode_mine = is_mine(&|version| version.mode() == working.mode());
    let mode = if reviewed == Version::Absent || is_mode_mine && is_there(&working) {
        working.mode()
    } else {
        reviewed.mode()
    };
    let digest = world.store(text)?;
    Ok(Version::with_mode(mode, digest).unwrap_or(reviewed))
}

/// Returns the texts of `step`; `None` if one of them has no lines.
fn texts_of<W: World>(world: &mut W, step: &Step<Version>) -> Result<Option<Step<Text>>, W::Error> {
    let before = step.before.iter().map(|&version| text_of(world, version));
    let before: Option<Vec<Text>> = before.collect::<Result<_, _>>()?;
    let now = text_of(world, step.now)?;
    Ok(before.zip(now).map(|(before, now)| Step { before, now }))
}

/// A line of a pending change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    /// One that the working text has, by its index there.
    Working(usize),
    /// One that the reviewed text has in place of such lines.
    Reviewed(usize),
}

/// Which lines of a pending change a text has.
struct Order {
    /// These lines, in the order of the text.
    lines: Vec<Line>,
    /// The first line of the change in the working text, and in the reviewed one.
    first: [usize; 2],
    /// For each line of the change in these texts, whether the text has it.
    has: [Vec<bool>; 2],
}

impl Order {
    /// Returns the order of `lines`, of the edit `run` from the working text to the reviewed one.
    fn new(run: &Edit, lines: Vec<Line>) -> Order {
        let first = [run.before.start, run.after.start];
        let mut has = [vec![false; run.before.len()], vec![false; run.after.len()]];
        for line in &lines {
            match line {
                Line::Working(line) => has[0][line - first[0]] = true,
                Line::Reviewed(line) => has[1][line - first[1]] = true,
            }
        }
        Order { lines, first, has }
    }

    fn has(&self, line: Line) -> bool {
        match line {
            Line::Working(line) => self.has[0][line - self.first[0]],
            Line::Reviewed(line) => self.has[1][line - self.first[1]],
        }
    }
}

/// Divides `run`, the edit from the working text to the reviewed one, where a text of `step` has new lines
/// above old ones or the other way round: what is above there and what is below are changes of their own.
/// Returns the lines of both texts in each part.
fn divided(run: &Edit, step: &Step<Order>) -> Vec<(Range<usize>, Range<usize>)> {
    // Both ends are in order.
    let mut cuts = vec![(run.before.end, run.after.end)];
    for order in std::iter::once(&step.now).chain(&step.before) {
        for two in order.lines.windows(2) {
            let cut = match two {
                [Line::Working(new), Line::Reviewed(old)] => (new + 1, *old),
                [Line::Reviewed(old), Line::Working(new)] => (*new, old + 1),
                _ => continue,
            };
            let at = cuts.partition_point(|other| *other < cut);
            let is_in_order = cut.1 <= cuts[at].1 && (at == 0 || cuts[at - 1].1 <= cut.1);
            if is_in_order && cut != cuts[at] {
                cuts.insert(at, cut);
            }
        }
    }
    let (mut new, mut old) = (run.before.start, run.after.start);
    let parts = cuts.into_iter().map(|(new_end, old_end)| {
        let part = (new..new_end, old..old_end);
        (new, old) = (new_end, old_end);
        part
    });
    parts.collect()
}

/// A text that git has or had, aligned to the working text.
struct Aligned<'a> {
    text: &'a Text,
    /// From the working text to this one.
    edits: Vec<Edit>,
}

impl<'a> Aligned<'a> {
    fn new(working: &Text, text: &'a Text) -> Aligned<'a> {
        let edits = edits(working, text);
        Aligned { text, edits }
    }

    /// Returns which lines of `run`, the edit from the working text to `reviewed`, the text has there.
    fn order(&self, run: &Edit, reviewed: &Text) -> Order {
        let first = self
            .edits
            .partition_point(|edit| edit.before.end < run.before.start);
        let near = self.edits[first..]
            .iter()
            .take_while(|edit| edit.before.start <= run.before.end);
        let near: Vec<&Edit> = near.collect();
        let lines = near
            .iter()
            .flat_map(|edit| self.text.lines(edit.after.clone()));
        let [old, new] = [
            Text::new(reviewed.lines_bytes(run.after.clone()).to_vec()),
            Text::new(joined(lines)),
        ];
        // For each line that the text has in place of working lines, which reviewed one it is.
        let mut found = vec![None; new.len()];
        let (mut at, mut new_at) = (0, 0);
        for edit in edits(&old, &new) {
            found[new_at..edit.after.start]
                .iter_mut()
                .zip(at..)
                .for_each(|(one, old)| *one = Some(old));
            (at, new_at) = (edit.before.end, edit.after.end);
        }
        found[new_at..]
            .iter_mut()
            .zip(at..)
            .for_each(|(one, old)| *one = Some(old));
        let mut found = found.into_iter();
        let mut order = Vec::new();
        let mut line = run.before.start;
        for edit in near {
            order.extend((line..edit.before.start).map(Line::Working));
            let there = found.by_ref().take(edit.after.len()).flatten();
            order.extend(there.map(|old| Line::Reviewed(run.after.start + old)));
            line = edit.before.end.max(line);
        }
        order.extend((line..run.before.end).map(Line::Working));
        Order::new(run, order)
    }
}

/// A line of the working text, or one of the reviewed text in place of such lines.
struct Part<'a> {
    line: &'a [u8],
    is_working: bool,
    is_reviewed: bool,
    /// Whether git has it there now.
    is_committed: bool,
    /// Whether it is in the result.
    is_in: bool,
}

/// Mends what the alignments made of lines that were moved or are repeated: a line is in the result at
/// most as often as in the working text or the reviewed one, whichever has it more often, and at least as
/// often as in each of them.
fn mend_moves(parts: &mut [Part]) {
    #[derive(Default)]
    struct Count {
        working: usize,
        reviewed: usize,
        found: usize,
    }
    let mut counts: HashMap<&[u8], Count> = HashMap::new();
    for part in &*parts {
        let count = counts.entry(part.line).or_default();
        count.working += usize::from(part.is_working);
        count.reviewed += usize::from(part.is_reviewed);
        count.found += usize::from(part.is_in);
    }
    let mut put = |is_in: bool, is_meant: &dyn Fn(&Part) -> bool| {
        for part in parts.iter_mut().filter(|part| part.is_in != is_in) {
            let count = counts.entry(part.line).or_default();
            let is_wanted = if is_in {
                count.found < count.working.min(count.reviewed)
            } else {
                count.found > count.working.max(count.reviewed)
            };
            if is_wanted && is_meant(part) {
                part.is_in = is_in;
                count.found = if is_in {
                    count.found + 1
                } else {
                    count.found - 1
                };
            }
        }
    };
    put(false, &|part| !part.is_working && !part.is_committed);
    put(false, &|part| part.is_working && !part.is_reviewed);
    put(true, &|part| part.is_working && part.is_committed);
    put(true, &|part| part.is_reviewed);
}
