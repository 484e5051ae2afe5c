import request from 'supertest';
import { Signals } from '../../src/platform/work/signals.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { sendControl } from '../support/contract-tools.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';
import { createWebhook } from '../support/webhook-fixture.ts';

const UNKNOWN = '019aa1b2-0000-7000-8000-00000000dead';

interface Contact {
  id: string;
  job_status_id: string;
  surname: string | null;
  emails: { email: string }[];
}

describe('/contacts', () => {
  let server: TestApp;
  let application: TestApplication;
  /** The address book of this account begins with the samples. */
  let sampled: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    application = await createApplication(server.app);
    await createWebhook(server.app, application, 'http://127.0.0.1:1/', {
      triggers: ['contact.created', 'contact.updated', 'contact.deleted'],
    });
    sampled = await createAccount(server.app, application, {
      mirrored: true,
      settings: { sample_messages: true },
    });
  });
  afterAll(() => server.close());

  const call = (
    method: 'get' | 'post' | 'put' | 'patch' | 'delete',
    path: string,
    by: TestAccount,
  ) => request(server.url)[method](path).set(by.bearer);
  const ok = async (
    method: 'get' | 'post' | 'put' | 'delete',
    path: string,
    by: TestAccount,
    body?: object,
  ) => {
    const response = await call(method, path, by).send(body);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body;
  };
  const connect = (settings: object = { sample_messages: false }) =>
    createAccount(server.app, application, { mirrored: true, settings: { ...settings } });
  const outcome = (by: TestAccount, { job_status_id: id }: { job_status_id: string }) =>
    until(`the end of job ${id}`, async () => {
      const job = await ok('get', `/job-statuses/${id}`, by);
      return ['pending', 'delayed'].includes(job.status)
        ? false
        : (job as { status: string; reason?: string });
    });
  const query = <R extends object>(text: string, ...values: unknown[]) =>
    server.app.get(Database).query<R>(text, values);
  const notified = async (by: TestAccount) => {
    const text = `select type from webhook_event where convert_from(body, 'utf8') like '%' || $1 || '%' order by id`;
    return (await query<{ type: string }>(text, by.id)).map(({ type }) => type);
  };
  const changes = async (by: TestAccount) => {
    const text = `select event from change where account_id = $1 and object = 'contact' order by seq`;
    return (await query<{ event: string }>(text, by.id)).map(({ event }) => event);
  };
  const port = () => {
    const contacts = server.app.get(ConnectorRegistry).contacts('sandbox');
    if (!contacts) throw new Error('the sandbox has no contacts');
    return contacts;
  };
  const remote = async (by: TestAccount) => {
    const account = await server.app.get(ProviderAccounts).find(by.id);
    if (!account) throw new Error('no such account');
    return account;
  };
  /** Runs a sync pass over the address book and waits for its end. */
  const syncPass = async (by: TestAccount) => {
    await until('the previous sync pass to end', async () => {
      const text = `update sync_job set contacts_at = 'epoch', run_at = now() where account_id = $1 and state = 0 returning 1`;
      return (await query(text, by.id)).length > 0;
    });
    server.app.get(Signals).wake('sync');
    await until('the sync pass to end', async () => {
      const text = `select 1 from sync_job where account_id = $1 and state = 0 and contacts_at > 'epoch'`;
      return (await query(text, by.id)).length > 0;
    });
  };
  const book = (by: TestAccount): Promise<Contact[]> =>
    ok('get', '/contacts?source=address_book', by);

  it('shows a contact at once as it was sent, writes it to the provider and sends a webhook', async () => {
    const ada = await connect();
    const sent = {
      given_name: ' Ada ',
      middle_name: 'King',
      surname: 'Lovelace',
      suffix: 'Jr.',
      nickname: 'A',
      birthday: '1815-12-10',
      company_name: 'Engines',
      job_title: 'Countess',
      manager_name: 'Babbage',
      office_location: 'London',
      notes: 'x\ny',
      emails: [
        { type: 'work', email: 'Ada@Example.test' },
        { type: '', email: 'a@example.test' },
      ],
      im_addresses: [{ type: null, im_address: 'xmpp:a@example.test' }],
      physical_addresses: [
        {
          type: 'home',
          format: 'structured',
          street_address: '1 St',
          city: 'C',
          postal_code: '1',
          state: 'S',
          country: 'GB',
        },
        { type: 'work', format: 'unstructured', address: 'Somewhere\n1' },
      ],
      phone_numbers: [{ type: 'mobile', number: '+44 20 1' }],
      web_pages: [{ url: 'https://a.test' }],
      picture_url: '',
      source: 'inbox',
      groups: [],
      group: null,
      id: 'x',
    };
    const created = await ok('post', '/contacts', ada, sent);
    const { picture_url: _, group: _g, ...same } = sent;
    expect(created).toEqual({
      ...same,
      id: expect.any(String),
      object: 'contact',
      account_id: ada.id,
      job_status_id: expect.any(String),
      given_name: 'Ada',
      source: 'address_book',
      picture_url: null,
      emails: [
        { type: 'work', email: 'Ada@Example.test' },
        { type: null, email: 'a@example.test' },
      ],
      web_pages: [{ type: null, url: 'https://a.test' }],
    });
    const { job_status_id, ...stored } = created;
    expect(await ok('get', `/contacts/${created.id}`, ada)).toEqual(stored);
    expect(await outcome(ada, { job_status_id })).toMatchObject({
      status: 'successful',
      action: 'create_contact',
      object: 'contact',
      id: created.id,
    });
    const changed = await ok('put', `/contacts/${created.id}`, ada, { surname: '', emails: [] });
    expect(changed).toEqual({
      ...stored,
      surname: null,
      emails: [],
      job_status_id: expect.any(String),
    });
    expect(await outcome(ada, changed)).toMatchObject({
      status: 'successful',
      action: 'update_contact',
    });
    await syncPass(ada);
    expect(await ok('get', `/contacts/${created.id}`, ada)).toEqual({
      ...stored,
      surname: null,
      emails: [],
    });
    const removal = await ok('delete', `/contacts/${created.id}`, ada);
    expect(removal).toEqual({ job_status_id: expect.any(String) });
    expect((await call('get', `/contacts/${created.id}`, ada)).status).toBe(404);
    expect(await book(ada)).toEqual([]);
    expect(await outcome(ada, removal)).toMatchObject({
      status: 'successful',
      action: 'delete_contact',
    });
    await syncPass(ada);
    expect(await query(`select 1 from contact where account_id = $1`, ada.id)).toEqual([]);
    expect(await changes(ada)).toEqual(['create', 'modify', 'delete']);
    expect(await notified(ada)).toEqual(['contact.created', 'contact.updated', 'contact.deleted']);
  });

  it('begins with the samples of the sandbox, with groups and one picture', async () => {
    await until('the samples', async () => (await book(sampled)).length === 3);
    expect(await notified(sampled)).toEqual([]);
    const groups = await ok('get', '/contacts/groups', sampled);
    expect(await ok('get', '/contacts/groups?limit=1&offset=1', sampled)).toEqual([groups[1]]);
    expect(await ok('get', '/contacts/groups?offset=1', sampled)).toEqual(groups.slice(1));
    expect(groups).toMatchObject([
      { object: 'contact_group', account_id: sampled.id, name: 'Friends', path: 'Friends' },
      { name: 'Choir', path: 'Friends/Choir' },
    ]);
    const [friends, choir] = groups;
    const names = async (filter: string) =>
      (await ok('get', `/contacts?${filter}`, sampled)).map(
        (one: { given_name: string }) => one.given_name,
      );
    expect(await names(`group=${choir.id}`)).toEqual(['Bo']);
    expect(await names(`group=${friends.id}`)).toEqual(['Bo', 'Léa']);
    expect(await names('group=nonsense')).toEqual([]);
    const mia = await ok('post', '/contacts', sampled, { given_name: 'Mia', group: choir.id });
    expect(mia.groups).toEqual([choir]);
    expect(await names(`group=${friends.id}&recurse=true`)).toEqual(['Bo', 'Léa', 'Mia']);
    expect(await names(`group=${friends.id}&recurse=false`)).toEqual(['Bo', 'Léa']);
    expect(
      await ok('get', `/contacts?group=${friends.id}&recurse=true&view=count`, sampled),
    ).toEqual({ count: 3 });
    expect((await ok('put', `/contacts/${mia.id}`, sampled, { group: friends.id })).groups).toEqual(
      [friends, choir],
    );
    expect((await ok('put', `/contacts/${mia.id}`, sampled, { groups: [friends] })).groups).toEqual(
      [friends],
    );
    expect((await ok('put', `/contacts/${mia.id}`, sampled, { groups: [] })).groups).toEqual([]);
    const [named] = (
      await ok('put', `/contacts/${mia.id}`, sampled, {
        groups: [{ name: 'New', path: 'My / New' }],
      })
    ).groups;
    expect(named).toMatchObject({ name: 'New', path: 'My/New' });
    expect(await names(`group=${named.id}`)).toEqual(['Mia']);
    expect(
      (await ok('put', `/contacts/${mia.id}`, sampled, { groups: null, notes: 'n' })).groups,
    ).toEqual([named]);
    const foreign = await call('post', '/contacts', await connect()).send({ group: friends.id });
    expect([foreign.status, foreign.body.message]).toEqual([
      400,
      `group: there is no group ${friends.id}`,
    ]);
    const [bo] = await ok('get', '/contacts?email=BO@sandbox.test&source=address_book', sampled);
    expect(bo.picture_url).toMatch(new RegExp(`^http://.*/contacts/${bo.id}/picture$`));
    const picture = await call('get', `/contacts/${bo.id}/picture`, sampled);
    expect([picture.status, picture.headers['content-type']]).toEqual([200, 'image/png']);
    expect((picture.body as Buffer).subarray(1, 4).toString()).toBe('PNG');
    expect((await call('get', `/contacts/${mia.id}/picture`, sampled)).status).toBe(404);
  });

  it('finds contacts by every filter, alone and combined, and returns pages, counts and ids', async () => {
    const by = await connect();
    const address = (country: string, state: string) => [
      {
        type: 'home',
        format: 'structured',
        street_address: 'Main St 1',
        city: 'C',
        postal_code: 'AB 1',
        state,
        country,
      },
    ];
    const one = await ok('post', '/contacts', by, {
      surname: 'One',
      emails: [{ email: 'x@example.test' }],
      physical_addresses: address('DE', 'BE'),
    });
    const two = await ok('post', '/contacts', by, {
      surname: 'Two',
      emails: [{ email: 'X@example.test' }, { email: 'y@example.test' }],
      physical_addresses: address('DE', 'BY'),
    });
    const three = await ok('post', '/contacts', by, {
      surname: 'Three',
      phone_numbers: [{ number: '+49 (30) 12-34' }],
      physical_addresses: address('FR', ''),
    });
    const found = async (filter: string) =>
      (await ok('get', `/contacts?${filter}`, by)).map(({ surname }: Contact) => surname);
    expect(await found('')).toEqual(['One', 'Two', 'Three']);
    expect(await found('email=x@EXAMPLE.test')).toEqual(['One', 'Two']);
    expect(await found('email=x@example.tes')).toEqual([]);
    expect(await found(`phone_number=${encodeURIComponent('+493012 34')}`)).toEqual(['Three']);
    expect(await found('street_address=main%20st%201')).toEqual(['One', 'Two', 'Three']);
    expect(await found('postal_code=AB%201&limit=1&offset=1')).toEqual(['Two']);
    expect(await found('country=DE&state=BY')).toEqual(['Two']);
    expect(await found('country=DE&state=BY&email=y@example.test&source=address_book')).toEqual([
      'Two',
    ]);
    expect(await found('country=DE&source=inbox')).toEqual([]);
    expect(await found('source=inbox')).toEqual([]);
    expect(await found('state=')).toEqual([]);
    expect(await ok('get', '/contacts?country=DE&view=ids', by)).toEqual([one.id, two.id]);
    expect(await ok('get', '/contacts?country=DE&view=count&limit=1', by)).toEqual({ count: 2 });
    expect(await ok('get', '/contacts?view=ids&offset=2', by)).toEqual([three.id]);
    await ok('put', `/contacts/${one.id}`, by, { emails: [] });
    expect(await found('email=x@example.test')).toEqual(['Two']);
    expect(await ok('get', '/contacts?email=x@example.test', sampled)).toEqual([]);
    const expanded = (await ok('get', '/contacts', by)).map((one: object) => ({
      ...one,
      warnings: [],
    }));
    expect(await ok('get', '/contacts?view=expanded', by)).toEqual(expanded);
    for (const wrong of [
      'view=other',
      'source=mail',
      'recurse=maybe',
      'limit=-1',
      `email=${'x'.repeat(256)}`,
    ])
      expect((await call('get', `/contacts?${wrong}`, by)).status).toBe(400);
  });

  it.each([
    [{ given_name: 5 }, /^given_name: /],
    [{ surname: 'x'.repeat(256) }, /^surname: must not be longer than 255/],
    [{ birthday: '1990-02-30' }, /^birthday: must be a date/],
    [{ birthday: 'yesterday' }, /^birthday: /],
    [{ emails: 'x@example.test' }, /^emails: /],
    [{ emails: [{ type: 'work' }] }, /emails\.0\.email/],
    [{ emails: [{ email: 'nobody' }] }, /^emails\.0\.email: must be an email address/],
    [{ emails: [{ email: 'a@b.test', type: 5 }] }, /^emails\.0\.type: /],
    [{ phone_numbers: [{ number: ' ' }] }, /^phone_numbers\.0\.number: must not be empty/],
    [
      { phone_numbers: Array.from({ length: 101 }, () => ({ number: '1' })) },
      /^phone_numbers: must not have more than 100/,
    ],
    [
      { physical_addresses: [{ format: 'free' }] },
      /^physical_addresses\.0\.format: must be structured or/,
    ],
    [{ physical_addresses: [{ street_address: 1 }] }, /^physical_addresses\.0\.street_address: /],
    [{ im_addresses: [null] }, /^im_addresses\.0: /],
    [{ web_pages: [{ url: 'x'.repeat(2049) }] }, /^web_pages\.0\.url: /],
    [{ groups: [UNKNOWN] }, `groups: there is no group ${UNKNOWN}`],
    [{ groups: [5] }, /^groups\.0: /],
    [{ groups: [{ path: ' / ' }] }, /^groups\.0: must be the id of a group/],
    [{ group: 'nope' }, 'group: there is no group nope'],
    [{ notes: 'nul \0' }, /NUL/],
  ])('refuses wrong fields by name (%#)', async (body, message) => {
    const response = await call('post', '/contacts', sampled).send(body);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ type: 'invalid_request_error' });
    expect(response.body.message).toEqual(
      typeof message === 'string' ? message : expect.stringMatching(message),
    );
  });

  it('accepts an empty contact, and refuses an empty change', async () => {
    const by = await connect();
    const { id } = await ok('post', '/contacts', by, {});
    expect((await call('put', `/contacts/${id}`, by).send({})).status).toBe(400);
    expect((await call('patch', `/contacts/${id}`, by).send({ suffix: 'Jr.' })).body.suffix).toBe(
      'Jr.',
    );
  });

  it('follows changes that others make in the address book, and sends webhooks for those changes', async () => {
    const by = await connect();
    await syncPass(by);
    const account = await remote(by);
    const { providerId } = await port().createContact(account, 'theirs', { surname: 'Theirs' });
    await syncPass(by);
    const [contact] = await book(by);
    expect(contact).toMatchObject({ surname: 'Theirs' });
    await port().updateContact(account, providerId, { surname: 'Changed', groups: ['New'] });
    await syncPass(by);
    expect(await book(by)).toMatchObject([
      { id: contact?.id, surname: 'Changed', groups: [{ path: 'New' }] },
    ]);
    await port().deleteContact(account, providerId);
    await syncPass(by);
    expect(await book(by)).toEqual([]);
    expect(await ok('get', '/contacts/groups', by)).toEqual([]);
    expect(await notified(by)).toEqual(['contact.created', 'contact.updated', 'contact.deleted']);
  });

  it('merges its own changes with simultaneous changes by others', async () => {
    const by = await connect();
    const contact = await ok('post', '/contacts', by, {
      surname: 'Base',
      emails: [{ email: 'a@example.test' }],
    });
    await outcome(by, contact);
    await syncPass(by);
    const account = await remote(by);
    const [stored] = (await port().listContactChanges(account, null, 10)).contacts;
    if (!stored) throw new Error('the contact is not at the provider');
    await port().updateContact(account, stored.providerId, {
      ...stored.content,
      job_title: 'Theirs',
    });
    const ours = await ok('put', `/contacts/${contact.id}`, by, {
      surname: 'Ours',
      emails: [{ email: 'a@example.test' }, { email: 'b@example.test' }],
    });
    expect(await outcome(by, ours)).toMatchObject({ status: 'successful' });
    await syncPass(by);
    expect(await book(by)).toMatchObject([
      { surname: 'Ours', job_title: 'Theirs', emails: [{}, { email: 'b@example.test' }] },
    ]);
    await port().updateContact(account, stored.providerId, { surname: 'Both' });
    const refused = await ok('put', `/contacts/${contact.id}`, by, { surname: 'Mine' });
    expect(await outcome(by, refused)).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('surname'),
    });
    await syncPass(by);
    expect(await book(by)).toMatchObject([{ surname: 'Both' }]);
  });

  it('reverts a change that the provider rejects', async () => {
    const by = await connect();
    const refused = await ok('post', '/contacts', by, { surname: '[sandbox:rejected]' });
    expect(await outcome(by, refused)).toMatchObject({
      status: 'failed',
      reason: '400 The contacts server rejects this content',
    });
    expect((await call('get', `/contacts/${refused.id}`, by)).status).toBe(404);
    const kept = await ok('post', '/contacts', by, {
      surname: '[sandbox:delete-rejected]',
      emails: [{ email: 'k@example.test' }],
    });
    await outcome(by, kept);
    const other = await ok('post', '/contacts', by, {
      surname: 'Fine',
      emails: [{ email: 'f@example.test' }],
    });
    await outcome(by, other);
    const worse = await ok('put', `/contacts/${other.id}`, by, {
      surname: '[sandbox:rejected]',
      emails: [],
    });
    expect(await outcome(by, worse)).toMatchObject({ status: 'failed' });
    expect(await ok('get', '/contacts?email=f@example.test', by)).toMatchObject([
      { id: other.id, surname: 'Fine' },
    ]);
    const removal = await ok('delete', `/contacts/${kept.id}`, by);
    expect(await outcome(by, removal)).toMatchObject({ status: 'failed' });
    expect((await call('get', `/contacts/${kept.id}`, by)).status).toBe(200);
  });

  it('ends in the same state here and at the provider after concurrent changes, and deletes a contact that is still being created', async () => {
    const by = await connect();
    const contact = await ok('post', '/contacts', by, { surname: 'v0' });
    const all = await Promise.all(
      Array.from({ length: 4 }, (_, index) =>
        ok('put', `/contacts/${contact.id}`, by, { surname: `v${index}` }),
      ),
    );
    for (const one of all) expect(await outcome(by, one)).toMatchObject({ status: 'successful' });
    const [shown] = await book(by);
    const account = await remote(by);
    expect((await port().listContactChanges(account, null, 10)).contacts).toMatchObject([
      { content: { surname: shown?.surname } },
    ]);
    const brief = await ok('post', '/contacts', by, { surname: 'Brief' });
    await outcome(by, await ok('delete', `/contacts/${brief.id}`, by));
    await syncPass(by);
    expect(await book(by)).toHaveLength(1);
    expect(
      (await port().listContactChanges(account, null, 10)).contacts.map(({ uid }) => uid),
    ).toEqual([contact.id]);
  });

  describe('source inbox', () => {
    const deliver = async (to: TestAccount, from: string, lines: readonly string[] = []) => {
      const account = await remote(to);
      const messageIdHeader = `<${Math.random().toString(36).slice(2)}@seed.test>`;
      const head = [
        `Message-ID: ${messageIdHeader}`,
        `From: ${from}`,
        `To: Me <${to.email}>`,
        ...lines,
      ];
      const mime = Buffer.from([...head, '', 'x'].join('\r\n'));
      const envelope = { from: 'x@elsewhere.test', recipients: [to.email] };
      await server.app
        .get(ConnectorRegistry)
        .requireMail('sandbox')
        .send(
          { ...account, email: 'x@elsewhere.test' },
          { messageIdHeader, mime, envelope, bcc: [] },
          sendControl(),
        );
    };
    const inbox = (by: TestAccount) => ok('get', '/contacts?source=inbox', by);

    it('contains the people of messages under the best name seen, leaves out machines, and is read-only', async () => {
      const by = await connect();
      await until('the first sync pass', async () => {
        const text = `select 1 from sync_job where account_id = $1 and current_since is not null`;
        return (await query(text, by.id)).length > 0;
      });
      await deliver(by, 'ada@people.test', ['Cc: Bo Tanaka <Bo@people.test>, noreply@people.test']);
      await deliver(by, 'News <hello@shop.test>', ['List-Unsubscribe: <https://shop.test>']);
      await until('two people', async () => (await inbox(by)).length === 2);
      await deliver(by, '"Lovelace, Ada" <ADA@people.test>', ['Cc: Bo <bo@people.test>']);
      const people = await until('the better name', async () => {
        const found = await inbox(by);
        return found[0].surname === 'Lovelace' && found;
      });
      expect(people).toMatchObject([
        {
          source: 'inbox',
          given_name: 'Ada',
          surname: 'Lovelace',
          emails: [{ type: null, email: 'ada@people.test' }],
          picture_url: null,
        },
        { given_name: 'Bo', surname: 'Tanaka' },
      ]);
      for (const [filter, found] of [
        ['', [people[1]]],
        ['&source=inbox', [people[1]]],
        ['&source=address_book', []],
      ])
        expect(await ok('get', `/contacts?email=Bo@People.test${String(filter)}`, by)).toEqual(
          found,
        );
      for (const method of ['put', 'delete'] as const) {
        const answer = await call(method, `/contacts/${people[0].id}`, by).send({ surname: 'x' });
        expect([answer.status, answer.body.message]).toEqual([
          400,
          expect.stringContaining('inbox are read-only'),
        ]);
      }
      expect(await changes(by)).toEqual(['create', 'create', 'modify']);
      expect((await notified(by)).toSorted()).toEqual([
        'contact.created',
        'contact.created',
        'contact.updated',
      ]);
    });

    it('sends no webhooks for people found in old mail', async () => {
      await until('the samples', async () => (await inbox(sampled)).length === 3);
      expect((await notified(sampled)).includes('contact.created')).toBe(
        (await changes(sampled)).filter((event) => event === 'create').length > 6,
      );
    });
  });
});
