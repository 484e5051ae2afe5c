/** What a worker thread or process does in tests of `WorkThreads`. */
export interface Act {
  say?: string;
  times?: number;
  bytes?: Uint8Array;
  fail?: string;
  spin?: boolean;
  /** Milliseconds for which the thread does nothing and uses no processor. */
  rest?: number;
  hoard?: boolean;
  fill?: boolean;
  /** Megabytes of WebAssembly memory to fill and keep until the work ends. */
  wasmMb?: number;
  exit?: boolean;
  env?: boolean;
  /** Answers with the id of the process. */
  pid?: boolean;
}

/** Not among the types of Node. */
const { WebAssembly: wasm } = globalThis as unknown as {
  WebAssembly: { Memory: new (size: { initial: number }) => { buffer: ArrayBuffer } };
};

/** Does what the test asks for, including crashes, endless loops and memory exhaustion. */
export function act({
  say = '',
  times = 1,
  bytes,
  fail,
  spin,
  rest,
  hoard,
  fill,
  wasmMb,
  exit,
  env,
  pid,
}: Act): string {
  if (fail !== undefined) throw new RangeError(fail);
  if (exit) process.exit(1);
  const kept: string[][] = [];
  if (spin) for (;;);
  if (rest) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, rest);
  if (hoard)
    for (;;)
      kept.push(Array.from({ length: 10_000 }, (_, index) => `text ${index} ${kept.length}`));
  if (fill) {
    // Stops after 2 GB if the memory limit does not end the thread first.
    const buffers = Array.from({ length: 2_000 }, () => new Uint8Array(2 ** 20).fill(1));
    while (buffers.length > 0);
  }
  if (wasmMb) {
    const memory = new wasm.Memory({ initial: wasmMb * 16 });
    new Uint8Array(memory.buffer).fill(1);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  }
  if (pid) return String(process.pid);
  if (env) return JSON.stringify(process.env);
  return bytes ? new TextDecoder().decode(bytes) : say.repeat(times);
}
