#!/usr/bin/env python3
"""Tests of the report, made of the newest line of each workload in history.jsonl, in a browser.

    bench/test_report.py [FOLDER]     where the page is left

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import html
import html.parser
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import table  # noqa: E402

LANGUAGES = {"W1": "C", "W2": "Rust", "W3": "Go", "W5": "C++", "W6": "C", "W7": "C"}
STALE = "W3"  # gets another commit than the one that is checked out
ABSENT = "W5"  # not measured
QUICK = "W1"  # measured with QUICK=1
COMMIT = "0123456789ab"


def newest():
    with open(os.path.join(HERE, "history.jsonl")) as f:
        return {line["workload"]: line for line in map(json.loads, f)}


def rows_of(name, line):
    for case, medians in line["medians"].items():
        language, case = case.split(": ", 1) if name == "W4" else (LANGUAGES[name], case)
        for contender, median in medians.items():
            yield {"workload": name, "case": case, "contender": contender, "language": language, "unit": "ns",
                   "median": median, "min": median, "max": 2 * median, "p10": median, "p90": median, "rounds": 9, "n": 1,
                   "verified": True, "aside": False, "malloc": "glibc", "build": line.get("build", ""), "procs": 1}


def verdicts(name, line):
    """Counts of rows ahead, level and behind, computed from the recorded lines only."""
    found = {"ahead": 0, "level": 0, "lost": 0}
    for medians in line["medians"].values():
        rivals = [v for c, v in medians.items() if not c.startswith(("toft", "floor"))]
        for c, value in medians.items():
            if rivals and c.startswith("toft"):
                share = value / min(rivals)
                found["lost" if share > 1.03 else "level" if share > 0.97 else "ahead"] += 1
    return found


class Page(html.parser.HTMLParser):
    """The examined parts of a page."""

    def __init__(self, text):
        super().__init__()
        self.plots, self.addresses, self.tables, self.ids = [], [], {}, []
        self.points, self.at, self.row, self.table, self.summary = {}, None, None, None, {}
        self.depth = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.addresses += [value for key, value in attributes if key in ("src", "href", "xlink:href", "action", "data")]
        self.ids += [of["id"]] if "id" in of else []
        if tag == "svg":
            self.plots.append(of.get("aria-label"))
        if tag == "g":
            self.depth.append(of.get("id", ""))
        if tag == "use":
            group = next((g for g in reversed(self.depth) if "points-" in g), None)
            if group:
                self.points[group] = self.points.get(group, 0) + 1
        if tag == "table":
            self.table = of.get("id") or (of.get("class") or "").split(" ")[0]
        if tag == "tr":
            self.row = []
            self.tables.setdefault(self.table, []).append((of.get("class", ""), self.row))
        if tag in ("td", "th") and self.row is not None:
            self.row.append("")

    def handle_endtag(self, tag):
        if tag == "g":
            self.depth.pop()
        if tag == "table":
            self.table = self.row = None

    def handle_data(self, data):
        if self.row:
            self.row[-1] += data.rstrip("\n")


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.out = FOLDER or tempfile.mkdtemp()
        cls.history = newest()
        head = subprocess.run(["git", "-C", HERE, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
        changed = subprocess.run(["git", "-C", HERE, "status", "--porcelain", "--untracked-files=no", "--", ":/",
                         ":!/bench/history.jsonl"],
                                 capture_output=True, text=True)
        here = head.stdout.strip() + ("-changed" if changed.stdout.strip() else "")
        for name, line in cls.history.items():
            if name == ABSENT:
                continue
            header = {"workload": name, "commit": COMMIT if name == STALE else here, "date": "2001-02-03T04:05Z",
                      "machine": "a machine <of> iron & co", "os": "an os", "compilers": {"cc": "a compiler"},
                      "mallocs": {"glibc": "2.36"}, "command": "make bench WORKLOAD=" + name + (" QUICK=1" if name == QUICK else ""),
                      "left_out": {"a rival": "it was not there"}}
            with open(os.path.join(cls.out, name + ".jsonl"), "w") as f:
                f.writelines(json.dumps(row) + "\n" for row in [header, *rows_of(name, line)])
        done = subprocess.run([os.path.join(HERE, "report"), "--out", cls.out], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError("bench/report failed:\n" + done.stderr)
        cls.path = os.path.join(cls.out, "report.html")
        browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if browser is None:
            raise AssertionError("no browser: scripts/bootstrap test installs chromium")
        # No name resolves: a page that loads external resources reports it in the console.
        def show(path):
            return subprocess.run(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND",
                 "--user-data-dir=" + os.path.join(cls.out, "profile"), "--virtual-time-budget=5000", "--dump-dom",
                 "file://" + path], capture_output=True, text=True, timeout=300)

        shown = show(cls.path)
        cls.console = [line for line in shown.stderr.splitlines() if "CONSOLE" in line]
        with open(cls.path) as f:
            cls.source = f.read()
        cls.page = Page(shown.stdout)
        phone = os.path.join(cls.out, "phone.html")  # the page in a frame as wide as a phone; the title has its width
        with open(phone, "w") as f:
            f.write('<!DOCTYPE html><iframe width="390" height="800" srcdoc="%s" onload="document.title = '
                    'this.contentDocument.documentElement.scrollWidth"></iframe>' % html.escape(cls.source))
        cls.width_on_a_phone = int(re.search(r"<title>(\d+)</title>", show(phone).stdout)[1])

    @classmethod
    def tearDownClass(cls):
        if not FOLDER:
            shutil.rmtree(cls.out)

    def test_the_console_is_silent(self):
        self.assertEqual(self.console, [])

    def test_nothing_is_asked_of_elsewhere(self):
        for address in self.page.addresses:
            self.assertRegex(address, "^(#|data:,$)")
        self.assertNotRegex(self.source, r"@import|url\((?!#)|<script|<link(?! rel=\"icon\")|<img|<iframe")

    def test_there_is_a_plot_for_each_group(self):
        for name in ("W1 glibc", "W2 ", "W3 ", "W4 Rust"):
            self.assertIn(name + ": ours against the fastest rival", self.page.plots)
        self.assertEqual(len(self.page.plots), len(set(self.page.plots)))

    def test_a_quick_run_says_so(self):
        for _, row in self.page.tables["summary"][1:]:
            self.assertEqual("quick" in row[6:7][0] if len(row) > 6 else False, row[0].startswith(QUICK))

    def test_a_phone_shows_rows_as_cards(self):
        for name in ("summary", "standings"):
            self.assertIn("@media (max-width: 44rem)", self.source)
            for _, row in self.page.tables[name][1:3]:
                self.assertTrue(row)
        self.assertGreater(self.source.count('data-column="ours / rival"'), 100)
        self.assertLessEqual(self.width_on_a_phone, 390)

    def test_the_template_is_not_taken_for_a_page(self):
        self.assertFalse(os.path.exists(os.path.join(HERE, "report.html")))

    def test_plots_and_tables_have_every_win_and_every_loss(self):
        totals = {"ahead": 0, "level": 0, "lost": 0}
        for name, line in self.history.items():
            if name in (ABSENT, "W4"):  # for W4 the best and the default are compared, not all
                continue
            expected = verdicts(name, line)
            drawn = {"ahead": 0, "level": 0, "lost": 0}
            for group, n in self.page.points.items():
                if group.startswith(name.lower()) or group.startswith(name):
                    drawn[re.search(r"points-(\w+)", group)[1]] += n
            self.assertEqual(drawn, expected, name)
            summary = next(row for _, row in self.page.tables["summary"] if row[0].startswith(name))
            self.assertEqual([int(n) for n in summary[2:5]], list(expected.values()), name)
            totals = {verdict: totals[verdict] + n for verdict, n in expected.items()}
        self.assertGreater(min(totals.values()), 0, "nothing is tested")
        said = [row[6] for _, row in self.page.tables["standings"][1:] if len(row) == 8]
        self.assertEqual(said.count("LOST"), sum(n for group, n in self.page.points.items() if "points-lost" in group))

    def test_each_row_says_when_it_was_measured(self):
        for table in ("standings", "all"):
            rows = [(of, row) for of, row in self.page.tables[table] if row and row[-1] != "commit, time"]
            self.assertGreater(len(rows), 100)
            for of, row in rows:
                self.assertIn("2001-02-03T04:05Z", row[-1])
                self.assertEqual("stale" in of, COMMIT in row[-1])
                self.assertEqual("stale" in row[-1], COMMIT in row[-1])
        self.assertTrue(any("stale" in of for of, _ in self.page.tables["all"]))
        stale = [row[0][:2] for of, row in self.page.tables["summary"] if "stale" in of]
        self.assertEqual(stale, [STALE])

    def test_what_was_not_measured_is_said(self):
        row = next(row for _, row in self.page.tables["summary"] if row[0].startswith(ABSENT))
        self.assertIn("make bench WORKLOAD=" + ABSENT, row[1])

    def test_names_are_not_taken_for_markup(self):
        self.assertIn("a machine &lt;of&gt; iron &amp; co", self.source)

    def test_identifiers_are_unique(self):
        self.assertEqual(sorted(self.page.ids), sorted(set(self.page.ids)))


class Ratios(unittest.TestCase):
    """A contender of Toft that takes 0.8 of a malloc's time, on a machine that slows down by 1.7 during a round."""

    def standing(self, rounds, **more):
        ours, theirs = [13.6] * (rounds // 2 + 1) + [8.0] * (rounds // 2), [17.0] * (rounds // 2) + [10.0] * (rounds // 2 + 1)
        rows = [{"case": "a row", "contender": name, "unit": "ns", "median": statistics.median(values), "values": values, **more}
                for name, values in (("toft", ours), ("malloc", theirs))]
        return table.standings(types.SimpleNamespace(GROUP=None), rows)[0]

    def test_rounds_are_compared(self):
        found = self.standing(9)
        self.assertGreater(found.value, 1.3 * found.best)  # by medians it is slower
        self.assertEqual((round(found.share, 2), found.ratio, found.verdict), (0.8, "0.80 (0.80 to 0.80)", "ahead"))

    def test_an_interval_with_1_is_level(self):
        self.assertEqual(self.standing(7).verdict, "level")

    def test_few_rounds_have_no_interval(self):
        self.assertEqual((self.standing(5).interval, self.standing(5).verdict), (None, "ahead"))

    def test_rows_without_values_are_compared_by_medians(self):
        self.assertEqual(self.standing(9, values=[]).verdict, "LOST")


FOLDER = None
if __name__ == "__main__":
    if len(sys.argv) > 1:
        FOLDER = os.path.abspath(sys.argv.pop(1))
        os.makedirs(FOLDER, exist_ok=True)
    unittest.main(verbosity=1)
