//! Signatures of webhooks, as a port.

use std::fmt;

use petstore_domain::{MasterKeyId, Timestamp};

use crate::StoreError;

/// The secret of a webhook: `whsec_` and base64. A receiver checks signatures with it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Box<str>);

impl WebhookSecret {
    /// Takes a text that a [`Signer`] has made or read.
    pub fn from_text(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the secret itself. It is shown to the owner of the webhook only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

/// A received request whose signature is checked: three headers, and the body in the bytes that were received.
#[derive(Debug, Clone, Copy)]
pub struct SignedRequest<'a> {
    /// The header `webhook-id`; none if it is missing or no text.
    pub id: Option<&'a str>,
    /// The header `webhook-timestamp`, in seconds since 1970.
    pub timestamp: Option<&'a str>,
    /// The header `webhook-signature`: one or more signatures, each with its version.
    pub signature: Option<&'a str>,
    /// The body, byte for byte.
    pub body: &'a [u8],
}

/// The verdict on the signature of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureVerdict {
    /// A signature was made with one of the secrets, and the time is within the tolerance.
    #[error("the signature is valid")]
    Valid,
    /// A header is missing.
    #[error("the header {0} is missing")]
    Unsigned(&'static str),
    /// The header `webhook-timestamp` is not a number of seconds.
    #[error("the header webhook-timestamp is not a number of seconds since 1970")]
    MalformedTimestamp,
    /// The header `webhook-signature` has no signature of the version `v1`.
    #[error("the header webhook-signature has no signature of the form v1,<base64>")]
    MalformedSignature,
    /// The signature is right, but the request is older than the tolerance.
    #[error("stale: the signature is right, but webhook-timestamp is {seconds} s in the past, and {max} s are tolerated",
        max = SignatureVerdict::TOLERANCE_SECONDS)]
    Stale {
        /// The age of the request, in seconds.
        seconds: u64,
    },
    /// The signature is right, but the time of the request is too far in the future.
    #[error("stale: the signature is right, but webhook-timestamp is {seconds} s in the future, and {max} s are tolerated: \
        check the clocks", max = SignatureVerdict::TOLERANCE_SECONDS)]
    Early {
        /// The distance from now.
        seconds: u64,
    },
    /// The signature is right for another form of the body.
    #[error(
        "body differs: the signature is right for the body {0}; check the signature over the bytes that were received, \
        before a framework parses or changes them"
    )]
    BodyDiffers(BodyChange),
    /// The signature is right for the secret's text instead of the bytes that it encodes.
    #[error(
        "secret: the signature was made with the text of the secret as the key; decode the base64 after whsec_ first"
    )]
    SecretNotDecoded,
    /// The signature was made with another secret, or the body was changed beyond recognition.
    #[error("secret: the signature was not made with this secret for these headers and this body")]
    OtherSecret,
}

/// A change of a body between its signature and the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum BodyChange {
    /// White space at its end was added.
    #[error("without the white space at its end")]
    SpaceAdded,
    /// A line feed at its end was lost.
    #[error("with a line feed at its end")]
    LineFeedLost,
    /// Its lines ended with a line feed only.
    #[error("with line feeds instead of carriage returns and line feeds")]
    LineEnds,
    /// The JSON was written once more, with other white space or escapes.
    #[error("as compact JSON")]
    Reformatted,
}

impl SignatureVerdict {
    /// The number of seconds that the time of a request may be off (Standard Webhooks).
    pub const TOLERANCE_SECONDS: u64 = 300;

    /// Returns whether the receiver can trust the request.
    pub fn is_valid(self) -> bool {
        self == Self::Valid
    }
}

/// Derives the secrets of webhooks from a master key, makes signatures and checks them.
///
/// No store has the master key, so that a stolen store signs nothing. The signatures are those of Standard Webhooks.
pub trait Signer: Send + Sync {
    /// The digest of the master key; none while there is no key.
    fn master(&self) -> Option<MasterKeyId>;

    /// Makes the master key if there is none yet, and returns its digest. It is called before the first webhook is
    /// created.
    ///
    /// # Errors
    /// [`StoreErrorKind::Unavailable`](crate::StoreErrorKind::Unavailable) if no key can be made or kept.
    fn prepare(&self) -> Result<MasterKeyId, StoreError>;

    /// Derives the secret of a webhook from its random bits and the number of the secret. Returns none while there is no
    /// master key.
    fn secret(&self, nonce: &[u8; 32], generation: u32) -> Option<WebhookSecret>;

    /// Reads a secret that a client wrote. Returns none if it is not one.
    fn read_secret(&self, text: &str) -> Option<WebhookSecret>;

    /// Signs a request. The result is the header `webhook-signature`, with one signature for each secret. While a
    /// rotation overlaps, the new secret is the first one.
    fn sign_request(
        &self,
        secrets: &[WebhookSecret],
        event_id: &str,
        sent_at: Timestamp,
        body: &[u8],
    ) -> String;

    /// Checks the signature of a request against secrets, one of which must fit.
    fn verify(
        &self,
        secrets: &[WebhookSecret],
        request: SignedRequest<'_>,
        now: Timestamp,
    ) -> SignatureVerdict;
}
