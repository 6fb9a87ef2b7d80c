#!/usr/bin/env bash
# Question: a zstd context has compressed 8 MiB at level 19, and then compresses frames of 100 bytes. What happens to its memory?
#   Does a context that has only had large frames differ?
# Guess: it keeps the memory of the large frame until it is freed. (After the first run: the small frames are counted, and a
#   large frame in between starts the count again. That missed too.)
# What happens: 128 small frames use 93 MB; the 129th frees it and requests 182 kB. The count is of all frames since the memory was
#   requested, large ones too: after 128 large frames the second small one gives the memory back, and the next large frame
#   requests it again.
#   Of use to: allocators behind ZSTD_customMem, recyclers of contexts, limits on the memory of one context.
# Versions: zstandard 0.25.0 (PyPI), which contains zstd 1.5.7; Python 3.11; x86-64 Linux.
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q zstandard==0.25.0

cat >"$dir/run.py" <<'END'
import random
import zstandard

print("zstd", ".".join(map(str, zstandard.ZSTD_VERSION)))
large = random.Random(1).randbytes(1 << 20) * 8
small = b"x" * 100


def frames_until_it_shrinks(context):
    before, frames = context.memory_size(), 0
    while context.memory_size() == before and frames < 1000:
        context.compress(small)
        frames += 1
    return frames, before // 1_000_000, context.memory_size() // 1_000


context = zstandard.ZstdCompressor(level=19)
context.compress(large)
print("one large frame, then: shrinks at frame %d, from %d MB to %d kB" % frames_until_it_shrinks(context))
context = zstandard.ZstdCompressor(level=3)
for _ in range(128):
    context.compress(large)
print("128 large frames, then: shrinks at frame %d, from %d MB to %d kB" % frames_until_it_shrinks(context))
END
seen=$("$dir/venv/bin/python" "$dir/run.py")

expected='zstd 1.5.7
one large frame, then: shrinks at frame 129, from 93 MB to 181 kB
128 large frames, then: shrinks at frame 2, from 3 MB to 27 kB'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
