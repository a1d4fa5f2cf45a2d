use std::time::Instant;

use agent_q_diff_engine::change::{FileChange, Node, Operation};
use agent_q_diff_engine::key::{Found, Key, Keys, Part};
use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::{Mark, Review};

use crate::common::dice::Dice;
use crate::common::n_cases;

fn file(original: &str, modified: &str, n_context: usize) -> Option<FileChange> {
    let texts = (original.as_bytes().to_vec(), modified.as_bytes().to_vec());
    let proposal = Proposal::from_texts(texts.0, texts.1, n_context).ok()?;
    Some(FileChange::new(Vec::new(), Some(Review::new(proposal))))
}

fn keys(original: &str, modified: &str) -> Vec<Key> {
    Keys::of(&file(original, modified, 3).unwrap())
        .all()
        .to_vec()
}

fn find(wanted: &Key, original: &str, modified: &str) -> Found {
    // As it is read from a record.
    let wanted: Key = wanted.to_string().parse().unwrap();
    file(original, modified, 3).map_or(Found::Gone(None), |file| Keys::of(&file).find(&wanted))
}

/// Returns lines with one letter each, and `|` for ten lines that are all different.
fn text(letters: &str) -> String {
    let mut n_bars = 0;
    let lines = letters.chars().map(|letter| {
        n_bars += usize::from(letter == '|');
        match letter {
            '|' => (0..10).map(|n| format!("{n_bars} {n}\n")).collect(),
            _ => format!("{letter}\n"),
        }
    });
    lines.collect()
}

#[test]
fn a_hunk_is_found_after_the_one_above_was_kept() {
    let [old, new] = ["aaa|b|c", "aAa|B|C"].map(text);
    let wanted = &keys(&old, &new)[1];
    assert_eq!(find(wanted, &old, &new), Found::Sure(1, None));
    assert_eq!(find(wanted, &text("aAa|b|c"), &new), Found::Sure(0, None));
    // Also after both beside it were.
    assert_eq!(find(wanted, &text("aAa|b|C"), &new), Found::Sure(0, None));
    // And when the agent has written more.
    let more = text("xaAa|B|C");
    assert_eq!(find(wanted, &old, &more), Found::Sure(1, None));
    // But not once its own lines were written anew.
    assert_eq!(find(wanted, &old, &text("aAa|D|C")), Found::Gone(Some(1)));
}

#[test]
fn a_part_is_found_in_the_hunk_that_it_was_split_off() {
    let (old, new) = (text("|abc|"), text("|ABC|"));
    let mut review =
        Review::new(Proposal::from_texts(old.clone().into(), new.clone().into(), 3).unwrap());
    assert_eq!(review.pick_rows(0, 1..2, 1..2).unwrap(), Some((3, 1)));
    let split = FileChange::new(Vec::new(), Some(review));
    let wanted = &Keys::of(&split).all()[1].clone();
    let part = Part {
        removed: 1..2,
        added: 1..2,
    };
    assert_eq!(find(wanted, &old, &new), Found::Sure(0, Some(part)));
    // The part above was kept, and the one below was rejected.
    assert_eq!(
        find(wanted, &text("|Abc|"), &text("|ABc|")),
        Found::Sure(0, None)
    );
    assert_eq!(find(wanted, &old, &text("|AxC|")), Found::Gone(Some(0)));
}

#[test]
fn of_equal_hunks_the_one_in_its_place_is_meant() {
    let block = |middle: &str| text(&format!("abcd{middle}efgh"));
    let old = block("") + &block("") + &block("");
    let new = block("X") + &block("") + &block("X");
    let [first, last] = &keys(&old, &new)[..] else {
        panic!();
    };
    assert_eq!(find(last, &old, &new), Found::Sure(1, None));
    let more = block("X") + &block("X") + &block("X");
    assert_eq!(find(last, &old, &more), Found::Sure(2, None));
    // The first one was kept, and another one has come.
    let kept = block("X") + &block("") + &block("");
    assert_eq!(find(last, &kept, &more), Found::Sure(1, None));
    assert_eq!(find(first, &kept, &more), Found::Unsure(vec![0, 1]));
    // Where both sides have changed, none is sure.
    let saved = text("s") + &old + &text("s");
    let all = text("s") + &new + &text("s");
    assert_eq!(find(last, &saved, &all), Found::Unsure(vec![0, 1]));
    // One that has moved is not sure.
    let one = block("") + &block("X") + &block("");
    assert_eq!(
        find(
            &keys(&old, &one)[0],
            &old,
            &(block("") + &block("") + &block("X"))
        ),
        Found::Unsure(vec![0])
    );
}

