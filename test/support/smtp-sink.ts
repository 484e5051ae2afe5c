import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { AcceptedMessage, SinkBehaviour, SinkCounts } from './smtp-sink-protocol.ts';

const PROCESS = fileURLToPath(new URL('./smtp-sink-process.ts', import.meta.url));

/**
 * The interface of tests to the fault tests' mail server. The server is a separate process
 * (`smtp-sink-process.ts`). Tests set its behaviour, and ask which messages it has accepted.
 */
export interface SmtpSink {
  /** Port for SMTP, on 127.0.0.1. */
  port: number;
  /**
   * URL that reports whether the sink has accepted a message: `?from=…&message_id=…` → `{ found }`.
   */
  sentUrl: string;
  /** Replaces the behaviour. Fields that are left out cause no faults. */
  behave(behaviour: Partial<SinkBehaviour>): Promise<void>;
  /** Every accepted message in order, repetitions included. */
  accepted(): Promise<AcceptedMessage[]>;
  counts(): Promise<SinkCounts>;
  /** Answers every hanging transaction, and makes no more transactions hang. */
  release(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a sink that causes no faults. It ends with the process that started it. */
export async function startSmtpSink(): Promise<SmtpSink> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', PROCESS], {
    env: { PATH: process.env['PATH'] },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the sink ended with ${code}`))),
  ])) as [string];
  const { port, controlPort } = JSON.parse(line) as { port: number; controlPort: number };
  const origin = `http://127.0.0.1:${controlPort}`;
  const ask = async <T>(path: string, body?: object): Promise<T> => {
    const response = await fetch(`${origin}${path}`, {
      method: body ? 'POST' : 'GET',
      body: body ? JSON.stringify(body) : null,
    });
    if (!response.ok)
      throw new Error(`the sink answers ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  };
  return {
    port,
    sentUrl: `${origin}/sent`,
    behave: (behaviour) => ask('/behaviour', behaviour),
    accepted: () => ask('/accepted'),
    counts: () => ask('/counts'),
    release: () => ask('/release', {}),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}
