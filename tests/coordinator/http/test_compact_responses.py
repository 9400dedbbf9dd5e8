"""Answers of the API that are compressed, and those that are not sent again to who has them."""

import gzip
import json

import pytest

from orth.coordinator.http.compact_responses import (
    PADDING,
    SMALLEST,
    accepts_gzip,
    compress,
    is_current,
    tag_of,
)
from tests.coordinator.http.live import PASSWORD, Answer, Caller, Site
from tests.coordinator.http.rights_site import RightsSite

JOBS = "/api/v1/jobs"


def with_jobs(site: Site, count: int = 5) -> Caller:
    group = site.group()
    for number in range(count):
        site.job(job_group=group, job_desc=f"Job {number}")
    return site.admin()


def raw(caller: Caller, path: str, **headers: str) -> Answer:
    """As it came over the line: nothing is unpacked."""
    sent = {**caller.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
    got = caller._pool.request("GET", caller.url + path, headers=sent, redirect=False, decode_content=False)
    return Answer(got.status, got.headers, got.data)


class TestCompression:
    def test_a_long_answer_is_compressed_for_who_reads_gzip(self, site: Site) -> None:
        admin = with_jobs(site)
        plain = raw(admin, JOBS)
        packed = raw(admin, JOBS, Accept_Encoding="br, gzip")
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(packed.body) == plain.body
        assert len(packed.body) * 3 < len(plain.body)
        assert int(packed.headers["content-length"]) == len(packed.body)
        assert {"Accept-Encoding", "Authorization", "Cookie"} <= set(packed.headers["vary"].split(", "))

    def test_a_very_long_answer_is_compressed_as_well(self, site: Site) -> None:
        admin = with_jobs(site, 100)
        packed = raw(admin, f"{JOBS}?limit=100", Accept_Encoding="gzip")
        assert gzip.decompress(packed.body) == raw(admin, f"{JOBS}?limit=100").body

    def test_a_single_row_is_compressed(self, site: Site, admin: Caller) -> None:
        """Pages ask for single rows every second."""
        path = f"/api/v1/executions/{site.execution(site.job())}"
        plain, packed = raw(admin, path), raw(admin, path, Accept_Encoding="gzip")
        assert 500 <= len(plain.body) < 1000
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(packed.body) == plain.body

    def test_a_short_answer_is_sent_as_it_is(self, site: Site, admin: Caller) -> None:
        answer = raw(admin, JOBS, Accept_Encoding="gzip")
        assert len(answer.body) < SMALLEST
        assert "content-encoding" not in answer.headers

    @pytest.mark.parametrize("site_of_page", ["cross-site", "same-site"])
    def test_what_another_site_has_a_browser_ask_is_not_compressed(self, site: Site, site_of_page: str) -> None:
        answer = raw(with_jobs(site), JOBS, Accept_Encoding="gzip", Sec_Fetch_Site=site_of_page)
        assert "content-encoding" not in answer.headers

    def test_credentials_are_neither_compressed_nor_tagged(self, site: Site) -> None:
        begun = site.stranger().post("/api/v1/auth/session", {"username": "admin", "password": PASSWORD})
        cookie = begun.headers["set-cookie"].partition(";")[0]
        answer = raw(site.stranger(), "/api/v1/auth/session", Accept_Encoding="gzip", Cookie=cookie)
        assert answer.json["csrf_token"]
        assert answer.headers["cache-control"] == "no-store"
        assert not {"content-encoding", "etag"} & {name.lower() for name in answer.headers}

    def test_executors_are_answered_as_ever(self, site: Site) -> None:
        with_jobs(site)
        executor = site.executor()
        body = {"registryGroup": "EXECUTOR", "registryKey": "demo", "registryValue": "http://10.0.0.1:9999"}
        answer = executor.post("/api/registry", body, Accept_Encoding="gzip")
        assert answer.envelope()
        assert not {"content-encoding", "etag", "vary"} & {name.lower() for name in answer.headers}

    @pytest.mark.parametrize(
        ("accepted", "expected"),
        [
            ("gzip", True),
            ("deflate, GZIP;q=0.5", True),
            ("*", True),
            ("gzip;q=0", False),
            ("gzip;q=0, *", False),
            ("gzip;q=nonsense", False),
            ("br", False),
            ("identity", False),
            ("", False),
        ],
    )
    def test_gzip_is_taken_by_who_says_so(self, accepted: str, expected: bool) -> None:
        assert accepts_gzip(accepted) is expected

    def test_the_length_is_blurred(self, site: Site) -> None:
        content = b"a secret beside what somebody else wrote" * 100
        assert gzip.decompress(compress(content, b"x" * 70)) == content
        assert len(compress(content, b"x" * 70)) == len(compress(content, b"")) + 70
        admin = with_jobs(site)
        lengths = {len(raw(admin, JOBS, Accept_Encoding="gzip").body) for _ in range(20)}
        assert len(lengths) > 1
        assert max(lengths) - min(lengths) <= PADDING


class TestRevalidation:
    def test_what_the_caller_has_is_not_sent_again(self, site: Site) -> None:
        admin = with_jobs(site)
        first = admin.get(JOBS)
        assert first.headers["cache-control"] == "private, no-cache"
        again = raw(admin, JOBS, Accept_Encoding="gzip", If_None_Match=first.headers["etag"])
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        assert again.headers["vary"] == first.headers["vary"]
        assert "content-type" not in again.headers

    def test_what_has_changed_is_sent(self, site: Site) -> None:
        admin = with_jobs(site)
        first = admin.get(JOBS)
        site.job(job_group=site.group("other"), job_desc="One more")
        again = admin.get(JOBS, If_None_Match=first.headers["etag"])
        assert again.status == 200
        assert again.headers["etag"] != first.headers["etag"]
        assert again.json["items"][-1]["job_desc"] == "One more"

    def test_a_compressed_answer_has_the_same_tag(self, site: Site) -> None:
        admin = with_jobs(site)
        assert raw(admin, JOBS).headers["etag"] == raw(admin, JOBS, Accept_Encoding="gzip").headers["etag"]

    def test_the_tag_of_one_user_opens_nothing_for_another(self, rights: RightsSite) -> None:
        everything = rights.site.admin().get(JOBS)
        viewer = rights.callers["viewer"]
        answer = viewer.get(JOBS, If_None_Match=everything.headers["etag"])
        assert answer.status == 200
        assert len(answer.json["items"]) < len(everything.json["items"])
        assert viewer.get(JOBS, If_None_Match=answer.headers["etag"]).status == 304

    def test_nobody_is_told_that_what_he_may_not_see_is_unchanged(self, site: Site, stranger: Caller) -> None:
        admin = with_jobs(site)
        tag = admin.get(JOBS).headers["etag"]
        assert stranger.get(JOBS, If_None_Match=tag).status == 401
        assert stranger.get(JOBS, If_None_Match="*").status == 401

    def test_a_version_is_for_writing_and_keeps_its_form(self, site: Site, admin: Caller) -> None:
        job_id = site.job()
        first = admin.get(f"{JOBS}/{job_id}")
        assert first.headers["etag"] == '"1"'
        assert admin.get(f"{JOBS}/{job_id}", If_None_Match='"1"').status == 200  # its next fire is in it too

    @pytest.mark.parametrize("known", ['W/"a", {}', "{}", "*"])
    def test_tags_are_compared_weakly(self, known: str) -> None:
        tag = tag_of(json.dumps({"items": []}).encode())
        assert is_current(known.format(tag), tag)
        assert is_current(known.format(tag.removeprefix("W/")), tag)
        assert not is_current('W/"another"', tag)
        assert not is_current("", tag)
