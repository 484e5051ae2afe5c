import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import Nylas from 'nylas';
import contactModule from 'nylas/lib/models/contact.js';
import request from 'supertest';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { Clock } from '../../src/platform/base/time/clock.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import { Database } from '../../src/platform/database/sql.ts';
import type { Connector } from '../../src/providers/port/connector.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { DavContacts } from '../../src/providers/imap/dav/contacts/dav.contacts.ts';
import { listFailures } from '../../src/sync/failures/sync-failures.ts';
import { davAccount, makeAddressBook, otherClient } from '../support/dav-account.ts';
import { createAccount, createApplication, type TestApplication } from '../support/factories.ts';
import { type DavServer, startRadicale, startXandikos } from '../support/mail-servers/dav.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const { default: Contact } = contactModule;

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADBwIAMCbHYQAAAABJRU5ErkJggg==';

/** A line without a colon, which no program can read. */
const UNREADABLE = 'TEL;TYPE=work';

const TYPE = { 'content-type': 'text/vcard; charset=utf-8' };

/** A card as another program writes it. */
const vcf = (uid: string, lines: readonly string[]) =>
  ['BEGIN:VCARD', 'VERSION:3.0', `UID:${uid}`, ...lines, 'END:VCARD', ''].join('\r\n');

