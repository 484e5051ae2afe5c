import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import express, { type Request, type Response } from 'express';
import pg from 'pg';
import { pino } from 'pino';
import { hashToken } from '../../src/platform/base/crypto/token-hash.ts';
import { type List, LISTS, type Row } from './raw-lists.ts';
import { serve } from './serve.ts';

/*
 * The comparisons for reading: Express, one prepared statement for each list, and the bytes that
 * the product sends.
 *
 * `BENCH_HANDLER=fair` also does what no server of this kind can leave out: it looks the token up,
 * checks the query, writes one log line and sends the product's headers. `bare` does nothing of
 * that: it is the limit.
 */

const ACCOUNT_OF_TOKEN = `
  select t.id as token_id, t.scope as own, g.id as account_id, g.application_id, g.provider, g.email, g.status,
    g.billing_state, g.scope, g.granted_scope, a.features, a.suspended_at
  from access_token t join "grant" g on g.id = t.grant_id join application a on a.id = g.application_id
  where t.hash = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`;
const HIGHEST = { limit: 1_000, offset: 1_000_000 } as const;

/** Parses a variable of the environment. */
const given = (name: string): unknown => JSON.parse(process.env[name] ?? 'null');

const isFair = process.env['BENCH_HANDLER'] === 'fair';
/** Headers of the product's responses. */
const headers = isFair ? (given('BENCH_HEADERS') as [string, string][]) : [];
/** For the bare handler: ids of the accounts, by the value of the header `Authorization`. */
const accounts = isFair ? {} : (given('BENCH_ACCOUNTS') as Record<string, string>);
/** Writes where `pino-http` does: the output of this process, which the bench discards. */
const log = pino();
const pool = new pg.Pool({
  connectionString: process.env['DATABASE_URL'],
  max: Number(process.env['DATABASE_POOL']),
  application_name: 'carillon-bench-raw',
  // PostgreSQL would plan the list of messages again for each request, in half a millisecond.
  options: '-c plan_cache_mode=force_generic_plan',
});

async function accountOf(authorization = ''): Promise<string | undefined> {
  if (!isFair) return accounts[authorization];
  const values = [hashToken(authorization.replace(/^Bearer /, ''))];
  const { rows } = await pool.query<Row>({ name: 'token', text: ACCOUNT_OF_TOKEN, values });
  const [row] = rows;
  const isAdmitted = row?.['suspended_at'] === null && row['billing_state'] !== 'cancelled';
  return isAdmitted ? (row['account_id'] as string) : undefined;
}

/** @returns the page, or `undefined` if the query is invalid */
function pageOf(query: Request['query']): { limit: number; offset: number } | undefined {
  const page = { limit: 100, offset: 0 };
  for (const [name, value] of Object.entries(query)) {
    if (name !== 'limit' && name !== 'offset') return undefined;
    if (typeof value !== 'string' || !/^\d{1,7}$/.test(value)) return undefined;
    page[name] = Number(value);
    if (page[name] > HIGHEST[name]) return undefined;
  }
  return page;
}

/** Logs a request as the product does, once its response has been sent. */
function logOnceSent({ method, path }: Request, response: Response, account: string): void {
  const begun = performance.now();
  response.once('close', () => {
    log.info(
      {
        req: { id: response.getHeader('X-Request-Id'), method, path },
        account,
        res: { status: response.statusCode },
        responseTime: Math.round(performance.now() - begun),
      },
      'request completed',
    );
  });
}

async function list(path: string, { text, view }: List, request: Request, response: Response) {
  if (isFair) {
    response.setHeader('X-Request-Id', randomUUID());
    for (const [name, value] of headers) response.setHeader(name, value);
  }
  const account = await accountOf(request.headers.authorization);
  if (account === undefined) return void response.status(401).json({});
  if (isFair) logOnceSent(request, response, account);
  const page = isFair ? pageOf(request.query) : { limit: 10, offset: 0 };
  if (!page) return void response.status(400).json({});
  // A limit in the text, so that PostgreSQL plans the statement once.
  const { rows } = await pool.query<Row>({
    name: `${path} ${page.limit} ${page.offset}`,
    text: `${text} limit ${page.limit} offset ${page.offset}`,
    values: [account],
  });
  const items = rows.map(view);
  // Express adds a charset to texts, which the product's type does not have.
  if (isFair) response.send(Buffer.from(JSON.stringify(items)));
  else response.json(items);
}

const app = express();
// As in the responses that this is compared with.
app.disable('etag');
app.disable('x-powered-by');
for (const [path, one] of Object.entries(LISTS)) {
  app.get(path, (request, response, next) => {
    list(path, one, request, response).catch(next);
  });
}
process.on('SIGINT', () => undefined);
const server = app.listen(0, '127.0.0.1', () => serve((server.address() as AddressInfo).port));
