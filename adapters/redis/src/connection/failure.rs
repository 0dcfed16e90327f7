//! The failures of Redis, by name.

use petstore_ports::{StoreError, StoreErrorKind};
use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::link::LinkError;

/// The state of the connection and of the server after a command that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aftermath {
    /// The connection can be used further.
    Usable,
    /// The connection has ended. A new one may lead to a server that works.
    Ended,
    /// The server answers, and does not do its work: it must be examined over a new connection.
    Unfit,
}

/// Returns whether a command failed because Redis does not have its script. Then Redis has executed nothing.
pub(super) fn is_missing_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

/// Classifies a failed command.
pub(super) fn of_command(error: RedisError) -> (LinkError, Aftermath) {
    if is_missing_script(&error) {
        return (LinkError::NoScript, Aftermath::Usable);
    }
    let Some((why, aftermath)) = by_name(&error) else {
        // Without an answer of the server, it is unknown whether it has executed the command.
        let lost = StoreError::new(StoreErrorKind::Indeterminate, "the connection to Redis was lost");
        return (LinkError::Failed(lost.with_source(error)), Aftermath::Ended);
    };
    (LinkError::Failed(StoreError::unavailable(why).with_source(Refusal(error))), aftermath)
}

/// The failure to authenticate or to choose the database.
pub(super) fn greeting_refused(error: &RedisError) -> StoreError {
    let detail = |error: &RedisError| error.detail().unwrap_or_default().to_owned();
    match by_name(error) {
        // The driver reports a refused password without the server's code.
        _ if error.kind() == ErrorKind::AuthenticationFailed => {
            StoreError::unavailable(PASSWORD_REFUSED).with_source(Refusal(error.clone()))
        }
        Some((why, _)) => StoreError::unavailable(why).with_source(Refusal(error.clone())),
        None => StoreError::unavailable(format!("Redis ended the connection at once: {}", detail(error))),
    }
}

const PASSWORD_REFUSED: &str =
    "Redis refuses the user or the password of redis-url, redis-password-file or PETSTORE_REDIS_PASSWORD";

const PERMISSION_LACKS: &str = "the Redis user lacks a permission (NOPERM)";

/// The beginning of the error of a script whose user may not run a command in it. Its code is `ERR`.
const SCRIPT_REFUSED: &str = "The user executing the script can't run this command";

/// The name of a refusal by the server, and its consequence. None if the server did not answer.
fn by_name(error: &RedisError) -> Option<(&'static str, Aftermath)> {
    use Aftermath::{Unfit, Usable};
    Some(match error.code()? {
        "READONLY" => {
            ("Redis is a replica and accepts no writes (READONLY): redis-url must lead to the primary", Unfit)
        }
        "LOADING" => ("Redis is loading its data (LOADING)", Unfit),
        "MASTERDOWN" => ("Redis is a replica that has lost its primary (MASTERDOWN)", Unfit),
        "NOAUTH" | "WRONGPASS" => (PASSWORD_REFUSED, Unfit),
        "OOM" => ("the memory of Redis is full (OOM): raise maxmemory", Unfit),
        "MISCONF" => ("Redis cannot save its data to the disk and accepts no writes (MISCONF)", Unfit),
        "NOREPLICAS" => {
            ("Redis has fewer replicas than min-replicas-to-write and accepts no writes (NOREPLICAS)", Unfit)
        }
        "BUSY" => ("Redis is busy with a script (BUSY)", Unfit),
        "NOPERM" => (PERMISSION_LACKS, Unfit),
        "ERR" if error.detail().is_some_and(|detail| detail.starts_with(SCRIPT_REFUSED)) => {
            (PERMISSION_LACKS, Unfit)
        }
        "MOVED" | "ASK" | "CROSSSLOT" | "CLUSTERDOWN" | "TRYAGAIN" => {
            ("Redis is a cluster, which is not supported: use a single primary with replicas", Unfit)
        }
        _ => ("Redis refuses a command", Usable),
    })
}

/// An error of the server, as the source of a [`StoreError`]: its code and its message, which contain no password and no
/// text of a client.
#[derive(Debug)]
struct Refusal(RedisError);

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let code = self.0.code().unwrap_or_else(|| self.0.category());
        match self.0.detail() {
            // A message that contains this one ends with a full stop, too.
            Some(detail) => write!(f, "{code} {}", detail.trim_end_matches('.')),
            None => f.write_str(code),
        }
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error that the driver makes of a reply.
    fn reply(code: &str) -> RedisError {
        redis::parse_redis_value(format!("-{code} some detail\r\n").as_bytes())
            .unwrap()
            .extract_error()
            .unwrap_err()
    }

    fn failed(error: RedisError) -> (StoreError, Aftermath) {
        match of_command(error) {
            (LinkError::Failed(error), aftermath) => (error, aftermath),
            (LinkError::NoScript, _) => panic!("a failure"),
        }
    }

    #[test]
    fn each_refusal_has_a_name_and_has_done_nothing() {
        for (code, named, aftermath) in [
            ("READONLY", "lead to the primary", Aftermath::Unfit),
            ("LOADING", "loading its data", Aftermath::Unfit),
            ("MASTERDOWN", "lost its primary", Aftermath::Unfit),
            ("NOAUTH", "redis-password-file", Aftermath::Unfit),
            ("WRONGPASS", "redis-password-file", Aftermath::Unfit),
            ("OOM", "raise maxmemory", Aftermath::Unfit),
            ("MISCONF", "cannot save its data", Aftermath::Unfit),
            ("NOREPLICAS", "min-replicas-to-write", Aftermath::Unfit),
            ("BUSY", "busy with a script", Aftermath::Unfit),
            ("NOPERM", "lacks a permission", Aftermath::Unfit),
            ("MOVED", "a cluster", Aftermath::Unfit),
            ("CROSSSLOT", "a cluster", Aftermath::Unfit),
            ("ERR", "refuses a command", Aftermath::Usable),
        ] {
            let (error, after) = failed(reply(code));
            assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{code}");
            let told = error.report();
            assert!(told.contains(named) && told.contains(&format!("{code} some detail")), "{code}: {told}");
            assert_eq!(after, aftermath, "{code}");
        }
    }

    #[test]
    fn a_command_that_a_script_may_not_run_is_a_lacking_permission() {
        let reply = format!("-ERR {SCRIPT_REFUSED} or subcommand script: 0123, on @user_script:1.\r\n");
        let error = redis::parse_redis_value(reply.as_bytes()).unwrap().extract_error().unwrap_err();
        let (error, after) = failed(error);
        assert!(error.report().contains("lacks a permission"), "{}", error.report());
        assert_eq!(after, Aftermath::Unfit);
    }

    #[test]
    fn a_missing_script_is_no_failure_of_the_server() {
        assert!(matches!(of_command(reply("NOSCRIPT")), (LinkError::NoScript, Aftermath::Usable)));
    }

    #[test]
    fn a_command_without_an_answer_may_have_been_executed() {
        let (error, after) = failed(std::io::Error::from(std::io::ErrorKind::ConnectionReset).into());
        assert_eq!((error.kind(), after), (StoreErrorKind::Indeterminate, Aftermath::Ended));
    }
}
