"""The modes of scripts/test that commit misuse on purpose. misuse: each row of docs/checked.md, in a process of its own,
compared with the tables there: a cell that says found must be found with those words, and one that says not found must
not. findings: what the two variables of the environment do, and that privileged programs ignore them.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import modes

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/checked.md"
LANGUAGES = ["C", "C++", "Rust", "Go", "Julia"]
TOOLS = {"alone": None, "AddressSanitizer": "ERROR: AddressSanitizer: use-after-poison",
         "MemorySanitizer": "WARNING: MemorySanitizer: use-of-uninitialized-value",
         "Valgrind": r"Invalid (read|write) of size 1|depends on uninitialised value"}


def tables():
    """{name of the table: [(misuse, its words, {column: cell})]}"""
    found, columns, name = {}, None, None
    for line in PAGE.read_text().splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            columns = None
        elif columns is None and cells[0] == "misuse":
            columns, name = cells, cells[2]
            found[name] = []
        elif columns and not set(line) <= set("|-"):
            found[name].append((cells[0], cells[1].strip("`"), dict(zip(columns[2:], cells[2:]))))
    return found


class Child:
    """One misuse, committed."""

    def __init__(self, mode, argv, row, env):
        self.file = mode.folder / "findings"
        self.file.unlink(missing_ok=True)
        clean = {k: v for k, v in os.environ.items() if not k.startswith("TOFT_")}
        done = subprocess.run([str(a) for a in argv] + [row], env=dict(clean, TOFT_FINDINGS=str(self.file), **env),
                              text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, cwd=mode.folder, timeout=300)
        self.code, self.said = done.returncode, done.stdout
        self.findings = self.file.read_text() if self.file.exists() else ""


def judge(cell, words, child, report):
    """None, or what is wrong."""
    told = re.fullmatch(r"(found|error)(?:: `(.*)`)?", cell)
    if cell == "at once":
        return None if re.search(report, child.said) else "the tool did not report it"
    if told and told[1] == "found":
        lines = child.findings.splitlines()
        ours = [line for line in lines if line.startswith("toft: " + (told[2] or words))]
        return None if len(ours) == 1 and len(lines) == 1 else "findings: %r" % lines
    if told:
        return None if child.code != 0 and told[2] in child.said else "it ended with %d" % child.code
    if cell in ("not found", "allowed"):
        return None if child.findings == "" and child.code == 0 else "it ended with %d, %r" % (child.code, child.findings)
    return "the cell means nothing"


def play(mode, table, columns, programs):
    """programs: {column: (argv, environment)}; a column without one is not looked at."""
    for row, words, cells in table:
        for column in columns:
            cell = cells[column]
            if cell in ("–", "not tried") or column not in programs:
                continue
            link = re.fullmatch(r"\[does not compile\]\((.*)\)", cell)
            if link:
                wrong = None if (PAGE.parent / link[1]).exists() else "%s is not there" % link[1]
            else:
                argv, env = programs[column]
                child = Child(mode, argv, row, dict(env, TOFT_CHECKED="1"))
                wrong = judge(cell, words, child, TOOLS.get(column))
                with open(mode.log, "a") as log:
                    log.write("== %s, %s: %s\n%s%s" % (row, column, cell, child.findings, child.said))
            mode.passed += wrong is None
            mode.failed += wrong is not None
            if wrong:
                with open(mode.log, "a") as log:
                    log.write("FAILED: %s, %s: the table says %r; %s\n" % (row, column, cell, wrong))


def off(mode, table, argv):
    """Without the switch nothing is found, and nothing is refused but what every arena refuses."""
    for row, _, _ in table:
        child = Child(mode, argv, row, {})
        mode.passed += child.findings == ""
        mode.failed += child.findings != ""


def compile_c(mode):
    """A release build of the library, and of the programs; those for sanitizers are linked to the same library."""
    out = mode.folder
    source, include = ROOT / "c/tests/misuse.c", ["-I", ROOT / "c/include"]
    common = ["-std=gnu11", "-g", "-O1", "-Wno-unused-result", *include, source, "-L", out, "-ltoft", "-pthread", "-Wl,-rpath,%s" % out]
    mode.must(["gcc", "-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-DTOFT_SHARED", "-DTOFT_BUILD", *include,
               ROOT / "c/src/toft.c", "-o", out / "libtoft.so", "-pthread"], "libtoft")
    mode.must(["gcc", *common, "-o", out / "c"], "misuse.c")
    mode.must(["clang-14", "-fsanitize=address", *common, "-o", out / "asan"], "misuse.c with ASan")
    mode.must(["clang-14", "-fsanitize=memory", *common, "-o", out / "msan"], "misuse.c with MSan")
    mode.must(["g++", "-std=c++17", "-O2", "-g", "-I", ROOT / "cpp/include", *include, ROOT / "cpp/tests/misuse.cpp", "-L", out,
               "-ltoft", "-pthread", "-rdynamic", "-Wl,-rpath,%s" % out, "-o", out / "cpp"], "misuse.cpp")


def misuse(mode):
    modes.need("gcc", "g++", "clang-14", "valgrind")
    shutil.rmtree(mode.folder, ignore_errors=True)
    mode.folder.mkdir(parents=True)
    compile_c(mode)
    plain = {"C": ([mode.folder / "c"], {}), "C++": ([mode.folder / "cpp"], {})}
    if shutil.which("go"):
        mode.must(["go", "build", "-o", mode.folder / "go", "./internal/misuse"], "misuse in Go", cwd=ROOT / "go")
        plain["Go"] = ([mode.folder / "go"], {})
    if shutil.which("cargo"):
        target = ROOT / "build/rust/misuse"
        mode.must(["cargo", "build", "--locked", "--example", "misuse"], "misuse in Rust", cwd=ROOT / "rust",
                  env={"CARGO_TARGET_DIR": str(target)})
        plain["Rust"] = ([target / "debug/examples/misuse"], {})
    if subprocess.run([ROOT / "scripts/julia", "--which"], capture_output=True).returncode == 0:
        plain["Julia"] = ([ROOT / "scripts/julia", "--startup-file=no", ROOT / "julia/Toft/test/misuse.jl"],
                          {"TOFT_LIBRARY": str(mode.folder / "libtoft.so"),
                           "JULIA_LOAD_PATH": "%s:@stdlib" % (ROOT / "julia")})
    missing = [language for language in LANGUAGES if language not in plain]
    if missing and modes.CI:
        raise modes.Broken("no compiler for %s" % ", ".join(missing))
    found = tables()
    play(mode, found["C"], LANGUAGES, plain)
    tools = {"alone": plain["C"], "AddressSanitizer": ([mode.folder / "asan"], {}),
             "MemorySanitizer": ([mode.folder / "msan"], {}), "Valgrind": (["valgrind", "-q", mode.folder / "c"], {})}
    play(mode, found["alone"], list(TOOLS), tools)
    off(mode, found["alone"], [mode.folder / "c"])


# ---- the environment: the switch, the file, privileged programs ----

class Findings:
    """Runs c/tests/findings_program.c; each expectation is one test."""

    def __init__(self, mode):
        self.mode = mode

    def run(self, program, arguments=(), environment=None, user=None):
        """(exit code, standard output, standard error)"""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("TOFT_")}
        argv = list(arguments)
        who = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if user else []
        done = subprocess.run(who + [str(program)] + argv, env=dict(clean, **(environment or {})), text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.mode.folder, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def expect(self, what, holds, seen):
        self.mode.passed += bool(holds)
        self.mode.failed += not holds
        if not holds:
            with open(self.mode.log, "a") as log:
                log.write("FAILED: %s: %r\n" % (what, seen))


def switches(findings, program, line):
    """TOFT_CHECKED and TOFT_FINDINGS in a program with the rights of its user."""
    places = r"allocated at (make_name|main) \((.*/)?findings_program\.c:%d\) by thread 1; " % line
    one = re.compile(r'toft: overrun: byte 17 of 16 bytes at 0x[0-9a-f]+ was written: 1 byte "!"; ' + places +
                     r"noticed by release at main \((.*/)?findings_program\.c:\d+\) by thread 1\n\Z")
    for value in ("1", "on", "yes", "anything"):
        code, out, err = findings.run(program, environment={"TOFT_CHECKED": value})
        findings.expect("TOFT_CHECKED=%s prints one line" % value, code == 0 and one.match(err), (code, out, err))
    for value in ("", "0", "off", "no", "false", "OFF", "False"):
        seen = findings.run(program, environment={"TOFT_CHECKED": value})
        findings.expect("TOFT_CHECKED=%s is off" % value, seen == (0, "ended\n", ""), seen)
    code, out, err = findings.run(program, environment={"TOFT_CHECKED": "abort"})
    findings.expect("abort aborts after the line", code == -6 and out == "" and one.match(err), (code, out, err))

    folder = findings.mode.folder
    file = folder / "lines"
    file.unlink(missing_ok=True)
    on = {"TOFT_CHECKED": "1"}
    for times in (1, 2):
        seen = findings.run(program, environment=dict(on, TOFT_FINDINGS=str(file)))
        lines = file.read_text().splitlines(keepends=True)
        findings.expect("lines are appended to the file", seen == (0, "ended\n", "") and len(lines) == times and
                        None not in [one.match(text) for text in lines], (seen, lines))
    findings.expect("the file is its owner's", file.stat().st_mode & 0o777 == 0o600, oct(file.stat().st_mode))
    link = folder / "link"
    link.unlink(missing_ok=True)
    link.symlink_to("target")
    seen = findings.run(program, environment=dict(on, TOFT_FINDINGS=str(link)))
    findings.expect("a symbolic link is not followed", seen == (0, "ended\n", "") and not link.exists(), seen)
    for stream, names in (("stderr", ("stderr", "/dev/stderr")), ("stdout", ("stdout", "/dev/stdout"))):
        for name in names:
            code, out, err = findings.run(program, environment=dict(on, TOFT_FINDINGS=name))
            text, other = (err, out) if stream == "stderr" else (out.replace("ended\n", ""), err + "ended\n")
            findings.expect("%s is a stream" % name, one.match(text) and other == "ended\n" and
                            not (folder / stream).exists(), (code, out, err))
    seen = findings.run(program, environment={"TOFT_FINDINGS": str(folder / "none")})
    findings.expect("without TOFT_CHECKED nothing is written", seen == (0, "ended\n", "") and
                    not (folder / "none").exists(), seen)
    odd = folder / "odd\x1b[2Jname"
    subprocess.run(["strip", "-o", str(odd), str(program)], check=True)
    code, out, err = findings.run(odd, environment=on)
    findings.expect("a program's name is escaped", err.count("\n") == 1 and "odd\\x1b[2Jname+0x" in err, err)


def privileged(findings, program):
    """Programs with more rights than their user ignore the environment: by a file capability; set-uid, also after
    setuid(0), when their ids are equal."""
    if os.geteuid() != 0:
        raise modes.Unavailable("the privileged programs need root")
    modes.need("setcap", "setpriv")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        (folder / "free").mkdir()
        (folder / "free").chmod(0o777)
        file = folder / "free" / "lines"
        environment = {"TOFT_CHECKED": "abort", "TOFT_FINDINGS": str(file)}
        copies = {name: folder / name for name in ("plain", "capable", "setuid")}
        for copy in copies.values():
            shutil.copy(program, copy)
            copy.chmod(0o755)
        if subprocess.run(["setcap", "cap_dac_override+ep", str(copies["capable"])]).returncode != 0:
            raise modes.Unavailable("this file system has no capabilities")
        copies["setuid"].chmod(0o4755)
        code, out, err = findings.run(copies["plain"], environment=environment, user=True)
        findings.expect("another user's plain program obeys", code == -6 and file.exists(), (code, out, err))
        file.unlink(missing_ok=True)
        for name, arguments in (("capable", ()), ("setuid", ()), ("setuid", ("setuid",))):
            seen = findings.run(copies[name], arguments, environment, user=True)
            findings.expect("%s %s ignores it" % (name, arguments), seen == (0, "ended\n", "") and not file.exists(), seen)


def findings(mode):
    modes.need("gcc", "strip")
    shutil.rmtree(mode.folder, ignore_errors=True)
    mode.folder.mkdir(parents=True)
    source = ROOT / "c/tests/findings_program.c"
    program = mode.folder / "program"
    line = 1 + next(n for n, text in enumerate(source.read_text().splitlines()) if "the line that findings name" in text)
    for optimize in ("-O0", "-O2"):
        mode.must(["gcc", "-std=gnu11", "-g", optimize, "-DTOFT_STATIC", "-I", ROOT / "c/include", "-include",
                   ROOT / "c/src/toft.c", source, "-o", program, "-pthread"], "findings_program.c")
        switches(Findings(mode), program, line)
    privileged(Findings(mode), program)


def all():
    return [modes.Mode("misuse", misuse), modes.Mode("findings", findings)]
