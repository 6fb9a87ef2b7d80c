# SPDX-License-Identifier: MIT OR Apache-2.0
"""A theme: the cases of one file of vectors."""

KIB, MIB = 1 << 10, 1 << 20
USABLE = 3584             # bytes of the initial block that can be handed out


class Theme:
    """Cases in order: each a vector's name and options, and the function that plays its operations."""

    def __init__(self, about, **options):
        self.about, self.options, self.cases = about, options, []

    def case(self, name, **options):
        """Decorates the function of one case, whose argument is the vector."""
        def add(play):
            self.add(name, play, **options)
            return play
        return add

    def add(self, name, play, *arguments, **options):
        """One case of a family: the function has further arguments."""
        self.cases.append((name, play, arguments, {**self.options, **options}))

    def vectors(self, kind):
        """Each case, played on a vector of class `kind`, which still lacks its end."""
        made = []
        for name, play, arguments, options in self.cases:
            made.append(kind(name, **options))
            play(made[-1], *arguments)
        return made
