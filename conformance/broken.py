"""Wrong builds; with each one the pairs must fail: providers under a false name, and a client whose copy of toft_abi.h has
two members swapped.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import concurrent.futures
import itertools
import os
import re
import resource
import shutil

import build
import pairs

HEADER = build.ROOT / "abi/toft_abi.h"
STRUCTS = ["toft_arena", "toft_mark", "toft_range", "toft_cleanup", "toft_stats", "toft_arena_ops"]


def members(text, struct):
    """The positions of a struct's members, and each as a declaration of its own."""
    found = re.search(r"struct %s \{(.*?)\n\}" % struct, text, re.S)
    declarations = []
    for part in re.sub(r"/\*.*?\*/", "", found[1], flags=re.S).split(";")[:-1]:
        part = " ".join(part.split())
        listed = re.fullmatch(r"(unsigned char|uint64_t) ([^()]*,[^()]*)", part)
        declarations += ["%s %s" % (listed[1], name) for name in listed[2].split(", ")] if listed else [part]
    return found.span(1), declarations


def swapped(text, struct, i, j):
    (start, end), declarations = members(text, struct)
    declarations[i], declarations[j] = declarations[j], declarations[i]
    return text[:start] + "".join("\n  %s;" % d for d in declarations) + text[end:]


def without_asserts(text):
    return text.replace("[(cond) ? 1 : -1]", "[1]")


def name_of(declaration):
    return re.search(r"\(\*(\w+)\)|(\w+)$", declaration).group(1) or re.search(r"(\w+)$", declaration)[1]


def swaps(text, every):
    """Each two members of a short struct, as the head; adjacent ones of a long struct, unless all are wanted."""
    for struct in STRUCTS:
        count = len(members(text, struct)[1])
        for i, j in itertools.combinations(range(count), 2):
            if every or count <= 4 or j == i + 1:
                yield struct, i, j


def with_header(made, folder, text):
    """The client in C, compiled against this toft_abi.h. None: it did not compile; and the compiler's output."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "toft_abi.h").write_text(text)
    try:
        return made.client_c(os.path.join("broken", folder.name), ["-I", folder]), ""
    except build.Failed as why:
        return None, str(why)


def limited():
    """A wrong program may want all memory there is."""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def play_client(made, client):
    argv = [made.folder / "driver", *pairs.loads(made, "Rust", ["Rust"]), "--client", client, "--row", "C", "--ways", "0"]
    return pairs.play(argv, seconds=30, before=limited)


class Report:
    def __init__(self):
        self.good = self.bad = 0

    def case(self, what, good, how):
        self.good += bool(good)
        self.bad += not good
        print("%s%s: %s" % ("" if good else "FAILED ", what, how), flush=True)


def wrong_providers(made, report):
    others = pairs.misnamed(made, {"Rust": "provider_c", "C": "provider_rust"})
    report.case("providers under each other's names", len(others) == 2, "detected by their compilers")
    for what, flag, seen in (("is another object's", "-DOBJECT", "table: M20: alloc is in"),
                             ("serves one thread only", "-DONE_THREAD", "handed: 7: ")):
        made.c("wrong_provider", ["wrong_provider.c"], *build.INCLUDE, flag, '-DOTHER="%s"' % made.path("provider_c"))
        argv = [made.folder / "driver", "--provider", made.path("wrong_provider"), "--client", made.path("client_c"),
                "--row", "C", "--ways", "0"]
        found = [line for line in pairs.play(argv).failures if seen in line]
        report.case("a provider whose slow path " + what, found, found[0] if found else "not detected")


def one_swap(made, text, struct, i, j):
    _, declarations = members(text, struct)
    what = "%s and %s of %s swapped" % (name_of(declarations[i]), name_of(declarations[j]), struct)
    folder = made.folder / "broken" / ("%s-%d-%d" % (struct, i, j))
    wrong = swapped(text, struct, i, j)
    how = []
    if struct == "toft_arena":
        client, said = with_header(made, folder, wrong)
        asserted = re.search(r"toft_assert_\w+", said)
        if client is not None or not asserted:
            return what, False, "it compiles: no static assert sees it"
        how.append("does not compile (%s)" % asserted[0])
    client, said = with_header(made, folder, without_asserts(wrong))
    if client is None:
        return what, False, "without the asserts it does not compile either:\n" + said
    failures = play_client(made, client).failures
    shutil.rmtree(folder)
    client.unlink()
    if not failures:
        return what, False, "not detected"
    how.append(re.sub(r"^FAILED ", "", failures[0]))
    return what, True, "; and without asserts ".join(how)


def play(made, every):
    """Returns how many wrong builds were not detected."""
    report = Report()
    (made.folder / "broken").mkdir(exist_ok=True)
    wrong_providers(made, report)
    text = HEADER.read_text()
    client, said = with_header(made, made.folder / "broken" / "as_it_is", without_asserts(text))
    failures = play_client(made, client).failures if client is not None else [said]
    report.case("the header as it is, without its asserts", not failures, failures[0] if failures else "works")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(one_swap, made, text, *swap) for swap in swaps(text, every)]
        for job in jobs:
            report.case(*job.result())
    print("%d passed, %d failed" % (report.good, report.bad))
    return report.bad
