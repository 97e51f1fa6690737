"""Where requests go, by provider and dialect; what an answer says of a provider."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bench.providers import Dialect, Provider, load_providers
from bench.proxy.answers import error_text
from bench.proxy.form import Exchange, Outcome
from bench.proxy.troubles import Trouble, is_of_content, sentence, trouble
from bench.proxy.upstream import CREDENTIALS, Kind, Upstream, passing
from tests.bench.proxy.test_book import EXCHANGE

ASKS = {
    Dialect.ANTHROPIC: "/v1/messages",
    Dialect.RESPONSES: "/v1/responses",
    Dialect.CHAT: "/v1/chat/completions",
    Dialect.GEMINI: "/v1beta/models/gemini-2.5-pro:generateContent",
}


@pytest.mark.parametrize(
    ("provider", "dialect", "url"),
    [
        ("anthropic", Dialect.ANTHROPIC, "https://api.anthropic.com/v1/messages"),
        ("openai", Dialect.RESPONSES, "https://api.openai.com/v1/responses"),
        ("openrouter", Dialect.CHAT, "https://openrouter.ai/api/v1/chat/completions"),
        ("moonshot", Dialect.ANTHROPIC, "https://api.moonshot.ai/anthropic/v1/messages"),
        ("zai", Dialect.CHAT, "https://api.z.ai/api/paas/v4/chat/completions"),
        ("google", Dialect.CHAT,
         "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"),
        ("google", Dialect.GEMINI,
         "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent"),
        ("dashscope", Dialect.CHAT,
         "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions"),
        ("deepseek", Dialect.CHAT, "https://api.deepseek.com/v1/chat/completions"),
    ],
)  # fmt: skip
def test_each_known_provider_is_asked_at_its_own_address(
    provider: str, dialect: Dialect, url: str
) -> None:
    route = Upstream(load_providers()[provider], dialect).route("POST", ASKS[dialect])
    assert route is not None
    assert (route.kind, route.url) == (Kind.MODEL, url)


@pytest.mark.parametrize(
    ("dialect", "method", "target", "kind"),
    [
        (Dialect.ANTHROPIC, "POST", "/v1/messages/count_tokens?beta=true", Kind.SIDE),
        (Dialect.ANTHROPIC, "GET", "/v1/models", Kind.SIDE),
        (Dialect.CHAT, "GET", "/v1/models/moonshotai/kimi-k2:free", Kind.SIDE),
        (Dialect.GEMINI, "POST", "/v1beta/models/m:streamGenerateContent?alt=sse", Kind.MODEL),
        (Dialect.GEMINI, "POST", "/v1/models/m:countTokens", Kind.SIDE),
        (Dialect.GEMINI, "GET", "/v1beta/models/m", Kind.SIDE),
        (Dialect.GEMINI, "POST", "/v1beta/models/m:batchGenerateContent", None),
        (Dialect.CHAT, "POST", "/v1/completions", None),
        (Dialect.CHAT, "POST", "/chat/completions", None),
        (Dialect.RESPONSES, "GET", "/v1/responses/resp_1", None),
        (Dialect.RESPONSES, "HEAD", "/v1/models", None),
        (Dialect.ANTHROPIC, "POST", "/v1/messages\u0661", None),
        (Dialect.ANTHROPIC, "post", "/v1/messages", None),
        (Dialect.ANTHROPIC, "POST", "/v1/messages\n", None),
        (Dialect.ANTHROPIC, "POST", "", None),
    ],
)
def test_paths_of_a_dialect(dialect: Dialect, method: str, target: str, kind: Kind | None) -> None:
    provider = Provider(
        id="x", bases=dict.fromkeys(Dialect, "https://example.org"), key_variable=None
    )
    route = Upstream(provider, dialect).route(method, target)
    assert (route and route.kind) == kind
    assert route is None or route.url.startswith("https://example.org/v1")


def test_no_credential_crosses_in_either_direction() -> None:
    given = [(name.upper(), "secret") for name in CREDENTIALS]
    assert passing([*given, ("x-other", "1")]) == [("x-other", "1")]


def exchange(outcome: Outcome, status: int | None = None, error: str | None = None) -> Exchange:
    return replace(EXCHANGE, outcome=outcome, status=status, error=error, retry_after_seconds=None)


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (401, "authentication_error: invalid x-api-key", Trouble.AUTH),
        (403, "permission_error: no", Trouble.ACCESS),
        (403, "PERMISSION_DENIED: no", Trouble.ACCESS),
        (200, "permission_error: no", Trouble.ACCESS),
        (400, "invalid-argument: Incorrect API key provided", Trouble.AUTH),
        (400, "INVALID_ARGUMENT: API key not valid. [API_KEY_INVALID]", Trouble.AUTH),
        (400, "invalid_request_error: Your credit balance is too low", Trouble.CREDIT),
        (
            400,
            "invalid_request_error: You have reached your specified API usage limits.",
            Trouble.CREDIT,
        ),
        (400, "invalid_request_error: Billing hard limit has been reached", Trouble.CREDIT),
        (400, "Arrearage: Access denied", Trouble.CREDIT),
        (402, "Insufficient Balance", Trouble.CREDIT),
        (403, "Key limit exceeded (monthly limit).", Trouble.CREDIT),
        (
            429,
            "Your team x has either used all available credits or reached a limit",
            Trouble.CREDIT,
        ),
        (429, "billing_not_active: Your account is not active", Trouble.CREDIT),
        (429, "insufficient_quota: You exceeded your current quota", Trouble.CREDIT),
        (429, "rate_limit_error: slow", Trouble.RATE),
        (429, None, Trouble.RATE),
        (529, "overloaded_error: Overloaded", Trouble.OVERLOAD),
        (503, "UNAVAILABLE: no", Trouble.OVERLOAD),
        (500, "no", Trouble.SERVER),
        (502, None, Trouble.SERVER),
        (400, "invalid_request_error: max_tokens", Trouble.REQUEST),
        (404, "not_found_error: model: claude-opsu-4", Trouble.MODEL),
        (404, None, Trouble.MODEL),
        (404, "model_not_found: The model `x` does not exist", Trouble.MODEL),
        (400, "x/y is not a valid model ID", Trouble.MODEL),
        (400, "invalid_request_error: Model Not Exist", Trouble.MODEL),
        (403, "model_not_found: Project has no access to model", Trouble.ACCESS),
        (413, None, Trouble.REQUEST),
        (200, "overloaded_error: Overloaded", Trouble.OVERLOAD),
        (200, "rate_limit_exceeded: slow", Trouble.RATE),
        (200, "server_error: no", Trouble.SERVER),
        (200, "invalid_request_error: no", Trouble.REQUEST),
    ],
)
def test_an_error_has_its_trouble(status: int, error: str | None, expected: Trouble) -> None:
    assert trouble(exchange(Outcome.ERROR, status, error)) is expected


def test_the_name_of_a_model_that_a_provider_repeats_says_nothing() -> None:
    """Whoever asks for a model of such a name would let all sessions of its provider wait."""
    for name in ("insufficient_quota", "authentication_error"):
        asked = exchange(Outcome.ERROR, 404, f"not_found_error: model: {name}")
        assert trouble(replace(asked, model=name)) is Trouble.MODEL
    told = exchange(Outcome.ERROR, 429, "insufficient_quota: model m")
    assert trouble(replace(told, model="m")) is Trouble.CREDIT
    assert trouble(replace(told, model="")) is Trouble.CREDIT


@pytest.mark.parametrize("status", [200, 400, 422, 500])
@pytest.mark.parametrize("said", [
    "invalid_request_error: Unrecognized request argument supplied: {}",
    "invalid_request_error: Invalid value: '{}'. Supported values are: 'system' and 'user'.",
    "invalid_request_error: {}: Extra inputs are not permitted",
    "invalid_request_error: tools.0.{}: Extra inputs are not permitted",
    "invalid_request_error: messages.1.role: Input should be 'user' or 'assistant', got '{}'",
    "INVALID_ARGUMENT: Invalid JSON payload received. Unknown name \"{}\": Cannot find field.",
    "400: Provider returned error: invalid_request_error: Unknown field: {}",
])  # fmt: skip
@pytest.mark.parametrize("word", [
    "insufficient_quota", "billing_error", "your credit balance is too low", "insufficient balance",
    "authentication_error", "incorrect api key", "API_KEY_INVALID", "permission_denied",
    "model_not_found", "unknown model",
])  # fmt: skip
def test_what_a_provider_repeats_of_a_request_says_nothing(
    status: int, said: str, word: str
) -> None:
    """An agent can send such requests from a shell: all sessions of its provider would wait."""
    found = trouble(exchange(Outcome.ERROR, status, said.format(word)))
    assert found is not None
    assert not found.to_mend


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"type": "invalid_request_error", "message": "Your credit balance is too low to access"
          " the Anthropic API. Please go to Plans & Billing."}, Trouble.CREDIT),
        ({"type": "Arrearage", "code": "Arrearage", "message": "Access denied, please make sure"
          " your account is in good standing."}, Trouble.CREDIT),
        ({"code": 400, "status": "INVALID_ARGUMENT",
          "message": "API key not valid. Please pass a valid API key."}, Trouble.AUTH),
        ("Incorrect API key provided: xa***ab. You can obtain one.", Trouble.AUTH),
        ({"code": 400, "message": "x/y is not a valid model ID"}, Trouble.MODEL),
        ({"code": 400, "message": "Provider returned error", "metadata": {"raw": json.dumps(
            {"error": {"type": "insufficient_quota", "message": "You exceeded it."}})}},
         Trouble.CREDIT),
        ({"code": 400, "message": "Provider returned error", "metadata": {"raw": json.dumps(
            {"type": "error", "error": {"type": "invalid_request_error",
                                        "message": "Your credit balance is too low."}})}},
         Trouble.CREDIT),
    ],
)  # fmt: skip
def test_what_a_provider_itself_says_of_key_and_account_is_heard(
    body: object, expected: Trouble
) -> None:
    said = error_text(json.dumps({"error": body}).encode())
    assert trouble(exchange(Outcome.ERROR, 400, said)) is expected


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (404, "not_found_error: model: claude-opsu-4", False),
        (404, "invalid_request_error: The model `x` does not exist or you have no access", False),
        (404, "resource_not_found_error: Not found the model x or Permission denied", False),
        (404, "NOT_FOUND: models/x is not found for API version v1beta", False),
        (404, "404: No endpoints found for x/y.", False),
        (404, "404: Provider returned error: model_not_found: The model `x` is not there", False),
        (404, "DeploymentNotFound: The API deployment for this resource does not exist.", False),
        (404, "model_not_found: x", False),
        (404, "404 page not found", False),
        (404, "<html><body>Not here</body></html>", False),
        (404, "no explanation came with it", False),
        (404, "Not Found", False),
        (404, None, False),
        (400, "x/y is not a valid model ID", False),
        (404, "not_found_error: File not found: file_011", True),
        (404, "not_found_error: File not found: model", True),
        (404, "not_found_error: File model: x was not found", True),
        (404, "invalid_request_error: Item with id 'rs_1' not found. Items are not kept", True),
        (404, "NOT_FOUND: Requested entity was not found.", True),
        (404, "404: Provider returned error: not_found_error: File not found: f", True),
        (403, "PERMISSION_DENIED: You do not have permission to access the File x or it may not "
         "exist.", True),
        (403, "403: Your chosen model requires moderation and your input was flagged", True),
        (403, "PERMISSION_DENIED: The caller does not have permission", False),
        (403, "permission_error: Your API key does not have permission to use the model", False),
        (403, None, False),
    ],
)  # fmt: skip
def test_what_a_request_names_is_told_from_its_model(
    status: int, error: str | None, expected: bool
) -> None:
    """Else whoever asks for a file that there is not would have its session undone."""
    said = exchange(Outcome.ERROR, status, error)
    assert trouble(said) in (Trouble.MODEL, Trouble.ACCESS)
    assert is_of_content(said) is expected


def test_what_is_not_the_providers_doing_is_no_trouble() -> None:
    for outcome in (Outcome.COMPLETE, Outcome.CUT, Outcome.ABANDONED, Outcome.REFUSED):
        assert trouble(exchange(outcome, 200, "rate_limit")) is None
        assert sentence(exchange(outcome, 200), "x") == ""
    assert trouble(exchange(Outcome.BROKEN, 200)) is Trouble.BROKEN
    assert trouble(exchange(Outcome.UNREACHABLE)) is Trouble.UNREACHABLE


def test_what_waiting_and_fewer_sessions_help_against() -> None:
    assert {one for one in Trouble if not one.waiting_helps} == {
        Trouble.AUTH, Trouble.CREDIT, Trouble.ACCESS, Trouble.MODEL, Trouble.REQUEST,
    }  # fmt: skip
    of_some = {one for one in Trouble if one.to_mend and not one.of_account}
    assert of_some == {Trouble.ACCESS, Trouble.MODEL}
    assert {one for one in Trouble if one.crowded} == {Trouble.RATE, Trouble.OVERLOAD}


def test_a_sentence_tells_who_what_and_how_long() -> None:
    limited = replace(
        exchange(Outcome.ERROR, 429, "rate_limit_error: slow"), retry_after_seconds=7.0
    )
    assert sentence(limited, "anthropic") == (
        "anthropic answered with status 429, too many requests for this account; "
        "it asked to wait 7 seconds: rate_limit_error: slow"
    )
    gone = exchange(Outcome.UNREACHABLE, None, "no such host")
    assert sentence(gone, "zai") == "zai: the provider cannot be reached: no such host"
