# SPDX-License-Identifier: MIT OR Apache-2.0
"""Derives the vectors that hold under every placement policy.

A theme's operations are played on policy 1 and on the policies below. A vector whose answers agree, addresses aside, is a
vector of the rules, and keeps the answers that agree: whether there is an address, the codes, the cleanups, and `live`
where it is the same under all of them.
"""
import contextlib

import arena
import script
import themes

OTHERS = [
    # one block that serves everything; nothing is served outside a claimed range
    {"INITIAL": 1 << 32, "STATE": 1088, "NODE": 48, "OUTSIDE": False},
    # small blocks; most allocations have a dedicated one
    {"INITIAL": 8192, "STATE": 640, "CAP": 8192, "NODE": 40, "SHRINKS": False},
    # a small initial block; a reset does not merge
    {"INITIAL": 4096, "STATE": 3840, "CAP": 4096, "NODE": 56, "MERGE": 0},
    # large blocks
    {"INITIAL": 1 << 18, "STATE": 128, "CAP": 1 << 24, "NODE": 16},
    # a block for each request: a dedicated one; or a regular one, which has the cursor
    {"INITIAL": 4096, "STATE": 4096, "CAP": 4},
    {"INITIAL": 4096, "STATE": 4096, "CAP": 1 << 40, "EXACT": True},
]
# growth, resets, sources and large are about policy 1 alone
THEMES = ["alignment", "sizes", "marks", "resizes", "budgets", "claims", "cleanups", "rounds"]
ABOUT_POLICY_1 = ("align: staggered", "mark: index numbers", "mark: the epoch ", "size: what ", "spares:")
NEEDS = {"resize": "resize", "free": "free", "budget": "budget", "cleanup": "cleanup", "cancel": "cleanup"}
NEEDS.update((op, "claim") for op in ("claim", "claim_past", "fill", "copy", "give", "give_past", "release_early"))


@contextlib.contextmanager
def policy(constants):
    before = {name: getattr(arena, name) for name in constants}
    for name, value in constants.items():
        setattr(arena, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(arena, name, value)


def answers(op):
    """What must agree: everything but addresses, blocks, the source's sizes and `live`."""
    placed = ("at", "last", "from", "to", "stays", "blocks", "live", "took", "gave", "ops")
    kept = {k: v for k, v in op.items() if k not in placed}
    for k in ("at", "last"):
        if k in op:
            kept[k] = op[k] is not None or None
    return kept


def agreed(ops):
    """One op from those of all policies; None: they differ."""
    first = answers(ops[0])
    if any(answers(op) != first for op in ops):
        return None
    if "ops" in ops[0]:
        first["ops"] = merged([op["ops"] for op in ops])
        return first if first["ops"] is not None else None
    if first["op"] == "resize" and first["at"] and all(op["stays"] for op in ops) and first["n"] <= first["old"]:
        first["at"] = "stays"
    if len({op["live"] for op in ops}) == 1:
        first["live"] = ops[0]["live"]
    return first


def merged(lists):
    if len({len(ops) for ops in lists}) != 1:
        return None
    ops = [agreed(list(same)) for same in zip(*lists)]
    if None in ops or any(depends_on_epochs(op) and op["code"] == arena.OK for op in ops):
        return None
    return [op for op in ops if not depends_on_epochs(op)]


def depends_on_epochs(op):
    """The epoch may grow at any time (M11), so which other epochs are refused depends on the provider."""
    return op["op"] == "rewind_raw" and op.get("epoch_plus", 0) % 2 == 0 and op.get("epoch_plus", 0) != 0


def flat(ops):
    for op in ops:
        yield from flat(op["ops"]) if "ops" in op else [op]


def vector(versions, peak):
    head = versions[0]
    options, name = head["options"], head["name"]
    if name.startswith(ABOUT_POLICY_1) or not head["created"] or options["reserve"] or head["fail_at"]:
        return None
    ops = merged([v["ops"] for v in versions])
    if ops is None or len({tuple(v["end"]["ran"]) for v in versions}) != 1:
        return None
    needs = {NEEDS[op["op"]] for op in flat(ops) if op["op"] in NEEDS}
    if options["budget"] != "none":
        needs.add("budget")
    if "budget" in needs and any(script.number(op.get("align", 8)) > 64 for op in flat(ops)):
        return None         # the padding that the budget must allow depends on the place
    return {"name": name, "policy": None, "word": "any", "options": {"budget": options["budget"], "reserve": 0},
            "fail_at": [], "created": True, "needs": sorted(needs), "memory": arena.up(peak, 4096), "ops": ops,
            "end": {"ran": head["end"]["ran"]}}


def derive(policy1):
    """{theme: (about, vectors)}; policy1: {theme: (about, [vector as written])}."""
    others = []
    for constants in OTHERS:
        with policy(constants):
            others.append(themes.all(THEMES, script.Rules))
            for _, vectors in others[-1].values():
                vectors[:] = [(v, v.end()) for v in vectors]
    out = {}
    for theme in THEMES:
        about, found = policy1[theme][0], []
        for i, v in enumerate(policy1[theme][1]):
            same = [o[theme][1][i] for o in others if not o[theme][1][i][0].ended]
            if not any(player.failed for player, _ in same):
                made = vector([v] + [done for _, done in same], max(player.peak for player, _ in same))
                if made:
                    found.append(made)
        out[theme] = about, found
    return out
