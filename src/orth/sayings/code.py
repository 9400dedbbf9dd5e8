"""About the code and the secrets of jobs."""

from collections.abc import Mapping

SAYINGS: Mapping[str, tuple[str, str]] = {
    "scripts_not_allowed": (
        'The group "{group}" does not allow scripts.',
        "An administrator can: orth script allow {id}, or scripts_allowed of the group.",
    ),
    "no_secret_here": (
        "There is no secret {name} for the group {group}.",
        "An administrator can store it: orth secret set {name} --group {group}",
    ),
    "code_not_allowed": (
        "{name} may not change what code runs in group {group}: it needs the permission '{permission}'.",
        "Ask an administrator for a role that has it.",
    ),
    "param_is_code": (
        "{name} may not give {handler} another parameter: what it is told is code, and needs the permission "
        "'{permission}'.",
        "Trigger the job without a parameter, with its own.",
    ),
    "version_runs_already": (
        "Version {version} is what job {job} runs already.",
        "",
    ),
    "code_of_other_job": (
        "Job {job} runs the code of job {other}.",
        "Try that of job {other}.",
    ),
    "job_has_no_code": (
        "Job {job} has no code: it names a handler in the executor (BEAN).",
        "Give it a kind of script.",
    ),
    "bean_has_no_code": (
        "BEAN is a handler in the executor and has no code.",
        "Choose a kind of script.",
    ),
    "code_with_bean": (
        "This must be empty for BEAN, which is a handler in the executor.",
        "",
    ),
    "remark_length": (
        "A version of code needs a remark of {shortest} to {longest} characters.",
        "Say what was changed.",
    ),
    "no_code": (
        "There is no code.",
        "Send it as glue_source.",
    ),
    "code_with_nul": (
        "Code must not contain NUL.",
        "",
    ),
    "code_with_half_pair": (
        "Code must not contain half of a surrogate pair.",
        "",
    ),
    "code_too_large": (
        "The code has {size:,} bytes; {limit:,} are allowed.",
        "The setting coordinator.script_size says how many.",
    ),
    "header_unended": (
        "The header that begins in line {line} does not end.",
        "It ends with a line {end}, and every line between begins as its first one.",
    ),
    "header_twice": (
        "Line {line} begins a second header.",
        "Code has one: put both together.",
    ),
    "header_too_large": (
        "The header that begins in line {line} has more than {limit:,} characters.",
        "Keep what only people read in the code.",
    ),
    "header_not_toml": (
        "Line {line} of the code cannot be read as TOML, at column {column}.",
        "Texts stand in quotes and lists in brackets, and nothing is said twice.",
    ),
    "header_key": (
        "Line {line} of the code says {key}, which a header does not have there.",
        "It may have {known}.",
    ),
    "header_form": (
        "{key} in line {line} of the code has another form.",
        "Write it like {example}.",
    ),
    "header_requirement": (
        "'{text}' in line {line} of the code is no requirement of Python.",
        "Write a name and, if you like, versions: requests>=2,<3",
    ),
    "header_param_name": (
        "'{name}' in line {line} of the code is no name of a parameter.",
        "It has up to 64 letters, digits, underscores and hyphens, and begins with a letter or an underscore.",
    ),
    "header_param_type": (
        "The parameter {name} in line {line} of the code has no type that is known.",
        "The types are {types}.",
    ),
    "header_param_value": (
        "{key} of the parameter {name} in line {line} of the code does not fit the type {type}.",
        "",
    ),
    "header_param_contradiction": (
        "What line {line} of the code says of the parameter {name} contradicts itself.",
        "A default is one of enum and between minimum and maximum, and what is required has none.",
    ),
    "secret_name": (
        "'{name}' is not the name of a secret.",
        "It has up to 64 capital letters, digits and underscores, and begins with a letter.",
    ),
    "secret_name_taken": (
        "{name} means something to programs; no secret may be called so.",
        "",
    ),
    "secret_length": (
        "The value of a secret has {shortest} to {longest} characters.",
        "A shorter one could not be hidden where a job prints it.",
    ),
    "secret_with_nul": (
        "The value of a secret has no NUL: no variable could hold it.",
        "",
    ),
    "secret_with_half_pair": (
        "The value of a secret has half of a surrogate pair.",
        "",
    ),
    "secret_used": (
        "The secret {name} is needed by job {others}.",
        "Change those first, or write another value.",
    ),
    "secret_used_by_many": (
        "The secret {name} is needed by job {others} and others.",
        "Change those first, or write another value.",
    ),
    "secrets_full": (
        "There are {limit} secrets already.",
        "Delete one that is not used.",
    ),
    "secret_made_meanwhile": (
        "The secret {name} was made by somebody else meanwhile.",
        "Try again.",
    ),
}
