use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{KeyPrefix, Timestamp};
use petstore_request_journal::{
    AnswerOutcome, HeaderLines, Protocol, RecordedAnswer, RecordedBody, RecordedQuota, RecordedRequest,
    RequestRecord,
};

use super::*;
use crate::report::Report;
use crate::rules::{ATTEMPTS_MAX, RULES};

/// A request of a page: its time in milliseconds, its key, its target, its status and the wait that its answer asks for.
struct Sent<'t> {
    at: i64,
    key: &'t str,
    target: &'t str,
    status: Option<u16>,
    wait: Option<u64>,
}

fn get(at: i64, status: u16) -> Sent<'static> {
    Sent { at, key: "pet_aaaaaaaa", target: "/v1/pets", status: Some(status), wait: None }
}

fn limited(at: i64, secs: u64) -> Sent<'static> {
    Sent { wait: Some(secs), ..get(at, 429) }
}

fn records(sent: &[Sent<'_>]) -> Vec<RequestRecord> {
    sent.iter().zip(1..).map(|(sent, sequence)| record(sent, sequence)).collect()
}

fn record(sent: &Sent<'_>, sequence: u64) -> RequestRecord {
    let at = Timestamp::from_millis(sent.at).unwrap();
    let mut headers = Vec::new();
    if let Some(secs) = sent.wait {
        HeaderLines::push(&mut headers, b"retry-after", secs.to_string().as_bytes());
    }
    let body = match sent.status {
        Some(429) => &br#"{"code":"rate_limit_exceeded","message":"m","status":429}"#[..],
        _ => b"",
    };
    let request = RecordedRequest {
        id: format!("r{sequence}").into(),
        at,
        uptime: Duration::from_millis(sequence * 10),
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        connection: 1,
        protocol: Protocol::Http11,
        is_secure: false,
        key_prefix: KeyPrefix::parse(sent.key).ok(),
        method: "GET".into(),
        target: sent.target.into(),
        route: Some("/pets"),
        headers: HeaderLines::of_lines(Vec::new()),
        tool_call: None,
    };
    let answer = RecordedAnswer {
        at,
        duration: Duration::from_millis(1),
        outcome: if sent.status.is_some() { AnswerOutcome::Sent } else { AnswerOutcome::Dropped },
        status: sent.status,
        headers: HeaderLines::of_lines(headers),
        request_body: RecordedBody::new(Vec::new(), 0),
        body: RecordedBody::new(body.to_vec(), body.len() as u64),
        account: None,
        quota: None::<RecordedQuota>,
        fault: None,
    };
    RequestRecord { sequence, request: Arc::new(request), answer: Some(Arc::new(answer)) }
}

fn page(records: &[RequestRecord]) -> String {
    let report = Report::new(records, ATTEMPTS_MAX);
    let part = PagePart::of_report(&report, records);
    ReportPage { title: "Client report", parts: &[part] }.to_string()
}

/// Returns the values of an attribute, in the order of the page.
fn values<'page>(html: &'page str, attribute: &str) -> Vec<&'page str> {
    let start = format!(" {attribute}=\"");
    html.split(&start).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// Checks that each id is used once, and that each link and reference of the page leads to one.
#[track_caller]
fn check_links(html: &str) {
    let ids = values(html, "id");
    let known: HashSet<_> = ids.iter().copied().collect();
    assert_eq!(ids.len(), known.len(), "each id is used once");
    let links = values(html, "href");
    assert!(!links.is_empty());
    for link in links {
        let id = link.strip_prefix('#').unwrap_or_else(|| panic!("{link} leads elsewhere"));
        assert!(known.contains(id), "nothing has the id {id}");
    }
    for id in values(html, "aria-labelledby").into_iter().flat_map(|ids| ids.split(' ')) {
        assert!(known.contains(id), "nothing has the id {id}");
    }
}

