//! `/sandbox/quota-headers`: the form of the quota headers, for all clients or for one key.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use parking_lot::RwLock;

use super::bodies::quota_form;
use super::fault_json::quoted;
use super::fault_rules::scope_key;
use super::read_json::read;
use crate::base::settings::QuotaForm;
use crate::exchange::credentials::presented;
use crate::io::request_body::RequestBody;
use crate::response::answer::Answer;
use crate::response::quota_headers::{PolicyNames, QuotaShape};
use crate::thread::thread_state::ThreadState;
use crate::wire::error::{ApiError, Code};
use crate::wire::faults::FieldFault;
use crate::wire::fields::{Fields, text};
use crate::wire::json::Node;
use crate::wire::request_head::RequestHead;

/// The maximum number of keys that have a form of their own.
const KEYS_MAX: usize = 100;

/// The maximum number of characters of the name of a policy.
const NAME_MAX: usize = 32;

/// The forms that a tester has set.
#[derive(Default)]
pub(crate) struct QuotaForms {
    /// `true` if anything is set. Only then a request takes the lock.
    is_set: AtomicBool,
    set: RwLock<SetForms>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SetForms {
    /// The form for all clients; `None` for that of the setting.
    form: Option<QuotaForm>,
    /// The names of the policies; `None` for the usual ones.
    names: Option<PolicyNames>,
    /// Keys, or the beginnings of keys, that have a form of their own.
    keys: Vec<(Box<str>, QuotaForm)>,
}

impl QuotaForms {
    /// Returns the shape of the response to a request; `None` if nothing is set.
    pub(crate) fn shape(
        &self,
        setting: QuotaForm,
        head: &RequestHead<'_>,
        headers: &HeaderMap,
    ) -> Option<Arc<QuotaShape>> {
        if !self.is_set.load(Ordering::Relaxed) {
            return None;
        }
        let set = self.set.read();
        let presented = presented(head, headers).unwrap_or_default();
        let of_key = set.keys.iter().find(|(key, _)| presented.starts_with(key.as_bytes()));
        let form = of_key.map(|(_, form)| *form).or(set.form).unwrap_or(setting);
        let names = set.names.clone().unwrap_or_default();
        Some(Arc::new(QuotaShape { form, names }))
    }

    /// Forgets everything that is set.
    pub(crate) fn clear(&self) {
        self.change(|set| *set = SetForms::default());
    }

    /// Gives a key a form of its own. Returns `false` if there are too many such keys.
    pub(crate) fn set_key(&self, key: Box<str>, form: QuotaForm) -> bool {
        self.change(|set| {
            if let Some((_, old)) = set.keys.iter_mut().find(|(own, _)| *own == key) {
                *old = form;
                return true;
            }
            let has_room = set.keys.len() < KEYS_MAX;
            if has_room {
                set.keys.push((key, form));
                // The longest beginning of a key comes first, so that the nearest one decides.
                set.keys.sort_by_key(|(key, _)| std::cmp::Reverse(key.len()));
            }
            has_room
        })
    }

    /// Returns whether a further key may have a form of its own.
    pub(crate) fn has_room(&self) -> bool {
        self.set.read().keys.len() < KEYS_MAX
    }

    fn change<T>(&self, change: impl FnOnce(&mut SetForms) -> T) -> T {
        let mut set = self.set.write();
        let done = change(&mut set);
        self.is_set.store(*set != SetForms::default(), Ordering::Relaxed);
        done
    }

