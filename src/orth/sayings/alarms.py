"""About alarms: policies, channels, silences."""

from collections.abc import Mapping

SAYINGS: Mapping[str, tuple[str, str]] = {
    "silence_end": (
        "A silence has an end: give ends_at or lasts, not both.",
        "",
    ),
    "silence_over": (
        "The silence would be over before it begins.",
        "",
    ),
    "silence_too_long": (
        "A silence may last a year.",
        "",
    ),
    "not_an_email": (
        "'{address}' is not an e-mail address.",
        "",
    ),
    "alarm_policy_object": (
        "The alarm policy must be an object.",
        "",
    ),
    "alarm_policy_member": (
        "The alarm policy has no '{name}'; it has each, repeat, resolved and channels.",
        "",
    ),
    "alarm_policy_flag": (
        "In the alarm policy {name} must be true or false.",
        "",
    ),
    "alarm_policy_repeat": (
        "In the alarm policy repeat must be whole seconds, 0 to {limit:,}.",
        "",
    ),
    "alarm_policy_channels": (
        "In the alarm policy channels must be a list of names, {limit} at most.",
        "",
    ),
    "alarm_policy_names": (
        "In the alarm policy channels must be names of 1 to {limit} characters.",
        "",
    ),
    "alarm_policy_too_long": (
        "The alarm policy is longer than {limit:,} characters.",
        "",
    ),
    "silence_too_late": (
        "A silence ends before the year 10000.",
        "",
    ),
    "silences_full": (
        "There are {limit:,} silences already.",
        "End some that are not needed.",
    ),
    "channel_exists": (
        "There is an alarm channel named '{name}' already.",
        "",
    ),
    "channel_of_settings": (
        "'{name}' is the name of the channel that the settings define.",
        "",
    ),
    "channels_full": (
        "There are {limit} channels already.",
        "Delete one that is not used.",
    ),
    "channel_url": (
        "This must be an http or https URL.",
        "",
    ),
    "channel_url_with_user": (
        "This must not name a user; use headers.",
        "",
    ),
    "channel_host": (
        "This must be a host name or an IP address.",
        "",
    ),
    "channel_sender": (
        "This must be one e-mail address.",
        "",
    ),
    "channel_header": (
        "'{name}' is no header that may be given.",
        "",
    ),
    "channel_secret": (
        "Only {first} and {second} have a secret; use headers.",
        "",
    ),
    "channel_password": (
        "A password is not sent without encryption.",
        "",
    ),
    "channel_elsewhere": (
        "The channel would send its {name} to another place.",
        "Give {name} again, or null to remove it.",
    ),
    "template_fact": (
        "The template names '{name}', which no alarm has.",
        "It may name {names}.",
    ),
    "template_too_many": (
        "The template names facts {count:,} times, and may {limit} times.",
        "",
    ),
    "template_too_long": (
        "The template is longer than {limit:,} characters of JSON.",
        "",
    ),
    "template_too_deep": (
        "The template is nested more than {limit} deep.",
        "",
    ),
    "preview_too_long": (
        "Filled in, the message is longer than {limit:,} characters.",
        "",
    ),
    "apprise_missing": (
        "This coordinator cannot use apprise: it is not installed.",
        "Install {requirement} on every coordinator.",
    ),
    "apprise_off": (
        "Channels of kind apprise are switched off.",
        "Set alarms.apprise to true to allow them.",
    ),
    "apprise_scheme": (
        "apprise does not know, or may not use, {scheme}://.",
        "",
    ),
    "no_connection": (
        "No connection: {said}.",
        "",
    ),
    "no_answer_within": (
        "No answer within {seconds} s.",
        "",
    ),
    "no_answer": (
        "No answer: {said}.",
        "",
    ),
    "message_too_large": (
        "Filled in, the message has {size:,} bytes; {limit:,} are sent at most.",
        "",
    ),
    "receiver_answered": (
        "The receiver answered {said}",
        "",
    ),
    "nobody_to_tell": (
        "There is nobody to send it to: neither the channel nor the job names an address.",
        "",
    ),
    "mail_server_silent": (
        "{host}: no answer within {seconds} s.",
        "",
    ),
    "mail_refused": (
        "{host} refused {said}.",
        "",
    ),
    "mail_answered": (
        "{host} answered {number} {said}",
        "",
    ),
    "mail_failed": (
        "{host}: {said}.",
        "",
    ),
    "no_mail_server": (
        "The channel names no mail server, and neither do the settings (alarms.smtp_host).",
        "",
    ),
    "apprise_failed": (
        "apprise could not deliver it to every receiver.",
        "",
    ),
    "channel_gone": (
        "There is no channel named '{name}', or it is switched off.",
        "",
    ),
    "channel_unreadable": (
        "The channel's definition cannot be read: {said}.",
        "",
    ),
}
