//! Rust's values as Lisp values, and back, by `serde`: what a type says of its form in the record holds here.
//!
//! A struct is a vector of its fields, in their order, and a pair of structs one vector with the fields of
//! both. Another pair is a cons, a longer tuple a vector, and a map a property list. A variant without data is
//! a symbol, and one with data is that. Bytes are a string, and what is absent is nil.

use emacs::{Env, Error, IntoLisp, Result, Value, Vector};
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde::ser::{Serialize, Serializer};
use serde_content::{Data, Number, Value as Rust};

use crate::lisp::{list, list_of, said, text};

/// Largest number that parsers of JSON read exactly.
const MAX_EXACT: i64 = 1 << 53;

/// Bytes, which are a string for Lisp.
pub(crate) struct Bytes<T>(pub T);

impl<T: AsRef<[u8]>> Serialize for Bytes<T> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.serialize_bytes(self.0.as_ref())
    }
}

/// Returns `value` for Lisp.
pub(crate) fn lisp<'e>(env: &'e Env, value: &(impl Serialize + ?Sized)) -> Result<Value<'e>> {
    made(env, serde_content::Serializer::new().serialize(value)?)
}

fn made<'e>(env: &'e Env, value: Rust) -> Result<Value<'e>> {
    match value {
        Rust::Unit | Rust::Option(None) => ().into_lisp(env),
        Rust::Bool(flag) => flag.into_lisp(env),
        Rust::Number(Number::U64(number)) if i64::try_from(number).is_ok() => number.into_lisp(env),
        Rust::Number(Number::U64(number)) => (number as f64).into_lisp(env),
        Rust::Number(Number::I64(number)) => number.into_lisp(env),
        Rust::Number(Number::U32(number)) => number.into_lisp(env),
        Rust::Number(Number::F64(number)) => number.into_lisp(env),
        Rust::Number(other) => Err(Error::msg(format!("{other:?} is of no use to Lisp"))),
        Rust::Char(char) => char.to_string().into_lisp(env),
        Rust::String(string) => text(env, string.as_bytes()),
        Rust::Bytes(bytes) => text(env, &bytes),
        Rust::Option(Some(value)) => made(env, *value),
        Rust::Seq(members) => list_of(env, members.into_iter().map(|member| made(env, member))),
        Rust::Map(pairs) => {
            let mut members = Vec::new();
            for (key, value) in pairs {
                let key = made(env, key)?.into_rust::<String>()?;
                members.push(env.intern(&format!(":{key}"))?);
                members.push(made(env, value)?);
            }
            list(env, members)
        }
        Rust::Struct(one) => with_data(env, one.data),
        Rust::Enum(one) => match one.data {
            Data::Unit => env.intern(&one.variant),
            data => with_data(env, data),
        },
        Rust::Tuple(members) => tuple(env, members),
    }
}

fn with_data<'e>(env: &'e Env, data: Data) -> Result<Value<'e>> {
    match data {
        Data::Unit => ().into_lisp(env),
        Data::NewType { value } => made(env, value),
        Data::Tuple { values } => tuple(env, values),
        Data::Struct { fields } => vector(env, fields.into_iter().map(|(_, value)| value)),
    }
}

fn tuple<'e>(env: &'e Env, members: Vec<Rust>) -> Result<Value<'e>> {
    match &members[..] {
        [Rust::Struct(_), Rust::Struct(_)] => {
            let parts = members.into_iter().map(|part| made(env, part));
            env.call("vconcat", &parts.collect::<Result<Vec<_>>>()?[..])
        }
        [_, _] => {
            let mut members = members.into_iter().map(|member| made(env, member));
            let [first, second] = [members.next(), members.next()].map(Option::unwrap);
            env.cons(first?, second?)
        }
        _ => vector(env, members),
    }
}

fn vector<'e, 'r>(env: &'e Env, members: impl IntoIterator<Item = Rust<'r>>) -> Result<Value<'e>> {
    let members = members.into_iter().map(|member| made(env, member));
    env.call("vector", &members.collect::<Result<Vec<_>>>()?[..])
}

/// Returns what the Lisp value `value` means.
pub(crate) fn rust<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T> {
    T::deserialize(FromLisp(value)).map_err(|failed| failed.0)
}

