use super::attribute::attribute;
use std::fmt;

attribute! {
    /// NodeDescription: a text of at most 64 bytes, zero-padded (IBA 14.2.5.2). Nothing guarantees that it is UTF-8 or unique.
    pub struct NodeDescription = "NodeDescription" 0x0010 {
        node_string, set_node_string: [text; 64] = "NodeString" @ 0, 8;
    }
}

impl NodeDescription {
    /// The bytes of `text`, as many as fit; a character is never cut in two.
    pub fn from_text(text: &str) -> Self {
        let end = (0..=text.len().min(64)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        let mut bytes = [0; 64];
        bytes[..end].copy_from_slice(&text.as_bytes()[..end]);
        Self(bytes)
    }

    /// The bytes before the first zero.
    pub fn text(&self) -> &[u8] {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(64);
        &self.0[..end]
    }
}

/// The text; what is not UTF-8 becomes U+FFFD.
impl fmt::Display for NodeDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&String::from_utf8_lossy(self.text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Attribute;

    #[test]
    fn shows_the_text_and_keeps_the_bytes() {
        let mut bytes = [0; 64];
        bytes[..8].copy_from_slice(b"a\xffb\0junk");
        let description = NodeDescription::from_bytes(bytes);
        assert_eq!(description.to_string(), "a\u{fffd}b");
        assert_eq!(description.bytes(), &bytes);
        assert_eq!(description.node_string(), bytes);
        assert_eq!(serde_json::to_value(NodeDescription::from_text("sw 1")).unwrap()["NodeString"], "sw 1");
        assert_eq!(format!("{:?}", NodeDescription::from_text("sw\n1")), r#"NodeDescription { NodeString: "sw\n1" }"#);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = format!("{}é", "x".repeat(63));
        assert_eq!(NodeDescription::from_text(&text).text(), "x".repeat(63).as_bytes());
        assert_eq!(NodeDescription::from_text(&"x".repeat(70)).text(), "x".repeat(64).as_bytes());
    }
}
