"""People sign in: by password, by a one-time link, or through an OpenID Connect issuer; and go on being signed in.

A sign-in is a *session*, a row in the store. What its holder has is one of two:

* **tokens**: an access token (an hour), which names the session, and a refresh token (a week), which each use replaces.
  The session keeps only a digest of the refresh token that is good now. One that was replaced and comes again was
  copied, and nobody can tell by whom: the session ends, for all who hold a part of it. For ten seconds the token
  replaced last is forgiven, because two windows may refresh at the same moment: it then gives what its first use gave,
  the same successor, and never a second line of tokens. The store cannot give that successor by itself: it is kept
  masked with the token before it.
* **a browser's cookie**: an opaque secret, sent by the browser by itself. So a change also needs what pages of other
  sites cannot have: the CSRF token in a header.

Whether a session is good is asked of the store at every use: ended, idle for too long, too old, its user gone, disabled
or with another password are all the same to the caller. Sockets and streams hang on their session (``held``).

Whoever tries passwords is slowed down (``throttling``), by tallies that all nodes share.
"""
