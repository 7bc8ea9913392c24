//! Words: the texts by which the values of an enumeration are known outside of the program.

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

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use words;
