"""Plays the pairs, one process each.

Each line of the table is a process with one provider and all clients, in which the client of the line takes every part once and
the others the remaining ones. Julia is a process of its own, which loads the driver.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import re
import signal
import subprocess

import build

PROVIDERS = {"C": "provider_c", "Rust": "provider_rust"}
# In C: examples of the specification, and no more than the full profile.
EXAMPLES = {"fixed": "provider_fixed", "core": "provider_core", "mini": "provider_mini", "least": "provider_least"}
# With an instrument of libtoft before each arena.
INSTRUMENTED = {"C+": "provider_c", "Rust+": "provider_rust", "fixed+": "provider_fixed", "mini+": "provider_mini"}
CLIENTS = {"C": "client_c", "C++": "client_cpp", "Rust": "client_rust", "Go": "client_go"}
ALONE = "least"  # with the client of the line and no other, as the README runs a provider from outside
TSAN = ("C", "C++")
HOST = "Julia"
JULIA = [build.ROOT / "scripts/julia", "--startup-file=no", "--depwarn=error",
         "--project=%s" % (build.ROOT / "julia/Toft")]
SECONDS = 300


def loads(made, provider, clients):
    """The driver's arguments; the provider's path as the loader will name it."""
    instrumented = provider in INSTRUMENTED
    argv = ["--provider", made.path("provider_instrumented" if instrumented else {**PROVIDERS, **EXAMPLES}[provider])]
    for client in clients:
        argv += ["--client", made.path(CLIENTS[client])]
    return argv


class Result:
    """What one process printed."""

    def __init__(self, code, text):
        self.failures = re.findall(r"^FAILED .*", text, re.M)
        entered = re.findall(r"^scenario (\w+)$", text, re.M)
        totals = re.search(r"^checks (\d+) failures (\d+)$", text, re.M)
        vectors = re.search(r"^vectors (\d+) own (\d+) of (\d+)$", text, re.M)
        self.text, self.scenarios = text, len(entered)
        self.checks = int(totals[1]) if totals else 0
        self.vectors = [int(n) for n in vectors.groups()] if vectors else [0, 0, 1]
        if not totals:
            ended = "does not end" if code is None else "died of %s" % signal.Signals(-code).name if code < 0 else \
                "ended with %d" % code
            self.failures.append("FAILED %s in scenario %s" % (ended, entered[-1] if entered else "none"))
        elif code != 0 and not self.failures:  # a sanitizer's exit code, say
            self.failures.append("FAILED ended with %d" % code)


def play(argv, env=None, seconds=SECONDS, before=None):
    try:
        done = subprocess.run([str(a) for a in argv], env=dict(os.environ, **(env or {})), text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=seconds, preexec_fn=before)
    except subprocess.TimeoutExpired as late:
        return Result(None, (late.stdout or b"").decode(errors="replace"))  # bytes, also with text=True
    return Result(done.returncode, done.stdout)


def pair(made, provider, client):
    if client == HOST:
        argv = [*JULIA, build.HERE / "client.jl", made.path("driver")]
    else:
        argv = [made.folder / "driver"]
    ways = "0" if made.tsan else "1" if made.asan else "2"
    clients = [client] if provider == ALONE else TSAN if made.tsan else CLIENTS
    argv += loads(made, provider, clients) + ["--row", client, "--ways", ways]
    env = {"TOFT_LIBRARY": str(made.path("toft"))} if client == HOST else {}
    if made.asan:
        env = {"ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=1"}
    if made.tsan:
        env = {"TSAN_OPTIONS": "halt_on_error=1"}
    if provider in INSTRUMENTED:
        env["CONFORMANCE_BENEATH"] = str(made.path(INSTRUMENTED[provider]))
    return play(argv, env)


def misnamed(made, providers):
    """Providers that were compiled by another compiler than that of their name. rustc writes its version into each object."""
    return [provider for provider, name in providers.items()
            if (b"rustc version" in made.path(name).read_bytes()) != (provider == "Rust")]


def play_all(made, wanted):
    """Prints the table. Returns how much went wrong."""
    bad = 0
    for provider in misnamed(made, PROVIDERS) if not made.tsan else []:
        print("FAILED the provider %s was made by another compiler" % provider)
        bad += 1
    if made.asan:
        print("AddressSanitizer sees C, C++, Go" + (", Rust" if made.rust_asan else "; Rust's code is as it is"))
    print("| provider | client | scenarios | checks | vectors played | their operations, and how many the client's package did |")
    print("|---|---|---|---|---|---|")
    all_pairs = [(provider, client) for provider in PROVIDERS for client in [*CLIENTS] + ([] if made.asan else [HOST])]
    all_pairs += [(provider, client) for provider in [*EXAMPLES, *INSTRUMENTED] for client in ("C", "Rust")]
    if made.tsan:
        all_pairs = [("C", client) for client in TSAN]
    chosen = [p for p in all_pairs if not wanted or "/".join(p).lower() in wanted]
    for provider, client in chosen:
        r = pair(made, provider, client)
        if r.failures:
            print("\n".join(r.failures) + "\nFAILED the pair %s/%s:\n%s" % (provider, client, r.text[-4000:]), flush=True)
            bad += 1
            continue
        played, own, of = r.vectors
        print("| %s | %s | %d | %d | %d | %d, %.1f %% |" % (
            provider, client, r.scenarios, r.checks, played, of, 100 * own / max(of, 1)), flush=True)
    if wanted and len(chosen) != len(set(wanted)):
        print("FAILED there are no such pairs; these are: " + " ".join("/".join(p).lower() for p in all_pairs))
        bad += 1
    print("%d passed, %d failed" % (len(chosen) - bad, bad))
    return bad
