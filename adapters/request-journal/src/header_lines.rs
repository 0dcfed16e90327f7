//! Headers as one text of lines, because a record has many of them and most records are never read.

/// Headers in their order. Neither a name nor a value contains a line end, because HTTP does not permit it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeaderLines(Vec<u8>);

impl HeaderLines {
    /// Takes lines of the form `name: value`, each with the line end `\r\n`.
    pub const fn of_lines(lines: Vec<u8>) -> Self {
        Self(lines)
    }

    /// Adds one line to `lines`.
    pub fn push(lines: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        for part in [name, b": ", value, b"\r\n"] {
            lines.extend_from_slice(part);
        }
    }

    /// Returns the number of bytes of one line.
    pub const fn line_bytes(name: &[u8], value: &[u8]) -> usize {
        name.len() + value.len() + b": \r\n".len()
    }

    /// Returns the names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let lines = self.0.split(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\r"));
        lines.filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let value = &line[colon + 1..];
            Some((&line[..colon], value.strip_prefix(b" ").unwrap_or(value)))
        })
    }

    /// Returns all values of a name, in any case.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.iter()
            .filter(move |(other, _)| other.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// Returns the first value of a name, in any case, if it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.all(name).next().and_then(|value| str::from_utf8(value).ok())
    }

    /// Returns the number of bytes in memory.
    pub const fn bytes(&self) -> usize {
        self.0.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_in_memory_also_if_less_is_used() {
        let mut lines = Vec::with_capacity(1_000);
        HeaderLines::push(&mut lines, b"x-a", b"one");
        assert!(HeaderLines::of_lines(lines).bytes() >= 1_000);
    }

    #[test]
    fn lines_are_split_into_names_and_values_as_they_were_sent() {
        let mut lines = Vec::new();
        for (name, value) in [("X-A", "one: two"), ("x-a", ""), ("Host", "h"), ("X-B", " two ")] {
            HeaderLines::push(&mut lines, name.as_bytes(), value.as_bytes());
        }
        HeaderLines::push(&mut lines, b"x-latin", b"\xE4");
        let headers = HeaderLines::of_lines(lines);
        let all: Vec<_> = headers.iter().collect();
        let expected: [(&[u8], &[u8]); 5] = [
            (b"X-A", b"one: two"),
            (b"x-a", b""),
            (b"Host", b"h"),
            (b"X-B", b" two "),
            (b"x-latin", b"\xE4"),
        ];
        assert_eq!(all, expected);
        assert_eq!(headers.all("x-a").count(), 2);
        assert_eq!(
            (headers.text("HOST"), headers.text("x-latin"), headers.text("y")),
            (Some("h"), None, None)
        );
    }
}
