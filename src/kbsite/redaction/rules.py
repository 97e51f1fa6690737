"""What keys look like: those that announce themselves by how they begin.

A rule's gate is a part of the one automaton that looks at every byte; its pattern is asked only
near a match of a gate. Patterns of other detectors are detect-secrets' own, see `library`.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct, field

from kbsite.late import late

BEGINS: Final = (
    rb"(?:^-?|[^A-Za-z0-9_-]|\n-|\\[nrtbf0]-?|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}"
    rb"|[0-9;\[][AGHJKhlm]|\(B)"
)
"""What stands before a token; the letter of an escape belongs to no word."""

ESCAPES: Final = (
    rb"\\[nrtbf0]", rb"\\u[0-9A-Fa-f]{4}", rb"\\x[0-9A-Fa-f]{2}", rb"%[0-9A-Fa-f]{2}",
    rb"[0-9;\[][AGHJKhlm]", rb"\(B",
)  # fmt: skip
"""Escapes that end in what may begin a word: of JSON, of bytes that Python shows, of addresses, and
of a terminal, which colours what it shows, clears lines, moves and hides its cursor, and chooses
its letters."""

MARK: Final = rb"\\{0,7}[\"'`]"
"""A quotation mark, also one within strings of JSON."""

ESCAPED: Final = b"|".join(b"(?<=" + escape + b")" for escape in ESCAPES)
"""Behind one of these."""

_COUNTED: Final = rb"(?<=[\x00-\x08\x0e-\x1f\x80-\xff][A-Za-z0-9_])"
"""Behind a number, which reads as a letter, of the bytes of a text among other bytes."""

AFTER: Final = rb"(?:(?<![A-Za-z0-9_])|" + _COUNTED + b"|" + ESCAPED + b")"
"""Where a word begins."""

_ALONE: Final = rb"(?:(?<![A-Za-z0-9_-])|(?<=\n-)|(?<=\\n-)|" + _COUNTED + b"|" + ESCAPED + b")"
"""Where a word begins that is no part of a name with hyphens; a line that a diff took away does."""


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
    """Beginnings that are looked for in base64 and hexadecimal too; at least three bytes each."""
    begins: bytes = b""
    """What the gate's match begins with; the pattern is asked only then. Empty: always."""
    told: int = 600
    """Bytes by which one is known; it may go on."""


NEAR: Final = rb"[A-Za-z0-9_-]{12}"
"""How a token goes on, where it begins with letters that stand in words as well."""


def token(
    name: str, title: str, start: bytes, rest: bytes, *, varied: bool = False, gate: bytes = b""
) -> Rule:
    """A rule for tokens that begin with fixed letters, and go on as `rest` says.

    Where many words begin so, `gate` says how it goes on where looking closely is worth it.
    """
    literal = start.replace(b"\\", b"")
    before = b"" if len(literal) > 5 else rb"(?:(?<=_)|" + AFTER + b")"
    found = late(before + b"(" + start + rest + b")")
    near = gate or (start if len(literal) > 4 else start + NEAR)
    encoded = (literal,) if len(literal) >= 3 else ()
    return Rule(name, title, near, (literal,), found, varied=varied, encoded=encoded)


ANY: Final = rb"[A-Za-z0-9_-]"
ALNUM: Final = rb"[A-Za-z0-9]"

_SK: Final = BEGINS + rb"3?sk-[A-Za-z0-9_-]{20}"
_ACCESS_KEY: Final = rb"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[0-9A-Z]{16}"

