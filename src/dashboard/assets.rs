//! Assets: the style, the script and the icon, which are parts of the program.

use super::response::Response;

const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/live.js");
const ICON: &str = include_str!("assets/icon.svg");

/// The asset of a path.
pub(super) fn find(path: &str) -> Option<Response> {
    match path {
        "/assets/style.css" => Some(Response::asset("text/css; charset=utf-8", STYLE)),
        "/assets/live.js" => Some(Response::asset("text/javascript; charset=utf-8", SCRIPT)),
        "/assets/icon.svg" => Some(Response::asset("image/svg+xml", ICON)),
        _ => None,
    }
}
