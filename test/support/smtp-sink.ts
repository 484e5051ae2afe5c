import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { AcceptedMessage, SinkBehaviour, SinkCounts } from './smtp-sink-protocol.ts';

const PROCESS = fileURLToPath(new URL('./smtp-sink-process.ts', import.meta.url));

/**
 * The mail server of the fault tests, seen from the tests: a process of its own (`smtp-sink-process.ts`), which can be
 * told how to behave and asked what it has accepted.
 */
export interface SmtpSink {
  /** Of SMTP, on 127.0.0.1. */
  port: number;
  /** Where it can be asked whether it has accepted a message: `?from=…&message_id=…` → `{ found }`. */
  sentUrl: string;
  /** Replaces the behaviour; what is left out is calm. */
  behave(behaviour: Partial<SinkBehaviour>): Promise<void>;
  /** Every acceptance in order, repetitions included. */
  accepted(): Promise<AcceptedMessage[]>;
  counts(): Promise<SinkCounts>;
  /** Answers everything that hangs, and lets nothing hang any more. */
  release(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts one, calm. It ends with the process that started it. */
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
