"""About who somebody is and what they may: signing in, sessions, tokens, users."""

from collections.abc import Mapping

SAYINGS: Mapping[str, tuple[str, str]] = {
    "needs_permission": (
        "{name} may not do this: it needs the permission '{permission}'.",
        "Ask an administrator for a role that has it.",
    ),
    "needs_permission_everywhere": (
        "{name} may not do this: it needs the permission '{permission}' everywhere, not only in some groups.",
        "Ask an administrator for a role that holds in all groups.",
    ),
    "too_many_tries": (
        "Too many tries to sign in.",
        "Try again in {seconds} s.",
    ),
    "wrong_password": (
        "The user name or the password is wrong.",
        "",
    ),
    "user_exists": (
        "There is a user '{name}' already.",
        "Change that one, or choose another name.",
    ),
    "last_administrator": (
        "{name} is the last administrator.",
        "Let somebody else be one first, then change this one.",
    ),
    "needs_sign_in": (
        "This needs a signed-in caller.",
        "Sign in with POST /api/v1/auth/login and send Authorization: Bearer …",
    ),
    "session_expired": (
        "The session has expired.",
        "Sign in again, or use the refresh token.",
    ),
    "session_ended": (
        "The session has ended.",
        "Sign in again.",
    ),
    "token_not_valid": (
        "The token is not valid.",
        "Sign in with POST /api/v1/auth/login.",
    ),
    "metrics_token_wrong": (
        "The token is wrong.",
        "Send security.access_token, or an API token that may see all groups, as Authorization: Bearer …",
    ),
    "token_in_address": (
        "A token in an address ends up in logs, and is not accepted.",
        "Send Authorization: Bearer …",
    ),
    "api_token_not_valid": (
        "The API token is not valid.",
        "It may have expired, or was revoked or replaced, or its owner is no longer let in.",
    ),
    "csrf_missing": (
        "A change needs the CSRF token of the session in {header}.",
        "GET /api/v1/auth/session tells it.",
    ),
    "other_origin": (
        "This page may not do that here: it is of another origin.",
        "Add its origin to console.origins.",
    ),
    "unknown_host": (
        "This coordinator is not known by that name.",
        "Add the name to security.allowed_hosts, or set console.base_url.",
    ),
    "too_many_sign_ins": (
        "Too many sign-ins at the same time.",
        "Try again in a moment. One-time links and single sign-on still work.",
    ),
    "too_often": (
        "Too many requests.",
        "Come back in {seconds} s.",
    ),
    "link_not_good": (
        "The link is not good, or no longer.",
        "Make a new one: orth login --link.",
    ),
    "people_only": (
        "This is for people who are signed in.",
        "An API token has no session.",
    ),
    "preferences_too_many": (
        "What one person chooses for the console has room in {limit} KiB.",
        "Remove some saved views.",
    ),
    "old_password_wrong": (
        "The old password is wrong.",
        "Nothing was changed.",
    ),
    "password_changed_meanwhile": (
        "The password was changed meanwhile.",
        "Sign in again.",
    ),
    "password_too_short": (
        "A password has {limit} characters or more.",
        "",
    ),
    "password_guessable": (
        "This password is one of the first that anybody tries.",
        "Take some words that do not belong together, or leave it out and one is made.",
    ),
    "grant_without_group": (
        "There is no group {group}.",
        "",
    ),
    "grant_twice": (
        "This may name a group once.",
        "",
    ),
    "services_or_administrators": (
        "Only services themselves and administrators may say who is there.",
        "Sign in as an administrator, or show the cluster's access token.",
    ),
    "token_lasts_too_long": (
        "An API token is good for at most {longest}.",
        "Set security.token_longest for longer ones.",
    ),
    "token_exceeds": (
        "The token would be allowed '{permission}' in every group, and {name} is not.",
        "",
    ),
    "token_exceeds_in_group": (
        "The token would be allowed '{permission}' in group {group}, and {name} is not.",
        "",
    ),
    "token_of_another": (
        "The token is {owner}'s, and {name} acts for {own}.",
        "",
    ),
    "needs_person": (
        "{name} is a program, and only people let others in or give them rights and passwords.",
        "Sign in to do it: a token is revoked, and what it gave would stay.",
    ),
    "token_outlives": (
        "The token would be good for longer than {name} is.",
        "Sign in, or ask for fewer days.",
    ),
    "token_over": (
        "Token {token} is over.",
        "Make a new one.",
    ),
    "executor_key_revoked": (
        "Executor {executor} was revoked.",
        "To enroll it as a new executor, remove the file executor-key from its data directory and restart it.",
    ),
    "join_token_used": (
        "This join token was used already.",
        "Create a new one: orth token create NAME --executor APP --once",
    ),
    "tokens_full": (
        "There are {limit:,} tokens already.",
        "Programs of one kind can share one.",
    ),
    "executor_token_parts": (
        "An executor token has app_names, and neither role nor group_roles.",
        "",
    ),
    "api_token_parts": (
        "An API token has a role or group_roles, and neither app_names nor networks.",
        "",
    ),
    "not_a_network": (
        "{text} is not a network.",
        "Write it as 10.20.0.0/16 or 2001:db8::/32, without bits beyond the prefix.",
    ),
    "token_not_from_here": (
        "The token '{name}' is not accepted from {address}.",
        "Start the executor in a network of the token, or create a token with other networks "
        "(orth token create --executor APP --from NETWORK).",
    ),
    "no_oidc_here": (
        "There is no way to sign in called oidc.",
        "",
    ),
    "sign_in_not_begun": (
        "This is not the sign-in that was begun in this browser.",
        "Begin again.",
    ),
    "issuer_refused": (
        "Nobody was signed in: the issuer refused it.",
        "Begin again.",
    ),
    "issuer_gave_no_code": (
        "Nobody was signed in: the issuer gave no code.",
        "Begin again.",
    ),
    "issuer_other_name": (
        "The issuer calls itself by another name than security.oidc_issuer.",
        "",
    ),
    "issuer_gave_no_token": (
        "The issuer gave no ID token for the code.",
        "",
    ),
    "issuer_silent": (
        "The issuer does not answer: {said}.",
        "",
    ),
    "issuer_status": (
        "The issuer answered with status {status}, or with too much.",
        "",
    ),
    "issuer_not_json": (
        "The issuer answered with something else than JSON.",
        "",
    ),
    "issuer_without_door": (
        "The issuer names no usable {name}.",
        "",
    ),
    "issuer_no_user_name": (
        "The issuer tells no user name that can be used here.",
        "See security.oidc_username_claim.",
    ),
    "issuer_not_believed": (
        "What the issuer sent cannot be believed.",
        "Sign in again.",
    ),
    "nobody_here": (
        "The issuer knows you, but here you are nobody.",
        "Ask an administrator to make a user for you.",
    ),
    "issuer_trouble": (
        "The issuer does not answer, or not as it should.",
        "The log of the coordinator has the rest.",
    ),
}
