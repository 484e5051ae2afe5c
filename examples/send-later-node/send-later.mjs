// Sends a message at a set time and waits for the webhook that reports the result.
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';

const env = process.env;
const api = env.CARILLON_API_URL ?? 'http://localhost:3000';
const clientSecret = env.CARILLON_CLIENT_SECRET;
const webhooks = `/a/${env.CARILLON_CLIENT_ID}/webhooks`;
const asAccount = `Bearer ${env.CARILLON_ACCESS_TOKEN}`;
const asApplication = `Basic ${btoa(`${clientSecret}:`)}`;

async function call(method, path, authorization, body, headers = {}) {
  const response = await fetch(api + path, {
    method,
    headers: { authorization, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer.message}`);
  return answer;
}

/** True if the delivery was signed with our secret in the last five minutes. */
function isSigned(headers, body) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < 300)) return false;
  const expected = createHmac('sha256', clientSecret).update(`${id}.${timestamp}.`).update(body);
  const [version, signature = ''] = String(headers['webhook-signature']).split(',');
  const [ours, theirs] = [expected.digest(), Buffer.from(signature, 'base64')];
  return version === 'v1' && ours.length === theirs.length && timingSafeEqual(ours, theirs);
}

/** Results that have arrived, by the id of their job. They may arrive before we know the id. */
const results = new Map();

const receiver = createServer(async (request, response) => {
  // When a webhook is created, the server asks for its challenge back.
  const challenge = new URL(request.url, 'http://localhost').searchParams.get('challenge');
  if (challenge !== null) return response.end(challenge);
  const body = await buffer(request);
  if (!isSigned(request.headers, body)) return response.writeHead(401).end();
  // Respond soon; a delivery without a 200 is repeated.
  response.end();
  for (const { type, object_data: job } of JSON.parse(body).deltas) {
    results.set(job.id, { type, reason: job.attributes.extras?.reason });
    receiver.emit('result');
  }
});
receiver.listen(Number(env.PORT ?? 4000));
await once(receiver, 'listening');
const here = env.CALLBACK_URL ?? `http://localhost:${receiver.address().port}/`;
console.log(`Receiving webhooks at ${here}`);

// An earlier run that was killed may have left its webhook, and an address can have only one.
for (const { id, callback_url } of await call('GET', webhooks, asApplication))
  if (callback_url === here) await call('DELETE', `${webhooks}/${id}`, asApplication);
const webhook = await call('POST', webhooks, asApplication, {
  callback_url: here,
  triggers: ['job.successful', 'job.failed'],
});
// Ctrl-C ends the wait for the result; the message is still sent.
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
try {
  const job = await call(
    'POST',
    '/v2/outbox',
    asAccount,
    {
      to: [{ email: env.TO ?? 'bo@sandbox.test' }],
      subject: 'See you tomorrow',
      body: '<p>Until tomorrow!</p>',
      send_at: Math.floor(Date.now() / 1000) + Number(env.SECONDS ?? 60),
    },
    // If this request is repeated, the message is not sent twice.
    { 'idempotency-key': randomUUID() },
  );
  console.log(
    `Message ${job.job_status_id} is due at ${new Date(job.send_at * 1000).toISOString()}`,
  );
  while (!results.has(job.job_status_id)) await once(receiver, 'result', { signal: stop.signal });
  const { type, reason } = results.get(job.job_status_id);
  console.log(reason ? `${type}: ${reason}` : type);
  process.exitCode = type === 'job.successful' ? 0 : 1;
} catch (error) {
  if (!stop.signal.aborted) throw error;
  process.exitCode = 130;
} finally {
  await call('DELETE', `${webhooks}/${webhook.id}`, asApplication);
  receiver.close();
  receiver.closeAllConnections();
}
