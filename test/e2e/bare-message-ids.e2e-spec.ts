import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { Signals } from '../../src/platform/work/signals.ts';
import { deliver } from '../support/deliver.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

interface Shown {
  id: string;
  thread_id: string;
  subject: string;
}

describe('messages whose Message-IDs are not as RFC 5322 wants them', () => {
  let server: TestApp;
  let ada: TestAccount;
  beforeAll(async () => {
    server = await startTestApp();
    ada = await createAccount(server.app, await createApplication(server.app), { mirrored: true });
  });
  afterAll(() => server.close());

  const find = async (subject: string, folder: string): Promise<Shown | undefined> => {
    const query = { subject, in: folder };
    return (await request(server.url).get('/messages').set(ada.bearer).query(query)).body[0];
  };
  /** Delivers a message with a subject of its own, which therefore joins no thread. */
  const mail = async (...header: readonly string[]): Promise<Shown> => {
    const subject = randomUUID();
    await deliver(server, ada, [...header, `Subject: ${subject}`, '', 'x']);
    server.app.get(Signals).wake('sync');
    return until('the message', () => find(subject, 'inbox'));
  };
  const raw = async (id: string): Promise<string> => {
    const asked = request(server.url).get(`/messages/${id}`).set(ada.bearer);
    const response = await asked.set('Accept', 'message/rfc822').buffer(true).expect(200);
    const text: string = response.text ?? response.body.toString();
    return text.replaceAll(/\r\n[ \t]+/g, ' ');
  };

  const bare = (id: string) => id;
  const bracketed = (id: string) => `<${id}>`;
  it.each([
    ['without angle brackets', bare, bare],
    ['named without angle brackets by an answer', bracketed, bare],
    ['named with angle brackets by an answer', bare, bracketed],
    ['with half of the brackets', (id: string) => `<${id}`, (id: string) => `${id}>`],
    ['beside a comment', (id: string) => `${id} (made by hand)`, (id: string) => `${id} (Monday)`],
    ['beside words', bracketed, (id: string) => `Message of Monday from bo, ${bracketed(id)}`],
  ])('are one thread, and answers name them: %s', async (_, own, named) => {
    const name = randomUUID();
    const ids = ['first', 'second', 'third'].map((each) => `${each}.${name}@odd.test`);
    const [first = '', second = '', third = ''] = ids;
    const messages = [
      await mail(`Message-ID: ${own(first)}`),
      await mail(`Message-ID: ${own(second)}`, `In-Reply-To: ${named(first)}`),
      await mail(`Message-ID: ${own(third)}`, `References: ${named(first)} ${named(second)}`),
    ];
    expect(new Set(messages.map(({ thread_id }) => thread_id)).size).toBe(1);
    const subject = randomUUID();
    const answer = {
      to: [{ email: 'bo@elsewhere.test' }],
      subject,
      body: 'Yes',
      reply_to_message_id: messages[2]?.id,
    };
    await request(server.url).post('/send').set(ada.bearer).send(answer).expect(200);
    const sent = await until('the answer', () => find(subject, 'sent'));
    expect(sent.thread_id).toBe(messages[0]?.thread_id);
    const text = await raw(sent.id);
    expect(/^In-Reply-To: (.*)$/m.exec(text)?.[1]?.trim()).toBe(`<${third}>`);
    const references = /^References: (.*)$/m.exec(text)?.[1]?.trim().split(/\s+/);
    expect(references?.at(-1)).toBe(`<${third}>`);
    expect(references).toContain(`<${second}>`);
  });

  it('are one thread if commas separate the references', async () => {
    const name = randomUUID();
    const first = await mail(`Message-ID: first.${name}@odd.test`);
    const later = await mail(
      `References: other.${name}@odd.test, first.${name}@odd.test,last.${name}@odd.test`,
    );
    expect(later.thread_id).toBe(first.thread_id);
  });
});
