import { setTimeout as delay } from 'node:timers/promises';
import type { StubAnswer, StubRequest } from '../remote-stub/messages.ts';
import { GoogleStub } from './google-stub.ts';

/*
 * The stub of Google as a process of its own, for measuring: node test/support/google/main.ts
 * [port] [number of messages] [milliseconds that every request takes] [number of labels]. It prints
 * one line of JSON with its address and the credentials of its one person, and serves `GET
 * /stub/report` with what was charged. SIGTERM ends it.
 */

class MeasuredStub extends GoogleStub {
  protected override async answer(request: StubRequest): Promise<StubAnswer> {
    if (request.path !== '/stub/report') {
      await delay(Number(latency));
      return await super.answer(request);
    }
    const { perUser } = this.quotas;
    const services = Object.entries(perUser).map(([service, quota]) => {
      const { units: limit } = quota.limit;
      const [highest, total] = [quota.highest(email), quota.total(email)];
      return [service, { limit, highest, total, refusals: quota.refusals() }];
    });
    const { violations } = this;
    return { status: 200, body: { violations, quotas: Object.fromEntries(services) as object } };
  }
}

const [port = '0', messages = '10000', latency = '0', labels = '0'] = process.argv.slice(2);
const email = 'anna@gmail.test';
const stub = await new MeasuredStub({ keepRequests: 100 }).listen(Number(port));
const { mailbox } = stub.addUser(email, 'Anna');
const names = Array.from({ length: Number(labels) }, (_, number) => `Label ${number}`);
const own = names.map((name) => mailbox.labels.create({ name }).id);
const count = Number(messages);
for (let number = 0; number < count; number += 1) {
  const date = Date.now() - (count - number) * 60_000;
  const label = own[number % own.length];
  const ids = ['INBOX', ...(label === undefined ? [] : [label])];
  mailbox.add({ raw: Buffer.from(message(number, date)), labels: ids, date });
}
const scopes = [
  'openid',
  'https://mail.google.com/',
  'https://www.googleapis.com/auth/userinfo.email',
  'https://www.googleapis.com/auth/calendar',
  'https://www.googleapis.com/auth/contacts',
];
const { id, secret } = stub.oauth.client;
const line = {
  origin: stub.origin,
  email,
  clientId: id,
  clientSecret: secret,
  refreshToken: stub.oauth.refreshTokenFor(email, scopes),
};
process.stdout.write(`${JSON.stringify(line)}\n`);
process.on('SIGTERM', () => void stub.stop());

function message(number: number, date: number): string {
  return [
    `From: Sender ${number % 97} <sender${number % 97}@elsewhere.test>`,
    `To: ${email}`,
    `Subject: Message ${number}`,
    `Date: ${new Date(date).toUTCString()}`,
    `Message-ID: <seed-${number}@elsewhere.test>`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    `This is message ${number}.`,
    '',
  ].join('\r\n');
}
