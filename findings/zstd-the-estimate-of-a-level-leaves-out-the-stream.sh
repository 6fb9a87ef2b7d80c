#!/usr/bin/env bash
# Question: is the estimated size of a compression context an upper bound of what a context of that level takes?
# Guess: yes, for streams too; estimates are made for budgets, so they err upwards.
# What happens: estimated_compression_context_size() is the estimate for one call on one buffer. A stream adds its window and its
#   buffers: 2.8 times the estimate at level 3. The compress() of this package takes as much as a stream, though it gets
#   one buffer. With two threads the context takes 40 times the estimate. Only the decompressor's estimate is what a fresh
#   decompressor takes; one that has read a stream with a window of 8 MiB takes 90 times as much.
#   Of use to: budgets and arenas whose size is set from an estimate.
# Versions: zstandard 0.25.0 (PyPI), which contains zstd 1.5.7; Python 3.11; x86-64 Linux.
# SPDX-License-Identifier: MIT OR Apache-2.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q zstandard==0.25.0

cat >"$dir/run.py" <<'END'
import io
import random
import zstandard

data = random.Random(1).randbytes(1 << 20) * 8
for level in 1, 3, 9, 19:
    parameters = zstandard.ZstdCompressionParameters.from_level(level)
    call, stream = (zstandard.ZstdCompressor(compression_params=parameters) for _ in range(2))
    call.compress(data)
    writer = stream.stream_writer(io.BytesIO())
    writer.write(data)
    estimate = parameters.estimated_compression_context_size()
    print("level %d: stream %.1f, call %.1f of the estimate"
          % (level, stream.memory_size() / estimate, call.memory_size() / estimate))
threads = zstandard.ZstdCompressor(level=3, threads=2)
threads.compress(data)
estimate = zstandard.ZstdCompressionParameters.from_level(3).estimated_compression_context_size()
print("level 3, two threads: more than 20 times:", threads.memory_size() > 20 * estimate)
reader = zstandard.ZstdDecompressor()
estimate, fresh = zstandard.estimate_decompression_context_size(), reader.memory_size()
reader.stream_reader(io.BytesIO(zstandard.ZstdCompressor(level=19).compress(data))).read(10)
print("decompressor: fresh %.1f, stream %.0f of the estimate" % (fresh / estimate, reader.memory_size() / estimate))
END
seen=$("$dir/venv/bin/python" "$dir/run.py")

expected='level 1: stream 2.4, call 2.4 of the estimate
level 3: stream 2.8, call 2.8 of the estimate
level 9: stream 1.4, call 1.4 of the estimate
level 19: stream 1.1, call 1.1 of the estimate
level 3, two threads: more than 20 times: True
decompressor: fresh 1.0, stream 90 of the estimate'
diff <(echo "$expected") <(echo "$seen") && echo "$seen"