#[test]
fn marks_of_one_kind_that_have_no_row_are_one_mark() {
    // Eight marks fill the rows. The refusals after them differ in what they break.
    let mut sent: Vec<_> = (0..8).map(|n| get(0, if n % 2 == 0 { 200 } else { 500 })).collect();
    sent.extend((0..52).map(|_| limited(0, 30)));
    let html = page(&records(&sent));
    check_links(&html);
    let picture = html.split("<svg class=\"time\"").nth(1).unwrap().split("</svg>\n</div>").next().unwrap();
    assert_eq!(picture.matches("<use href=\"#mL\"/>").count(), 1, "{picture}");
    assert!(picture.contains("×52"), "{picture}");
}

/// A journal in which a client breaks rules, the clock is moved, and answers are lost.
fn busy_journal() -> Vec<RequestRecord> {
    records(&[
        get(0, 200),
        limited(10, 30),
        limited(20, 30),
        get(1_000, 200),
        Sent { key: "pet_bbbbbbbb", ..get(2_000, 503) },
        Sent { status: None, ..get(40_000, 200) },
        get(86_500_000, 304),
        get(1_000, 404),
        Sent { key: "", target: "/v1/pets?api_key=pet_01234567", ..get(90_000, 401) },
    ])
}

#[test]
fn the_verdict_comes_first_then_the_picture_and_then_the_rules() {
    let records = busy_journal();
    let html = page(&records);
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("there is no {text}"));
    let heading = "<h1><span class=\"tag broken\"><span aria-hidden=\"true\">✗</span> broken</span> 3 rules are broken</h1>";
    let order = [
        at(heading),
        at("class=\"changes\""),
        at("class=\"time\""),
        at("class=\"rules\""),
        at("class=\"requests\""),
    ];
    assert!(order.is_sorted(), "{order:?}");
    assert!(html.contains("<code>Retry-After: 30</code> said, before the next request."));
    for rule in &RULES {
        assert_eq!(html.matches(&format!("id=\"p0c0-{}\"", rule.name)).count(), 1, "{}", rule.name);
    }
}

/// Returns the row of a request, without the start of its first tag.
fn row_of<'page>(html: &'page str, id: &str) -> &'page str {
    let rows = html.split_once(&format!("<tr id=\"{id}\"")).unwrap_or_else(|| panic!("there is no {id}"));
    let end = rows.1.find("</tr>").unwrap();
    &rows.1[..end + "</tr>".len()]
}

/// Returns the id of a finding, and those of the requests to which it leads. The text begins with its id.
fn finding_of(text: &str) -> (&str, HashSet<&str>) {
    let finding = text.split("</li>").next().unwrap();
    let requests = values(finding, "href").into_iter().filter_map(|link| link.strip_prefix('#'));
    (finding.split('"').next().unwrap(), requests.collect())
}

#[test]
fn findings_and_requests_link_to_each_other() {
    let records = busy_journal();
    let html = page(&records);
    check_links(&html);
    // The request 4 came too early after the answer of request 3.
    let finding = html.split("<li id=\"p0c0-waits-2\"").nth(1).unwrap().split("</li>").next().unwrap();
    assert!(finding.contains("<a href=\"#p0c0r4\">4</a>"), "{finding}");
    let row = row_of(&html, "p0c0r4");
    assert!(row.contains("href=\"#p0c0-waits-2\">breach: waits</a>"), "{row}");
    // The answer of request 2 asked for the wait that request 3 did not keep.
    let row = row_of(&html, "p0c0r2");
    assert!(row.contains("<td><a href=\"#p0c0-waits-1\">evidence: waits</a></td></tr>"), "{row}");
    let findings: HashMap<_, HashSet<_>> = html.split("<li id=\"").skip(1).map(finding_of).collect();
    assert!(findings.values().any(|requests| requests.len() > 1));
    for (finding, requests) in &findings {
        let (rule, _) = finding.rsplit_once('-').unwrap();
        for request in requests {
            let links: Vec<_> = values(row_of(&html, request), "href")
                .into_iter()
                .filter_map(|link| link.strip_prefix('#'))
                .filter(|link| link.rsplit_once('-').is_some_and(|(start, _)| start == rule))
                .collect();
            let [link] = links[..] else { panic!("{request} has the links {links:?} to {rule}") };
            assert!(findings[link].contains(request), "{request} leads to {link}");
        }
    }
    let picture = html.split("class=\"time\"").nth(1).unwrap().split("</svg>\n</div>").next().unwrap();
    assert!(
        picture.contains(
            "<a href=\"#p0c0-waits-2\"><title>Request 4: GET /v1/pets: 200; breach: waits; breach: backs-off</title>"
        ),
        "{picture}"
    );
    assert!(picture.contains("<title>Wait of 30 s that an answer asked for</title>"), "{picture}");
}

