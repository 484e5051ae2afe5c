// Creates an event that reminds its participants by email and this program by webhook.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';

const env = process.env;
const api = env.CARILLON_API_URL ?? 'http://localhost:3000';
const headers = {
  authorization: `Bearer ${env.CARILLON_ACCESS_TOKEN}`,
  'content-type': 'application/json',
};

async function call(method, path, body) {
  const response = await fetch(api + path, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer.message}`);
  return answer;
}

/** True if the reminder was signed with a key that follows from our client secret. */
function isSigned(signature, body) {
  const key = createHmac('sha256', env.CARILLON_CLIENT_SECRET).update('reminder').digest();
  const expected = createHmac('sha256', key).update(body).digest();
  const given = Buffer.from(String(signature), 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const receiver = createServer(async (request, response) => {
  const body = await buffer(request);
  if (!isSigned(request.headers['x-reminder-signature'], body))
    return response.writeHead(401).end();
  response.end();
  console.log(`Reminded: ${body}`);
}).listen(Number(env.PORT ?? 4000));
await once(receiver, 'listening');
const here = env.CALLBACK_URL ?? `http://localhost:${receiver.address().port}/`;
console.log(`Receiving reminders at ${here}`);

const calendars = await call('GET', '/calendars');
const calendar =
  calendars.find(({ read_only }) => !read_only) ??
  (await call('POST', '/calendars', { name: 'Team' }));

// Ctrl-C ends the wait and removes the event; reminders that are not sent yet are cancelled.
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

// A reminder that is due a few seconds ago is sent at once.
const minutes = 10;
const start_time = Math.floor(Date.now() / 1000) + minutes * 60 + Number(env.SECONDS ?? 30);
const event = await call('POST', '/events', {
  calendar_id: calendar.id,
  title: 'Planning',
  when: { start_time, end_time: start_time + 1800 },
  // Events with several kinds of notifications need a phone number for each participant.
  participants: [{ email: env.TO ?? 'bo@sandbox.test', name: 'Bo', phone_number: '+15550100' }],
  notifications: [
    { type: 'email', minutes_before_event: minutes, subject: 'Planning is soon', body: 'Room 1' },
    {
      type: 'webhook',
      minutes_before_event: minutes,
      url: here,
      payload: JSON.stringify({ meeting: 'planning' }),
    },
  ],
});
console.log(`Event ${event.id} begins at ${new Date(start_time * 1000).toISOString()}`);

/** Every reminder of the event, once none is still to be sent. */
async function finalReminders(signal) {
  for (;;) {
    const reminders = await call('GET', `/events/${event.id}/notifications`);
    if (reminders.every(({ status }) => status !== 'scheduled')) return reminders;
    await setTimeout(500, undefined, { signal });
  }
}

try {
  for (const { type, status, reason } of await finalReminders(stop.signal))
    console.log(`${type}: ${reason ? `${status}, ${reason}` : status}`);
} catch (error) {
  if (!stop.signal.aborted) throw error;
  process.exitCode = 130;
} finally {
  await call('DELETE', `/events/${event.id}`);
  receiver.close();
  receiver.closeAllConnections();
}
