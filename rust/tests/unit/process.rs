//! Unit tests of `src/system/process.rs`: the variables of the environment.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

fn of(checked: Option<&str>, findings: Option<&str>) -> (bool, bool, Output) {
    let variables = [("TOFT_CHECKED", checked), ("TOFT_FINDINGS", findings)];
    let value = |name: &str| variables.iter().find(|(other, _)| *other == name).and_then(|(_, value)| *value);
    let settings = Settings::of(|name| value(name).map(OsString::from));
    (settings.checks, settings.aborts, settings.output)
}

#[test]
fn variables_of_the_environment_are_parsed() {
    for off in
        [None, Some(""), Some("0"), Some("off"), Some("OFF"), Some("no"), Some("No"), Some("false"), Some("False")]
    {
        assert_eq!(of(off, None), (false, false, Output::None), "{off:?}");
        assert_eq!(of(off, Some("f")), (false, false, Output::File("f".into())), "{off:?}");
    }
    for on in ["1", "on", "yes", "true", "2", "00", " ", "offf", "n"] {
        assert_eq!(of(Some(on), None), (true, false, Output::Stderr), "{on:?}");
    }
    assert_eq!(of(Some("abort"), Some("")), (true, true, Output::Stderr));
    assert_eq!(of(Some("Abort"), Some("f")), (true, true, Output::File("f".into())));
    for (name, output) in [
        ("stdout", Output::Stdout),
        ("/dev/stdout", Output::Stdout),
        ("stderr", Output::Stderr),
        ("/dev/stderr", Output::Stderr),
    ] {
        assert_eq!(of(None, Some(name)), (false, false, output));
    }
}