#[test]
fn what_is_kept_on_both_sides_leaves_a_hunk_in_its_place() {
    let block = |middle: &str| text(&format!("abcd{middle}efgh"));
    let blocks = |middles: &[&str]| {
        middles
            .iter()
            .map(|middle| block(middle))
            .collect::<String>()
    };
    let old = blocks(&["", "", "", "", ""]);
    let new = blocks(&["X", "", "X", "", "X"]);
    let before = keys(&old, &new)[1].clone();
    let marked = |mark| {
        let mut review = file(&old, &new, 3).unwrap().review().unwrap().clone();
        for hunk in [0, 2] {
            review.set_mark(hunk, mark);
        }
        let file = FileChange::new(Vec::new(), Some(review));
        let keys = Keys::of(&file);
        // A key of before is known, too.
        assert_eq!(keys.find(&before), Found::Sure(1, None));
        assert_eq!(keys.find(&keys.all()[1]), Found::Sure(1, None));
        keys.all()[1].clone()
    };
    assert_eq!(marked(Mark::Rejected), before);
    let wanted = marked(Mark::Applied);
    let kept = blocks(&["X", "", "", "", "X"]);
    assert_eq!(find(&wanted, &kept, &new), Found::Sure(0, None));
    let more = blocks(&["X", "X", "X", "X", "X"]);
    assert_eq!(find(&wanted, &kept, &more), Found::Sure(1, None));
    let other = blocks(&["X", "X", "", "", "X"]);
    assert_eq!(find(&wanted, &kept, &other), Found::Unsure(vec![0]));
}

#[test]
fn of_parts_that_leave_the_same_lines_any_is_meant() {
    // Only that the line is removed, whatever is added.
    let [old, new] = ["|b|", "|BC|"].map(text);
    let mut review =
        Review::new(Proposal::from_texts(old.clone().into(), new.clone().into(), 3).unwrap());
    review.pick_rows(0, 0..1, 0..0).unwrap();
    let wanted = Keys::of(&FileChange::new(Vec::new(), Some(review))).all()[0].clone();
    let part = |removed, added| Found::Sure(0, Some(Part { removed, added }));
    assert_eq!(find(&wanted, &old, &new), part(0..1, 0..0));
    // One of several equal lines.
    let [old, new] = ["||", "|aa|"].map(text);
    let one = &keys(&old, &text("|a|"))[0];
    assert_eq!(find(one, &old, &new), part(0..0, 0..1));
    assert_eq!(find(one, &old, &text("|aba|")), Found::Unsure(vec![0, 0]));
}

#[test]
fn operations_are_known_by_their_kind_and_values() {
    let of = |operations: Vec<Operation>| {
        let file = FileChange::new(operations, None);
        let keys = Keys::of(&file);
        (
            keys.all().to_vec(),
            keys.find(&"mode 100644 100755".parse().unwrap()),
        )
    };
    let mode = |new| Operation::Mode {
        old: 0o100_644,
        new,
    };
    assert_eq!(
        of(vec![Operation::Rename, mode(0o100_755)]).1,
        Found::Sure(1, None)
    );
    assert_eq!(of(vec![mode(0o100_600)]).1, Found::Gone(Some(0)));
    let delete = |text: &str| Operation::Delete { text: text.into() };
    assert_ne!(of(vec![delete("a")]).0, of(vec![delete("b")]).0);
    let link = |new: Option<&str>| Operation::Link {
        old: None,
        new: new.map(Into::into),
    };
    let kind = |target: &str| Operation::Kind {
        old: Node::Link {
            target: target.into(),
        },
        new: Node::File {
            mode: 0o644,
            content: b"a".to_vec(),
        },
    };
    assert_ne!(of(vec![kind("a")]).0, of(vec![kind("b")]).0);
    let all = [
        delete("a"),
        kind("a"),
        Operation::Rename,
        Operation::Binary,
        link(None),
        link(Some("a")),
    ];
    for key in of(all.to_vec()).0 {
        assert_eq!(key.to_string().parse(), Ok(key));
    }
}

