"""A site served on this machine, to look at it while it grows. Only this package opens a socket.

`paths` says which file an address means, `answers` sends it, `live` keeps open pages up to date,
`watching` notices changes, `builder` is the process that builds, `served` puts them together.
"""
