import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import express, { type Request, type Response } from 'express';
import pg from 'pg';
import { compiled } from '../../scripts/lib/project.ts';
import { newId } from '../../src/common/ids/ids.ts';
import { SAMPLE_BODY, sampleMime } from '../sample.ts';
import { serve } from './serve.ts';

/*
 * What accepting is measured against: Express, the JSON body, and the product's own statement with parameters as long
 * as the product's. No token, no validation, no composing.
 */

const { INSERT_MESSAGE } = (await import(compiled('outbox/outbox.repository'))) as {
  INSERT_MESSAGE: string;
};
const pool = new pg.Pool({
  connectionString: process.env['DATABASE_URL'],
  max: Number(process.env['DATABASE_POOL']),
  application_name: 'carillon-bench-raw',
});
const accountId = process.env['BENCH_ACCOUNT'] ?? '';
const mime = await sampleMime();
const addresses = { from: [{ email: 'ada@bench.test', name: 'Ada' }], cc: [], bcc: [], reply_to: [] };
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
