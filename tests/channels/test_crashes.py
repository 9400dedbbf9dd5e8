"""A consumer that is killed: what it had is nobody's until somebody knows, and then goes to the others."""

import asyncio
import sys

import pytest

from tests.channels.conftest import ON_DATABASES, Site

Q = "orchestrix.job.handoff"


@pytest.mark.parametrize("backend", [*ON_DATABASES, "redis"], indirect=True)
async def test_what_a_killed_process_had_is_not_lost(site: Site) -> None:
    channels = site.node()
    await channels.send(Q, [{"n": number} for number in range(10)])
    arguments = (site.url, site.store_url, Q, "victim", "4")
    victim = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.channels.consumer_process", *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert victim.stdout is not None
    async with asyncio.timeout(60):
        assert await victim.stdout.readline() == b"10\n"
    victim.kill()
    await victim.wait()
    assert await channels.take([Q], "survivor", limit=100, wait=0.5) == {}
    assert await channels.consumers(Q) == {"victim": 6}
    assert await channels.give_back(Q, "victim") == 6
    taken = (await channels.take([Q], "survivor", limit=100, wait=5.0))[Q]
    assert [(one.message["n"], one.deliveries) for one in taken] == [(number, 2) for number in range(4, 10)]
