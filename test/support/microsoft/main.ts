import type { StubAnswer, StubRequest } from '../remote-stub/messages.ts';
import { newContent } from './mail/message-input.ts';
import { MicrosoftStub } from './microsoft-stub.ts';

/*
 * The stub of Microsoft as a process of its own, for measuring: node test/support/microsoft/main.ts
 * [port] [number of messages] [milliseconds that every request takes] [number of folders]. It
 * prints one line of JSON with its address and the credentials of its one person, and serves `GET
 * /stub/report` with what was asked of the mailbox at most. SIGTERM ends it.
 */

class MeasuredStub extends MicrosoftStub {
  protected override async answer(request: StubRequest): Promise<StubAnswer> {
    if (request.path !== '/stub/report') return await super.answer(request);
    const { violations, settings, world } = this;
    const { requestsPerWindow, concurrentRequests, sendsPerMinute } = settings;
    const limits = { requestsPerWindow, concurrentRequests, sendsPerMinute };
    const use = world.quotas.useOf(email);
    return { status: 200, body: { violations, limits, use, sent: world.sent.length } };
  }
}

const [port = '0', messages = '10000', latency = '0', folders = '0'] = process.argv.slice(2);
const email = 'anna@contoso.test';
const stub = new MeasuredStub({ keepRequests: 100, settings: { latencyMs: Number(latency) } });
await stub.listen(Number(port));
stub.addApp({ clientId: 'app', secrets: new Set(['app-secret']) });
const { mailbox } = stub.addUser(email, { displayName: 'Anna' });
const count = Number(messages);
const inbox = mailbox.folderId('inbox');
const own = Array.from(
  { length: Number(folders) },
  (_, n) => mailbox.createFolder(`Folder ${n}`).id,
);
const places = [inbox, ...own];
for (let number = 0; number < count; number += 1) {
  const received = new Date(Date.now() - (count - number) * 60_000);
  const address = `sender${number % 97}@elsewhere.test`;
  const from = { name: `Sender ${number % 97}`, address };
  const content = newContent(
    {
      subject: `Message ${number}`,
      body: { contentType: 'text', content: `This is message ${number}.` },
      from,
      sender: from,
      to: [{ name: 'Anna', address: email }],
      internetMessageId: `<seed-${number}@elsewhere.test>`,
    },
    received,
  );
  const folderId = places[number % places.length] ?? inbox;
  const message = mailbox.add(content, { folderId, received, isRead: number % 3 > 0 });
  // Otherwise all of them would be new mail.
  message.created = received;
}
const scopes = [
  'Mail.ReadWrite',
  'Mail.Send',
  'Calendars.ReadWrite',
  'Contacts.ReadWrite',
  'MailboxSettings.Read',
  'Place.Read.All',
  'User.Read',
];
const { refreshToken } = stub.tokensFor(email, [...scopes]);
const { origin } = stub;
const client = { clientId: 'app', clientSecret: 'app-secret' };
process.stdout.write(`${JSON.stringify({ origin, email, ...client, refreshToken })}\n`);
process.on('SIGTERM', () => void stub.stop());