describeWith(['radicale', 'xandikos'], 'contacts on a CardDAV server, through the API', () => {
  let radicale: DavServer;
  /** Stores cards as they are; Radicale refuses unreadable lines, and cuts lists of nicknames. */
  let xandikos: DavServer;
  let server: TestApp;
  let application: TestApplication;

  beforeAll(async () => {
    [radicale, xandikos] = await Promise.all([startRadicale(), startXandikos()]);
    server = await startTestApp();
    const { app } = server;
    const contacts = new DavContacts(app.get(EgressClient), app.get(Clock), app.get(WorkThreads));
    // A connector with contacts only, because these accounts have no mail server.
    app.get(ConnectorRegistry).replace({ name: 'imap', contacts } as unknown as Connector);
    application = await createApplication(app);
    await createWebhook(app, application, 'http://127.0.0.1:1/', {
      triggers: ['contact.created', 'contact.updated', 'contact.deleted'],
    });
  });
  afterAll(async () => {
    await server.close();
    await Promise.all([radicale.stop(), xandikos.stop()]);
  });

  async function atRadicale() {
    const user = `user-${randomUUID()}`;
    await radicale.addUser(user, 'secret');
    const remote = davAccount(radicale.url, user, 'secret');
    return { remote, path: await makeAddressBook(remote) };
  }

  /** Xandikos has one user, so tests share the address book. */
  const atXandikos = () => ({
    remote: davAccount(xandikos.url, 'alice', 'secret'),
    path: '/alice/contacts/addressbook/',
  });

  async function connect(place?: ReturnType<typeof atXandikos>) {
    const { remote, path } = place ?? (await atRadicale());
    const { app } = server;
    const account = await createAccount(app, application, {
      provider: 'imap',
      email: remote.email,
      settings: remote.settings,
      mirrored: true,
    });
    const query = <R extends object>(text: string) =>
      app.get(Database).query<R>(text, [account.id]);
    const api = async (method: 'get' | 'post' | 'put' | 'delete', where: string, body?: object) => {
      const answer = await request(server.url)[method](where).set(account.bearer).send(body);
      expect([answer.status, answer.body.message]).toEqual([200, undefined]);
      return answer.body;
    };
    const syncPassEnded = (text: string) =>
      until('the end of the sync pass', async () => {
        const rows = await query(
          `select 1 from sync_job where account_id = $1 and state = 0 and contacts_at ${text}`,
        );
        return rows.length > 0;
      });
    /** Makes the sync pass due at once and waits until it has ended. */
    const syncNow = async () => {
      await until('the end of the previous sync pass', async () => {
        const asked = await query(
          `update sync_job set contacts_at = 'epoch', run_at = now() where account_id = $1 and state = 0 returning 1`,
        );
        return asked.length > 0;
      });
      app.get(Signals).wake('sync');
      await syncPassEnded(`> 'epoch'`);
    };
    const outcome = (id: string | undefined) =>
      until(`the end of job ${id}`, async () => {
        const job = await api('get', `/job-statuses/${id}`);
        return ['pending', 'delayed'].includes(job.status)
          ? false
          : (job as { status: string; reason?: string });
      });
    const written = async (job: { job_status_id: string }) =>
      expect(await outcome(job.job_status_id)).toMatchObject({ status: 'successful' });
    const notified = async () => {
      const rows = await query<{ type: string }>(
        `select type from webhook_event where convert_from(body, 'utf8') like '%' || $1 || '%' order by id`,
      );
      return rows.map(({ type }) => type);
    };
    await syncPassEnded('is not null');
    return { account, api, syncNow, outcome, written, notified, other: otherClient(remote), path };
  }

  it('writes a contact created through the API to the server, and later its change and its deletion', async () => {
    const { account, api, syncNow, outcome, notified, other, path } = await connect();
    const { clientId, clientSecret } = application;
    Nylas.config({ clientId, clientSecret, apiServer: server.url });
    const client = Nylas.with(account.token);
    const contact = new Contact(client, {
      givenName: 'Mia; "M", the',
      surname: 'Berg',
      birthday: '1990-01-02',
      notes: 'one\ntwo',
    });
    contact.emailAddresses = [{ type: 'work', email: 'mia@example.test' }] as never;
    await contact.save();
    expect(await outcome(contact.jobStatusId)).toMatchObject({ status: 'successful' });
    const file = `${path}${contact.id}.vcf`;
    const there = (await other('GET', file)).text;
    expect(there).toContain('N:Berg;Mia\\; "M"\\, the');
    expect(there).toContain('NOTE:one\\ntwo');
    expect(there).toMatch(/EMAIL;TYPE=work:mia@example\.test/i);
    const before = await api('get', `/contacts/${contact.id}`);
    await syncNow();
    expect(await api('get', `/contacts/${contact.id}`)).toEqual(before);
    contact.jobTitle = 'Captain';
    await contact.save();
    expect(await outcome(contact.jobStatusId)).toMatchObject({ status: 'successful' });
    expect((await other('GET', file)).text).toContain('TITLE:Captain');
    const removal = (await client.contacts.delete(contact)) as unknown as { job_status_id: string };
    expect(await outcome(removal.job_status_id)).toMatchObject({ status: 'successful' });
    expect((await other('GET', file)).status).toBe(404);
    await syncNow();
    expect(await api('get', '/contacts')).toEqual([]);
    expect(await notified()).toEqual(['contact.created', 'contact.updated', 'contact.deleted']);
  });

  it('shows contacts that another program creates, changes and deletes, with pictures, and skips cards that it cannot read', async () => {
    const { account, api, syncNow, notified, other, path } = await connect();
    const photo = `PHOTO;ENCODING=b;TYPE=PNG:${PNG}`;
    await other(
      'PUT',
      `${path}a.vcf`,
      vcf('a', ['FN:Ada L', 'N:L;Ada;;;', 'BDAY:circa 1815', photo]),
    );
    await other(
      'PUT',
      `${path}g.vcf`,
      vcf('g', ['FN:Team', 'N:Team;;;;', 'X-ADDRESSBOOKSERVER-KIND:group']),
    );
    await syncNow();
    const [ada, ...others] = await api('get', '/contacts');
    expect([ada.given_name, ada.birthday, others]).toEqual(['Ada', null, []]);
    const picture = await request(server.url)
      .get(new URL(ada.picture_url).pathname)
      .set(account.bearer);
    expect([picture.headers['content-type'], (picture.body as Buffer).toString('base64')]).toEqual([
      'image/png',
      PNG,
    ]);
    await other(
      'PUT',
      `${path}a.vcf`,
      vcf('a', ['FN:Ada King', 'N:King;Ada;;;', 'TEL;TYPE=CELL:+44 1']),
    );
    await syncNow();
    expect(await api('get', '/contacts?phone_number=441')).toMatchObject([
      { id: ada.id, surname: 'King', picture_url: null },
    ]);
    await other('DELETE', `${path}a.vcf`);
    await syncNow();
    expect(await api('get', '/contacts')).toEqual([]);
    expect(await notified()).toEqual(['contact.created', 'contact.updated', 'contact.deleted']);
  });

  it('shows groups created on either side', async () => {
    const { api, syncNow, written, other, path } = await connect();
    await other(
      'PUT',
      `${path}b.vcf`,
      vcf('b', ['FN:Bo', 'N:;Bo;;;', 'CATEGORIES:Friends,Friends / Choir']),
    );
    await syncNow();
    const [bo] = await api('get', '/contacts');
    const groups = await api('get', '/contacts/groups');
    expect(groups.map(({ path: one }: { path: string }) => one)).toEqual([
      'Friends',
      'Friends/Choir',
    ]);
    expect(bo.groups).toEqual(groups);
    const mia = await api('post', '/contacts', { given_name: 'Mia', group: groups[1].id });
    await written(mia);
    expect((await other('GET', `${path}${mia.id}.vcf`)).text).toContain('CATEGORIES:Friends/Choir');
    await written(await api('put', `/contacts/${bo.id}`, { groups: [groups[1], { path: 'New' }] }));
    expect((await other('GET', `${path}b.vcf`)).text).toContain('CATEGORIES:Friends / Choir,New');
    await other('PUT', `${path}b.vcf`, vcf('b', ['FN:Bo', 'N:;Bo;;;']));
    await syncNow();
    const [, choir] = groups;
    expect(await api('get', '/contacts/groups')).toEqual([choir]);
    expect(await api('get', `/contacts?group=${choir.id}&view=ids`)).toEqual([mia.id]);
  });

  it('reports what cannot be read of a card in the expanded view and to operators, until the card is mended or deleted', async () => {
    const { account, api, syncNow, written, other, path } = await connect(atXandikos());
    const card = (...lines: string[]) => vcf('w', ['FN:Wy', 'N:;Wy;;;', ...lines, 'TEL:+44 2']);
    const failures = () => listFailures(server.app.get(Database), 100, account.id);
    const put = async (text: string) => {
      expect((await other('PUT', `${path}w.vcf`, text, TYPE)).status).toBeLessThan(300);
      await syncNow();
    };
    await put(card(UNREADABLE));
    const [plain] = await api('get', '/contacts');
    expect([plain.given_name, plain.phone_numbers.length, 'warnings' in plain]).toEqual([
      'Wy',
      1,
      false,
    ]);
    const expanded = {
      ...plain,
      warnings: [expect.stringContaining(`"${UNREADABLE}" cannot be read`)],
    };
    expect(await api('get', '/contacts?view=expanded')).toEqual([expanded]);
    expect(await api('get', `/contacts/${plain.id}?view=expanded`)).toEqual(expanded);
    expect(await api('get', `/contacts/${plain.id}`)).toEqual(plain);
    const { deltas } = await api('get', '/delta?cursor=0&view=expanded&include_types=contact');
    expect(deltas.map(({ attributes }: { attributes: object }) => attributes)).toContainEqual(
      expanded,
    );
    expect(await failures()).toMatchObject([{ reason: expect.stringContaining(UNREADABLE) }]);
    await written(await api('put', `/contacts/${plain.id}`, { job_title: 'Captain' }));
    expect((await other('GET', `${path}w.vcf`)).text).toContain(UNREADABLE);
    await put(card());
    expect(await api('get', `/contacts/${plain.id}?view=expanded`)).toMatchObject({ warnings: [] });
    await put(card(UNREADABLE));
    expect(await api('get', `/contacts/${plain.id}?view=expanded`)).toMatchObject({
      warnings: expanded.warnings,
    });
    await other('DELETE', `${path}w.vcf`);
    await syncNow();
    expect(await failures()).toEqual([]);
  });

  it('shows every nickname of a card, and keeps the list when other fields or one of the names change', async () => {
    const { api, syncNow, written, other, path } = await connect(atXandikos());
    const lines = ['FN:Nic', 'N:;Nic;;;', 'NICKNAME:Addy,Ads', 'NICKNAME:Big\\, A'];
    await other('PUT', `${path}n.vcf`, vcf('n', lines), TYPE);
    await syncNow();
    const [nic] = (await api('get', '/contacts')).filter(
      (one: { given_name: string }) => one.given_name === 'Nic',
    );
    expect(nic.nickname).toBe('Addy, Ads, Big, A');
    const { text } = await other('GET', `${path}n.vcf`);
    await written(await api('put', `/contacts/${nic.id}`, { nickname: nic.nickname }));
    expect((await other('GET', `${path}n.vcf`)).text).toBe(text);
    await written(
      await api('put', `/contacts/${nic.id}`, { nickname: nic.nickname, job_title: 'Captain' }),
    );
    const nicknames = (card: string) =>
      card.split('\r\n').filter((line) => line.startsWith('NICKNAME'));
    const after = (await other('GET', `${path}n.vcf`)).text;
    expect([nicknames(after), after.includes('TITLE:Captain')]).toEqual([nicknames(text), true]);
    await written(await api('put', `/contacts/${nic.id}`, { nickname: 'Addy, Bo' }));
    expect(nicknames((await other('GET', `${path}n.vcf`)).text)).toEqual(['NICKNAME:Addy,Bo']);
    await syncNow();
    expect(await api('get', `/contacts/${nic.id}`)).toMatchObject({ nickname: 'Addy, Bo' });
  });

  it("merges changes of both sides, and fails the job of a change that would overwrite the other side's", async () => {
    const { api, syncNow, written, outcome, other, path } = await connect();
    const card = (lines: readonly string[]) =>
      vcf('c', ['FN:Cy', 'N:;Cy;;;', 'X-THEIRS:kept', ...lines]);
    await other('PUT', `${path}c.vcf`, card([]));
    await syncNow();
    const [{ id }] = await api('get', '/contacts');
    // Neither side has seen the other's change.
    await other('PUT', `${path}c.vcf`, card(['TITLE:Theirs', 'TEL:+44 1']));
    await written(
      await api('put', `/contacts/${id}`, {
        nickname: 'Ours',
        phone_numbers: [{ number: '+44 2' }],
      }),
    );
    const joined = (await other('GET', `${path}c.vcf`)).text;
    for (const part of ['TITLE:Theirs', 'NICKNAME:Ours', 'TEL:+44 1', 'TEL:+44 2', 'X-THEIRS:kept'])
      expect(joined).toContain(part);
    await syncNow();
    expect(await api('get', `/contacts/${id}`)).toMatchObject({
      job_title: 'Theirs',
      nickname: 'Ours',
    });
    await other('PUT', `${path}c.vcf`, card(['TITLE:Their other', 'NICKNAME:Ours']));
    const change = await api('put', `/contacts/${id}`, { job_title: 'Ours' });
    expect(await outcome(change.job_status_id)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('job_title'),
    });
    await syncNow();
    expect(await api('get', `/contacts/${id}`)).toMatchObject({ job_title: 'Their other' });
    await written(await api('put', `/contacts/${id}`, { job_title: 'Ours' }));
    expect((await other('GET', `${path}c.vcf`)).text).toContain('TITLE:Ours');
    await other('DELETE', `${path}c.vcf`);
    const late = await api('put', `/contacts/${id}`, { job_title: 'Late' });
    expect(await outcome(late.job_status_id)).toMatchObject({ status: 'failed' });
    await syncNow();
    expect(await api('get', '/contacts')).toEqual([]);
  });
});
