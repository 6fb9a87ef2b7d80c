"""The report's plots, as SVG for a page.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import io
import math
import re

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # noqa: E402

# Distinguishable without colour: by position and shape.
KINDS = {"ahead": ("#0072b2", "o"), "level": ("#767676", "s"), "LOST": ("#c44e00", "D")}
LINE = 0.19  # inches for each row
matplotlib.rcParams.update({
    "font.size": 9, "font.family": "sans-serif", "svg.fonttype": "none",  # letters stay letters
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
})


def svg(figure, name, label):
    """The figure; its identifiers begin with the plot's name, so that they are unique in a page."""
    matplotlib.rcParams["svg.hashsalt"] = name
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
    text = out.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'(\bid="|href="#|url\(#)', lambda m: m[0] + name + "-", text)
    return text.replace("<svg", '<svg class="plot" role="img" aria-label="%s"' % label, 1)


def times(value, _=None):
    """As a factor: 1/4, 2."""
    return "1" if value == 1 else "%g" % value if value > 1 else "1/%g" % round(1 / value, 2)


def scale(axis, values):
    low, high = min(values + [0.5]), max(values + [2])
    ticks = [2.0 ** k for k in range(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1)]
    axis.set_major_locator(FixedLocator(ticks[::2] if len(ticks) > 9 and 1.0 in ticks[::2] else
                                        ticks[1::2] if len(ticks) > 9 else ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(times))


def standings(name, title, all_):
    """A line for each case, a point for each kind of Toft: its time relative to the fastest rival's."""
    cases = list(dict.fromkeys(s.case for s in all_))
    figure, axes = pyplot.subplots(figsize=(7.5, 0.9 + LINE * len(cases)))
    place = {case: i for i, case in enumerate(cases)}
    axes.set_xscale("log", base=2)
    for kind, (color, marker) in KINDS.items():
        for plain in (True, False):
            some = [s for s in all_ if s.verdict == kind and (s.ours == "toft") == plain]
            if some:
                axes.scatter([s.share for s in some], [place[s.case] for s in some], s=26 if plain else 16,
                             marker=marker, edgecolors=color, facecolors=color if plain else "white", linewidths=1.1,
                             zorder=3 if plain else 2, gid="points-%s%s" % (kind.lower(), "" if plain else "-other"))
    axes.axvline(1, color="#333333", linewidth=0.9, zorder=1)
    axes.set_yticks(range(len(cases)), cases)
    axes.set_ylim(len(cases) - 0.4, -0.6)
    axes.grid(axis="both", color="#e4e4e4", linewidth=0.6)
    axes.tick_params(length=0)
    scale(axes.xaxis, [s.share for s in all_])
    axes.set_xlabel("\u2190 faster\u2003time / the fastest rival's\u2003slower \u2192")
    return svg(figure, name, title)
