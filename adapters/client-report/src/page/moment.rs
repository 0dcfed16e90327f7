//! Lengths of time for a reader.

/// Returns a length of time in seconds as a text: fractions of seconds for short ones, hours and minutes for long ones.
pub(super) fn length(secs: f64) -> String {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 3_600.0;
    const DAY: f64 = 86_400.0;
    let (sign, secs) = if secs < 0.0 { ("−", -secs) } else { ("", secs) };
    let pair = |unit: f64, smaller: f64, names: [&str; 2]| {
        // Rounded first, so that 59.9 of a unit are no 60.
        let all = (secs / smaller).round();
        let (whole, rest) = ((all * smaller / unit).floor(), all % (unit / smaller).round());
        let rest = if rest == 0.0 { String::new() } else { format!(" {rest:.0} {}", names[1]) };
        format!("{sign}{whole:.0} {}{rest}", names[0])
    };
    match secs {
        0.0 => "0 s".to_owned(),
        ..1.0 => format!("{sign}{} s", trimmed(&format!("{secs:.3}"))),
        ..120.0 => format!("{sign}{} s", trimmed(&format!("{secs:.2}"))),
        ..HOUR => pair(MINUTE, 1.0, ["min", "s"]),
        ..172_800.0 => pair(HOUR, MINUTE, ["h", "min"]),
        _ => pair(DAY, HOUR, ["days", "h"]),
    }
}

/// Returns a number without the zeros at its end.
fn trimmed(number: &str) -> String {
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::length;

    #[test]
    fn a_length_has_the_units_that_fit_it() {
        for (secs, expected) in [
            (0.0, "0 s"),
            (0.0012, "0.001 s"),
            (0.5, "0.5 s"),
            (1.0, "1 s"),
            (30.046, "30.05 s"),
            (-2.5, "−2.5 s"),
            (119.0, "119 s"),
            (120.0, "2 min"),
            (125.4, "2 min 5 s"),
            (3_599.9, "60 min"),
            (3_600.0, "1 h"),
            (129_600.0, "36 h"),
            (129_660.0, "36 h 1 min"),
            (864_000.0, "10 days"),
        ] {
            assert_eq!(length(secs), expected, "{secs}");
        }
    }
}
