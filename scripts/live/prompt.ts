import readline from 'node:readline/promises';
import { Writable } from 'node:stream';

/** The command line or a variable is wrong. The message says how to write it. */
export class UsageError extends Error {
  override name = 'UsageError';
}

async function ask(question: string, output: Writable | NodeJS.WriteStream): Promise<string> {
  if (!process.stdin.isTTY)
    throw new UsageError(
      `There is no terminal to ask: ${question.trim()} Set the variables instead`,
    );
  process.stdout.write(question);
  const lines = readline.createInterface({ input: process.stdin, output, terminal: true });
  try {
    // readline takes Ctrl-C away from the terminal, so it is passed on.
    lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    return (await lines.question('')).trim();
  } finally {
    lines.close();
  }
}

/** Asks one question in the terminal. */
export function prompt(question: string): Promise<string> {
  return ask(question, process.stdout);
}

/** Asks for a secret: what the user types is not shown. */
export async function promptSecret(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const answer = await ask(question, nowhere);
  process.stdout.write('\n');
  return answer;
}
