import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

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
  try {
    for await (const line of reader) return line;
    return '';
  } finally {
    reader.close();
    if (stdin.isTTY && echo !== stderr) stderr.write('\n');
  }
}
