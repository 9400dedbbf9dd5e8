"""Round trips, limits, older and newer peers, and peers that misbehave on real sockets."""
