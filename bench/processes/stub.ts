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

/** Starts the stub of a company with a mailbox of `messages` messages. */
export async function startStub(
  company: 'google' | 'microsoft',
  messages: number,
): Promise<StubProcess> {
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [path.join(ROOT, `test/support/${company}/main.ts`), String(port), String(messages)],
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
