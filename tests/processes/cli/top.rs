//! `top`: the overview, once, for people and for programs.

use super::{Place, text, write_config};

#[test]
fn the_overview_is_shown_once_where_no_terminal_is() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    place.fine("schedule --job g.a --type command --trigger g.a --at 2040-01-01T00:00:00Z --data argv=true");
    for line in ["top", "top --once"] {
        let shown = place.fine(line);
        for part in
            ["0 nodes take work, 0 runs", "fires a minute", "NODE", "RUNNING", "DUE NEXT", "g.a", "LAST FAILURES"]
        {
            assert!(shown.contains(part), "{line}: no {part}: {shown}");
        }
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
    let document = place.json("top");
    assert_eq!(text(&document["due"][0], "trigger"), "g.a");
    assert_eq!(document["overdue"], 0);
}
