from orth.toml_lines import key_lines, line_of

TEXT = '''\
# a comment = with a sign
top = 1

[store]  # the database
url = "sqlite:///x"
  pool_size=8

[coordinator]
note = """
listen = "in a string, no key"
[executor]
"""
listen = "h:1"
cluster.lease = "1s"
roles = [
  "a = b",
  "console",
]

[ "DnsConfiguration" . Ports ]
'Viz' = 1
inline = { a = 1 }
'''


def test_keys_are_found_on_their_lines() -> None:
    lines = key_lines(TEXT)
    assert lines == {
        "top": 2,
        "store": 4,
        "store.url": 5,
        "store.pool_size": 6,
        "coordinator": 8,
        "coordinator.note": 9,
        "coordinator.listen": 13,
        "coordinator.cluster.lease": 14,
        "coordinator.roles": 15,
        "DnsConfiguration.Ports": 20,
        "DnsConfiguration.Ports.Viz": 21,
        "DnsConfiguration.Ports.inline": 22,
    }


def test_a_key_without_a_line_is_found_at_the_table_around_it() -> None:
    lines = key_lines(TEXT)
    assert line_of("DnsConfiguration.Ports.inline.a", lines) == 22
    assert line_of("store.other", lines) == 4
    assert line_of("nowhere.at_all", lines) is None
