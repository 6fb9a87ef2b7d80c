"""Traces of real programs, replayed: each malloc, and toft_malloc. Programs that are not installed are omitted.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import json
import os
import shutil
import statistics
import subprocess
import sys

import mallocs

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = """
import ast, json
text = open(ast.__file__).read()
for _ in range(6): dump = ast.dump(ast.parse(text))
rows = json.loads(json.dumps([{"a": i, "b": str(i) * 3} for i in range(60000)]))
"""
PERL = """my %h; for my $i (1..200000) { $h{"k".($i*7919%50021)} .= "v$i,"; delete $h{"k".($i%50021)} if $i%3 == 0; }
my @s = sort {$a cmp $b} keys %h; my @t = map {[split /,/, $h{$_}]} @s;"""
SQL = """create table t(a integer primary key, b text, c);
with recursive n(i) as (select 1 union all select i+1 from n where i < 40000)
  insert into t select i, printf('row %d %d', i, i * 7919 % 10007), i * 31 % 1009 from n;
create index x on t(b); select substr(b, 1, 6), count(*) from t group by 1 order by 2, 1 limit 3;
delete from t where a % 3 = 0; update t set b = b || 'x' where a % 5 = 0; select count(*), max(b) from t;"""
JQ = "[range(60000) | {id: ., name: \"n\\(. % 977)\", tags: [\"a\", \"\\(. % 7)\"]}] | group_by(.name) | map(length) | add"
XML = "<r>" + "".join('<p id="%d"><n>name %d</n><v a="%d">text</v></p>' % (i, i % 977, i) for i in range(60000)) + "</r>"


def programs(bench):
    """(name, process to record, command, input)"""
    source = [os.path.join(bench.root, "c", "src", "toft.c"), "-I" + os.path.join(bench.root, "c", "include"), "-w",
              "-O1", "-c", "-o", os.devnull]
    clang = next((c for c in ["clang"] + ["clang-%d" % v for v in range(22, 13, -1)] if shutil.which(c)), "clang")
    return [("clang", clang, [clang] + source, ""),
            ("gcc", "cc1", ["gcc"] + source, ""),
            ("python", os.path.basename(sys.executable)[:15], [sys.executable, "-c", PYTHON], ""),
            ("perl", "perl", ["perl", "-e", PERL], ""),
            ("sqlite3", "sqlite3", ["sqlite3", ":memory:"], SQL),
            ("jq", "jq", ["jq", "-n", JQ], ""),
            ("xmllint", "xmllint", ["xmllint", "--noout", "-"], XML),
            ("git", "git", ["git", "-C", bench.root, "--no-pager", "log", "-p", "-n", "150"], "")]


def build(bench, folder):
    """Compiles the recorder and the replay, and records."""
    os.makedirs(folder, exist_ok=True)
    for out, flags, sources in (
            ("recorder.so", ["-shared", "-fPIC"], ["trace_recorder.c"]),
            ("replay", ["-I" + os.path.join(bench.root, "c", "include")],
             ["trace_replay.c", os.path.join(bench.root, "c", "src", "toft.c")])):
        done = subprocess.run(bench.cc.split() + ["-O2", "-w"] + flags + ["-o", os.path.join(folder, out)] +
                              [os.path.join(HERE, s) for s in sources] + ["-pthread", "-ldl", "-lm"])
        if done.returncode != 0:
            bench.stop("the traces' %s cannot be built" % out)
    for name, process, command, text in programs(bench):
        if not shutil.which(command[0]):
            bench.leave_out("trace of " + name, command[0] + " is not installed")
            continue
        env = dict(os.environ, LD_PRELOAD=os.path.join(folder, "recorder.so"), TRACE_OF=process,
                   TRACE_TO=os.path.join(folder, name + ".trace"), PYTHONMALLOC="malloc")
        done = subprocess.run(command, input=text, text=True, stdout=subprocess.DEVNULL, env=env)
        if done.returncode != 0 or not os.path.exists(env["TRACE_TO"]):
            bench.stop("%s could not be recorded" % name)


def rows(bench, folder):
    replay = os.path.join(folder, "replay")
    contenders = [("toft_malloc", "toft", None)] + [(m, "malloc", path) for m, (path, _) in bench.mallocs.items()]
    found = []
    for name, *_ in programs(bench):
        trace = os.path.join(folder, name + ".trace")
        if not os.path.exists(trace):
            continue
        print("bench: W5, trace of %s" % name, file=sys.stderr)
        taken = {c: [] for c, *_ in contenders}
        for turn in range(3 if bench.quick else 9):
            for i in range(len(contenders)):
                c, how, path = contenders[(i + turn) % len(contenders)]
                done = subprocess.run([replay, trace, how], stdout=subprocess.PIPE, text=True,
                                      env=mallocs.environment(path))
                if done.returncode != 0:
                    bench.stop("the replay of %s failed on %s" % (name, c))
                taken[c].append(json.loads(done.stdout))
        for c, all_ in taken.items():
            n = all_[0]["steps"]
            times = [r["ns"] / n for r in all_]
            found.append({"workload": "W5", "case": "trace of " + name, "contender": c, "language": "C",
                          "build": "traces", "unit": "ns", "median": statistics.median(times), "min": min(times),
                          "max": max(times), "rounds": len(times), "n": n, "verified": True,
                          "live_bytes": all_[0]["live_bytes"],
                          "peak_bytes": statistics.median(r["peak_bytes"] for r in all_)})
    return found
