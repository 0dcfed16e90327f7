//! The two text formats of `/metrics`: OpenMetrics 1.0, and the Prometheus text format 0.0.4.

/// Converts OpenMetrics text into the Prometheus text format 0.0.4, in which a counter has the name of its samples, and
/// units and the end mark do not exist.
pub(crate) fn prometheus_text(openmetrics: &str) -> String {
    let mut text = String::with_capacity(openmetrics.len());
    // The help of a family comes before its type, which decides the name of the family.
    let mut help = None;
    for line in openmetrics.lines() {
        let words = line.strip_prefix("# ").map(|rest| rest.splitn(3, ' '));
        let (kind, name, rest) = match words {
            Some(mut words) => (words.next(), words.next().unwrap_or(""), words.next().unwrap_or("")),
            None => (None, "", ""),
        };
        match kind {
            Some("HELP") => help = Some((name, rest)),
            Some("TYPE") => {
                let end = if rest == "counter" { "_total" } else { "" };
                if let Some((_, told)) = help.take().filter(|(of, _)| *of == name) {
                    // A quotation mark is escaped in OpenMetrics only.
                    push(&mut text, &["# HELP ", name, end, " ", &told.replace("\\\"", "\""), "\n"]);
                }
                push(&mut text, &["# TYPE ", name, end, " ", rest, "\n"]);
            }
            Some(_) => {}
            None => push(&mut text, &[line, "\n"]),
        }
    }
    text
}

fn push(text: &mut String, parts: &[&str]) {
    for part in parts {
        text.push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_the_name_of_their_samples_and_units_are_left_out() {
        let openmetrics = "# HELP a_seconds Time of \\\"a\\\".\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\n\
            a_seconds_total{of=\"b c\"} 1.5\n# HELP d Is d.\n# TYPE d gauge\nd 2\n# TYPE e histogram\n\
            e_bucket{le=\"+Inf\"} 3\ne_sum 1\ne_count 3\n# EOF\n";
        let expected = "# HELP a_seconds_total Time of \"a\".\n# TYPE a_seconds_total counter\n\
            a_seconds_total{of=\"b c\"} 1.5\n# HELP d Is d.\n# TYPE d gauge\nd 2\n# TYPE e histogram\n\
            e_bucket{le=\"+Inf\"} 3\ne_sum 1\ne_count 3\n";
        assert_eq!(prometheus_text(openmetrics), expected);
        assert_eq!(prometheus_text(""), "");
    }
}
