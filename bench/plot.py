# SPDX-License-Identifier: MIT
"""The plot: a bar a peer, from parity to our ratio to it, on a log scale, as SVG."""
from html import escape
from math import ceil, floor, log10

LEFT, RIGHT, WIDTH = 170, 250, 900  # of the bars' area: margins, and the whole
TOP, GROUP, BAR, FOOT = 64, 34, 22, 84  # heights
COLOURS = {True: "#2b8a5c", False: "#c0392b", None: "#7f93ad"}
STYLE = """<style>
text { font: 13px 'DejaVu Sans', Arial, sans-serif; fill: #222 }
.title { font-size: 16px; font-weight: bold } .group { font-weight: bold }
.small { font-size: 11px; fill: #555 } .end { text-anchor: end } .middle { text-anchor: middle }
.grid { stroke: #ddd } .parity { stroke: #222; stroke-width: 1.5 } .goal { stroke: #111; stroke-width: 3 }
</style>"""


def number(value):
    """Three digits are as many as a noisy machine gives."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def svg(results):
    """The picture of these results."""
    groups = grouped(results)
    height = TOP + sum(GROUP + BAR * len(of_row) for of_row in groups.values()) + FOOT
    at = scale(results)
    body = [grid(at, height), *bars(groups, at), parity(at, height), *goals(groups, at)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        "<!-- SPDX-License-Identifier: MIT -->", STYLE,
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        text(20, 26, "ccrt against its peers: ours / theirs, log scale", "title"),
        text(20, 46, "left of 1 ccrt is better; medians of programs run in turn", "small"),
        *body, legend(height), "</svg>", ""])


def grouped(results):
    """Results by row and number of workers, in order."""
    groups = {}
    for r in results:
        title = r["row"] if r["workers"] <= 1 else f"{r['row']}, {r['workers']} workers"
        groups.setdefault(title, []).append(r)
    return groups


def scale(results):
    """A function from a ratio to its x; .low and .high are the powers of ten at the ends."""
    shown = [r["ratio"] for r in results] + [r["goal"] for r in results if r["goal"]] + [1]
    low, high = floor(log10(min(shown))), max(ceil(log10(max(shown))), 1)

    def at(ratio):
        return LEFT + (WIDTH - LEFT - RIGHT) * (log10(ratio) - low) / (high - low)
    at.low, at.high = low, high
    return at


def text(x, y, words, kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(words)}</text>'


def line(x, top, bottom, kind):
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" class="{kind}"/>'


def grid(at, height):
    """A line at each power of ten and at 2 and 5 times it, with figures as far as there is room."""
    parts, labelled = [], (1, 2, 5) if at.high - at.low < 3 else (1,)
    for power in range(at.low, at.high + 1):
        for step in (1, 2, 5):
            ratio = step * 10.0**power
            if ratio <= 10.0**at.high:
                parts.append(line(at(ratio), TOP, height - FOOT, "grid"))
                if step in labelled:
                    parts.append(text(at(ratio), height - FOOT + 16, f"{ratio:g}", "small middle"))
    return "\n".join(parts)


def places(groups):
    """(title or None, result or None, y) of every line of the plot, from the top."""
    y = TOP
    for title, of_row in groups.items():
        yield title, None, y + GROUP - 10
        y += GROUP
        for r in of_row:
            yield None, r, y
            y += BAR


def bars(groups, at):
    for title, r, y in places(groups):
        if r is None:
            yield text(20, y, title, "group")
        else:
            yield bar(r, y, at)


def bar(r, y, at):
    """One peer: its name, the bar, and the figures at the right."""
    x0, x1 = sorted((at(1), at(r["ratio"])))
    name = r["peer"] if r["measured"] else f"{r['peer']} (constant)"
    figures = f"{r['ratio']:.3g}   ({number(r['ours'])} / {number(r['theirs'])} {r['unit']})"
    return "\n".join([
        text(LEFT - 12, y + 15, name, "end"),
        f'<rect x="{x0:.1f}" y="{y + 3}" width="{max(x1 - x0, 1):.1f}" height="{BAR - 6}" fill="{COLOURS[r["met"]]}"/>',
        text(WIDTH - RIGHT + 20, y + 15, figures)])


def goals(groups, at):
    for _, r, y in places(groups):
        if r is not None and r["goal"]:
            yield line(at(r["goal"]), y, y + BAR, "goal")


def parity(at, height):
    return line(at(1), TOP, height - FOOT, "parity")


def legend(height):
    """What the colours and marks mean."""
    y, parts = height - 22, []
    for x, met, words in ((20, True, "goal met"), (130, False, "goal missed"), (260, None, "no goal: for comparison")):
        parts += [f'<rect x="{x}" y="{y - 11}" width="14" height="14" fill="{COLOURS[met]}"/>', text(x + 22, y, words)]
    parts += [line(470, y - 13, y + 5, "goal"), text(480, y, "goal: the bar must end left of it")]
    parts += [line(735, y - 13, y + 5, "parity"), text(745, y, "1: ours = theirs")]
    return "\n".join(parts)