TOKENS: Final = (
    token("anthropic-key", "key of Anthropic", b"sk-ant-", ANY + b"{16,}"),
    token("openai-key", "key of OpenAI", b"sk-proj-", ANY + b"{16,}"),
    token("openai-key", "key of OpenAI", b"sk-svcacct-", ANY + b"{16,}"),
    token("openrouter-key", "key of OpenRouter", b"sk-or-v1-", ANY + b"{16,}"),
    Rule(
        "model-key", "key of a provider of models", _SK, (b"sk-",),
        late(_ALONE + rb"(sk-[A-Za-z0-9_-]{20,})"),
        varied=True, encoded=(b"sk-",),
    ),
    # Those of SiliconFlow are small letters alone.
    Rule(
        "model-key", "key of a provider of models", _SK, (b"sk-",),
        late(_ALONE + rb"(sk-[a-z]{48})(?![A-Za-z0-9_-])"),
    ),
    token("google-key", "key of Google", b"AIza", ANY + b"{30,}"),
    token("google-token", "token of Google", rb"ya29\.", ANY + b"{20,}"),
    token("google-secret", "client secret of Google", b"GOCSPX-", ANY + b"{20,}"),
    token("groq-key", "key of Groq", b"gsk_", ALNUM + b"{20,}"),
    token("huggingface-token", "token of Hugging Face", b"hf_", ALNUM + b"{20,}", varied=True),
    *(
        token("github-token", "token of GitHub", start, ALNUM + b"{30,}")
        for start in (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_")
    ),
    token("github-token", "token of GitHub", b"github_pat_", rb"[A-Za-z0-9_]{30,}"),
    token("npm-token", "token of npm", b"npm_", ALNUM + b"{30,}"),
    token("nvidia-key", "key of NVIDIA", b"nvapi-", ANY + b"{20,}"),
    token("xai-key", "key of xAI", b"xai-", ALNUM + b"{20,}", varied=True),
    token("perplexity-key", "key of Perplexity", b"pplx-", ALNUM + b"{20,}", varied=True),
    token("replicate-token", "token of Replicate", b"r8_", ALNUM + b"{30,}", varied=True),
    token("cerebras-key", "key of Cerebras", b"csk-", ALNUM + b"{20,}", varied=True),
    token("tavily-key", "key of Tavily", b"tvly-", ANY + b"{16,}", varied=True),
    token("langsmith-key", "key of LangSmith", b"lsv2_", rb"[A-Za-z0-9_]{20,}"),
    token("databricks-token", "token of Databricks", b"dapi", rb"[0-9a-f]{32,}"),
    token("digitalocean-token", "token of DigitalOcean", b"dop_v1_", rb"[0-9a-f]{32,}"),
    token("stripe-key", "key of Stripe", b"sk_live_", ALNUM + b"{16,}"),
    token("stripe-key", "key of Stripe", b"sk_test_", ALNUM + b"{16,}"),
    token("stripe-key", "key of Stripe", b"rk_live_", ALNUM + b"{16,}"),
    *(
        token("slack-token", "token of Slack", start, rb"[A-Za-z0-9-]{10,}")
        for start in (b"xoxa-", b"xoxb-", b"xoxe-", b"xoxo-", b"xoxp-", b"xoxr-", b"xoxs-")
    ),
    Rule(
        "slack-hook", "address of a hook of Slack", rb"hooks\.slack\.com/services/T",
        (b"hooks.slack.com",), library="slack", encoded=(b"hooks.slack.com",),
    ),
    Rule(
        "aws-key", "access key of AWS", _ACCESS_KEY,
        (b"AKIA", b"ASIA", b"ABIA", b"ACCA", b"A3T"), library="aws", encoded=(b"AKIA", b"ASIA"),
    ),
    Rule(
        "aws-key", "access key of AWS", _ACCESS_KEY,
        (b"AKIA", b"ASIA"),
        late(
            rb"(?:(?:AKIA|ASIA)[0-9A-Z]{16}" + MARK + rb"?[ \t]{0,3}[:,;| \t][ \t]{0,3}(?:" + MARK
            + rb")?|Secret Access Key \[None\]: )([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
        ),
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
        library="sendgrid", encoded=(b"SG.",),
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
        (b":AA",), library="telegram_token", encoded=(b":AA",),
    ),
    # It begins with the digits of an id in base64: what looks for its points has states for each
    # of the six letters between them, wherever a point stands.
    *(
        Rule(
            "discord-token", "token of a bot of Discord",
            start + rb"[DTjz][AEIMQUYcgk][0-5w-z][MNO][DTjz]", (b".",),
            library="discord", varied=True, begins=start,
        )
        for start in (b"M", b"N", b"O")
    ),
    Rule(
        "jwt", "JSON Web Token", rb"eyJ[A-Za-z0-9_-]+\.\.?[A-Za-z0-9_-]{8}", (b"eyJ",),
        late(rb"(eyJ[A-Za-z0-9_-]{8,}\.\.?[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3})"),
        encoded=(b"eyJhbGci",), told=12_500,
    ),
)  # fmt: skip