    /// Returns the forms as JSON, in the form in which they can be sent again one by one.
    fn render(&self, setting: QuotaForm) -> String {
        let set = self.set.read();
        let names = set.names.clone().unwrap_or_default();
        let keys: Vec<_> = set.keys.iter().map(|(key, form)| rendered_key(key, *form)).collect();
        let form = set.form.unwrap_or(setting);
        format!(
            "{{\"form\":\"{}\",\"names\":{{\"minute\":{},\"day\":{}}},\"keys\":[{}]}}",
            form.as_str(),
            quoted(&names.minute),
            quoted(&names.day),
            keys.join(",")
        )
    }
}

fn rendered_key(key: &str, form: QuotaForm) -> String {
    format!("{{\"key\":{},\"form\":\"{}\"}}", quoted(key), form.as_str())
}

/// Runs a route of the forms.
pub(super) async fn answer(
    thread: &ThreadState,
    forms: &QuotaForms,
    parts: &Parts,
    body: &mut RequestBody,
    allow: &'static str,
) -> Result<Answer, Answer> {
    let app = &thread.app;
    match parts.method {
        Method::GET | Method::HEAD => {}
        Method::DELETE => {
            forms.clear();
            return Ok(Answer::empty(StatusCode::NO_CONTENT));
        }
        Method::PUT => match read(app, parts, body, wanted).await? {
            WantedForm::Key(key, form) => {
                if !forms.set_key(key, form) {
                    return Err(too_many_keys().into());
                }
            }
            WantedForm::All { form, names } => forms.change(|set| {
                set.form = form.or(set.form);
                set.names = names.or(set.names.take());
            }),
        },
        _ => return Err(Answer::not_allowed(allow)),
    }
    Ok(Answer::json(StatusCode::OK, forms.render(app.quota_headers.form())))
}

/// Refuses a further key with a form of its own.
pub(super) fn too_many_keys() -> ApiError {
    let message = format!(
        "At most {KEYS_MAX} keys have a form of their own; DELETE /sandbox/quota-headers clears all."
    );
    ApiError::new(Code::ValidationFailed, message)
}

/// The change that a tester asks for.
#[derive(Debug, PartialEq, Eq)]
enum WantedForm {
    Key(Box<str>, QuotaForm),
    All { form: Option<QuotaForm>, names: Option<PolicyNames> },
}

/// `PUT /sandbox/quota-headers`.
fn wanted(body: &[u8]) -> Result<WantedForm, ApiError> {
    let mut fields = Fields::of(body)?;
    let form = fields.optional("form", quota_form);
    let key = fields.optional("key", |node| scope_key(text(node)?));
    let names = fields.optional("names", names);
    if key.is_some() && names.is_some() {
        fields.refuse(
            "names",
            &FieldFault::new("conflict", "cannot be combined with key: the names are for all"),
        );
    }
    if fields.is_sound() && form.is_none() && (key.is_some() || names.is_none()) {
        fields.refuse("form", &FieldFault::new("required", "is required"));
    }
    fields.finish(|| match (key, form) {
        (Some(key), form) => form.map(|form| WantedForm::Key(key, form)),
        (None, form) => Some(WantedForm::All { form, names }),
    })
}

/// Parses the names of the policies: an object with `minute`, `day` or both.
fn names(node: &Node<'_>) -> Result<PolicyNames, FieldFault> {
    let rule = "must be an object with minute, day or both";
    let Node::Object(members) = node else { return Err(FieldFault::new("invalid_type", rule)) };
    let mut names = PolicyNames::default();
    for (member, value) in members {
        let name = policy_name(text(value)?)?;
        match member.as_ref() {
            "minute" => names.minute = name,
            "day" => names.day = name,
            _ => return Err(FieldFault::new("unknown_member", rule)),
        }
    }
    if members.is_empty() { Err(FieldFault::new("required", rule)) } else { Ok(names) }
}

fn policy_name(name: &str) -> Result<Cow<'static, str>, FieldFault> {
    let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_taken) {
        return Ok(Cow::Owned(name.to_owned()));
    }
    let rule = format!("must have names of 1 to {NAME_MAX} letters, digits, dots, hyphens and underscores");
    Err(FieldFault::new("invalid_format", rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_for_all_or_for_a_key_and_names_are_for_all() {
        let all = |form, names| WantedForm::All { form, names };
        let names = PolicyNames { minute: "burst".into(), day: "sustained".into() };
        for (body, expected) in [
            (r#"{"form":"draft-7"}"#, all(Some(QuotaForm::Draft7), None)),
            (r#"{"form":"none","key":"pet_4f"}"#, WantedForm::Key("pet_4f".into(), QuotaForm::None)),
            (r#"{"names":{"minute":"burst","day":"sustained"}}"#, all(None, Some(names))),
        ] {
            assert_eq!(wanted(body.as_bytes()), Ok(expected), "{body}");
        }
    }

    #[test]
    fn a_wrong_form_is_refused_and_changes_nothing() {
        for (body, field) in [
            ("{}", "form"),
            (r#"{"form":"draft-5"}"#, "form"),
            (r#"{"form":7}"#, "form"),
            (r#"{"key":"pet_4f"}"#, "form"),
            (r#"{"form":"none","key":""}"#, "key"),
            (r#"{"form":"none","key":"pet_\u0007"}"#, "key"),
            (r#"{"form":"both","names":{"minute":"a\"b"}}"#, "names"),
            (r#"{"form":"both","names":{"minute":"a\u0001"}}"#, "names"),
            (r#"{"form":"both","names":{"hour":"a"}}"#, "names"),
            (r#"{"form":"both","names":{}}"#, "names"),
            (r#"{"form":"both","key":"pet_4f","names":{"day":"a"}}"#, "names"),
            (r#"{"form":"both","address":"a"}"#, "address"),
        ] {
            let error = wanted(body.as_bytes()).unwrap_err();
            assert_eq!(error.details.first().map(|detail| detail.field.as_str()), Some(field), "{body}");
        }
    }

    #[test]
    fn the_nearest_beginning_of_a_key_decides_and_their_number_is_bounded() {
        let forms = QuotaForms::default();
        assert!(
            forms.set_key("pet_".into(), QuotaForm::None) && forms.set_key("pet_4f".into(), QuotaForm::Both)
        );
        let keys: Vec<_> = forms.set.read().keys.iter().map(|(key, _)| key.to_string()).collect();
        assert_eq!(keys, ["pet_4f", "pet_"]);
        assert!((2..KEYS_MAX).all(|number| forms.set_key(format!("pet_{number}").into(), QuotaForm::None)));
        assert!(!forms.set_key("pet_more".into(), QuotaForm::None));
        assert!(forms.set_key("pet_".into(), QuotaForm::Draft6), "a key that is known keeps its place");
        forms.clear();
        assert!(!forms.is_set.load(Ordering::Relaxed));
    }
}
