"""About jobs, their groups and what they refer to."""

from collections.abc import Mapping

SAYINGS: Mapping[str, tuple[str, str]] = {
    "quota_reached": (
        "The group '{group}' has {limit} jobs, and no group may have more.",
        "Delete jobs that nobody needs, use another group, or have security.jobs_per_group raised.",
    ),
    "no_schedule": (
        "Job {job} has no schedule (NONE), so there is nothing to start.",
        "Give it one, or trigger it by hand.",
    ),
    "job_is_open": (
        "Job {job} has an execution that has not ended.",
        "Stop the job and wait, then delete it.",
    ),
    "job_has_batch": (
        "Job {job} has a batch that is not over.",
        "Wait for it or cancel it, then delete the job.",
    ),
    "job_followed_by": (
        "Job {job} cannot be deleted: job {others} is followed by it.",
        "Change that first.",
    ),
    "job_handler_used": (
        "Job {job} cannot be deleted: job {others} runs its handler.",
        "Change that first.",
    ),
    "job_needed_elsewhere": (
        "Job {job} cannot be deleted: others need it. Jobs that you see: {others}; in groups that you may not see: "
        "{hidden}.",
        "Change those first; ask an administrator about those that you may not see.",
    ),
    "links_into_groups": (
        "Job {job} cannot be moved: its links would lead into groups where you may not make them. Jobs that you see: "
        "{others}; in groups that you may not see: {hidden}.",
        "Cut the links between it and those first, or ask an administrator to move it.",
    ),
    "unknown_handler": (
        "No executor of {group} has a handler '{handler}'.",
        "Known: {names}. To save it anyway: ?allow_unknown_handler=true",
    ),
    "group_has_jobs": (
        "Group {group} still has jobs.",
        "Delete or move them first.",
    ),
    "group_exists": (
        "There is a group with app name '{group}' already.",
        "Use that one, or choose another name.",
    ),
    "same_name": (
        "There are {count} jobs with this name in the group.",
        "Rename all but one.",
    ),
    "same_definition": (
        "Definition {place} is about the same job.",
        "Leave one of them out.",
    ),
    "no_group_here": (
        "There is no group '{group}' here.",
        "Create the group: orth group create {group}, or orth group adopt {group} if its executors are registered.",
    ),
    "no_calendar_here": (
        "There is no calendar '{calendar}' here.",
        "Make it first.",
    ),
    "no_job_here": (
        "There is no job '{job}' in '{group}'.",
        "",
    ),
    "say_which_jobs": (
        "Say which jobs you mean.",
        "By a filter of the list, or all=true.",
    ),
    "no_handler_of_its_own": (
        "The job has no handler of its own.",
        "Name one, or a super task that has one.",
    ),
    "follows_itself": (
        "Job {job} cannot follow itself.",
        "",
    ),
    "no_such_child": (
        "There is no job {job} that could follow.",
        "",
    ),
    "follow_for_ever": (
        "These jobs would follow each other for ever: {ring}.",
        "",
    ),
    "no_such_super_task": (
        "There is no job {job} whose handler could be run.",
        "",
    ),
    "not_an_executor": (
        "{address} is not an executor of {group}.",
        "Known: {names}.",
    ),
    "parameter_unfit": (
        "The parameter does not fit the handler '{handler}': {said}.",
        "Correct it, or leave it empty and give it with each trigger.",
    ),
    "unknown_handler_like": (
        "No executor of {group} has a handler '{handler}'.",
        "Did you mean {near}? Known: {names}. To save it anyway: ?allow_unknown_handler=true",
    ),
    "unknown_handler_of_none": (
        "No executor of {group} has a handler '{handler}'.",
        "Known: none. To save it anyway: ?allow_unknown_handler=true",
    ),
    "not_an_executor_of_none": (
        "{address} is not an executor of {group}.",
        "Known: none.",
    ),
    "app_name_fixed": (
        "Group {id} is '{group}'; an app name cannot be changed.",
        "Create another group.",
    ),
    "group_has_open": (
        "Group {group} has an execution that has not ended.",
        "Wait for it, then delete it.",
    ),
    "group_adopted": (
        "The executors of '{group}' have a group already.",
        "Use that one.",
    ),
    "no_executor_of_app": (
        "There is no executor of app {group}.",
        "",
    ),
    "adopt_characters": (
        "No group can be called '{group}': it may have letters, digits, dots, hyphens and underscores only.",
        "Give its executors another app name: executor.app_name, or xxl.job.executor.appname in xxl-job.",
    ),
    "adopt_length": (
        "No group can be called '{group}': it must have {shortest} to {longest} characters and has {length}.",
        "Give its executors another app name: executor.app_name, or xxl.job.executor.appname in xxl-job.",
    ),
    "group_needs_addresses": (
        "address_list must name at least one address when address_type is 1 (manual).",
        "",
    ),
    "group_addresses_filled": (
        "address_list is filled by the registry when address_type is 0; set address_type to 1.",
        "",
    ),
    "job_changed_meanwhile": (
        "Job {job} was changed by somebody else meanwhile.",
        "Read it again and repeat the change.",
    ),
    "job_unreadable": (
        "Job {job} cannot be read: {said}.",
        "A newer version may have written it: upgrade this node, or correct the row.",
    ),
    "super_task_of_another": (
        "Job {job} runs the handler of job {other} itself.",
        "Name job {other}.",
    ),
    "super_task_needed": (
        "Job {others} runs the handler of this one, so it must have its own.",
        "There is one level of super tasks only.",
    ),
    "super_task_elsewhere": (
        "Job {job} has code and is in another group; code runs in its own group only.",
        "Name a super task of the same group, or write the code here.",
    ),
    "code_used_elsewhere": (
        "A job of another group runs the handler of job {job}, so this one cannot have code.",
        "Give that job a handler of its own first, or write the code into another job.",
    ),
    "queue_called_priority": (
        "This must not be p and a digit: that is how priorities are called.",
        "",
    ),
    "queue_with_broadcast": (
        "This must be empty for SHARDING_BROADCAST: what is in a queue is taken by one executor.",
        "",
    ),
    "queue_with_selector": (
        "This must be empty with a label_selector: whoever takes from a queue chooses, not the job.",
        "",
    ),
    "secrets_with_queue": (
        "This must be empty with an executor_queue: a queue keeps what is put into it, readable.",
        "",
    ),
    "handler_needed": (
        "This must name a handler, unless super_task_id names a job that has one.",
        "",
    ),
    "child_ids_with_commas": (
        "This must be ids of jobs with commas between them.",
        "",
    ),
    "child_ids": (
        "This must be ids of jobs.",
        "",
    ),
    "tag_form": (
        "A tag is one line without commas.",
        "",
    ),
    "tag_too_long": (
        "A tag may have {limit} characters.",
        "",
    ),
    "selector_too_long": (
        "The selector is longer than {limit} characters.",
        "Write zone=eu,tier!=spot,gpu: conditions with commas between them, all of which must hold.",
    ),
    "selector_gap": (
        "A condition is missing between two commas.",
        "Write zone=eu,tier!=spot,gpu: conditions with commas between them, all of which must hold.",
    ),
    "selector_condition": (
        "'{said}' is not a condition.",
        "Write zone=eu,tier!=spot,gpu: conditions with commas between them, all of which must hold.",
    ),
    "reference_strange": (
        "'{said}' names no job.",
        "Write the app name of its group, a slash and its name.",
    ),
}
