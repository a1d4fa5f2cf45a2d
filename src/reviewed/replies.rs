//! Answers to comments in what an agent says to its user.
//!
//! An agent that has no tool for it answers in its reply, as it was told to: a line that begins with the
//! comment's number in brackets, such as `[3] a.txt, line 5: because of …`, and what follows up to an empty
//! line or the next such line. The number may stand in a list, a heading, or bold, as models like to write.

/// Number of characters of an answer that are kept.
const MAX_ANSWER_LEN: usize = 4000;

/// Characters with which Markdown begins a list, a heading, a quotation, or bold text.
const MARKS: &str = "-*#>_ \t";

/// Returns the answers in `reply`: the numbers of comments, and what is said to each. Of several with one
/// number, that is all of them.
pub fn answers_in(reply: &str) -> Vec<(u64, String)> {
    let mut answers: Vec<(u64, String)> = Vec::new();
    let mut at = None;
    let mut is_fenced = false;
    for line in reply.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        if let Some((id, rest)) = numbered(line).filter(|_| !is_fenced && !is_fence) {
            let known = answers.iter().position(|(known, _)| *known == id);
            let index = known.unwrap_or_else(|| {
                answers.push((id, String::new()));
                answers.len() - 1
            });
            add(&mut answers[index].1, rest);
            at = Some(index);
        } else if let Some(index) = at {
            let answer = &mut answers[index].1;
            let is_gap = line.trim().is_empty();
            // Of an answer whose number stands alone, the text is below it.
            if is_gap && !is_fenced && !answer.is_empty() {
                at = None;
            } else if !is_gap || is_fenced {
                add(answer, line.trim_end());
            }
        }
    }
    answers.retain(|(_, answer)| !answer.trim().is_empty());
    for (_, answer) in &mut answers {
        if let Some((end, _)) = answer.char_indices().nth(MAX_ANSWER_LEN) {
            answer.truncate(end);
            answer.push('…');
        }
    }
    answers
}

/// Adds `line` to `answer`.
fn add(answer: &mut String, line: &str) {
    if !answer.is_empty() {
        answer.push('\n');
    }
    answer.push_str(line);
}

/// Returns the number in brackets with which `line` begins, and what follows.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let line = line.trim_start_matches(|c| MARKS.contains(c));
    let (id, rest) = line.strip_prefix('[')?.split_once(']')?;
    // "[3](…)" and "[3]: …" are links and their targets in Markdown.
    if !id.bytes().all(|byte| byte.is_ascii_digit()) || rest.starts_with(['(', '[']) {
        return None;
    }
    let rest = rest.trim_start_matches(['*', '_']).trim();
    Some((id.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(reply: &str) -> Vec<(u64, String)> {
        answers_in(reply)
    }

    fn one(id: u64, answer: &str) -> Vec<(u64, String)> {
        vec![(id, answer.to_owned())]
    }

    #[test]
    fn a_line_with_a_number_is_an_answer_up_to_an_empty_line() {
        let reply = "I looked.\n\n[1] a.txt, line 5: because\nof this.\n\nThe rest.\n[2] Done";
        assert_eq!(
            answers(reply),
            [
                (1, "a.txt, line 5: because\nof this.".to_owned()),
                (2, "Done".to_owned())
            ]
        );
    }

    #[test]
    fn the_number_may_be_marked_as_models_do() {
        for reply in [
            "- [7] yes",
            "* **[7]** yes",
            "**[7] yes",
            "### [7]\n\nyes\n\nno",
            "> [7] yes",
            "1 thing\r\n[7] yes\r\n",
        ] {
            assert_eq!(answers(reply), one(7, "yes"), "{reply}");
        }
    }

    #[test]
    fn code_belongs_to_its_answer_and_has_none() {
        assert_eq!(
            answers("[1] so:\n```\na\n\n[2] b\n```\nand\n\n[2]"),
            one(1, "so:\n```\na\n\n[2] b\n```\nand")
        );
    }

    #[test]
    fn several_answers_with_one_number_are_one() {
        assert_eq!(answers("[1] a\n\n[1] b"), one(1, "a\nb"));
    }

    #[test]
    fn what_is_no_answer_is_none() {
        for reply in [
            "",
            "[] a",
            "[x] done",
            "[ ] to do",
            "see [1] there",
            "[1](http://a)",
            "[99999999999999999999999] a",
            "[1]\n\n\n",
        ] {
            assert_eq!(answers(reply), [], "{reply}");
        }
    }

    #[test]
    fn a_long_answer_is_cut() {
        let [(1, answer)] = &answers(&format!("[1] {}", "é".repeat(5000)))[..] else {
            panic!("it is none");
        };
        assert_eq!(answer.chars().count(), MAX_ANSWER_LEN + 1);
        assert!(answer.ends_with('…'));
    }
}
