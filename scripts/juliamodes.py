"""The modes of scripts/test for the Julia package.

Each tests a copy of the package, since a build writes into the package's folder: what a user has, away from the tree.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import pathlib
import re
import shutil
import subprocess

import modes

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "julia" / "Toft"
JULIA = [ROOT / "scripts/julia", "--startup-file=no", "--color=no"]


def count(mode, text):
    """Counts tests in the summary that Test prints: the row of the outermost test set, Toft."""
    found = re.findall(r"^Test Summary: *\|(.*)\n(?:.*\n)*?Toft *\|(.*)$", text, re.M)
    if not found:
        raise modes.Broken("no summary of the test set Toft")
    for names, values in found:
        counts = dict(zip(names.split(), values.split()))
        total = counts.get("Total", "")
        if not total.isdigit() or int(total) == 0:
            raise modes.Broken("no test ran")
        mode.passed += int(counts.get("Pass", 0))
        mode.failed += int(counts.get("Fail", 0)) + int(counts.get("Error", 0))


def need():
    if subprocess.run([JULIA[0], "--which"], capture_output=True).returncode != 0:
        raise modes.Unavailable("no julia: scripts/bootstrap installs it")


def copy(mode):
    """What git tracks or would track, so that no build of the checkout's comes along."""
    package = mode.folder / "Toft"
    shutil.rmtree(mode.folder, ignore_errors=True)
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "."], cwd=PACKAGE,
                           text=True, check=True, stdout=subprocess.PIPE).stdout.split("\n")
    for name in names:
        if name and (PACKAGE / name).exists():
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PACKAGE / name, package / name)
    return package


def play(mode, argv, env=None):
    """Runs something that ends with the summary of the tests."""
    code, text = mode.command(argv, env=env, cwd=mode.folder)
    count(mode, text)
    if code != 0 and mode.failed == 0:
        raise modes.Broken("the tests ended with %d" % code)


def tests(*flags, env=None):
    def work(mode):
        need()
        modes.need("gcc")
        package = copy(mode)
        run = JULIA + ["--project=%s" % package]
        mode.must(run + [package / "deps/build.jl"], "deps/build.jl")
        snapshots = mode.folder / "snapshots"
        snapshots.mkdir()
        play(mode, run + list(flags) + [package / "test/runtests.jl"],
             env=dict(env or {}, TOFT_SNAPSHOTS=str(snapshots)))
        made = sorted(snapshots.glob("*.json"))
        if not made:
            raise modes.Broken("the tests made no snapshot")
        mode.check([ROOT / "scripts/check-snapshot"] + made)
    return work


def installation():
    """What the README tells to type where there is no network: the lines after the prompt, and those that go on."""
    pages = re.findall(r"^```julia-repl\n(.*?)^```$", (PACKAGE / "README.md").read_text(), re.M | re.S)
    found = [text for text in pages if "Registry.toml" in text]
    if len(found) != 1:
        raise modes.Broken("no single installation without a network in README.md")
    return re.sub(r"^(julia>|      ) ", "", found[0], flags=re.M)


def packaged(mode):
    """In a new depot and a new environment, as the README tells, without a network; then used."""
    need()
    modes.need("gcc")
    package, user = copy(mode), mode.folder / "user"
    user.mkdir()
    script = mode.folder / "installation.jl"
    lines, there = re.subn(r'"[^"]*julia/Toft"', lambda _: 'raw"%s"' % package, installation())
    if not there or "Pkg.test" not in lines:
        raise modes.Broken("the installation in README.md does not say from where, or not Pkg.test")
    script.write_text(lines)
    env = {"JULIA_DEPOT_PATH": str(mode.folder / "depot"), "JULIA_PKG_SERVER": ""}
    run = JULIA + ["--project=%s" % user]
    play(mode, run + [script], env=env)
    listed = mode.check(run + ["-e", "using Pkg; Pkg.status()"], env=env)
    mode.failed += "Toft" not in listed
    mode.check(run + ["-e", "using Toft; s = Stack{Int}(); push!(s, 7); pop!(s) == 7 || exit(1); "
                            "arena(a -> unsafe_store!(alloc(a, Int), 7)); print(pathof(Toft))"], env=env)


# Run where nothing was built, and no compiler is to be found.
NO_LIBRARY = """using Test, Toft
@testset "Toft" begin
    @test all(name -> Sys.which(name) === nothing, ["cc", "gcc", "clang"])
    pool = FreeListAllocator{Int}(nothing)
    i = allocateend!(pool, 7)
    @test pool[i] == 7 && length(pool) == 1
    deallocate!(pool, i)
    @test isempty(pool)
    dict = SortedDict{Int,String}()
    dict[2] = "two"
    dict[1] = "one"
    @test collect(dict) == [1 => "one", 2 => "two"]
    told = try
        Arena()
        ""
    catch wrong
        sprint(showerror, wrong)
    end
    @test occursin("Pkg.build", told)
end
"""


def no_library(mode):
    """Without libtoft and without a compiler: pools and collections work, and arenas say what they lack."""
    need()
    package = copy(mode)
    programs = mode.folder / "programs"  # those that scripts/julia and a wrapper of julia's may call
    programs.mkdir()
    for name in ("bash", "sh", "env", "dirname", "readlink", "sed", "julia"):
        if shutil.which(name):
            (programs / name).symlink_to(shutil.which(name))
    script = mode.folder / "nolibrary.jl"
    script.write_text(NO_LIBRARY)
    env = {"PATH": str(programs)}
    run = JULIA + ["--project=%s" % package]
    mode.check(run + [package / "deps/build.jl"], env=env)
    built = [p for p in (package / "deps").iterdir() if p.suffix in (".so", ".dylib", ".dll")]
    if built:
        raise modes.Broken("it was built after all: %s" % built[0].name)
    play(mode, run + [script], env=env)


DOCUMENT = """<?xml version="1.0"?>
<!DOCTYPE a [ <!ELEMENT a ANY> ]>
<!-- what is > here -> is no markup -->
<a><b x="1">text</b><c/> more <d><e><f/></e></d></a>
"""


def xmltree(mode):
    """The example, on a document of which all is known: six elements and two texts, eight times over."""
    need()
    mode.folder.mkdir(parents=True, exist_ok=True)
    document = mode.folder / "document.xml"
    document.write_text(DOCUMENT)
    text = mode.check([ROOT / "examples/xmltree/run", document])
    told = " %d elements and texts; both trees are the same" % (8 * (6 + 2)) in text
    mode.passed += told
    mode.failed += not told


def all():
    made = [
        modes.Mode("julia", tests()),
        modes.Mode("julia-pkg", packaged),  # Pkg runs the tests with --check-bounds=yes
        modes.Mode("julia-nolib", no_library),
        modes.Mode("julia-xmltree", xmltree),
    ]
    if modes.FULL:
        made.append(modes.Mode("julia-long", tests(env={"TOFT_LONG": "1"})))
        made.append(modes.Mode("julia-bounds", tests("--check-bounds=yes", env={"TOFT_LONG": "streams"})))
    return made
