//! The history of what agents proposed: property lists of Lisp as lines of JSON, and back.

use agent_q_diff_reviewed::history::{Event, History};
use emacs::{Env, IntoLisp, Result, Value, Vector, defun};
use serde_json::{Map, Value as Json};

use crate::lisp::{catching_panics, list, signal};
use crate::pending::path_of;

/// Largest number that parsers of JSON read exactly.
const MAX_EXACT: i64 = 1 << 53;

/// Record EVENT, a property list, in FILE.
///
/// Its keys are as in the manual's section on the log; there may be others.  If
/// FILE has MAX-BYTES or more, it is rotated first; nil is never.  N-OLD rotated
/// files are kept.
#[defun]
fn record_event(
    env: &Env,
    file: Value,
    max_bytes: Option<u64>,
    n_old: u32,
    event: Value,
) -> Result<()> {
    catching_panics(env, || {
        let file = path_of(file)?;
        let history = History {
            file,
            max_bytes,
            n_old,
        };
        let event = json(env, event)?;
        let event: std::result::Result<Event, _> = serde_json::from_value(event);
        let recorded = event.map_err(Into::into);
        told(
            env,
            &history,
            recorded.and_then(|event| history.record(&event)),
        )
    })
}

/// Return the latest events in FILE, at most N, the latest first.
///
/// If there are fewer, go on with the N-OLD rotated files.  Each is a property
/// list, as it was recorded, in which symbols are strings.
#[defun]
fn events<'e>(env: &'e Env, file: Value<'e>, n_old: u32, n: usize) -> Result<Value<'e>> {
    catching_panics(env, || {
        let history = History {
            file: path_of(file)?,
            max_bytes: None,
            n_old,
        };
        let events = told(env, &history, history.latest(n))?;
        let events = events.iter().map(|event| {
            let event = serde_json::to_value(event).expect("it was read from JSON");
            lisp(env, &event)
        });
        list(env, events.collect::<Result<Vec<_>>>()?)
    })
}

fn told<T>(env: &Env, history: &History, result: std::io::Result<T>) -> Result<T> {
    result.or_else(|error| {
        let message = format!("{}: {error}", history.file.display());
        signal(env, "agent-q-diff-error", &message)
    })
}

/// Returns `value`, of any type, for JSON: a list that begins with a keyword is an object, nil is null, and
/// what JSON has not is text.
fn json(env: &Env, value: Value) -> Result<Json> {
    if !value.is_not_nil() {
        return Ok(Json::Null);
    }
    let kind = env.type_of(value)?;
    let is = |name: &str| Ok::<bool, emacs::Error>(kind == env.intern(name)?);
    if is("string")? {
        return Ok(Json::String(visible(value.clone_string_contents()?)));
    }
    if is("symbol")? {
        return symbol(env, value);
    }
    if is("integer")?
        && let Ok(number) = value.into_rust::<i64>()
        && number.abs() <= MAX_EXACT
    {
        return Ok(number.into());
    }
    let is_list = is("cons")? && env.call("proper-list-p", [value])?.is_not_nil();
    if !is_list && !is("vector")? {
        let printed = env.call("format", ("%S", value))?;
        return Ok(Json::String(visible(printed.clone_string_contents()?)));
    }
    let members: Vector = env.call("vconcat", [value])?.into_rust()?;
    let members = members.into_iter().collect::<Vec<Value>>();
    let is_keyword =
        |value: &Value| Ok::<bool, emacs::Error>(env.call("keywordp", [*value])?.is_not_nil());
    if !is_list || !is_keyword(&members[0])? {
        let members = members.into_iter().map(|member| json(env, member));
        return Ok(Json::Array(members.collect::<Result<_>>()?));
    }
    let mut object = Map::new();
    for pair in members.chunks(2) {
        let key = env
            .call("format", ("%s", pair[0]))?
            .clone_string_contents()?;
        let key = visible(key);
        let value = pair
            .get(1)
            .map_or(Ok(Json::Null), |value| json(env, *value))?;
        object.insert(key.strip_prefix(':').unwrap_or(&key).to_owned(), value);
    }
    Ok(Json::Object(object))
}

/// Returns the symbol `value`, which is not nil, for JSON.
fn symbol(env: &Env, value: Value) -> Result<Json> {
    let name = visible(env.call("symbol-name", [value])?.clone_string_contents()?);
    Ok(match &*name {
        "t" => Json::Bool(true),
        ":false" | ":json-false" => Json::Bool(false),
        ":null" => Json::Null,
        _ => Json::String(name),
    })
}

/// Returns `bytes` as text. What is no UTF-8 becomes visible, as `\x80`, and so does NUL, which Emacs 28
/// cannot read.
fn visible(bytes: Vec<u8>) -> String {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => return text,
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    };
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\0', "\\x00"));
        let invalid = chunk.invalid().iter();
        text.extend(invalid.map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

/// Returns `value` for Lisp: an object is a property list, an array a list; false and null are nil.
fn lisp<'e>(env: &'e Env, value: &Json) -> Result<Value<'e>> {
    match value {
        Json::Null => env.intern("nil"),
        Json::Bool(flag) => flag.into_lisp(env),
        Json::Number(number) => match number.as_i64() {
            Some(number) => number.into_lisp(env),
            None => number.as_f64().unwrap_or_default().into_lisp(env),
        },
        Json::String(text) => text.into_lisp(env),
        Json::Array(members) => {
            let members = members.iter().map(|member| lisp(env, member));
            list(env, members.collect::<Result<Vec<_>>>()?)
        }
        Json::Object(object) => {
            let mut members = Vec::new();
            for (key, value) in object {
                members.push(env.intern(&format!(":{key}"))?);
                members.push(lisp(env, value)?);
            }
            list(env, members)
        }
    }
}
