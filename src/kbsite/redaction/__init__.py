"""Secrets and traces of persons and machines in bytes: where they are, never what they are.

Pure: no file is opened, nothing is started, nothing is asked. `rules` and `names` say what a secret
looks like, `personal` what tells of a person, `encoded` how else it may be written, `over` what
goes over several lines, `known` how a value that is known is found in all its forms; `scan` looks
at each byte once, in one automaton. `crowded` bounds what looking closely may cost.
"""
