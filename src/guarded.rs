//! `guarded`: code of the application, whose panic comes back as a text.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs code of the application; its panic comes back as its text.
pub(crate) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(panic_text)
}

fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => crate::error::shorten(text, 1000),
        (None, Some(text)) => crate::error::shorten(text, 1000),
        (None, None) => "a panic whose payload is not text".to_owned(),
    };
    // Dropping a payload can panic in its turn; what comes out of that is left alone.
    if let Err(again) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
        std::mem::forget(again);
    }
    text
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a test of panics")]
mod tests {
    use super::*;

    struct DropBomb;
    impl Drop for DropBomb {
        fn drop(&mut self) {
            panic!("again");
        }
    }

    #[test]
    fn any_panic_comes_back_as_text() {
        assert_eq!(guarded(|| panic!("plain")), Err::<(), _>("plain".to_owned()));
        assert_eq!(guarded(|| panic!("with {}", 1)), Err::<(), _>("with 1".to_owned()));
        let bomb = guarded(|| std::panic::panic_any(DropBomb));
        assert_eq!(bomb, Err::<(), _>("a panic whose payload is not text".to_owned()));
        assert_eq!(guarded(|| 5), Ok(5));
    }
}
