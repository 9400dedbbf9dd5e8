"""Where sign-ins are kept: sessions, one-time links, what was tried in vain, and who people are elsewhere.

No secret is stored, only digests of secrets that are random and long: nobody who reads these tables can sign in.
"""

from sqlalchemy import BigInteger, Column, Index, Integer, String

from orth.store.schema import Instant, table

sessions = table(
    "orth_session",
    Column("id", String(32), primary_key=True),
    Column("user_id", BigInteger, nullable=False),
    Column("kind", String(16), nullable=False),  # tokens, browser
    Column("way", String(16), nullable=False),  # how it was begun: password, link, oidc
    Column("password_version", Integer, nullable=False),  # the user's when it began: a new password ends it
    Column("digest", String(64), nullable=False),  # of the secret that is good now
    Column("generation", Integer, nullable=False),  # how often that was replaced
    Column("previous_digest", String(64)),  # of the secret before it, which is forgiven for a moment
    Column("successor", String(64)),  # the secret that is good now, readable only with the one before it
    Column("replaced_at", Instant),
    Column("created_at", Instant, nullable=False),
    Column("seen_at", Instant, nullable=False),
    Column("idle_until", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("address", String(64), nullable=False),
    Column("agent", String(200), nullable=False),
    Index("ix_session_user", "user_id", "created_at"),
    Index("ix_session_idle", "idle_until"),
)

sign_in_links = table(
    "orth_sign_in_link",
    Column("digest", String(64), primary_key=True),
    Column("user_id", BigInteger, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Index("ix_sign_in_link_expiry", "expires_at"),
)

# By digest: what people type into the field for their name is sometimes their password.
sign_in_tallies = table(
    "orth_sign_in_tally",
    Column("digest", String(64), primary_key=True),
    Column("tries", Integer, nullable=False),
    Column("last_at", Instant, nullable=False),
    Index("ix_sign_in_tally_last", "last_at"),
)

identities = table(
    "orth_user_identity",
    Column("digest", String(64), primary_key=True),  # of the issuer and the name it has for somebody
    Column("user_id", BigInteger, nullable=False),
    Column("bound_at", Instant, nullable=False),
    Index("ix_user_identity_user", "user_id"),
)
