//! What the binary prints for `man`: pages that lead to each other.

mod common;

use std::fs;

use common::Site;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_manual_names_its_version_and_no_page_that_is_not_there() {
    let site = Site::new("man");
    assert!(site.run(&["man", "--into", "."]).status.success());
    let version = text(&site.run(&["--version"]).stdout);
    let version = version.split(' ').nth(1).unwrap();
    let pages: Vec<_> = fs::read_dir(&site.folder).unwrap().map(|page| page.unwrap().path()).collect();
    assert!(pages.len() > 20, "{pages:?}");
    for page in &pages {
        let written = fs::read_to_string(page).unwrap();
        let title = written.lines().find(|line| line.starts_with(".TH ")).unwrap();
        assert!(title.contains(&format!("\"petstore {version}\"")), "{title}");
        for word in written.replace("\\-", "-").split_whitespace().filter(|word| word.ends_with("(1)")) {
            let other = site.folder.join(word.replace("(1)", ".1"));
            assert!(other.exists(), "{} leads to {word}", page.display());
        }
    }
}
