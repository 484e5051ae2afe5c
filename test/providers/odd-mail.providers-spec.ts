import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { createApplication } from '../support/factories.ts';
import {
  bytesOf,
  HEADER_CASES,
  large,
  type MailCase,
  type MailCaseFile,
  PART_CASES,
  TEXT_CASES,
} from '../support/mail-cases.ts';
import { connectMailbox, type RealAccount } from '../support/mail-servers/connect-account.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { MailServers } from '../support/mail-servers/mail-servers.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

interface Shown {
  id: string;
  subject: string;
  body: string;
  from: { email: string }[];
  to: { email: string }[];
  files: (Omit<MailCaseFile, 'bytes'> & { id: string; size: number })[];
  headers: { 'Message-Id': string | null; 'In-Reply-To': string | null };
  warnings: string[];
}

const PATIENCE_MS = 120_000;
const SMALL = [...PART_CASES, ...TEXT_CASES, ...HEADER_CASES];
const CASES = [
  ...SMALL.map((one) => ({ ...one, size: 'small' })),
  ...SMALL.map((one) => ({ ...large(one), size: 'large' })),
];
const markOf = (index: number) => `case-${index}@cases.test`;

/** Strangers' mail in a real mailbox, as the API shows it. */
describeWith(['dovecot', 'exim4'], 'odd mail on a real server', () => {
  jest.setTimeout(2 * PATIENCE_MS);
  let servers: MailServers;
  let server: TestApp;
  let ada: RealAccount;

  const get = (path: string) => request(server.url).get(path).set(ada.bearer);

  beforeAll(async () => {
    servers = await MailServers.start();
    server = await startTestApp();
    const user = await servers.addUser();
    const client = await servers.client(user);
    for (const [index, one] of CASES.entries())
      await client.append(
        'INBOX',
        Buffer.concat([Buffer.from(`Cc: ${markOf(index)}\r\n`), bytesOf(one)]),
      );
    await client.logout();
    const application = await createApplication(server.app);
    ada = await connectMailbox(server, application, user, servers.settingsOf(user));
    await until(
      'all messages to be mirrored',
      async () => {
        const { body } = await get('/messages?view=count').expect(200);
        return (body as { count: number }).count === CASES.length;
      },
      PATIENCE_MS,
    );
  }, 2 * PATIENCE_MS);
  afterAll(async () => {
    await server.close();
    await servers.stop();
  });

  async function shown(index: number): Promise<Shown> {
    const list = await get(`/messages?view=expanded&cc=${markOf(index)}`).expect(200);
    const [message] = list.body as Shown[];
    if (!message) throw new Error(`case ${index} is not there`);
    return message;
  }

  async function bytes(id: string): Promise<string> {
    const { body } = await get(`/files/${id}/download`).buffer(true).parse(asBuffer).expect(200);
    return (body as Buffer).toString('latin1');
  }

  it.each(CASES.map((one, index) => [one.size, one.name, one, index] as const))(
    'a %s message %s',
    async (size, _, { expected }, index) => {
      const message = await shown(index);
      expect(summaryOf(message)).toMatchObject(summaryOfCase(expected));
      if (expected.files) {
        const own = message.files.filter(({ filename }) => filename !== 'large.pdf');
        const sorted = own.toSorted((a, b) => (a.filename < b.filename ? -1 : 1));
        const wanted = expected.files.toSorted((a, b) => (a.filename < b.filename ? -1 : 1));
        expect(sorted).toMatchObject(wanted.map(({ bytes: _bytes, ...file }) => file));
        expect(await Promise.all(sorted.map(({ id }) => bytes(id)))).toEqual(
          wanted.map((file) => file.bytes),
        );
        if (size === 'small')
          expect(sorted.map((file) => file.size)).toEqual(wanted.map((file) => file.bytes.length));
      }
      if (expected.word !== undefined) {
        const found = await get(`/messages/search?q=${expected.word}`).expect(200);
        expect((found.body as Shown[]).map(({ id }) => id)).toContain(message.id);
      }
    },
  );

  it('says in the expanded view, and only there, what was guessed', async () => {
    const index = CASES.findIndex(({ name }) => name.startsWith('in Latin-1 without'));
    const { id, warnings } = await shown(index);
    expect(warnings).toEqual([expect.stringContaining('likeliest charset')]);
    const { body } = await get(`/messages/${id}`).expect(200);
    expect(body).not.toHaveProperty('warnings');
    expect((await shown(0)).warnings).toEqual([]);
  });
});

const textOf = (body: string): string =>
  body
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&gt;', '>')
    .replaceAll(/\s+/g, ' ')
    .trim();

function summaryOf({ subject, body, from, to, headers }: Shown) {
  return {
    subject,
    text: textOf(body),
    from: from.map(({ email }) => email),
    to: to.map(({ email }) => email),
    messageId: headers['Message-Id'],
    inReplyTo: headers['In-Reply-To'],
  };
}

function summaryOfCase({ files: _files, word: _word, ...summary }: MailCase['expected']) {
  return summary;
}

/** Reads a response as bytes, whatever its type. */
function asBuffer(
  response: request.Response,
  done: (error: Error | null, bytes: Buffer) => void,
): void {
  const stream = response as unknown as NodeJS.ReadableStream;
  buffer(stream).then(
    (read) => done(null, read),
    (error: unknown) =>
      done(error instanceof Error ? error : new Error(String(error)), Buffer.alloc(0)),
  );
}
