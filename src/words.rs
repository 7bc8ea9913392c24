//! Words: the texts by which the values of an enumeration are known outside of the program.

/// Gives a type its `Display`: a text that it has.
macro_rules! display {
    ($name:ident => |$value:ident| $text:expr) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $value = self;
                f.write_str($text)
            }
        }
    };
}

/// Gives each value of an enumeration a word: the same in settings, tables, JSON and logs.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($value:ident = $word:literal),+ $(,)? }) => {
        impl $name {
            /// Every value.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];

            $(#[$meta])*
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }

            /// The value of this [name](Self::name).
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }

        $crate::words::display! { $name => |value| value.name() }
    };
}

pub(crate) use {display, words};