#[test]
fn what_an_earlier_version_has_recorded_is_known_but_not_where() {
    // The SHA-256 of "-b\n+B\n".
    let known = "724a7798ad283df53c61dadcd9d357ede9f63c762d04fae6a8bd2224b366584b";
    let known: Key = known.parse().unwrap();
    assert_eq!(
        find(&known, &text("|b|"), &text("|B|")),
        Found::Unsure(vec![0])
    );
    assert_eq!(
        find(&known, &text("|b|b|"), &text("|B|B|")),
        Found::Unsure(vec![0, 1])
    );
    assert_eq!(find(&known, &text("|b|"), &text("|C|")), Found::Gone(None));
    assert_eq!(
        find(&"?".parse().unwrap(), &text("|b|"), &text("|C|")),
        Found::Gone(None)
    );
}

/// A line, and in which texts it is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Line {
    letter: char,
    is_old: bool,
    is_new: bool,
    is_wanted: bool,
}

struct World {
    lines: Vec<Line>,
    /// The letters of lines that are written; without any, each gets one of its own.
    letters: Vec<char>,
    n_letters: u32,
}

impl World {
    fn text(&self, has: impl Fn(&Line) -> bool) -> String {
        let lines = self.lines.iter().filter(|line| has(line));
        lines.map(|line| format!("{}\n", line.letter)).collect()
    }

    fn original(&self) -> String {
        self.text(|line| line.is_old)
    }

    fn modified(&self) -> String {
        self.text(|line| line.is_new)
    }

    /// Returns the modified text once what is wanted was taken out.
    fn without(&self) -> String {
        self.text(|line| {
            if line.is_wanted {
                line.is_old
            } else {
                line.is_new
            }
        })
    }

    /// Returns whether a line has not changed, and is the only one of its kind.
    fn is_same(&self, letter: char) -> bool {
        let mut same = self.lines.iter().filter(|line| line.is_old && line.is_new);
        !self.letters.contains(&letter) && same.any(|line| line.letter == letter)
    }

    /// Returns the lines of `text` between those that have not changed; in which order they stand
    /// there is not said.
    fn between(&self, text: &str) -> Vec<Vec<char>> {
        let is_same = |letter: &char| self.is_same(*letter);
        let letters: Vec<char> = text.chars().filter(|letter| *letter != '\n').collect();
        let mut between: Vec<Vec<char>> = letters.split_inclusive(is_same).map(Vec::from).collect();
        between
            .iter_mut()
            .for_each(|letters| letters.sort_unstable());
        between
    }

    fn unique(&mut self) -> char {
        self.n_letters += 1;
        char::from_u32(0x4000 + self.n_letters).unwrap()
    }

    fn insert(&mut self, dice: &mut Dice, at: usize) {
        let letter = match self.letters.len() {
            0 => self.unique(),
            n => self.letters[dice.roll(n)],
        };
        let line = Line {
            letter,
            is_old: false,
            is_new: true,
            is_wanted: false,
        };
        self.lines.insert(at, line);
    }

    fn random(dice: &mut Dice, n_letters: u8) -> World {
        let letters = (0..n_letters).map(|n| char::from(b'a' + n)).collect();
        let mut world = World {
            lines: Vec::new(),
            letters,
            n_letters: 0,
        };
        for _ in 0..4 + dice.roll(16) {
            let line = Line {
                letter: world.unique(),
                is_old: true,
                is_new: true,
                is_wanted: false,
            };
            world.lines.push(line);
        }
        for _ in 0..1 + dice.roll(6) {
            world.write(dice);
        }
        world
    }

