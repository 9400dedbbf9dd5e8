"""The HTTP side of a coordinator, proven and attacked over real sockets with a real store behind it."""
