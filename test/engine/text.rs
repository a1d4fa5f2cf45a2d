//! Counting characters.

use agent_q_diff_engine::text::n_chars;

#[test]
fn characters_are_counted_as_emacs_counts_them() {
    let cases: [(&[u8], usize); 9] = [
        (b"", 0),
        (b"abc", 3),
        ("é✓𝒳".as_bytes(), 3),
        ("e\u{301}".as_bytes(), 2),
        (b"\xff\xfe", 2),
        (b"a\xc3", 2),
        (b"\xed\xa0\x80", 1), // A lone surrogate is a character of Emacs.
        (b"\xf8\x88\x80\x80\x80", 1), // So is one beyond Unicode.
        (b"\xe0\x80\x80\x80", 4),
    ];
    for (bytes, n) in cases {
        assert_eq!(n_chars(bytes), n, "{bytes:x?}");
    }
}
