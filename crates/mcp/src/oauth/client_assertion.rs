//! A client that proves who it is with a key instead of a secret (RFC 7523).

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use net::Secret;
use protocol::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

use super::OAuthError;
use super::login_request::random_text;

/// The kind of assertion, as requests name it.
pub(crate) const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// For how many seconds an assertion is valid.
const LIFETIME_SECS: u64 = 300;

/// A key that signs.
enum SigningKey {
    Ecdsa(Box<EcdsaKeyPair>),
    Rsa(Box<RsaKeyPair>),
}

/// An assertion for the authorization server with this issuer.
pub(crate) fn sign(key: &Secret, client_id: &str, issuer: &str, now: Timestamp) -> Result<String, OAuthError> {
    let (key, random) = (SigningKey::read(key)?, SystemRandom::new());
    let now = now.0 / 1000;
    let claims = json!({
        "iss": client_id, "sub": client_id, "aud": issuer, "iat": now, "exp": now + LIFETIME_SECS,
        "jti": random_text()?,
    });
    let header = json!({ "alg": key.algorithm(), "typ": "JWT" });
    let signed = format!("{}.{}", encode(&header), encode(&claims));
    let signature = key.sign(signed.as_bytes(), &random)?;
    Ok(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

fn encode(value: &Value) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(value.to_string())
}

impl SigningKey {
    /// Reads a key in PEM, in the form PKCS #8.
    fn read(pem: &Secret) -> Result<SigningKey, OAuthError> {
        let invalid = || OAuthError::Settings("`privateKey` is not a P-256 or RSA key in PEM (PKCS #8)".into());
        let body: String = pem.reveal().lines().map(str::trim).filter(|line| !line.starts_with("-----")).collect();
        let bytes = BASE64_STANDARD.decode(body).map_err(|_| invalid())?;
        let random = SystemRandom::new();
        match EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &bytes, &random) {
            Ok(key) => Ok(SigningKey::Ecdsa(Box::new(key))),
            Err(_) => RsaKeyPair::from_pkcs8(&bytes).map(|key| SigningKey::Rsa(Box::new(key))).map_err(|_| invalid()),
        }
    }

    fn algorithm(&self) -> &'static str {
        match self {
            SigningKey::Ecdsa(_) => "ES256",
            SigningKey::Rsa(_) => "RS256",
        }
    }

    fn sign(&self, message: &[u8], random: &SystemRandom) -> Result<Vec<u8>, OAuthError> {
        let failed = |_unspecified| OAuthError::Settings("`privateKey` cannot sign".into());
        match self {
            SigningKey::Ecdsa(key) => Ok(key.sign(random, message).map_err(failed)?.as_ref().to_vec()),
            SigningKey::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, random, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, KeyPair, UnparsedPublicKey};

    use super::*;

    #[test]
    fn assertions_are_signed_by_the_key() {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let public = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random).unwrap();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            BASE64_STANDARD.encode(key.as_ref())
        );
        let assertion = sign(&Secret::new(pem), "me", "https://login.example", Timestamp(1_000_000)).unwrap();
        let (signed, signature) = assertion.rsplit_once('.').unwrap();
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public.public_key().as_ref());
        assert!(public.verify(signed.as_bytes(), &signature).is_ok());
        let (header, claims) = signed.split_once('.').unwrap();
        let read = |text: &str| serde_json::from_slice::<Value>(&BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
        assert_eq!(read(header), json!({ "alg": "ES256", "typ": "JWT" }));
        let claims = read(claims);
        assert_eq!((&claims["iss"], &claims["sub"], &claims["exp"]), (&json!("me"), &json!("me"), &json!(1300)));
        assert_eq!(claims["aud"], "https://login.example");
    }

    #[test]
    fn an_unusable_key_is_explained_without_showing_it() {
        for pem in ["", "secret text", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"] {
            let why = sign(&Secret::new(pem), "me", "i", Timestamp(0)).unwrap_err().to_string();
            assert!(why.contains("`privateKey` is not") && !why.contains("secret"), "{why}");
        }
    }
}