    /// Has an agent write a line, or delete one.
    fn write(&mut self, dice: &mut Dice) {
        let at = dice.roll(self.lines.len() + 1);
        match self
            .lines
            .get_mut(at)
            .filter(|line| line.is_old && line.is_new)
        {
            Some(line) if dice.roll(3) == 0 => line.is_new = false,
            _ => self.insert(dice, at),
        }
    }

    /// Becomes the lines of `review`, in which the hunk `wanted` is wanted, as it is decided.
    fn align(&mut self, review: &Review, wanted: usize) {
        let proposal = review.proposal();
        let [old, new] =
            [self.original(), self.modified()].map(|text| text.lines().collect::<String>());
        let [old, new]: [Vec<char>; 2] = [old, new].map(|text| text.chars().collect());
        self.lines.clear();
        let (mut at, mut new_at) = (0, 0);
        let mut push = |letter, is_old, is_new, is_wanted| {
            self.lines.push(Line {
                letter,
                is_old,
                is_new,
                is_wanted,
            });
        };
        for hunk in 0..proposal.n_hunks() {
            for edit in proposal.edits(hunk) {
                old[at..edit.before.start]
                    .iter()
                    .for_each(|line| push(*line, true, true, false));
                let (is_wanted, mark) = (hunk == wanted, review.mark(hunk));
                if mark != Mark::Applied {
                    let is_new = mark == Mark::Rejected;
                    let lines = old[edit.before.clone()].iter();
                    lines.for_each(|line| push(*line, true, is_new, is_wanted));
                }
                if mark != Mark::Rejected {
                    let is_old = mark == Mark::Applied;
                    let lines = new[edit.after.clone()].iter();
                    lines.for_each(|line| push(*line, is_old, true, is_wanted));
                }
                (at, new_at) = (edit.before.end, edit.after.end);
            }
        }
        let _ = new_at;
        old[at..]
            .iter()
            .for_each(|line| push(*line, true, true, false));
    }

    /// Decides a run of changed lines, but for those that are wanted, or has somebody write some.
    fn step(&mut self, dice: &mut Dice) {
        let way = dice.roll(4);
        if way < 2 {
            return self.write(dice);
        }
        let mut at = dice.roll(self.lines.len() + 1);
        while let Some(line) = self
            .lines
            .get_mut(at)
            .filter(|line| line.is_old != line.is_new)
        {
            match line.is_wanted {
                true => {}
                false if way == 2 => line.is_old = line.is_new,
                false => line.is_new = line.is_old,
            }
            at += 1;
        }
        self.lines.retain(|line| line.is_old || line.is_new);
    }
}

/// Returns the modified text of `world` after the part that is found was taken out; `None` if the
/// comparison has taken a line for moved that was not.
fn taken_out(world: &World, n_context: usize, entry: usize, part: Option<Part>) -> Option<String> {
    let proposal =
        Proposal::from_texts(world.original().into(), world.modified().into(), n_context).ok()?;
    let lines = world.original();
    let lines: Vec<&str> = lines.lines().collect();
    let edits = (0..proposal.n_hunks()).flat_map(|hunk| proposal.edits(hunk));
    let mut removed =
        edits.flat_map(|edit| lines[edit.before].concat().chars().collect::<Vec<_>>());
    if removed.any(|letter| world.is_same(letter)) {
        return None;
    }
    let mut review = Review::new(proposal);
    let hunk = match part {
        None => entry,
        Some(part) => {
            entry
                + review
                    .pick_rows(entry, part.removed, part.added)
                    .unwrap()?
                    .1
        }
    };
    let text = review.proposal().original_with(|other| other != hunk);
    Some(String::from_utf8(text).unwrap())
}

