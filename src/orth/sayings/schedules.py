"""About schedules, calendars and batches: when something is to happen."""

from collections.abc import Mapping

SAYINGS: Mapping[str, tuple[str, str]] = {
    "cron_too_long": (
        "The expression has {characters} characters; the limit is {limit}.",
        "Write ranges and steps (0-30, */5) instead of long lists.",
    ),
    "cron_character": (
        "The character {character} cannot stand in an expression.",
        "Write plain letters, digits and spaces.",
    ),
    "cron_field_count": (
        "A cron expression has 5, 6 or 7 fields; this has {count}.",
        "Write 5 (minute hour day-of-month month day-of-week) or put the second first and, if you like, a year last.",
    ),
    "cron_every": (
        "{name} is not a name for a schedule.",
        "Use the schedule type FIX_RATE, with a duration such as 5m.",
    ),
    "cron_reboot": (
        "{name} is not a name for a schedule.",
        "A schedule knows no machine starts; trigger the job through the API instead.",
    ),
    "cron_name": (
        "{name} is not a name for a schedule.",
        "The names are {names}.",
    ),
    "cron_question_unix": (
        "? belongs to Quartz expressions, which have 6 or 7 fields.",
        "Write * instead.",
    ),
    "cron_no_day": (
        "Both day fields are ?, so no day is chosen.",
        "Write * in one of them.",
    ),
    "cron_two_days": (
        "With 6 or 7 fields, exactly one of the two day fields must be ?.",
        "Keep one of them and write ? for the other; for both, make two jobs.",
    ),
    "cron_two_days_loose": (
        "With 6 or 7 fields, exactly one of the two day fields must be ?.",
        "Write {better}",
    ),
    "cron_never": (
        "This never fires: no date from {first} to {last} fits all of these fields.",
        "Check that the months named have such a day.",
    ),
    "cron_alone": (
        "A part with {sign} cannot stand in a list.",
        "Write it alone in its field.",
    ),
    "cron_empty_place": (
        "The {part} field has an empty place.",
        "Remove the comma, or write a value beside it.",
    ),
    "cron_step_of_nothing": (
        "No value stands before the step {step}.",
        "Write *{step}.",
    ),
    "cron_question_here": (
        "? has no meaning in the {part} field.",
        "Write *, or a value.",
    ),
    "cron_outside": (
        "{part} {number} is outside {low}-{high}.",
        "Write a number from {low} to {high}.",
    ),
    "cron_outside_named": (
        "{part} {number} is outside {low}-{high}.",
        "Write a number from {low} to {high}, or a name: {names}.",
    ),
    "cron_not_understood": (
        "'{word}' is not understood in the {part} field.",
        "Write a number from {low} to {high}.",
    ),
    "cron_not_understood_named": (
        "'{word}' is not understood in the {part} field.",
        "Write a number from {low} to {high}, or a name: {names}.",
    ),
    "cron_name_like": (
        "'{word}' is not understood in the {part} field.",
        "Write {better}.",
    ),
    "cron_day_special": (
        "'{word}' is not understood in the {part} field.",
        "Write L (last day), L-3 (3 days before it), LW (last workday) or 15W (workday nearest to the 15th).",
    ),
    "cron_backwards": (
        "The {part} range {range} runs backwards.",
        "Write {swapped}, or two ranges: {two}.",
    ),
    "cron_no_step": (
        "'{word}' is not a step.",
        "Write a step from 1 to {limit}.",
    ),
    "cron_step_outside": (
        "A step of {step} does not fit the {part} field.",
        "Write a step from 1 to {limit}.",
    ),
    "cron_before_last": (
        "No month has {count} days before its last.",
        "Write L-1 to L-30.",
    ),
    "cron_week_of_month": (
        "'{word}' is not a week of the month.",
        "Write 1 to 5 after #.",
    ),
    "cron_last_alone": (
        "L alone means Saturday in Quartz and nothing in Unix cron.",
        "Write SAT for every Saturday, or SATL for the last Saturday of the month.",
    ),
    "zone_unknown": (
        "There is no time zone '{zone}'.",
        "Write a name of the zone database, such as UTC or Europe/Berlin.",
    ),
    "zone_like": (
        "There is no time zone '{zone}'.",
        "Did you mean {near}?",
    ),
    "zone_offset": (
        "'{zone}' is an offset, not the name of a time zone.",
        "Zones with this offset: {near}. The sign in Etc/GMT names is inverted.",
    ),
    "zone_abbreviation": (
        "'{zone}' is an abbreviation, not the name of a time zone.",
        "Zones that it may mean: {near}.",
    ),
    "no_fire_left": (
        "This schedule has no fire left.",
        "Choose a time in the future, or the type NONE for a job that is only triggered by hand.",
    ),
    "no_fire_left_since": (
        "This schedule has no fire left: its last fire was {at} UTC.",
        "Choose a time in the future, or the type NONE for a job that is only triggered by hand.",
    ),
    "jitter_outside": (
        "A jitter of {jitter} ms is not possible.",
        "Write 0 to {limit} milliseconds.",
    ),
    "not_a_duration": (
        "'{said}' is not a duration.",
        "Write whole seconds (30) or a number with a unit: 500ms, 1.5s, 5m, 2h, 1d.",
    ),
    "not_whole_ms": (
        "'{said}' is not a whole number of milliseconds.",
        "Write whole seconds (30) or a number with a unit: 500ms, 1.5s, 5m, 2h, 1d.",
    ),
    "period_too_short": (
        "A period of {said} is shorter than 10 ms.",
        "Write whole seconds (30) or a number with a unit: 500ms, 1.5s, 5m, 2h, 1d.",
    ),
    "period_too_long": (
        "A period of {said} is longer than 366 days.",
        "Write whole seconds (30) or a number with a unit: 500ms, 1.5s, 5m, 2h, 1d.",
    ),
    "not_a_point_in_time": (
        "'{said}' is not a point in time.",
        "Write 2027-05-01T08:00:00Z, 2027-05-01T08:00+02:00, a local time without offset, or epoch milliseconds.",
    ),
    "outside_the_years": (
        "'{said}' lies outside the years {first} to {last}.",
        "Write 2027-05-01T08:00:00Z, 2027-05-01T08:00+02:00, a local time without offset, or epoch milliseconds.",
    ),
    "no_such_time": (
        "There is no {part} {number} here.",
        "Write {low} to {high}.",
    ),
    "schedule_too_long": (
        "The text has {characters} characters; the limit is {limit}.",
        "Durations and instants are much shorter.",
    ),
    "weekday_unknown": (
        "There is no weekday {number}.",
        "Write 1 (Monday) to 7 (Sunday).",
    ),
    "calendar_empty": (
        "This calendar admits no day at all.",
        "Name at least one weekday, or one date in dates_in.",
    ),
    "calendar_not_object": (
        "A calendar is an object.",
        "Its members are {names}.",
    ),
    "calendar_member": (
        "A calendar has no member '{name}'.",
        "The members are {names}.",
    ),
    "calendar_zone": (
        "The zone is not a text.",
        "Write a zone name, or leave it out.",
    ),
    "weekdays_not_numbers": (
        "The weekdays are not a list of numbers.",
        "Write a list of numbers from 1 (Monday) to 7 (Sunday).",
    ),
    "dates_not_list": (
        "The member {name} is not a list.",
        'Write a list of dates such as ["2027-12-25"].',
    ),
    "dates_too_many": (
        "The member {name} has more than {limit} dates.",
        "Leave out past ones.",
    ),
    "not_a_date": (
        "'{said}' in {name} is not a date.",
        'Write a list of dates such as ["2027-12-25"].',
    ),
    "calendar_exists": (
        "There is a calendar named '{name}' already.",
        "",
    ),
    "batch_of_nothing": (
        "There is nothing to run in this span.",
        "Look at it with preview.",
    ),
    "batches_full": (
        "{limit} batches are running.",
        "Wait for one to end, or cancel one.",
    ),
    "batch_done": (
        "Batch {batch} is done.",
        "There is nothing left to cancel.",
    ),
    "batch_without_fires": (
        "The schedule of job {job} is {schedule}, which has no fires to go through.",
        "A batch needs CRON or FIX_RATE. Trigger the job instead.",
    ),
    "batch_span": (
        "The span ends before it begins.",
        "It runs from start up to, but not with, end.",
    ),
    "batch_too_large": (
        "The span has {count:,} fires; a batch may have {limit:,}.",
        "Ask for a shorter span.",
    ),
    "batch_far_too_large": (
        "The span has more than {count:,} fires; a batch may have {limit:,}.",
        "Ask for a shorter span.",
    ),
}
