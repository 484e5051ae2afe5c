import { Pool } from 'undici';
import { newId } from '../../src/platform/base/ids/ids.ts';
import { deliveryHeaders } from '../../src/platform/webhooks/secrets/signature.ts';
import { sampleEvent } from '../webhooks-sample.ts';
import { serve } from './serve.ts';

/*
 * The comparison for webhooks: a bare undici pool posts the same bodies with the same signatures to
 * the same receiver, with as many connections as Carillon opens to one origin. It stores nothing.
 */

const pool = new Pool(`http://127.0.0.1:${process.env['BENCH_RECEIVER']}`, { connections: 32 });
const secret = process.env['BENCH_SECRET'] ?? '';
/** As many as Carillon delivers at the same time. */
const AT_ONCE = 192;

/** What to post: each event to each of the webhooks. */
export interface AskedPosts {
  events: number;
  webhooks: number;
}

async function post(path: string, eventId: string, body: Buffer): Promise<void> {
  const headers = {
    'user-agent': 'Carillon/0.1',
    ...deliveryHeaders({ eventId, body, at: new Date(), secret }),
  };
  const response = await pool.request({ method: 'POST', path, headers, body });
  await response.body.dump();
  if (response.statusCode !== 200) throw new Error(`the receiver answered ${response.statusCode}`);
}

process.on('SIGINT', () => undefined);
serve(null, {
  /** Posts every event and returns the milliseconds it took. */
  post: async ({ events, webhooks }: AskedPosts) => {
    const made = Array.from({ length: events }, () => {
      const id = newId();
      return { id, body: sampleEvent(id, id) };
    });
    let next = 0;
    const run = async () => {
      for (let at = next++; at < events * webhooks; at = next++) {
        const event = made[Math.floor(at / webhooks)];
        if (event) await post(`/hook-${at % webhooks}`, event.id, event.body);
      }
    };
    const begun = performance.now();
    await Promise.all(Array.from({ length: AT_ONCE }, run));
    return performance.now() - begun;
  },
});
