"""The settings this coordinator runs with, for those who administer everything: what holds, and where it was said.

Secrets are never part of it, nor passwords in URLs. There is nothing here that writes: settings are read at the start.
"""

from fastapi import APIRouter
from pydantic import BaseModel, Field

from orth.coordinator.http.callers import needs
from orth.coordinator.http.tools import ToolsHere
from orth.domain.access import Permission
from orth.settings import as_text, describe_settings, show
from orth.version import __version__

router = APIRouter(
    prefix="/api/v1/settings", tags=["settings"], dependencies=[needs(Permission.ADMINISTER, everywhere=True)]
)


class SettingShown(BaseModel):
    key: str = Field(description="Section and name, such as logs.retention.")
    type: str
    value: str = Field(description="As it is written; secrets are masked.")
    default: str
    origin: str = Field(description="default, or the line, variable or option that says so.")
    explanation: str


class WarningShown(BaseModel):
    code: str
    facts: dict[str, str | int]
    detail: str


class SettingsShown(BaseModel):
    """The settings of the coordinator that answers; others may have been told otherwise."""

    node: str
    version: str
    file: str | None = Field(description="The file that was read.")
    warnings: list[WarningShown] = Field(description="What works but is probably not what was meant.")
    items: list[SettingShown]


@router.get("")
async def settings(tools: ToolsHere) -> SettingsShown:
    """What holds on this coordinator."""
    held = tools.settings
    return SettingsShown(
        node=tools.node_id,
        version=__version__,
        file=None if held.file is None else held.file.name,
        warnings=[WarningShown(code=one.code, facts=dict(one.facts), detail=str(one)) for one in held.warnings],
        items=[
            SettingShown(
                key=one.key,
                type=one.type,
                value=as_text(show(held.value(one.key))),
                default=as_text(one.default),
                origin=held.origin(one.key),
                explanation=one.explanation,
            )
            for one in describe_settings()
        ],
    )