/// Why a Lisp value means nothing.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Failed(#[from] Error);

impl de::Error for Failed {
    fn custom<T: std::fmt::Display>(message: T) -> Failed {
        Failed(Error::msg(message.to_string()))
    }
}

type Made<T> = std::result::Result<T, Failed>;

struct FromLisp<'e>(Value<'e>);

impl<'e> FromLisp<'e> {
    fn is(&self, kind: &str) -> Result<bool> {
        let env = self.0.env;
        Ok(env.type_of(self.0)? == env.intern(kind)?)
    }

    /// Returns what is in it, a list or a vector.
    fn members(&self) -> Result<Vec<FromLisp<'e>>> {
        let members: Vector = self.0.env.call("vconcat", [self.0])?.into_rust()?;
        Ok(members.into_iter().map(FromLisp).collect())
    }

    fn printed(&self, format: &str) -> Result<String> {
        said(self.0.env.call("format", (format, self.0))?)
    }
}

impl<'de> IntoDeserializer<'de, Failed> for FromLisp<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for FromLisp<'_> {
    type Error = Failed;

    fn is_human_readable(&self) -> bool {
        false
    }

    /// Reads what was not made for Rust: a list that begins with a keyword is a map, and what JSON has not is
    /// text.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Made<V::Value> {
        let env = self.0.env;
        if !self.0.is_not_nil() {
            return visitor.visit_unit();
        }
        if self.is("string")? {
            // Emacs 28 cannot read NUL in JSON.
            return visitor.visit_string(said(self.0)?.replace('\0', "\\0"));
        }
        if self.is("symbol")? {
            return match &*self.printed("%s")? {
                "t" => visitor.visit_bool(true),
                ":false" | ":json-false" => visitor.visit_bool(false),
                ":null" => visitor.visit_unit(),
                name => visitor.visit_str(name),
            };
        }
        if self.is("integer")?
            && let Ok(number) = self.0.into_rust::<i64>()
            && number.abs() <= MAX_EXACT
        {
            return visitor.visit_i64(number);
        }
        let is_list = self.is("cons")? && env.call("proper-list-p", [self.0])?.is_not_nil();
        if !is_list && !self.is("vector")? {
            return visitor.visit_string(self.printed("%S")?);
        }
        let mut members = self.members()?;
        let is_map = is_list && env.call("keywordp", [members[0].0])?.is_not_nil();
        if !is_map {
            return visitor.visit_seq(SeqDeserializer::new(members.into_iter()));
        }
        if members.len() % 2 == 1 {
            members.push(FromLisp(env.intern("nil")?));
        }
        let mut pairs = Vec::new();
        for pair in members.chunks(2) {
            let key = pair[0].printed("%s")?;
            let key = key.strip_prefix(':').unwrap_or(&key).to_owned();
            pairs.push((key, FromLisp(pair[1].0)));
        }
        visitor.visit_map(MapDeserializer::new(pairs.into_iter()))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Made<V::Value> {
        visitor.visit_bool(self.0.is_not_nil())
    }

    /// Nil is an empty one.
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Made<V::Value> {
        if self.0.is_not_nil() {
            self.deserialize_any(visitor)
        } else {
            visitor.visit_str("")
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Made<V::Value> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Made<V::Value> {
        if self.0.is_not_nil() {
            visitor.visit_some(self)
        } else {
            visitor.visit_none()
        }
    }

    /// A string is its bytes.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Made<V::Value> {
        if self.is("string")? {
            let bytes = self.0.clone_string_contents()?;
            return visitor.visit_seq(SeqDeserializer::new(bytes.into_iter()));
        }
        visitor.visit_seq(SeqDeserializer::new(self.members()?.into_iter()))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, n: usize, visitor: V) -> Made<V::Value> {
        if n != 2 {
            return self.deserialize_seq(visitor);
        }
        let pair = [self.0.car()?, self.0.cdr()?].map(FromLisp);
        visitor.visit_seq(SeqDeserializer::new(pair.into_iter()))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        n: usize,
        visitor: V,
    ) -> Made<V::Value> {
        self.deserialize_tuple(n, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Made<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Made<V::Value> {
        visitor.visit_enum(self.printed("%s")?.into_deserializer())
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str bytes byte_buf unit unit_struct newtype_struct map
        identifier
    }
}
