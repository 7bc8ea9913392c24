//! `from!`: the conversions into a type, a line each.

/// Makes conversions into a type, each by an expression of the value.
macro_rules! from {
    ($name:ty { $($from:ty => |$value:ident| $into:expr),+ $(,)? }) => {
        $(impl From<$from> for $name {
            fn from($value: $from) -> Self {
                $into
            }
        })+
    };
}

pub(crate) use from;
