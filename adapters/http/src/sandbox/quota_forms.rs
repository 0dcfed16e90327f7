//! `/sandbox/quota-headers`: the form of the quota headers, for all clients or for one key.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use parking_lot::RwLock;

use super::bodies::quota_form;
use super::fault_json::quoted;
use super::read_json::read;
use super::rule_scope::scope_key;
use crate::base::settings::QuotaForm;
use crate::exchange::credentials::presented;
use crate::io::request_body::RequestBody;
use crate::response::answer::Answer;
use crate::response::quota_headers::{ADDRESS_NAME, PolicyNames, QuotaShape};
use crate::thread::thread_state::ThreadState;
use crate::wire::error::{ApiError, Code};
use crate::wire::faults::{FieldFault, FieldFaults};
use crate::wire::fields::{Fields, text};
use crate::wire::json::Node;
use crate::wire::request_head::RequestHead;

/// The maximum number of keys whose form a tester has set.
const KEYS_MAX: usize = 100;

/// The maximum number of keys that were made with a form of their own. It is higher, because a reset does not forget them.
const MADE_MAX: usize = 1_000;

/// The maximum number of characters of the name of a policy.
const NAME_MAX: usize = 32;

/// The rule for the names of policies; its number is [`NAME_MAX`].
const NAME_RULE: &str = "must have names of 1 to 32 letters, digits, dots, hyphens and underscores";

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
    keys: KeyForms,
    /// The beginnings of keys that were made with a form. A reset keeps keys, so it keeps these forms, too.
    made: KeyForms,
}

/// Forms of keys, or of the beginnings of keys. The longest beginning comes first, so that the nearest one decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct KeyForms(Vec<(Box<str>, QuotaForm)>);

impl KeyForms {
    /// Returns the form of a key, with the length of the beginning that names it.
    fn of(&self, key: &[u8]) -> Option<(usize, QuotaForm)> {
        let found = self.0.iter().find(|(own, _)| key.starts_with(own.as_bytes()));
        found.map(|(own, form)| (own.len(), *form))
    }

    /// Sets a form. Returns `false` if there are `max` others.
    fn set(&mut self, key: Box<str>, form: QuotaForm, max: usize) -> bool {
        if let Some((_, old)) = self.0.iter_mut().find(|(own, _)| *own == key) {
            *old = form;
            return true;
        }
        let has_room = self.0.len() < max;
        if has_room {
            let place = self.0.partition_point(|(own, _)| own.len() >= key.len());
            self.0.insert(place, (key, form));
        }
        has_room
    }
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
        let (given, made) = (set.keys.of(presented), set.made.of(presented));
        // What a tester has set decides over what the key was made with, unless that names the key better.
        let of_key =
            if made.map(|(length, _)| length) > given.map(|(length, _)| length) { made } else { given };
        let form = of_key.map(|(_, form)| form).or(set.form).unwrap_or(setting);
        let names = set.names.clone().unwrap_or_default();
        Some(Arc::new(QuotaShape { form, names }))
    }

    /// Forgets everything that is set.
    pub(crate) fn clear(&self) {
        self.change(|set| *set = SetForms::default());
    }

    /// Forgets everything that is set, except for the forms that keys were made with.
    pub(crate) fn reset(&self) {
        self.change(|set| *set = SetForms { made: std::mem::take(&mut set.made), ..SetForms::default() });
    }

    /// Notes the form that a key was made with. Returns `false` if there are too many such keys.
    pub(crate) fn set_made(&self, key: Box<str>, form: QuotaForm) -> bool {
        self.change(|set| set.made.set(key, form, MADE_MAX))
    }

    /// Forgets the form that the key with this beginning was made with.
    pub(crate) fn forget_made(&self, key: &str) {
        self.change(|set| set.made.0.retain(|(own, _)| **own != *key));
    }

    /// Gives a key a form of its own. Returns `false` if there are too many such keys.
    fn set_key(&self, key: Box<str>, form: QuotaForm) -> bool {
        self.change(|set| set.keys.set(key, form, KEYS_MAX))
    }

    /// Sets the form for all clients, or the names of the policies. Refuses names that are the same once they are set.
    fn set_all(&self, form: Option<QuotaForm>, names: Option<NewNames>) -> Result<(), ApiError> {
        self.change(|set| {
            if let Some(names) = names {
                set.names = Some(names.over(set.names.clone())?);
            }
            set.form = form.or(set.form);
            Ok(())
        })
    }

    /// Returns whether a further key may be made with a form of its own.
    pub(crate) fn has_room(&self) -> bool {
        self.set.read().made.0.len() < MADE_MAX
    }

    fn change<T>(&self, change: impl FnOnce(&mut SetForms) -> T) -> T {
        let mut set = self.set.write();
        let done = change(&mut set);
        self.is_set.store(*set != SetForms::default(), Ordering::Relaxed);
        done
    }

    /// Returns the forms as JSON, in the form in which they can be sent again one by one, with the form of the setting.
    fn render(&self, setting: QuotaForm) -> String {
        let set = self.set.read();
        let names = set.names.clone().unwrap_or_default();
        let is_set = |key: &str| set.keys.0.iter().any(|(own, _)| **own == *key);
        let made = set.made.0.iter().filter(|(key, _)| !is_set(key));
        let keys: Vec<_> =
            set.keys.0.iter().chain(made).map(|(key, form)| rendered_key(key, *form)).collect();
        let form = set.form.unwrap_or(setting);
        format!(
            "{{\"form\":\"{}\",\"setting\":\"{}\",\"names\":{{\"minute\":{},\"day\":{}}},\"keys\":[{}]}}",
            form.as_str(),
            setting.as_str(),
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
                    return Err(too_many_keys(KEYS_MAX).into());
                }
            }
            WantedForm::All { form, names } => forms.set_all(form, names)?,
        },
        _ => return Err(Answer::not_allowed(allow)),
    }
    Ok(Answer::json(StatusCode::OK, forms.render(app.quota_headers.form())))
}

