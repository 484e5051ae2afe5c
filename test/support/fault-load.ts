import type { TestAccount } from './factories.ts';
import type { WorkerWorld } from './worker-world.ts';
import type { ServerProcess } from './server-process.ts';

/** A message as a client posts it. The other fields have defaults. */
export interface TestMessage {
  to: { email: string }[];
  subject?: string;
  body?: string;
  send_at?: number;
}

/** A response of the server. */
export interface CallResponse {
  status: number;
  body: { job_status_id?: string; [key: string]: unknown };
}

/**
 * Makes one request that is not repeated.
 * @returns `null` if the server died before it responded, and so promised nothing
 */
export async function call(
  server: ServerProcess,
  account: TestAccount,
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {},
): Promise<CallResponse | null> {
  try {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { ...account.bearer, 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    });
    return { status: response.status, body: (await response.json()) as CallResponse['body'] };
  } catch {
    return null; // the server has just been killed, or cannot be reached
  }
}

/**
 * Reads a job with its timeline.
 * @throws if the server does not answer
 */
export async function readJob<T>(
  server: ServerProcess,
  account: TestAccount,
  id: string,
): Promise<T> {
  const path = `${server.url}/job-statuses/${id}?view=expanded`;
  return (await (await fetch(path, { headers: account.bearer })).json()) as T;
}

/** How many messages to post, to which recipients, and how fast. */
export interface LoadOptions {
  messages: number;
  /** How many accounts of the world to use, one after another; default: all. */
  accounts?: number;
  /** Concurrent callers; default 8. */
  callers?: number;
  /**
   * The server that gets message `n`, called again for each repetition. `undefined` if none is up.
   */
  server: (n: number) => ServerProcess | undefined;
  /** Default: one recipient each; every tenth message has three, and every tenth has 100 kB. */
  message?: (n: number) => TestMessage;
  /** Begins the Idempotency-Keys. Default: `load`. A world that posts twice needs another one. */
  key?: string;
  /** Called with every response. */
  onAnswer?: (answer: CallResponse) => void;
  /** Called before message `n` is posted. The message waits for the promise. */
  pace?: (n: number) => Promise<unknown>;
}

const LARGE = 'x'.repeat(100_000);

/** Message number `n` of the default mix. */
export function usualMessage(n: number): TestMessage {
  const recipients =
    n % 10 === 3
      ? [`to-${n}@sink.test`, `cc-${n}@sink.test`, `bcc-${n}@sink.test`]
      : [`to-${n}@sink.test`];
  return {
    to: recipients.map((email) => ({ email })),
    subject: `message ${n}`,
    body: n % 10 === 7 ? LARGE : 'Hello',
  };
}

/**
 * Posts until the given number of messages has been answered with 202. Each has an Idempotency-Key
 * of its own. A request without a response is repeated with the same key.
 * @returns the job ids of the responses
 */
export async function postMessages(world: WorkerWorld, options: LoadOptions): Promise<string[]> {
  const {
    messages,
    callers = 8,
    server,
    accounts = world.accounts.length,
    message = usualMessage,
    key = 'load',
  } = options;
  const accepted: string[] = [];
  let next = 0;
  const caller = async () => {
    for (let n = next++; n < messages; n = next++) {
      await options.pace?.(n);
      const account = world.accounts[n % accounts] as TestAccount;
      const request = { body: message(n), headers: { 'Idempotency-Key': `${key}-${n}` } };
      for (;;) {
        const target = server(n);
        const answer = target ? await call(target, account, 'POST', '/v2/outbox', request) : null;
        if (answer) options.onAnswer?.(answer);
        if (answer?.status === 202) {
          accepted.push(String(answer.body.job_status_id));
          break;
        }
        if (answer && answer.status !== 503 && answer.status !== 409) {
          throw new Error(
            `a message was refused with ${answer.status}: ${JSON.stringify(answer.body)}`,
          );
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return accepted;
}
