"""What keys look like: those that announce themselves by how they begin.

A rule's gate is a part of the one automaton that looks at every byte; its pattern is asked only
near a match of a gate. Patterns of other detectors are detect-secrets' own, see `library`.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct, field

from kbsite.late import late

BEGINS: Final = rb"(?:^|[^A-Za-z0-9_-]|\\[nrtbf])"
"""What stands before a token; the letter of an escape belongs to no word."""

AFTER: Final = rb"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf]))"
"""Where a word begins."""


class Rule(Struct, frozen=True):
    """One kind of secret."""

    id: str
    title: str
    gate: bytes = b""
    """What RE2 looks for; empty for a rule that other gates serve."""
    needs: tuple[bytes, ...] = ()
    """One of these stands near, or the pattern is not asked."""
    pattern: re.Pattern[bytes] = field(default_factory=lambda: late(rb"(?!)"))
    """Its group 1 is the secret; without groups, all of it."""
    library: str = ""
    """The detector of detect-secrets whose patterns are asked as well."""
    varied: bool = False
    """Whether it has to be varied as random letters are: its start is a word elsewhere too."""
    must_not_happen: bool = True
    """Whether a strict build fails on it."""
    encoded: tuple[bytes, ...] = ()
    """Beginnings that are looked for in base64 and hexadecimal too; at least four bytes each."""
    begins: bytes = b""
    """What the gate's match begins with; the pattern is asked only then. Empty: always."""
    told: int = 600
    """Bytes by which one is known; it may go on."""


def _token(
    name: str, title: str, start: bytes, rest: bytes, *, varied: bool = False, more: bytes = b""
) -> Rule:
    """A rule for tokens that begin with fixed letters, and go on as `rest` says."""
    literal = start.replace(b"\\", b"")
    before = b"" if len(literal) > 5 else AFTER
    found = late(before + b"(" + start + rest + b")")
    gate = start if len(literal) > 4 else start + (more or rb"[A-Za-z0-9_-]{12}")
    encoded = (literal,) if len(literal) >= 4 else ()
    return Rule(name, title, gate, (literal,), found, varied=varied, encoded=encoded)


_ANY = rb"[A-Za-z0-9_-]"
_ALNUM = rb"[A-Za-z0-9]"

