import { setTimeout as delay } from 'node:timers/promises';
import { MailServers, type MailUser } from '../../test/support/mail-servers/mail-servers.ts';
import { type BenchProcess, freePort } from '../child.ts';
import type { BenchDatabase, World } from '../world.ts';

const START_LIMIT_MS = 60_000;

/** The built program, serving requests. */
export interface Program {
  child: BenchProcess;
  port: number;
}

/** An account connected over HTTP. */
export interface ConnectedMailbox {
  id: string;
  token: string;
}

/**
 * Starts the unchanged program with both roles.
 * @param more the row's own environment variables
 */
export async function startProgram(
  world: World,
  database: Pick<BenchDatabase, 'url'>,
  more: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const port = await freePort();
  const environment = world.environment(database, {
    PORT: String(port),
    ROLES: 'api,worker',
    ...more,
  });
  const child = world.spawn('dist/src/main.js', environment);
  const deadline = performance.now() + START_LIMIT_MS;
  while (!(await serves(port))) {
    if (performance.now() > deadline) throw new Error('the program did not start in time');
    await delay(50);
  }
  return { child, port };
}

async function serves(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/health/ready`);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

/**
 * Starts real mail servers. They stop with the run if they still run.
 * @param dovecot further lines of Dovecot's configuration
 */
export async function startServers(world: World, dovecot = ''): Promise<MailServers> {
  const servers = await MailServers.start({ dovecot });
  world.own(servers);
  return servers;
}

/** Connects a mailbox as applications do. */
export async function connectOver(
  { port }: Program,
  { application }: World,
  { email }: MailUser,
  settings: object,
): Promise<ConnectedMailbox> {
  const { clientId: client_id, clientSecret: client_secret } = application;
  const { code } = await post<{ code: string }>(port, '/connect/authorize', {
    client_id,
    name: 'Ada',
    email_address: email,
    provider: 'imap',
    settings,
  });
  const connected = await post<{ id: string; access_token: string }>(port, '/connect/token', {
    client_id,
    client_secret,
    code,
  });
  return { id: connected.id, token: connected.access_token };
}

async function post<T>(port: number, path: string, body: object): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** The newest messages of the inbox. */
export async function newestMessages(
  { port }: Program,
  { token }: Pick<ConnectedMailbox, 'token'>,
  limit: number,
): Promise<{ subject: string }[]> {
  const response = await fetch(`http://127.0.0.1:${port}/messages?in=inbox&limit=${limit}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (!response.ok) throw new Error(`/messages: ${response.status}: ${await response.text()}`);
  return (await response.json()) as { subject: string }[];
}

/**
 * Waits for a condition.
 * @returns when it became true, by `performance.now()`
 * @throws {Error} after `limitMs`
 */
export async function untilTrue(
  what: string,
  test: () => Promise<boolean>,
  { limitMs, everyMs }: { limitMs: number; everyMs: number },
): Promise<number> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const met = await test();
    const now = performance.now();
    if (met) return now;
    if (now > deadline) throw new Error(`waited ${limitMs / 1000} s in vain for ${what}`);
    await delay(everyMs);
  }
}
