//! The channel binding `tls-server-end-point` (RFC 5929, section 4): SCRAM with it proves that no third party ends the TLS
//! connection, even if the certificate is not verified.

use sha2::{Digest, Sha256, Sha384, Sha512};

/// The tag of a SEQUENCE in DER.
const SEQUENCE: u8 = 0x30;

/// The tag of an OBJECT IDENTIFIER in DER.
const OBJECT_IDENTIFIER: u8 = 0x06;

/// Returns the hash of a certificate. The hash function is that of the certificate's signature, but SHA-256 in place of
/// MD5 and SHA-1. None if the signature has no hash function of its own, such as Ed25519.
pub(super) fn server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    match signature_algorithm(certificate)? {
        // RSA (RFC 8017) with MD5, SHA-1 or SHA-256; ECDSA (RFC 5758) with SHA-1 or SHA-256.
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 4 | 5 | 11]
        | [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01 | 0x03, 0x02]
        | [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01] => Some(Sha256::digest(certificate).to_vec()),
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 12]
        | [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03] => Some(Sha384::digest(certificate).to_vec()),
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 13]
        | [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04] => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// Returns the object identifier of a certificate's signature: the second part of the outer sequence (RFC 5280, 4.1).
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (parts, _) = value_of(SEQUENCE, certificate)?;
    let (_, rest) = value_of(SEQUENCE, parts)?;
    let (algorithm, _) = value_of(SEQUENCE, rest)?;
    Some(value_of(OBJECT_IDENTIFIER, algorithm)?.0)
}

/// Returns the value of the first element, which has this tag, and the bytes behind it.
fn value_of(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = bytes.split_first_chunk::<2>()?;
    if found != tag {
        return None;
    }
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        // The long form: the number of bytes of the length, at most 4 here.
        let digits = usize::from(first & 0x7f);
        let (length, rest) = rest.split_at_checked(digits).filter(|_| (1..=4).contains(&digits))?;
        (length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate's outer form: a body of this length, and a signature by this algorithm.
    fn signed_by(body: usize, algorithm: &[u8]) -> Vec<u8> {
        let element = |tag: u8, value: &[u8]| {
            let length = u16::try_from(value.len()).unwrap().to_be_bytes();
            [&[tag, 0x82], &length[..], value].concat()
        };
        let parts =
            [element(SEQUENCE, &vec![0; body]), element(SEQUENCE, &element(OBJECT_IDENTIFIER, algorithm))];
        element(SEQUENCE, &parts.concat())
    }

    #[test]
    fn the_hash_is_that_of_the_signature() {
        let rsa = |last| [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, last];
        for (last, length) in [(5, 32), (11, 32), (12, 48), (13, 64)] {
            let certificate = signed_by(600, &rsa(last));
            assert_eq!(server_end_point(&certificate).map(|hash| hash.len()), Some(length), "{last}");
        }
        let certificate = signed_by(10, &rsa(11));
        assert_eq!(server_end_point(&certificate), Some(Sha256::digest(&certificate).to_vec()));
        let ecdsa = |last: &[u8]| signed_by(10, &[&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04], last].concat());
        for (last, length) in [(&[1_u8][..], 32), (&[3, 2], 32), (&[3, 3], 48), (&[3, 4], 64)] {
            assert_eq!(server_end_point(&ecdsa(last)).map(|hash| hash.len()), Some(length), "{last:?}");
        }
        // Ed25519.
        assert_eq!(server_end_point(&signed_by(10, &[0x2b, 0x65, 0x70])), None);
    }

    #[test]
    fn cut_off_certificates_have_no_hash() {
        let whole = signed_by(200, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 11]);
        for end in 0..whole.len() {
            assert_eq!(server_end_point(&whole[..end]), None, "{end}");
        }
    }
}
