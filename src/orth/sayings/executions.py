"""About executions, the executors that have them, and their logs."""

from collections.abc import Mapping

SAYINGS: Mapping[str, tuple[str, str]] = {
    "log_readers_full": (
        "Too many logs of this group are being read at the moment.",
        "Try again in a few seconds.",
    ),
    "execution_ended": (
        "Execution {execution} has ended: {tag}.",
        "",
    ),
    "execution_open": (
        "Execution {execution} has not ended: {tag}.",
        "Wait for its end, or kill it.",
    ),
    "say_which_executions": (
        "Say which executions you mean.",
        "By job_id, status, since or any other filter of the list.",
    ),
    "only_failed_again": (
        "Only what failed is done again by filter.",
        "Trigger the job instead.",
    ),
    "only_open_killed": (
        "Only what is open can be killed.",
        "Ask for init or pending.",
    ),
    "execution_unreadable": (
        "Execution {execution} cannot be read: {said}.",
        "A newer version may have written it: upgrade this node, or correct the row.",
    ),
    "test_not_again": (
        "Execution {execution} tried code that is not its job's.",
        "Try it again with POST /scripts/…/test.",
    ),
    "again_without_job": (
        "Job {job} does not exist or cannot be read, so nothing of it can be done again.",
        "",
    ),
    "again_already": (
        "Execution {execution} was tried or done again already.",
        "Do the last attempt again, or this one by itself.",
    ),
    "again_is_code": (
        "Execution {execution} told {handler} something else than job {job} says now. That is code, and doing it "
        "again needs the permission '{permission}'.",
        "Trigger the job instead: it runs with its own parameter.",
    ),
    "say_which_letters": (
        "Say which letters you mean, in one way.",
        "Name them by ids, or filter by job_id, job_group, status, reason_code, since or until.",
    ),
    "executor_not_reached": (
        "{address} {said}.",
        "",
    ),
    "executor_without_token": (
        "{address}: the group of '{group}' has no token to show it.",
        "",
    ),
    "token_not_shown": (
        "{address} refused a signed request: {said} The group '{group}' does not show its token.",
        "If its executors are third-party, set the dialect of the group.",
    ),
    "token_not_shown_to_orth": (
        "{address} refused a signed request: {said} An executor of Orth enrolled at this address for the group "
        "'{group}', so no token is shown there.",
        "Give a third-party executor another address.",
    ),
    "executor_not_answered": (
        "{address}: {said}.",
        "",
    ),
    "answer_not_proved": (
        "{address}: nothing proves that this answer is the executor's own: {said}",
        "",
    ),
    "gateway_answered": (
        "{address}: a gateway answered HTTP {status}.",
        "",
    ),
    "no_executor_there": (
        "{address}: no executor answers there: {said}.",
        "",
    ),
    "executor_does_not_accept": (
        "{address}: it does not accept what was registered for it: {said}",
        "",
    ),
    "no_log_to_show": (
        "{address} has no log to show: {said} (code {number}).",
        "",
    ),
    "not_a_log": (
        "{address} answered with something that is not a log: {said}",
        "",
    ),
    "not_so_many_lines": (
        "{address} answered with something that is not a log: as lines {first} to {last} a text that has not as many.",
        "",
    ),
    "log_too_long": (
        "The log is long, and its executor gives it from the beginning only: line {line} was reached.",
        "Read it with from={line}.",
    ),
    "log_misplaced": (
        "The archive has a log at a place that none can have.",
        "",
    ),
    "log_damaged": (
        "The archived log is damaged.",
        "",
    ),
    "searches_full": (
        "{limit} logs are searched already.",
        "Try again in a moment.",
    ),
    "own_searches_full": (
        "You search {limit} logs already.",
        "Try again in a moment.",
    ),
    "watchers_full": (
        "This coordinator takes no more watchers: {limit} logs are followed through it already.",
        "Another one may.",
    ),
    "watchers_stopping": (
        "This coordinator takes no more watchers: it is stopping.",
        "Another one may.",
    ),
    "own_watchers_full": (
        "{name} follows {limit} logs already.",
        "Close some of them.",
    ),
    "not_a_regular_expression": (
        "This is not a regular expression: {said}.",
        "",
    ),
    "expression_slow_to_compile": (
        "The regular expression takes longer than {seconds} s to be compiled.",
        "Avoid repetitions inside repetitions, or search for a plain text.",
    ),
    "expression_slow": (
        "The regular expression takes longer than {seconds} s for a page of this log.",
        "Avoid repetitions inside repetitions, or search for a plain text.",
    ),
    "search_broke_off": (
        "The search ended unexpectedly.",
        "A simpler regular expression may do.",
    ),
    "executor_key_gone": (
        "{address}: the token it registered with is good no more, so it is not called.",
        "",
    ),
    "executor_reads_no_signatures": (
        "{address}: it does not say that it reads signatures, and security.require_signatures allows nothing else.",
        "",
    ),
    "executor_silent": (
        "{address}: no answer within {seconds} s.",
        "",
    ),
}