TOKENS: Final = (
    _token("anthropic-key", "key of Anthropic", b"sk-ant-", _ANY + b"{16,}"),
    _token("openai-key", "key of OpenAI", b"sk-proj-", _ANY + b"{16,}"),
    _token("openai-key", "key of OpenAI", b"sk-svcacct-", _ANY + b"{16,}"),
    _token("openrouter-key", "key of OpenRouter", b"sk-or-v1-", _ANY + b"{16,}"),
    Rule(
        "model-key", "key of a provider of models", BEGINS + rb"sk-[A-Za-z0-9_-]{20}", (b"sk-",),
        late(rb"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))(sk-[A-Za-z0-9_-]{20,})"),
        varied=True,
    ),
    _token("google-key", "key of Google", b"AIza", _ANY + b"{30,}"),
    _token("google-token", "token of Google", rb"ya29\.", _ANY + b"{20,}"),
    _token("google-secret", "client secret of Google", b"GOCSPX-", _ANY + b"{20,}"),
    _token("groq-key", "key of Groq", b"gsk_", _ALNUM + b"{20,}"),
    _token("huggingface-token", "token of Hugging Face", b"hf_", _ALNUM + b"{20,}", varied=True),
    *(
        _token("github-token", "token of GitHub", start, _ALNUM + b"{30,}")
        for start in (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_")
    ),
    _token("github-token", "token of GitHub", b"github_pat_", rb"[A-Za-z0-9_]{30,}"),
    _token("npm-token", "token of npm", b"npm_", _ALNUM + b"{30,}"),
    _token("nvidia-key", "key of NVIDIA", b"nvapi-", _ANY + b"{20,}"),
    _token("xai-key", "key of xAI", b"xai-", _ALNUM + b"{20,}", varied=True),
    _token("perplexity-key", "key of Perplexity", b"pplx-", _ALNUM + b"{20,}", varied=True),
    _token("replicate-token", "token of Replicate", b"r8_", _ALNUM + b"{30,}", varied=True),
    _token("cerebras-key", "key of Cerebras", b"csk-", _ALNUM + b"{20,}", varied=True),
    _token("tavily-key", "key of Tavily", b"tvly-", _ANY + b"{16,}", varied=True),
    _token("langsmith-key", "key of LangSmith", b"lsv2_", rb"[A-Za-z0-9_]{20,}"),
    _token("databricks-token", "token of Databricks", b"dapi", rb"[0-9a-f]{32,}"),
    _token("digitalocean-token", "token of DigitalOcean", b"dop_v1_", rb"[0-9a-f]{32,}"),
    _token("stripe-key", "key of Stripe", b"sk_live_", _ALNUM + b"{16,}"),
    _token("stripe-key", "key of Stripe", b"sk_test_", _ALNUM + b"{16,}"),
    _token("stripe-key", "key of Stripe", b"rk_live_", _ALNUM + b"{16,}"),
    *(
        _token("slack-token", "token of Slack", start, rb"[A-Za-z0-9-]{10,}")
        for start in (b"xoxa-", b"xoxb-", b"xoxe-", b"xoxo-", b"xoxp-", b"xoxr-", b"xoxs-")
    ),
    Rule(
        "slack-hook", "address of a hook of Slack", rb"hooks\.slack\.com/services/T",
        (b"hooks.slack.com",), library="slack", encoded=(b"hooks.slack.com",),
    ),
    Rule(
        "aws-key", "access key of AWS", rb"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[0-9A-Z]{16}",
        (b"AKIA", b"ASIA", b"ABIA", b"ACCA", b"A3T"), library="aws", encoded=(b"AKIA", b"ASIA"),
    ),
    Rule(
        "azure-key", "key of an Azure storage account", rb"AccountKey=[A-Za-z0-9+/=]{40}",
        (b"AccountKey=",), library="azure_storage_key", encoded=(b"AccountKey=",),
    ),
    Rule(
        "gitlab-token", "token of GitLab", rb"(?:gl[a-z]{2,6}-[A-Za-z0-9_-]{20}|GR1348941)",
        (b"glpat", b"gldt-", b"glft-", b"glsoat", b"glrt-", b"glcbt", b"glimt", b"glptt",
         b"glagent", b"gloas", b"GR1348941"), library="gitlab_token", encoded=(b"glpat-",),
    ),
    Rule(
        "pypi-token", "token of PyPI", rb"pypi-Ag", (b"pypi-Ag",), library="pypi_token",
        encoded=(b"pypi-Ag",),
    ),
    Rule(
        "sendgrid-key", "key of SendGrid", rb"SG\.[A-Za-z0-9_-]{22}\.", (b"SG.",),
        library="sendgrid",
    ),
    Rule(
        "square-secret", "secret of Square", rb"sq0csp-", (b"sq0csp-",), library="square_oauth",
        encoded=(b"sq0csp-",),
    ),
    Rule(
        "twilio-key", "key of Twilio", BEGINS + rb"(?:AC|SK)[a-z0-9]{32}", (b"AC", b"SK"),
        library="twilio", varied=True,
    ),
    Rule(
        "mailchimp-key", "key of Mailchimp", rb"[0-9a-f]-us[0-9]", (b"-us",),
        library="mailchimp",
    ),
    Rule(
        "telegram-token", "token of a bot of Telegram", rb"[0-9]:AA[0-9A-Za-z_-]{20}",
        (b":AA",), library="telegram_token",
    ),
    Rule(
        "discord-token", "token of a bot of Discord",
        rb"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}", (b".",),
        library="discord", varied=True, begins=b".",
    ),
    Rule(
        "jwt", "JSON Web Token", rb"eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{8}", (b"eyJ",),
        late(rb"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)"),
        encoded=(b"eyJhbGci",), told=12_500,
    ),
)  # fmt: skip
