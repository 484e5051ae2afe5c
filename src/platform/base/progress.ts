import { monotonicMs } from './time/clock.ts';

/** Where progress is written: standard error, or a test's stand-in. */
export interface ProgressStream {
  isTTY?: boolean;
  write(text: string): unknown;
}

const TERMINAL_MS = 1_000;
const PLAIN_MS = 10_000;

/** Clears the line of a terminal and returns to its start. */
const CLEAR = '\r\u001b[K';

/**
 * Shows that long work goes on. On a terminal, one line shows the present step and its seconds.
 * Elsewhere, such as in the log of a job, a line is written every ten seconds, so that short work
 * writes nothing.
 */
export class Progress {
  readonly #stream: ProgressStream;
  readonly #begunMs = monotonicMs();
  readonly #timer: NodeJS.Timeout;
  #text: string;

  /** @param text the first step */
  constructor(text: string, stream: ProgressStream = process.stderr) {
    this.#text = text;
    this.#stream = stream;
    this.#timer = setInterval(() => this.#show(), stream.isTTY ? TERMINAL_MS : PLAIN_MS);
    this.#timer.unref();
    if (stream.isTTY) this.#show();
  }

  /** Replaces the text of the step. */
  update(text: string): void {
    this.#text = text;
    if (this.#stream.isTTY) this.#show();
  }

  /** Stops and removes the line from the terminal. */
  end(): void {
    clearInterval(this.#timer);
    if (this.#stream.isTTY) this.#stream.write(CLEAR);
  }

  #show(): void {
    const line = `${this.#text}… ${Math.round((monotonicMs() - this.#begunMs) / 1000)} s`;
    this.#stream.write(this.#stream.isTTY ? `${CLEAR}${line}` : `${line}\n`);
  }
}

/**
 * Shows progress while `work` runs.
 * @param text the first step
 * @param stream `null`: show nothing
 */
export async function withProgress<T>(
  text: string,
  work: (update: (text: string) => void) => Promise<T>,
  stream: ProgressStream | null = process.stderr,
): Promise<T> {
  if (!stream) return work(() => undefined);
  const progress = new Progress(text, stream);
  try {
    return await work((next) => progress.update(next));
  } finally {
    progress.end();
  }
}