#[test]
fn a_page_of_several_parts_has_their_list() {
    let (kept, broken) = (records(&[get(0, 200)]), busy_journal());
    let reports = [
        Report::new(&kept, ATTEMPTS_MAX),
        Report::new(&broken, ATTEMPTS_MAX),
        Report::new(&[], ATTEMPTS_MAX),
    ];
    let part = |title: &'static str, ended: &'static str, has_failed, report, records| PagePart {
        title: Some(Cow::from(title)),
        ended: Some(Cow::from(ended)),
        has_failed,
        ..PagePart::of_report(report, records)
    };
    let parts = [
        part("calm", "The command ended with 0 after 1 s.", false, &reports[0], &kept[..]),
        part("busy", "The command ended with 7 after 4 s.", true, &reports[1], &broken[..]),
        part("cut", "The command sent no request.", false, &reports[2], &[][..]),
    ];
    let html = ReportPage { title: "Exam", parts: &parts }.to_string();
    check_links(&html);
    assert!(html.contains("The command failed in 1 of 3 scenarios; 3 rules are broken"));
    assert!(html.contains("<a href=\"#p1\">busy</a>"));
    assert!(html.contains("<p class=\"ended failed\">The command ended with 7 after 4 s.</p>"));
    assert!(html.contains("<title>Exam: failed</title>"));
    assert!(html.contains("No request arrived."));
}

#[test]
fn a_rule_that_is_broken_in_several_parts_is_listed_once_with_its_places() {
    let (kept, broken) = (records(&[get(0, 200)]), records(&[limited(0, 30), get(1_000, 200)]));
    let reports = [Report::new(&kept, ATTEMPTS_MAX), Report::new(&broken, ATTEMPTS_MAX)];
    let part = |title: &'static str, at: usize, records| PagePart {
        title: Some(Cow::from(title)),
        ..PagePart::of_report(&reports[at], records)
    };
    let parts = [
        part("calm: Nothing fails", 0, &kept[..]),
        part("busy: Little is left", 1, &broken[..]),
        part("dialects/draft-7: Little is left", 1, &broken[..]),
    ];
    let html = ReportPage { title: "Exam", parts: &parts }.to_string();
    check_links(&html);
    assert!(html.contains("1 rule is broken in 2 of 3 scenarios</h1>"), "{html}");
    let list = html.split("<ul class=\"changes\">").nth(1).unwrap().split("</ul>").next().unwrap();
    assert_eq!(list.matches("<li>").count(), 1, "{list}");
    for place in [
        "<a href=\"#p1c0-waits\" aria-label=\"busy: waits\">busy</a>",
        "<a href=\"#p2c0-waits\" aria-label=\"dialects/draft-7: waits\">dialects/draft-7</a>",
    ] {
        assert!(list.contains(place), "{place}: {list}");
    }
}

#[test]
fn the_end_of_what_a_program_printed_is_shown() {
    let report = Report::new(&[], ATTEMPTS_MAX);
    let lines: Vec<_> = (0..100).map(|number| format!("<line {number}>\n")).collect();
    let part = PagePart { printed: Some(lines.concat().into()), ..PagePart::of_report(&report, &[]) };
    let html = ReportPage { title: "Exam", parts: &[part] }.to_string();
    assert!(html.contains("<pre tabindex=\"0\">&lt;line 80&gt;\n"), "{html}");
    assert!(html.contains("&lt;line 99&gt;\n</pre></details>"), "{html}");
}