/// Plays a random case, and returns whether the hunk was found; `None` if there was none.
fn play(seed: u64, n_letters: u8, n_steps: usize) -> Option<bool> {
    let dice = &mut Dice::new(seed);
    let mut world = World::random(dice, n_letters);
    let texts = (world.original().into(), world.modified().into());
    let n_context = dice.roll(5);
    let mut review = Review::new(Proposal::from_texts(texts.0, texts.1, n_context).ok()?);
    let mut wanted = dice.roll(review.tally().0);
    if dice.roll(3) == 0 {
        let n_lines = review.proposal().n_changed_lines(wanted);
        let from = dice.roll(n_lines);
        let to = from + 1 + dice.roll(n_lines - from);
        wanted += review.pick(wanted, from..to).unwrap().1;
    }
    let n_kept = dice.roll(3);
    for hunk in (0..review.tally().0).filter(|hunk| *hunk != wanted) {
        match dice.roll(4) {
            0 => review.set_mark(hunk, Mark::Rejected),
            mark if mark <= n_kept => review.set_mark(hunk, Mark::Applied),
            _ => {}
        }
    }
    world.align(&review, wanted);
    assert_eq!(world.original().into_bytes(), review.reviewed());
    let before = FileChange::new(Vec::new(), Some(review));
    let keys = Keys::of(&before);
    let key = keys.all()[wanted].clone();
    let found = keys.find(&key);
    let is_it = match &found {
        Found::Sure(at, part) => (*at, part) == (wanted, &None),
        Found::Unsure(all) => all.contains(&wanted),
        Found::Gone(_) => false,
    };
    assert!(is_it, "seed {seed}: {found:?} instead of {wanted}");
    for _ in 0..dice.roll(n_steps + 1) {
        world.step(dice);
    }
    let n_context = if n_steps == 0 {
        n_context
    } else {
        dice.roll(5)
    };
    let key: Key = key.to_string().parse().unwrap();
    let found = file(&world.original(), &world.modified(), n_context)
        .map_or(Found::Gone(None), |file| Keys::of(&file).find(&key));
    let Found::Sure(entry, part) = found else {
        return Some(false);
    };
    if let Some(now) = taken_out(&world, n_context, entry, part) {
        let [now, expected] = [now, world.without()].map(|text| world.between(&text));
        assert_eq!(
            now,
            expected,
            "seed {seed}: {:?} → {:?}",
            world.original(),
            world.modified()
        );
    }
    Some(true)
}

#[test]
fn a_key_never_finds_another_hunk() {
    // Without letters, all lines are different; with one, equal hunks are the rule. Without steps, nobody
    // writes or decides anything until the next review.
    for (n_letters, n_steps, percent) in
        [(0, 0, 100), (0, 3, 78), (1, 0, 98), (1, 3, 78), (3, 3, 78)]
    {
        let cases = 0..u64::from(n_cases(20_000));
        let cases = cases.filter_map(|seed| play(seed, n_letters, n_steps));
        let found: Vec<bool> = cases.collect();
        let n_found = found.iter().filter(|is_found| **is_found).count();
        println!(
            "{n_letters} letters, {n_steps} steps: {n_found} of {} found",
            found.len()
        );
        assert!(n_found * 100 >= found.len() * percent);
    }
}

#[test]
fn ten_thousand_hunks_take_moments() {
    let lines = |is_new: bool| -> String {
        let line = |n: u32| match n % 10 {
            5 if is_new => "new\n".to_owned(),
            _ => format!("line {n}\n"),
        };
        (0..100_000).map(line).collect()
    };
    let file = file(&lines(false), &lines(true), 3).unwrap();
    let start = Instant::now();
    let keys = Keys::of(&file);
    let wanted: Vec<Key> = keys
        .all()
        .iter()
        .map(|key| key.to_string().parse().unwrap())
        .collect();
    for (at, key) in wanted.iter().enumerate().step_by(100) {
        assert_eq!(keys.find(key), Found::Sure(at, None));
    }
    assert_eq!(wanted.len(), 10_000);
    println!("{:?}", start.elapsed());
    assert!(start.elapsed().as_secs() < 20);
}
