from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.errors import Invalid
from orth.settings.values import Address, format_duration, hide_passwords, parse_duration

milliseconds = st.integers(min_value=0, max_value=10**13).map(lambda ms: timedelta(milliseconds=ms))


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("500ms", timedelta(milliseconds=500)),
        ("30s", timedelta(seconds=30)),
        ("5m", timedelta(minutes=5)),
        ("1h30m", timedelta(minutes=90)),
        ("10d", timedelta(days=10)),
        (" 2m5s100ms ", timedelta(seconds=125, milliseconds=100)),
        ("0s", timedelta(0)),
    ],
)
def test_durations_are_numbers_with_units(text: str, span: timedelta) -> None:
    assert parse_duration(text) == span


@pytest.mark.parametrize("text", ["", "30", "s", "-5s", "1.5s", "5 s", "5x", "5sec", "٣s", "1s\n2", "9999999999999d"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_duration(text)
    assert repr(text) in str(refusal.value)


@given(milliseconds)
def test_a_written_duration_reads_back(span: timedelta) -> None:
    assert parse_duration(format_duration(span)) == span


def test_durations_are_written_in_the_largest_units() -> None:
    assert format_duration(timedelta(days=1, minutes=1, milliseconds=7)) == "1d1m7ms"
    assert format_duration(timedelta(0)) == "0s"


@pytest.mark.parametrize(
    ("text", "address", "written"),
    [
        ("127.0.0.1:5080", Address("127.0.0.1", 5080), "127.0.0.1:5080"),
        (" Example.ORG:0 ", Address("example.org", 0), "example.org:0"),
        ("[::1]:65535", Address("::1", 65535), "[::1]:65535"),
        ("[2001:DB8:0:0::1]:80", Address("2001:db8::1", 80), "[2001:db8::1]:80"),
    ],
)
def test_addresses_are_read_and_written(text: str, address: Address, written: str) -> None:
    assert Address.parse(text) == address
    assert str(address) == written


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("127.0.0.1", "names no port"),
        ("[::1]", "names no port"),
        ("", "names no port"),
        (":5080", "names no host"),
        ("::1:5080", "brackets"),
        ("[nonsense]:5080", "no IPv6 address"),
        ("host:65536", "0 to 65535"),
        ("host:-1", "0 to 65535"),
        ("host:", "0 to 65535"),
        ("host:8O8O", "0 to 65535"),
        ("http://host:80", "too many colons"),
        ("a b:80", "no host name"),
    ],
)
def test_a_wrong_address_is_refused_with_the_reason(text: str, says: str) -> None:
    with pytest.raises(Invalid, match=says):
        Address.parse(text)


@given(st.ip_addresses(), st.integers(min_value=0, max_value=65535))
def test_every_ip_address_reads_back(ip: object, port: int) -> None:
    address = Address(str(ip), port)
    assert Address.parse(str(address)) == address


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "localhost", "a.localhost"])
def test_loopback_is_what_only_this_machine_reaches(host: str) -> None:
    assert Address(host, 1).is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "::ffff:10.0.0.7", "example.org", "notlocalhost"])
def test_other_hosts_are_not_loopback(host: str) -> None:
    assert not Address(host, 1).is_loopback


def test_every_interface_is_recognised() -> None:
    assert [Address(host, 1).is_every_interface for host in ("0.0.0.0", "::", "127.0.0.1")] == [True, True, False]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://orth:s3cret@db/orth", "postgresql://orth:********@db/orth"),
        ("redis://:s3cret@cache:6379/0", "redis://:********@cache:6379/0"),
        ("mysql://u:p/w@x@db/orth", "mysql://u:********@db/orth"),
        ("postgresql://db/orth?user=u&password=s3cret&x=1", "postgresql://db/orth?user=u&password=********&x=1"),
        ("postgresql://orth@db:5432/orth", "postgresql://orth@db:5432/orth"),
        ("sqlite:///.orth/orth.db", "sqlite:///.orth/orth.db"),
        ("http://127.0.0.1:5080", "http://127.0.0.1:5080"),
    ],
)
def test_passwords_in_urls_are_hidden(url: str, shown: str) -> None:
    assert hide_passwords(url) == shown
