"""W7: programs and libraries by other authors, through their own allocator hooks; on each malloc and on Toft.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os

import cargo
import program_rows
from program_rows import EXTRAS, compilers, programs, programs_of, within  # noqa: F401

HERE = os.path.dirname(os.path.abspath(__file__))
TITLE = "programs through their allocator hooks"
GROUP = None
ADAPTER_LINES = 30  # at most, in each program
TIME, PEAK, WON = 1.02, 1.05, 8  # the marks: of the best malloc; in how many programs Toft is ahead

MARKDOWN = [("/usr/share/doc/nodejs/api/*.md", "nodejs-doc")]
XML = [("/usr/share/mime/packages/freedesktop.org.xml", "shared-mime-info"),
       ("/usr/share/xml/iso-codes/iso_639-3.xml", "iso-codes")]
HEADERS = [("/usr/include/sqlite3.h", "libsqlite3-dev")] + [
    ("/usr/include/linux/%s.h" % name, "linux-libc-dev") for name in ("bpf", "ethtool", "kvm", "nl80211", "v4l2-controls")]
SCRIPTS = [("/usr/share/javascript/lunr/lunr.js", "libjs-lunr"), (os.path.join(HERE, "search.js"), "")] + [
    ("/usr/share/common-licenses/" + name, "base-files") for name in ("GPL-3", "MPL-2.0")]
RUBY = [("/usr/lib/ruby/[0-9]*/%s*.rb" % folder, "libruby") for folder in ("", "rdoc/")]
TEMPLATES = [("/usr/lib/ruby/[0-9]*/rdoc/generator/template/*/*.rhtml", "libruby")]
JSON = [("/usr/share/iso-codes/json/iso_*.json", "iso-codes")]

TOFT = {"toft": "toft"}
ENDED = {"toft": "toft", "toft, freed": "freed"}  # the memory ends at once, or each object is freed
ARENA = {"toft, arena": "arena", "toft, freed": "malloc-on-toft"}
PASTED = {"toft, arena": "arena", "toft, pasted": "pasted", "own arena": "own", "own arena, kept": "own-kept"}


# ---- building ----

def made(name, says, ways, files, needs=(), sources=None, language="C", files_of_adapter=(), version=""):
    """What builds a program of this folder. ways: {contender: the adapter's name of it}. sources: (the name below
    bench/rivals, the folder within what cargo fetches)."""
    def of(bench):
        folder = os.path.join(bench.build, "w7", version)
        variables = ["CXX=" + bench.cxx]
        texts = programs.inputs(files)
        if sources:
            fetched, error = cargo.vendor(bench, sources[0])
            if error:
                raise programs.Missing(error)
            variables.append("SOURCES=" + os.path.join(fetched, sources[1]))
        programs.make(HERE, folder, bench.cc, needs, name, variables)

        def command(way):
            return [os.path.join(folder, name), way, "ROUNDS", *texts]

        case = programs.Case(name + version, command("malloc"), {ours: command(way) for ours, way in ways.items()})
        return programs.Program(name + version, says, [case], rounds={False: 4, True: 2}, passes={False: 7, True: 1},
                                language=language, adapter=[os.path.join(HERE, file) for file in files_of_adapter or [name + ".c"]])
    return of


def example(name, **options):
    return lambda bench: program_rows.example(name).program(
        os.path.join(bench.build, "w7", name), bench.cc, **{option: of(bench) for option, of in options.items()})


PROGRAMS = {
    "cmark": made("cmark", "documents in Markdown, rendered as HTML", ARENA, MARKDOWN, [("cmark.h", "libcmark-dev")]),
    "libxml2": made("libxml2", "XML documents, read and written", TOFT, XML, [("/usr/include/libxml2/libxml/parser.h", "libxml2-dev")]),
    "tree_sitter": made("tree_sitter", "headers in C, parsed and visited", ARENA, HEADERS,
                        [("tree_sitter/api.h", "libtree-sitter-dev")], ("tree_sitter_c", "tree-sitter-c/src")),
    "duktape": made("duktape", "a full-text index by lunr.js", ENDED, SCRIPTS, [("duktape.h", "duktape-dev")]),
    "quickjs": made("quickjs", "a full-text index by lunr.js", ENDED, SCRIPTS, [], ("quickjs", "rquickjs-sys/quickjs")),
    "quickjs-0.8": made("quickjs", "a full-text index by lunr.js", ENDED, SCRIPTS, [], ("quickjs", "rquickjs-sys-0.9.0/quickjs"),
                        version="-0.8"),
    "protobuf": made("protobuf", "messages, parsed and serialized", TOFT, JSON,
                     [("/usr/include/google/protobuf/arena.h", "libprotobuf-dev")], None, "C++", ["protobuf.cc"]),
    "prism": made("prism", "files of Ruby, parsed and visited", ARENA, RUBY, [], ("prism", "ruby-prism-sys/vendor/prism-2.1.0"),
                  files_of_adapter=["prism.c", "prism_xallocator.h"]),
    "herb": made("herb", "templates of HTML and Ruby, parsed and visited", PASTED, TEMPLATES, [], ("herb", "herb/vendor"),
                 files_of_adapter=["herb_arena.c"]),
    "sqlite_memory": example("sqlite_memory", quick=lambda bench: bench.quick),
    "lua": example("lua"),
    "php_parser": example("php_parser"),
}


def lines_of_adapter(path):
    """Lines with code between the marks of the adapter."""
    with open(path) as f:
        text = f.read()
    inside = text[text.index("---- adapter:"):text.index("---- end of the adapter")].split("\n")[1:-1]
    return sum(1 for line in inside if line.strip() and not line.strip().startswith(("/*", "//")))


def build(bench):
    bench.w7 = []
    for name, of in PROGRAMS.items():
        try:
            program = of(bench)
        except programs.Missing as missing:
            bench.leave_out(name, str(missing))
            continue
        except programs.Failure as failure:
            bench.stop("W7: %s: %s" % (name, failure))
        if sum(map(lines_of_adapter, program.adapter)) > ADAPTER_LINES:
            bench.stop("W7: %s: the adapter has more than %d lines" % (name, ADAPTER_LINES))
        bench.w7.append(program)


def rows(bench):
    return program_rows.rows("W7", bench.w7, bench)


# ---- marks ----

def all_marks(tables):
    t, = tables
    names = programs_of(t)
    first = [s for s in t.standings() if s.case.endswith(", again") and s.ours == t.kinds(s.case)[0]]
    won = sum(s.share < 1 for s in first)
    yield "ahead of the best malloc in %d programs" % WON, "%d of %d" % (won, len(names)), won >= WON
    for name in names:
        for case, limit in ((name + ", again", TIME), (name + ", peak", PEAK)):
            if case in t.cases:
                yield within(t, case, limit)
    yield from program_rows.served_marks(t)
