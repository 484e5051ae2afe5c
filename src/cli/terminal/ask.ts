import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** Exit code after Ctrl-C, as shells have it: 128 and the number of the signal. */
const INTERRUPTED = 130;

const silent = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });

/** Asks a question on the terminal, or reads the first line of a pipe. */
export function ask(question: string): Promise<string> {
  return answerTo(question, process.stderr);
}

/**
 * Asks for a secret on the terminal without showing what is typed, or reads the first line of a
 * pipe.
 */
export function askSecret(question: string): Promise<string> {
  return answerTo(question, silent());
}

async function answerTo(question: string, echo: Writable): Promise<string> {
  const { stdin, stderr } = process;
  if (stdin.isTTY) stderr.write(question);
  const reader = createInterface({ input: stdin, output: echo, terminal: stdin.isTTY, prompt: '' });
  // Without this, Ctrl-C would be an empty answer.
  reader.once('SIGINT', () => {
    stderr.write('\n');
    process.exit(INTERRUPTED);
  });
  try {
    for await (const line of reader) return line;
    return '';
  } finally {
    reader.close();
    if (stdin.isTTY && echo !== stderr) stderr.write('\n');
  }
}
