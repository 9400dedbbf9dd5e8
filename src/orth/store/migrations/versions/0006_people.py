"""People: what they may and where, and their sessions."""

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    pass
