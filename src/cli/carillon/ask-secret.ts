import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/**
 * Asks for a secret on the terminal without showing what is typed, or reads the first line of a
 * pipe.
 */
export async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  if (stdin.isTTY) stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: silent, terminal: stdin.isTTY });
  try {
    for await (const line of reader) return line;
    return '';
  } finally {
    reader.close();
    if (stdin.isTTY) stderr.write('\n');
  }
}
