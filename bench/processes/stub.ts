import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from '../../scripts/lib/project.ts';
import { freePort } from '../child.ts';

/** The only person at a stub, and the client that may act for the person. */
export interface StubPerson {
  origin: string;
  email: string;
  clientId: string;
  clientSecret: string;
  refreshToken: string;
}

/** A stub of a company in a process of its own. */
export interface StubProcess extends StubPerson {
  /** What the stub counted so far: `GET /stub/report`. */
  report(): Promise<unknown>;
  stop(): Promise<void>;
}

/** The mailbox of a stub, and how slow the stub is. */
export interface StubMailbox {
  messages: number;
  /** Labels or folders of the user's own, over which the messages are spread. */
  labels: number;
  /** Milliseconds that each request takes. */
  latencyMs: number;
}

/** Starts the stub of a company. */
export async function startStub(
  company: 'google' | 'microsoft',
  { messages, labels, latencyMs }: StubMailbox,
): Promise<StubProcess> {
  const port = await freePort();
  const program = path.join(ROOT, `test/support/${company}/main.ts`);
  const child = spawn(
    process.execPath,
    [program, ...[port, messages, latencyMs, labels].map(String)],
    { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done) throw new Error(`the stub of ${company} did not start`);
  const person = JSON.parse(first.value) as StubPerson;
  return {
    ...person,
    report: async () => (await fetch(`${person.origin}/stub/report`)).json(),
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
