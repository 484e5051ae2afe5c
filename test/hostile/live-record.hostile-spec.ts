import fs from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { CompanyClient } from '../../scripts/live/behaviours/company-client.ts';
import { GMAIL_BEHAVIOURS, GMAIL_LAST } from '../../scripts/live/behaviours/google-mail.ts';
import { PEOPLE_BEHAVIOURS } from '../../scripts/live/behaviours/google-people.ts';
import { MICROSOFT_BEHAVIOURS } from '../../scripts/live/behaviours/microsoft.ts';
import { observe } from '../../scripts/live/behaviours/observer.ts';
import {
  factsOf,
  type LiveRecord,
  recordText,
  writeRecord,
} from '../../scripts/live/behaviours/record.ts';
import type { Walk } from '../../scripts/live/walk.ts';

/** What a record must never contain, wherever a company or a stranger writes it. */
const PERSONAL = {
  address: 'ada.lovelace@example.com',
  name: 'AdaLovelace',
  subject: 'Divorce papers | yes | <b>',
  token: 'ya29.a0AfH6SMBsecret',
  id: '18c2f0a1b2c3d4e5',
  phone: 491_701_234_567,
  words: 'notFound ada.lovelace',
};

/** An answer with personal data in every place that a trial reads. */
const body = {
  error: {
    code: PERSONAL.name,
    status: PERSONAL.address,
    message: PERSONAL.subject,
    errors: [{ reason: PERSONAL.words }],
  },
  id: PERSONAL.id,
  historyId: PERSONAL.phone.toString(),
  nextSyncToken: PERSONAL.token,
  resourceName: `people/${PERSONAL.id}`,
  connections: [{ resourceName: PERSONAL.address }],
  messages: [{ id: PERSONAL.id }],
  value: [{ id: PERSONAL.address }, { id: PERSONAL.address }],
  history: [{ messagesAdded: [{ message: { id: PERSONAL.id } }], [PERSONAL.name]: 1 }],
  payload: { headers: [{ name: 'Message-ID', value: PERSONAL.address }] },
};

describe('the record of a live run', () => {
  let server: Server;
  let address: string;
  /** Status of the next answers. */
  let status = 200;
  let text = JSON.stringify(body);

  beforeAll(async () => {
    server = createServer((request, response) => {
      request.resume();
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(text);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const scopes = ['email', 'calendar', 'contacts'];
  const walk = {
    account: { email: PERSONAL.address, scopes },
    settings: { isRecorded: true, server: {} },
    report: { note: () => undefined },
    isInterrupted: false,
    made: (_what: string, work: () => Promise<void>) => work,
  } as unknown as Walk;
  const everything = async (): Promise<LiveRecord> => ({
    provider: 'google',
    day: '2026-11-27',
    isEmulated: true,
    observations: await observe(walk, new CompanyClient(address, PERSONAL.token), [
      ...GMAIL_BEHAVIOURS,
      ...PEOPLE_BEHAVIOURS.filter(({ name }) => name !== 'people-late-writes'),
      ...GMAIL_LAST,
      ...MICROSOFT_BEHAVIOURS,
    ]),
  });
  const leaks = (shown: string): string[] =>
    Object.values(PERSONAL)
      .map(String)
      .filter((value) => shown.includes(value));

  it.each([200, 400, 403, 404, 429, 500])(
    'has no personal data when every answer is full of it, with status %i',
    async (given) => {
      status = given;
      text = JSON.stringify(body);
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-record-'));
      const record = await everything();
      const written = fs.readFileSync(writeRecord(record, folder), 'utf8');
      fs.rmSync(folder, { recursive: true });
      expect(record.observations).toHaveLength(10);
      expect(leaks(written)).toEqual([]);
      expect(leaks(recordText(record))).toEqual([]);
      expect(written).toMatch(given === 200 ? /"isIdKept": false/ : /"<text>"|"<address>"/);
    },
  );

  it.each([
    ['nothing', ''],
    ['no JSON', `<html>${PERSONAL.subject}</html>`],
    ['a list', '[]'],
    ['deep JSON', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
    ['more than four megabytes', JSON.stringify({ id: 'x'.repeat(5_000_000) })],
  ])('is made all the same when every answer is %s', async (_, given) => {
    status = 200;
    text = given;
    const { observations } = await everything();
    expect(observations).toHaveLength(10);
    expect(leaks(JSON.stringify(observations))).toEqual([]);
  });

  it('keeps words of the protocols, small numbers and booleans, and nothing else', () => {
    const given = {
      reason: 'failedPrecondition',
      status: 429,
      isKept: true,
      ...PERSONAL,
      at: '2026-11-27T10:00:00Z',
      list: [PERSONAL.name],
      none: undefined,
    };
    expect(factsOf(given)).toEqual({
      reason: 'failedPrecondition',
      status: 429,
      isKept: true,
      address: '<address>',
      name: '<text>',
      subject: '<text>',
      token: '<text>',
      id: '<text>',
      phone: '<number>',
      words: '<text>',
      at: '<time>',
      list: null,
      none: null,
    });
  });

  it('follows no link to another server with the token of the account', async () => {
    status = 200;
    text = JSON.stringify({ value: [], '@odata.nextLink': 'http://127.0.0.1:9/v1.0/me' });
    const { observations } = await everything();
    expect(observations.find(({ name }) => name === 'graph-delta-repeats')).toMatchObject({
      answer: 'open',
      facts: { isBroken: true },
    });
  });
});
