#!/usr/bin/env bash
# Question: SQLite has a soft heap limit, at which it reuses pages of its cache, and a hard one, at which it refuses. A table of
#   22 MB is read with a cache that may hold all of it. What do the two limits do together?
# Guess: with a soft limit of 1 MiB the peak is below 1.2 MiB, whatever is done with the hard one. (The hard limit alone was seen
#   before it was guessed; its documentation, by which it switches on a soft limit of the same size, promises reuse.)
# What happens: a hard limit alone fails the query with "out of memory" at 4 MiB of clean, unused pages: the refusal comes
#   before the reuse. One byte between the limits is not enough, 4096 are. And switching the hard limit off switches
#   the soft limit off as well: the peak is 22 MB.
#   Of use to: programs that give SQLite a budget: the soft limit has to be below it.
# Versions: apsw 3.54.1.0 (PyPI), which contains SQLite 3.54.1; Python 3.11; x86-64 Linux.
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q apsw==3.54.1.0

cat >"$dir/run.py" <<'END'
import sys
import apsw

MIB = 1 << 20
fill = apsw.Connection(sys.argv[1])
fill.execute("create table t(a, b)")
with fill:
    fill.executemany("insert into t values(?, zeroblob(1000))", ((i,) for i in range(20_000)))
fill.close()


def read(name, *limits):
    apsw.hard_heap_limit(0)
    apsw.soft_heap_limit(0)
    data = apsw.Connection(sys.argv[1])
    data.execute("pragma cache_size = 10000").fetchall()
    data.execute("select count(*) from sqlite_schema").fetchall()
    for limit, value in limits:
        limit(value)
    apsw.memory_high_water(True)
    try:
        data.execute("select sum(length(b)) from t").fetchall()
        print("%s: peak %.1f MiB" % (name, apsw.memory_high_water() / MIB))
    except apsw.NoMemError:
        print(name + ": out of memory")
    data.close()


soft, hard = apsw.soft_heap_limit, apsw.hard_heap_limit
print("SQLite", apsw.sqlite_lib_version())
read("no limit")
read("soft 1 MiB", (soft, MIB))
read("hard 4 MiB", (hard, 4 * MIB))
read("hard 4 MiB, soft 1 byte below", (hard, 4 * MIB), (soft, 4 * MIB - 1))
read("hard 4 MiB, soft 4096 below", (hard, 4 * MIB), (soft, 4 * MIB - 4096))
read("soft 1 MiB, then hard off", (soft, MIB), (hard, 0))
END
seen=$("$dir/venv/bin/python" "$dir/run.py" "$dir/data")

expected='SQLite 3.54.1
no limit: peak 21.0 MiB
soft 1 MiB: peak 1.0 MiB
hard 4 MiB: out of memory
hard 4 MiB, soft 1 byte below: out of memory
hard 4 MiB, soft 4096 below: peak 4.0 MiB
soft 1 MiB, then hard off: peak 21.0 MiB'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
