import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import express, { type Request, type Response } from 'express';
import pg from 'pg';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { SAMPLE_BODY, sampleMime } from '../sample.ts';
import { serve } from './serve.ts';

/*
 * The comparison for accepting: Express, the JSON body, and the same rows of the same size that the
 * product writes. There is no token, no validation and no composing.
 */

/**
 * The product's rows for one message, written as a program would that accepts messages one by one.
 */
const INSERT_MESSAGE = `
  with status as (
    insert into job_status (id, account_id, action, object, status, send_at, original_send_at, retry_limit_at,
                            message_id, thread_id, created_at, updated_at)
    values ($1, $2, 'new_outbox', 'message', 'pending', $3, $3, $4, $5, $6, $7, $7)),
  content as (
    insert into outbox_message (id, account_id, content, envelope, mime, message_id_header)
    values ($1, $2, $8, $9, $10, $11))
  insert into send_job (id, account_id, run_at, due_at, retry_limit_at)
  values ($1, $2, greatest($3, now()), $3, $4)`;
const pool = new pg.Pool({
  connectionString: process.env['DATABASE_URL'],
  max: Number(process.env['DATABASE_POOL']),
  application_name: 'carillon-bench-raw',
});
const accountId = process.env['BENCH_ACCOUNT'] ?? '';
const mime = await sampleMime();
const addresses = {
  from: [{ email: 'ada@bench.test', name: 'Ada' }],
  cc: [],
  bcc: [],
  reply_to: [],
};
const envelope = JSON.stringify({ from: 'ada@bench.test', recipients: ['bo@example.test'] });

async function accept(request: Request, response: Response): Promise<void> {
  const body = request.body as typeof SAMPLE_BODY;
  const id = newId();
  const at = new Date();
  const content = { ...addresses, ...body };
  const values = [
    id,
    accountId,
    at,
    new Date(at.getTime() + 86_400_000),
    newId(),
    newId(),
    at,
    JSON.stringify(content),
    envelope,
    mime,
    `<${id}.${randomUUID()}@bench.test>`,
  ];
  await pool.query({ name: 'accept', text: INSERT_MESSAGE, values });
  response
    .status(202)
    .json({ job_status_id: id, account_id: accountId, status: 'pending', original_data: content });
}

const app = express();
app.use(express.json({ limit: '10mb' }));
app.post('/v2/outbox', (request, response, next) => {
  accept(request, response).catch(next);
});
process.on('SIGINT', () => undefined);
const server = app.listen(0, '127.0.0.1', () => serve((server.address() as AddressInfo).port));
