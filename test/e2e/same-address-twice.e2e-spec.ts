import request from 'supertest';
import { rowsOf } from '../support/connect.ts';
import { deliver } from '../support/deliver.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const EMAIL = 'ada@sandbox.test';
const BO = 'bo@elsewhere.test';
/** Message-ID that the sender of both messages chooses. */
const CHOSEN = '<plan@client.example>';

interface Message {
  id: string;
  thread_id: string;
  reply_to_message_id: string | null;
}

// Each statement that finds mail by a header, a subject or an address must name the account.
describe('an address that two applications connect', () => {
  let server: TestApp;
  let first: TestAccount;
  let second: TestAccount;
  let secondApplication: string;

  beforeAll(async () => {
    server = await startTestApp();
    const applications = [
      await createApplication(server.app),
      await createApplication(server.app),
    ] as const;
    const options = { email: EMAIL, mirrored: true };
    first = await createAccount(server.app, applications[0], options);
    second = await createAccount(server.app, applications[1], options);
    secondApplication = applications[1].id;
    await createWebhook(server.app, applications[1], 'https://receiver.example/', {
      triggers: ['message.bounced'],
    });
    for (const account of [first, second])
      await until('the folders', async () => (await get(account, '/folders')).length > 0);
  });
  afterAll(() => server.close());

  const get = async (account: TestAccount, path: string): Promise<Message[]> =>
    (await request(server.url).get(path).set(account.bearer)).body;
  const inbox = (account: TestAccount, subject: string) =>
    until(`${subject} in the inbox`, async () => {
      const [message] = await get(
        account,
        `/messages?in=inbox&subject=${encodeURIComponent(subject)}`,
      );
      return message;
    });
  async function send(account: TestAccount, lines: readonly string[]): Promise<Message> {
    const { status, body } = await request(server.url)
      .post('/send')
      .set(account.bearer)
      .set('content-type', 'message/rfc822')
      .send([`From: ${EMAIL}`, `To: ${BO}`, ...lines, '', 'Hello'].join('\r\n'));
    expect(status).toBe(200);
    return body as Message;
  }

  it('has one thread for a subject in each of its accounts', async () => {
    const from = [`From: Bo <${BO}>`];
    await deliver(server, first, [...from, 'Subject: Budget', '', 'One'], BO);
    const original = await inbox(first, 'Budget');
    for (const account of [first, second])
      await deliver(server, account, [...from, 'Subject: Re: Budget', '', 'Two'], BO);
    expect((await inbox(first, 'Re: Budget')).thread_id).toBe(original.thread_id);
    const reply = await inbox(second, 'Re: Budget');
    expect(reply.thread_id).not.toBe(original.thread_id);
    expect(await get(second, `/messages?thread_id=${reply.thread_id}&view=ids`)).toEqual([
      reply.id,
    ]);
  });

  it('gets messages of its own for a Message-ID that both accounts have sent, and for replies to it', async () => {
    const ours = await send(first, [`Message-ID: ${CHOSEN}`, 'Subject: A plan']);
    // Only the first account knows the message that is replied to.
    const reply = await send(second, [`In-Reply-To: ${CHOSEN}`, 'Subject: Re: A plan']);
    expect(reply.thread_id).not.toBe(ours.thread_id);
    expect(reply.reply_to_message_id).toBeNull();
    const theirs = await send(second, [`Message-ID: ${CHOSEN}`, 'Subject: A plan']);
    expect(theirs.id).not.toBe(ours.id);
    expect(theirs.thread_id).not.toBe(ours.thread_id);
    for (const [account, { id }] of [
      [first, ours],
      [second, theirs],
    ] as const)
      await until('the copy in Sent', async () => {
        const copies = await get(account, '/messages?in=sent&subject=A%20plan&view=ids');
        return JSON.stringify(copies) === JSON.stringify([id]);
      });
  });

  it('gets no bounce of a message that only the other account has sent', async () => {
    const about = '<bounced@client.example>';
    await send(first, [`Message-ID: ${about}`, 'Subject: Bouncing']);
    await until('the copy in Sent', async () => {
      const copies = await get(first, '/messages?in=sent&subject=Bouncing');
      return copies.length > 0;
    });
    await deliver(server, second, [
      'Subject: Undelivered Mail Returned to Sender',
      'MIME-Version: 1.0',
      'Content-Type: multipart/report; report-type=delivery-status; boundary="r"',
      '',
      '--r',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.test',
      '',
      `Final-Recipient: rfc822; ${BO}`,
      'Action: failed',
      'Status: 5.1.1',
      '',
      '--r',
      'Content-Type: message/rfc822',
      '',
      `Message-ID: ${about}`,
      '',
      'x',
      '--r--',
      '',
    ]);
    await inbox(second, 'Undelivered Mail Returned to Sender');
    // The event is stored in the transaction that stores the report.
    const text = 'select type from webhook_event where application_id = $1';
    expect(await rowsOf(server, text, [secondApplication])).toEqual([]);
  });
});