/// Refuses to make a further key with a form of its own.
pub(super) fn too_many_made() -> ApiError {
    too_many_keys(MADE_MAX)
}

fn too_many_keys(max: usize) -> ApiError {
    let message =
        format!("At most {max} keys have a form of their own; DELETE /sandbox/quota-headers clears all.");
    ApiError::new(Code::ValidationFailed, message)
}

/// The change that a tester asks for.
#[derive(Debug, PartialEq, Eq)]
enum WantedForm {
    Key(Box<str>, QuotaForm),
    All { form: Option<QuotaForm>, names: Option<NewNames> },
}

/// New names of policies. A name that is absent stays as it is.
#[derive(Debug, Default, PartialEq, Eq)]
struct NewNames {
    minute: Option<Cow<'static, str>>,
    day: Option<Cow<'static, str>>,
}

impl NewNames {
    /// Returns the names with these in place of the old ones. A client could not tell two policies of one name apart.
    fn over(self, old: Option<PolicyNames>) -> Result<PolicyNames, ApiError> {
        let PolicyNames { minute, day } = old.unwrap_or_default();
        let names = PolicyNames { minute: self.minute.unwrap_or(minute), day: self.day.unwrap_or(day) };
        if names.minute != names.day {
            return Ok(names);
        }
        let mut faults = FieldFaults::default();
        let rule = format!("must have another name for minute than for day; both would be {}", names.day);
        faults.add("names", &FieldFault::new("conflict", rule));
        Err(faults.of_body())
    }
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
fn names(node: &Node<'_>) -> Result<NewNames, FieldFault> {
    let rule = "must be an object with minute, day or both";
    let Node::Object(members) = node else { return Err(FieldFault::new("invalid_type", rule)) };
    let mut names = NewNames::default();
    for (member, value) in members {
        let Node::Text(name) = value else { return Err(FieldFault::new("invalid_type", NAME_RULE)) };
        let name = policy_name(name)?;
        match member.as_ref() {
            "minute" => names.minute = Some(name),
            "day" => names.day = Some(name),
            _ => return Err(FieldFault::new("unknown_member", rule)),
        }
    }
    if members.is_empty() { Err(FieldFault::new("required", rule)) } else { Ok(names) }
}

fn policy_name(name: &str) -> Result<Cow<'static, str>, FieldFault> {
    let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name == ADDRESS_NAME {
        let rule = format!("must not be {ADDRESS_NAME}: that is the policy of requests without a key");
        return Err(FieldFault::new("conflict", rule));
    }
    if (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_taken) {
        return Ok(Cow::Owned(name.to_owned()));
    }
    Err(FieldFault::new("invalid_format", NAME_RULE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_for_all_or_for_a_key_and_names_are_for_all() {
        let all = |form, names| WantedForm::All { form, names };
        let names = NewNames { minute: Some("burst".into()), day: Some("sustained".into()) };
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
            (r#"{"form":"both","names":{"minute":"address"}}"#, "names"),
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
        let keys: Vec<_> = forms.set.read().keys.0.iter().map(|(key, _)| key.to_string()).collect();
        assert_eq!(keys, ["pet_4f", "pet_"]);
        assert!((2..KEYS_MAX).all(|number| forms.set_key(format!("pet_{number}").into(), QuotaForm::None)));
        assert!(!forms.set_key("pet_more".into(), QuotaForm::None));
        assert!(forms.set_key("pet_".into(), QuotaForm::Draft6), "a key that is known keeps its place");
        forms.clear();
        assert!(!forms.is_set.load(Ordering::Relaxed));
    }

    #[test]
    fn a_name_that_is_absent_stays_as_it_is() {
        let name = |minute: Option<&'static str>, day: Option<&'static str>| NewNames {
            minute: minute.map(Into::into),
            day: day.map(Into::into),
        };
        let first = name(Some("burst"), None).over(None).unwrap();
        assert_eq!((&*first.minute, &*first.day), ("burst", "day"));
        let both = name(None, Some("sustained")).over(Some(first)).unwrap();
        assert_eq!((&*both.minute, &*both.day), ("burst", "sustained"));
    }

    #[test]
    fn two_policies_of_one_name_are_refused_and_nothing_is_set() {
        let forms = QuotaForms::default();
        let put = |body: &str| {
            let WantedForm::All { form, names } = wanted(body.as_bytes()).unwrap() else {
                panic!("{body} is for all");
            };
            forms.set_all(form, names)
        };
        for same in [
            r#"{"form":"both","names":{"minute":"x","day":"x"}}"#,
            r#"{"form":"both","names":{"minute":"day"}}"#,
            r#"{"form":"both","names":{"day":"minute"}}"#,
        ] {
            let error = put(same).unwrap_err();
            assert_eq!((&*error.details[0].field, error.details[0].code), ("names", "conflict"), "{same}");
            assert_eq!(*forms.set.read(), SetForms::default(), "{same}");
        }
        put(r#"{"names":{"minute":"day","day":"minute"}}"#).unwrap();
        put(r#"{"names":{"day":"day"}}"#).unwrap_err();
        put(r#"{"names":{"minute":"burst"}}"#).unwrap();
        put(r#"{"names":{"day":"burst"}}"#).unwrap_err();
        let names = forms.set.read().names.clone().unwrap();
        assert_eq!((&*names.minute, &*names.day), ("burst", "minute"));
    }

    #[test]
    fn a_reset_keeps_the_forms_that_keys_were_made_with() {
        let forms = QuotaForms::default();
        let form_of = |key: &str| {
            let set = forms.set.read();
            (set.keys.of(key.as_bytes()), set.made.of(key.as_bytes()))
        };
        assert!(forms.set_made("pet_4f".into(), QuotaForm::Draft7));
        assert!(forms.set_key("pet_4f".into(), QuotaForm::None));
        assert_eq!(form_of("pet_4f00"), (Some((6, QuotaForm::None)), Some((6, QuotaForm::Draft7))));
        forms.reset();
        assert_eq!(form_of("pet_4f00"), (None, Some((6, QuotaForm::Draft7))));
        assert!(forms.is_set.load(Ordering::Relaxed));
        forms.clear();
        assert_eq!(form_of("pet_4f00"), (None, None));
    }
}