#[test]
fn no_text_of_a_client_or_of_a_tester_is_markup() {
    const MARKUP: &str = "\"><script>alert(1)</script><b onclick='x'>\u{202e}";
    let mut sent =
        records(&[Sent { target: MARKUP, ..limited(0, 9) }, Sent { target: MARKUP, ..get(1, 200) }]);
    let answer = sent[1].answer.as_mut().and_then(Arc::get_mut).unwrap();
    answer.fault = Some(MARKUP.into());
    let report = Report::new(&sent, ATTEMPTS_MAX);
    let parts = [PagePart {
        title: Some(MARKUP.into()),
        ended: Some(MARKUP.into()),
        has_failed: true,
        ..PagePart::of_report(&report, &sent)
    }];
    let html = ReportPage { title: MARKUP, parts: &parts }.to_string();
    for wrong in ["<script", "<b onclick", "\u{202e}", "onclick='"] {
        assert!(!html.contains(wrong), "{wrong}");
    }
    assert!(html.matches("&lt;script&gt;").count() >= 6);
    check_links(&html);
}

#[test]
fn a_page_needs_no_script_and_nothing_from_elsewhere() {
    let html = page(&busy_journal());
    for wrong in ["<script", "http:", "https:", "src=", "@import", "javascript:", " style=\"", " on"] {
        let found = html.match_indices(wrong).map(|(at, _)| &html[at..html.len().min(at + 40)]);
        // ` on` is an English word, too.
        let found: Vec<_> = found
            .filter(|text| {
                wrong != " on"
                    || text
                        .split('=')
                        .next()
                        .is_some_and(|name| name.trim().bytes().all(|byte| byte.is_ascii_lowercase()))
            })
            .collect();
        assert!(found.is_empty(), "{found:?}");
    }
    assert!(html.contains(&format!("content=\"{POLICY}\"")));
}

#[test]
fn a_long_journal_makes_a_page_within_its_bounds_that_says_what_it_leaves_out() {
    let mut sent = vec![limited(0, 3_600)];
    sent.extend((1..3_000).map(|at| get(at, 200)));
    let html = page(&records(&sent));
    check_links(&html);
    assert_eq!(html.matches("<tr id=\"p0c0r").count(), REQUESTS_OF_CLIENT_MAX);
    assert_eq!(html.matches("<li id=\"p0c0-waits-").count(), FINDINGS_OF_RULE_MAX);
    assert!(html.contains("have 400 of 3000 requests"));
    assert!(html.contains("and 2979 more, which are in the report as JSON"));
    assert!(html.len() < 500_000, "{} bytes", html.len());
}

#[test]
fn many_clients_and_parts_share_the_bounds_of_a_page() {
    let keys: Vec<String> = (0..25).map(|number| format!("pet_{number:08}")).collect();
    let sent: Vec<_> =
        (0..60).flat_map(|at| keys.iter().map(move |key| Sent { key, ..limited(at, 9) })).collect();
    let records = records(&sent);
    let report = Report::new(&records, ATTEMPTS_MAX);
    let part = PagePart { title: Some("busy".into()), ..PagePart::of_report(&report, &records) };
    let html = ReportPage { title: "Exam", parts: &vec![part; PARTS_MAX + 1] }.to_string();
    check_links(&html);
    assert_eq!(html.matches("class=\"client\"").count(), CLIENTS_OF_PAGE_MAX);
    assert_eq!(html.matches("<tr id=\"p").count(), REQUESTS_OF_PAGE_MAX);
    assert_eq!(html.matches("<li id=\"p").count(), FINDINGS_OF_PAGE_MAX);
    assert!(html.contains("the first 20 of 25 clients here"));
    assert!(html.contains("the first 100 parts; 1 more are left out"));
    assert!(html.len() < 8_000_000, "{} bytes", html.len());
}

#[test]
fn an_empty_journal_has_a_page() {
    let html = page(&[]);
    assert!(html.contains("untested</span> No request arrived</h1>"));
    assert!(html.ends_with("</html>\n"));
}
