// Runs wasm.c: node wasm.mjs FILE.wasm. Allocates from JavaScript by moving the cursor in the arena's head.
// SPDX-License-Identifier: MIT OR Apache-2.0
import { readFile } from "node:fs/promises";

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]), {});
const { memory, fill_and_reset, create, live, recycle, release } = instance.exports;
let good = fill_and_reset() === 1 && recycle() === 1;

const arena = create();
const head = () => new Uint32Array(memory.buffer, arena, 4); // cursor, ops, limit, epoch
function alloc(size) {
  const h = head();
  if (h[2] - h[0] < size) return 0; // out of memory: this program has no slow path
  const p = h[0];
  h[0] = p + ((size + 7) & ~7);
  return p;
}
for (let i = 0; i < 100; i++) {
  const p = alloc(20);
  good &&= p !== 0 && p % 8 === 0;
  new Uint8Array(memory.buffer, p, 20).fill(i);
}
good &&= live(arena) === 100 * 24;
release(arena);

console.log(good ? "wasm: ok" : "wasm: FAILED");
process.exit(good ? 0 : 1);
