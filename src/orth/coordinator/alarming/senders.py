"""Chooses the way out of a channel."""

from collections.abc import Callable, Sequence

from orth.coordinator.alarming.apprise_urls import check_urls, send_by_apprise
from orth.coordinator.alarming.definitions import checked
from orth.coordinator.alarming.mail import MailSender, MailServer
from orth.coordinator.alarming.outbound import NotDelivered, channels_outbound
from orth.coordinator.alarming.sealed import opened
from orth.coordinator.alarming.texts import Alarm
from orth.coordinator.alarming.webhook import WebhookSender
from orth.coordinator.sealing import Sealing
from orth.domain.alarms import MAIL_CHANNEL
from orth.errors import OrthError
from orth.settings.sections import AlarmsSection
from orth.store.alarm_channels import Channel
from orth.wire.outbound import Network


class Senders:
    """The ways out of one coordinator."""

    def __init__(
        self, settings: AlarmsSection, now: Callable[[], int], sealing: Sealing, *, deny: Sequence[Network] = ()
    ) -> None:
        self._settings = settings
        self._sealing = sealing
        timeout, ca_file = settings.timeout.total_seconds(), settings.ca_file
        outbound = channels_outbound(allow_local=settings.allow_local, allow=settings.outbound_allow, deny=deny)
        self._mail = MailSender(now, timeout=timeout, outbound=outbound, ca_file=ca_file)
        self._webhook = WebhookSender(now, timeout=timeout, outbound=outbound, ca_file=ca_file)
        self.server = _server_of(settings)
        """The mail server of the settings."""

    @property
    def built_in(self) -> Channel | None:
        """The channel the settings define, if they do."""
        return None if self.server is None else Channel(MAIL_CHANNEL, "mail", checked("mail", {}))

    def check(self, channel: Channel) -> None:
        """Refuse a channel that could never be used here."""
        if channel.kind == "apprise":
            check_urls(channel.definition["urls"], allowed=self._settings.apprise)

    async def send(self, channel: Channel, alarm: Alarm, recipients: tuple[str, ...]) -> str:
        """Send one message and give the receiver's answer; ``NotDelivered`` when it did not take it."""
        channel = opened(channel, self._sealing)
        try:
            definition = checked(channel.kind, channel.definition)
        except (OrthError, KeyError) as error:
            raise NotDelivered.of("channel_unreadable", said=str(error)) from None
        if channel.kind == "webhook":
            return await self._webhook.send(definition, alarm)
        if channel.kind == "mail":
            server = self._server_for(channel)
            return await self._mail.send(server, tuple(definition["to"]) or recipients, alarm)
        self.check(channel)
        return await send_by_apprise(definition["urls"], alarm, self._settings.timeout.total_seconds())

    def close(self) -> None:
        self._mail.close()

    def _server_for(self, channel: Channel) -> MailServer:
        definition = channel.definition
        if not definition.get("host"):
            if self.server is None:
                raise NotDelivered.of("no_mail_server")
            return self.server
        names = ("host", "port", "security", "username", "password", "sender")
        return MailServer(**{name: definition[name] for name in names})


def _server_of(settings: AlarmsSection) -> MailServer | None:
    if settings.smtp_host is None:
        return None
    password = settings.smtp_password
    return MailServer(
        settings.smtp_host,
        settings.smtp_port,
        settings.smtp_security,
        settings.smtp_username,
        None if password is None else password.get_secret_value(),
        settings.smtp_sender,
        local=True,
    )
