import nodemailer from 'nodemailer';
import { sampleMime } from '../sample.ts';
import { serve } from './serve.ts';

/*
 * The comparison for sending: nodemailer's pool with messages that are already composed. The pool
 * keeps its connections until the process ends.
 */

const transport = nodemailer.createTransport({
  pool: true,
  host: '127.0.0.1',
  port: Number(process.env['BENCH_SINK']),
  secure: false,
  ignoreTLS: true,
  maxConnections: 20,
  maxMessages: Infinity,
  auth: { user: 'bench', pass: 'bench' },
});
const raw = await sampleMime();
const envelope = { from: 'ada@bench.test', to: ['bo@example.test'] };

process.on('SIGINT', () => undefined);
serve(null, {
  /** Sends `count` messages and returns the milliseconds it took. */
  send: async (count: number) => {
    const begun = performance.now();
    await Promise.all(Array.from({ length: count }, () => transport.sendMail({ envelope, raw })));
    return performance.now() - begun;
  },
});
