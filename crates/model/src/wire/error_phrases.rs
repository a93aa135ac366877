//! Phrases that identify the errors of providers.

/// The conversation exceeds the model's context.
pub(super) const TOO_LONG: [&str; 11] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "prompt is too long",
    "maximum context length",
    "exceeds the available context size",
    "exceed context limit",
    "exceed context window",
    "exceeds the context window",
    "exceeds the maximum number of tokens",
    "greater than the context length",
    "model_context_window_exceeded",
];

/// The account needs credit.
pub(super) const BILLING: [&str; 5] = [
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
    "billing_not_active",
    "credit balance is too low",
];

/// The key is wrong.
pub(super) const AUTH: [&str; 4] =
    ["authentication_error", "permission_error", "invalid_api_key", "invalid_authentication"];

/// The rate limit is exceeded.
pub(super) const RATE: [&str; 2] = ["rate_limit_error", "rate_limit_exceeded"];

/// The server is overloaded.
pub(super) const OVERLOADED: [&str; 3] = ["overloaded_error", "server_overloaded", "service_unavailable"];

/// A retry would fail too.
pub(super) const TERMINAL: [&str; 9] = [
    "invalid_request_error",
    "not_found_error",
    "model_not_found",
    "request_too_large",
    "invalid_prompt",
    "invalid_image",
    "image_too_large",
    "policy_violation",
    "bio_policy",
];
