//! The findings of a snapshot as sentences.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::graph::visible;
use super::layout::grouped;
use serde_json::Value;

/// A finding is an object with one member, whose name is its kind. A kind of a later version is shown as it is.
pub fn sentence(finding: &Value) -> String {
    let Some((kind, of)) = finding.as_object().and_then(|object| object.iter().next()) else {
        return visible(&finding.to_string());
    };
    let number = |name: &str| match of.get(name) {
        Some(Value::Number(number)) if !number.is_f64() => grouped(number),
        Some(other) => other.to_string(),
        None => "?".into(),
    };
    let ([offset, size], site) = (["offset", "size"].map(number), site(of));
    let sentence = match kind.as_str() {
        "Corrupt" => {
            let run = if of["offset"].as_i64().is_some_and(|offset| offset < 0) { "underrun" } else { "overrun" };
            format!("{run}: byte {offset} of {size} was written{}; allocated at {site}", written(of))
        }
        "LateWrite" => {
            let written = written(of);
            format!(
                "late write: byte {offset} of {size} was written after they were freed{written}; allocated at {site}"
            )
        }
        "BadFree" => format!("bad free: {size} bytes that are no allocation, or are freed already; freed at {site}"),
        "Leak" => format!("leak: a value of {size} bytes was freed without its destructor; allocated at {site}"),
        "OverBudget" => {
            let [live, budget] = ["live", "budget"].map(number);
            format!("over budget: {live} bytes are live, and the soft budget is {budget}; allocated at {site}")
        }
        "WrongThread" => {
            format!("wrong thread: {} calls by threads that the arena does not belong to", number("calls"))
        }
        "Lost" => format!("lost: {} findings more", number("count")),
        _ => format!("{kind}: {of}"),
    };
    visible(&sentence)
}

fn site(of: &Value) -> String {
    let site = &of["site"];
    match (site["file"].as_str().unwrap_or_default(), site["number"].as_u64().unwrap_or_default()) {
        ("", 0) => "an unknown place".into(),
        ("", number) => format!("site {number:#x}"),
        (file, _) => format!("{file}:{}:{}", site["line"], site["column"]),
    }
}

fn written(of: &Value) -> String {
    let written = &of["written"];
    let Some(bytes) = written["bytes"].as_array() else { return String::new() };
    let bytes: String =
        bytes.iter().filter_map(Value::as_u64).filter_map(|byte| u8::try_from(byte).ok()).map(quoted).collect();
    let (count, more) = (&written["count"], if written["or_more"] == true { " or more" } else { "" });
    format!(": {count}{more} bytes \"{bytes}\"")
}

fn quoted(byte: u8) -> String {
    match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        0x20..=0x7e => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_kind_is_a_sentence() {
        let site = json!({"file": "a.rs", "line": 3, "column": 5, "number": 0});
        let written = json!({"count": 40, "or_more": true, "bytes": [97, 34, 0]});
        for (finding, text) in [
            (
                json!({"Corrupt": {"site": site, "size": 10, "address": 1, "offset": 10, "written": written}}),
                r#"overrun: byte 10 of 10 was written: 40 or more bytes "a\"\x00"; allocated at a.rs:3:5"#,
            ),
            (
                json!({"LateWrite": {"site": {"file": "", "number": 255}, "size": 10, "offset": 1}}),
                "late write: byte 1 of 10 was written after they were freed; allocated at site 0xff",
            ),
            (
                json!({"Leak": {"site": {}, "size": 24}}),
                "leak: a value of 24 bytes was freed without its destructor; \
              allocated at an unknown place",
            ),
            (json!({"Lost": {"count": u64::MAX}}), "lost: 18,446,744,073,709,551,615 findings more"),
            (json!({"New\n": {"a": 1}}), "New\\n: {\"a\":1}"),
            (json!("text"), "\"text\""),
        ] {
            assert_eq!(sentence(&finding), text);
        }
    }
}
