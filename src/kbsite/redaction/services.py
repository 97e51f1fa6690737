"""What keys of services look like that an agent may find on its way: those that say what they are.

Each begins with letters of its own, or has them within; what begins like a word as well has to be
varied as random letters are.
"""

from __future__ import annotations

from typing import Final

from kbsite.late import late
from kbsite.redaction.rules import AFTER, ALNUM, ANY, NEAR, Rule, token

_HEX: Final = rb"[0-9a-f]"
_ENDS: Final = rb"(?![A-Za-z0-9_-])"

_BEGINNINGS: Final[tuple[tuple[str, str, tuple[bytes, ...], bytes], ...]] = (
    ("bedrock-key", "key of Amazon Bedrock", (b"ABSKQmVkcm9ja0FQSUtleS", b"bedrock-api-key-"),
     rb"[A-Za-z0-9+/_=-]{20,}"),
    ("google-key", "key of Google", (rb"AQ\.Ab",), ANY + b"{30,}"),
    ("huggingface-token", "token of Hugging Face", (b"api_org_",), ALNUM + b"{30,}"),
    ("openai-key", "key of OpenAI", (b"sk-None-",), ANY + b"{16,}"),
    ("gitlab-token", "token of GitLab",
     (b"glpat-", b"gldt-", b"glrt-", b"glrtr-", b"glcbt-", b"glptt-", b"glft-", b"gloas-",
      b"glsoat-", b"glimt-", b"glagent-", b"glwt-", b"glffct-"),
     ANY + rb"{20,}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,12})?"),
    ("slack-token", "token of Slack", (b"xapp-", b"xoxc-"), rb"[A-Za-z0-9-]{20,}"),
    ("slack-token", "token of Slack", (b"xoxd-",), rb"[A-Za-z0-9%/+=-]{20,}"),
    ("slack-token", "token of Slack", (rb"xoxe\.xox",), rb"[bp]-[A-Za-z0-9-]{20,}"),
    ("stripe-key", "key of Stripe", (b"rk_test_",), ALNUM + b"{16,}"),
    ("stripe-key", "key of Stripe", (b"whsec_",), rb"[A-Za-z0-9+/]{24,}"),
    ("docker-token", "token of Docker", (b"dckr_pat_", b"dckr_oat_"), ANY + b"{20,}"),
    ("wandb-key", "key of Weights & Biases", (b"wandb_v1_",), rb"[A-Za-z0-9_]{40,}"),
    ("age-key", "key of age", (b"AGE-SECRET-KEY-1",), rb"[0-9A-Z]{50,}"),
    ("vault-token", "token of Vault", (rb"hvs\.", rb"hvb\."), ANY + b"{24,}"),
    ("linear-key", "key of Linear", (b"lin_api_", b"lin_oauth_"), ALNUM + b"{30,}"),
    ("notion-token", "token of Notion", (b"ntn_",), ALNUM + b"{40,}"),
    ("figma-token", "token of Figma", (b"figd_",), ANY + b"{30,}"),
    ("shopify-token", "token of Shopify", (b"shpat_", b"shpss_", b"shpca_", b"shppa_"),
     rb"[0-9a-fA-F]{32,}"),
    ("grafana-token", "token of Grafana", (b"glsa_",), rb"[A-Za-z0-9]{32}_[0-9A-Fa-f]{8}"),
    ("grafana-token", "token of Grafana", (b"glc_eyJ",), rb"[A-Za-z0-9+/=]{32,}"),
    ("newrelic-key", "key of New Relic", (b"NRAK-",), rb"[A-Z0-9]{27}"),
    ("sentry-token", "token of Sentry", (b"sntrys_", b"sntryu_"), rb"[A-Za-z0-9+/=_-]{40,}"),
    ("posthog-key", "key of PostHog", (b"phx_",), ALNUM + b"{40,}"),
    ("supabase-key", "key of Supabase", (b"sb_secret_",), ANY + b"{20,}"),
    ("supabase-key", "key of Supabase", (b"sbp_",), rb"(?:v0_)?[0-9a-f]{40}"),
    ("fly-token", "token of Fly", (b"fm1r_", b"fm1a_", b"fm2_", b"fo1_"),
     rb"[A-Za-z0-9+/=_-]{40,}"),
    ("heroku-key", "key of Heroku", (b"HRKU-",), ANY + b"{36,}"),
    ("vercel-token", "token of Vercel", (b"vcp_", b"vck_", b"vca_", b"vcr_"), ALNUM + b"{24,}"),
    ("netlify-token", "token of Netlify", (b"nfp_", b"nfo_", b"nfc_"), ALNUM + b"{36,}"),
    ("cloudflare-token", "token of Cloudflare", (b"cfut_", b"cfat_", b"cfk_"), ANY + b"{40,}"),
    ("digitalocean-token", "token of DigitalOcean", (b"doo_v1_", b"dor_v1_"), _HEX + b"{32,}"),
    ("render-key", "key of Render", (b"rnd_",), ALNUM + b"{28,}"),
    ("pulumi-token", "token of Pulumi", (b"pul-",), _HEX + b"{40}"),
    ("postman-key", "key of Postman", (b"PMAK-",), rb"[0-9a-f]{24}-[0-9a-f]{34}"),
    ("brevo-key", "key of Brevo", (b"xkeysib-",), rb"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("rubygems-key", "key of RubyGems", (b"rubygems_",), _HEX + b"{48}"),
    ("sourcegraph-token", "token of Sourcegraph", (b"sgp_",), rb"[A-Za-z0-9_]{40,}"),
    ("1password-token", "token of 1Password", (b"ops_eyJ",), rb"[A-Za-z0-9+/=_-]{100,}"),
    ("atlassian-token", "token of Atlassian", (b"ATATT3xFfGF0", b"ATCTT3xFfGF0"),
     rb"[A-Za-z0-9=_-]{40,}"),
    ("tailscale-key", "key of Tailscale", (b"tskey-",), rb"[a-z]{3,8}-[A-Za-z0-9-]{20,}"),
    ("together-key", "key of Together", (b"tgp_v1_",), ANY + b"{30,}"),
    ("e2b-key", "key of E2B", (b"e2b_",), _HEX + b"{40}"),
    ("daytona-key", "key of Daytona", (b"dtn_",), _HEX + b"{64}"),
    ("pinecone-key", "key of Pinecone", (b"pcsk_",), rb"[A-Za-z0-9]{4,8}_[A-Za-z0-9]{40,}"),
    ("runpod-key", "key of RunPod", (b"rpa_",), rb"[A-Z0-9]{40,}"),
    ("cursor-key", "key of Cursor", (b"crsr_",), _HEX + b"{64}"),
    ("kaggle-token", "token of Kaggle", (b"KGAT_",), _HEX + b"{32}"),
    ("jina-key", "key of Jina", (b"jina_",), rb"[A-Za-z0-9_-]{50,}"),
    ("sonar-token", "token of Sonar", (b"sqp_", b"squ_", b"sqa_"), _HEX + b"{40}"),
    ("context7-key", "key of Context7", (b"ctx7sk-",), rb"[0-9a-f-]{36}"),
    ("amp-key", "key of Amp", (b"sgamp_user_",), rb"[A-Za-z0-9_]{40,}"),
    ("alibaba-key", "key of Alibaba Cloud", (b"LTAI5t",), ALNUM + b"{14,24}"),
    ("tencent-key", "key of Tencent Cloud", (b"AKID",), ALNUM + b"{32}"),
    ("circleci-token", "token of CircleCI", (b"CCIPAT_", b"CCIPRJ_"),
     rb"[A-Za-z0-9]{16,30}_[0-9a-f]{40}"),
    ("apify-token", "token of Apify", (b"apify_api_",), ALNUM + b"{30,}"),
    ("baidu-key", "key of Baidu Qianfan", (b"bce-v3/ALTAK-",), rb"[A-Za-z0-9]{10,40}/[0-9a-f]{40}"),
    ("dynatrace-token", "token of Dynatrace", (rb"dt0c01\.", rb"dt0s16\."),
     rb"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
)  # fmt: skip
"""Tokens that no word begins like."""

_LIKE_WORDS: Final[tuple[tuple[str, str, bytes, bytes, bytes], ...]] = (
    ("google-token", "token of Google", b"1//0", ANY + b"{20}", ANY + b"{20,}"),
    ("notion-token", "token of Notion", b"secret_", ALNUM + b"{30}", ALNUM + b"{13}" + _ENDS),
    ("lambda-key", "key of Lambda", b"secret_",
     rb"[A-Za-z0-9_-]+_[0-9a-f]{32}\.", ALNUM + b"{32}"),
    ("fireworks-key", "key of Fireworks", b"fw_", ALNUM + b"{22}", ALNUM + b"{0,6}" + _ENDS),
    ("elevenlabs-key", "key of ElevenLabs", b"sk_", _HEX + b"{32}", _HEX + b"{16}" + _ENDS),
    ("cursor-key", "key of Cursor", b"key_", _HEX + b"{32}", _HEX + b"{32}" + _ENDS),
    ("factory-key", "key of Factory", b"fk-", ANY + b"{20}", ANY + b"{20,}"),
    ("voyage-key", "key of Voyage", b"pa-", ANY + b"{30}", ANY + b"{13}" + _ENDS),
    ("brave-key", "key of Brave", b"BSA", ANY + b"{28}", _ENDS),
    ("bitbucket-token", "token of Bitbucket", b"ATBB", ALNUM + b"{32}", _ENDS),
    ("airtable-token", "token of Airtable", b"pat", ALNUM + rb"{14}\.", _HEX + b"{64}"),
    ("resend-key", "key of Resend", b"re_", ALNUM + b"{8}_" + ALNUM + b"{24}", _ENDS),
    ("prime-key", "key of Prime Intellect", b"pit_", NEAR, ALNUM + b"{20,}" + _ENDS),
    ("crates-token", "token of crates.io", b"cio", ALNUM + b"{32}", _ENDS),
    ("firecrawl-key", "key of Firecrawl", b"fc-", _HEX + b"{32}", _ENDS),
    ("mailgun-key", "key of Mailgun", b"key-", _HEX + b"{32}", _ENDS),
    ("devin-key", "key of Devin", b"cog_", ALNUM + b"{30}", ALNUM + b"{0,90}" + _ENDS),
    ("devin-key", "key of Devin", b"apk_user_", ALNUM + b"{20}", rb"[A-Za-z0-9+/_-]*={0,2}"),
    ("devin-key", "key of Devin", b"apk_", ALNUM + b"{20}", rb"[A-Za-z0-9+/_-]*={0,2}"),
    ("modal-token", "token of Modal", b"ak-", ALNUM + b"{22}", _ENDS),
    ("modal-token", "token of Modal", b"as-", ALNUM + b"{22}", _ENDS),
)  # fmt: skip
"""Tokens that begin as other words do: what has to follow to be looked at closely, and the rest."""

SERVICES: Final = (
    *(token(name, what, start, rest) for name, what, starts, rest in _BEGINNINGS
      for start in starts),
    *(token(name, what, start, near + rest, varied=True, gate=start + near)
      for name, what, start, near, rest in _LIKE_WORDS),
    Rule(
        "openai-token", "token of OpenAI", rb"[\"'=]rt_" + NEAR, (b"rt_",),
        late(AFTER + rb"(rt_[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,})"), varied=True,
    ),
    Rule(
        "terraform-token", "token of Terraform", rb"\.atlasv1\.", (b".atlasv1.",),
        late(AFTER + rb"([A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,})"),
        encoded=(b".atlasv1.",),
    ),
    Rule(
        "doppler-token", "token of Doppler", rb"dp\.(?:pt|st|ct|sa|scim|audit)\.",
        (b"dp.",), late(AFTER + rb"(dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,})"),
        encoded=(b"dp.pt.", b"dp.st.", b"dp.sa."),
    ),
    Rule(
        "azure-ai-key", "key of Azure AI", rb"JQQJ99[A-Za-z0-9]{12}", (b"JQQJ99",),
        late(rb"([A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26})"),
    ),
    Rule(
        "azure-secret", "secret of an application of Azure", rb"[0-9]Q~[A-Za-z0-9_.~-]{12}",
        (b"Q~",), late(AFTER + rb"([A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34})"),
    ),
    Rule(
        "azure-signature", "signed address of Azure", rb"sig=[A-Za-z0-9%+/]{12}", (b"sig=",),
        late(AFTER + rb"sig=([A-Za-z0-9%+/]{40,}=?)"), varied=True,
    ),
    Rule(
        "signed-address", "signed address of a store",
        rb"(?:[Ss]ignature|Security-Token)=[A-Za-z0-9%+/_~-]{12}",
        (b"ignature=", b"Security-Token="),
        late(rb"[?&](?:X-Amz-|X-Goog-|q-)?(?:[Ss]ignature|Security-Token)=([A-Za-z0-9%+/_~.-]{20,2000}=*)"),
        varied=True, must_not_happen=False, told=2200,
    ),
    Rule(
        "rclone-password", "password that rclone keeps", rb"(?:pass|password2) = " + NEAR,
        (b"pass = ", b"password2 = "),
        late(AFTER + rb"(?:pass|password2) = ([A-Za-z0-9_-]{22,500})(?![A-Za-z0-9_.(\[-])"),
        varied=True,
    ),
    Rule(
        "vscode-token", "token of VS Code in a browser", rb"[?&]tkn=[0-9a-f]", (b"tkn=",),
        late(rb"[?&]tkn=([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"),
    ),
    Rule(
        "password-hash", "hash of a password",
        rb"\$(?:2[abxy]\$[0-9]{2}\$|[156]\$[./A-Za-z0-9=]+\$[./A-Za-z0-9]|y\$j|apr1\$|argon2)"
        rb"|pbkdf2_sha|SCRAM-SHA-(?:1|256|512)\$[0-9]|\{SSHA(?:256|512)?\}[A-Za-z0-9+/]{12}",
        (b"$2", b"$1$", b"$5$", b"$6$", b"$y$", b"$apr1$", b"$argon2", b"pbkdf2_sha",
         b"SCRAM-SHA-", b"{SSHA"),
        late(
            rb"(?:\$2[abxy]\$[0-9]{2}\$(?=[./A-Za-z0-9]{53}(?![./A-Za-z0-9]))"
            rb"|\$(?:1|apr1)\$[./A-Za-z0-9]{1,8}\$(?=[./A-Za-z0-9]{22}(?![./A-Za-z0-9]))"
            rb"|\$[56]\$(?:rounds=[0-9]{1,9}\$)?[./A-Za-z0-9]{1,16}\$(?=[./A-Za-z0-9]{43})"
            rb"|\$y\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{1,86}\$(?=[./A-Za-z0-9]{40})"
            rb"|\$argon2[id]{1,2}\$v=[0-9]{1,3}\$[a-z0-9=,]{1,60}\$[A-Za-z0-9+/]{8,90}\$"
            rb"|pbkdf2_sha[0-9]{1,3}\$[0-9]{3,8}\$[A-Za-z0-9]{1,64}\$"
            rb"|SCRAM-SHA-[0-9]{1,3}\$[0-9]{3,8}:[A-Za-z0-9+/=]{8,100}\$|\{SSHA[0-9]{0,3}\})"
            rb"([./A-Za-z0-9+]{20,90})"
        ),
    ),
    Rule(
        "hook", "address of a hook", rb"hooks\.slack\.com/(?:workflows|triggers)/",
        (b"hooks.slack.com/",),
        late(rb"hooks\.slack\.com/(?:workflows|triggers)/([A-Za-z0-9/]{20,200})"),
    ),
    Rule(
        "copilot-token", "token of GitHub Copilot", rb"tid=[0-9a-f]{32};", (b"tid=",),
        late(rb"(tid=[0-9a-f]{32};[A-Za-z0-9=;:./_-]{20,2000})"),
    ),
    Rule(
        "hook", "address of a hook", rb"webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/",
        (b"webhook.office.com/", b"hooks.zapier.com/"),
        late(
            rb"(?:webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/[0-9]{1,12}/)"
            rb"([A-Za-z0-9@/_-]{6,300})"
        ),
    ),
    Rule(
        "discord-hook", "address of a hook of Discord",
        rb"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/", (b"webhooks/",),
        late(rb"/api/(?:v[0-9]{1,3}/)?webhooks/([0-9]{15,20}/[A-Za-z0-9_-]{40,})"),
        encoded=(b".com/api/webhooks/", b".com/api/v10/webhooks/"),
    ),
)  # fmt: skip
