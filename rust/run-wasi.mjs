// Runs a program for WASI in Node: node rust/run-wasi.mjs PROGRAM.wasm [ARGUMENT...]
// SPDX-License-Identifier: MIT OR Apache-2.0
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const wasi = new WASI({ version: "preview1", args: process.argv.slice(2), env: process.env, returnOnExit: true });
const module = await WebAssembly.compile(await readFile(process.argv[2]));
process.exitCode = wasi.start(await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport }));
