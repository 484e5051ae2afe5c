import Nylas from 'nylas';
import { deliver } from '../support/deliver.ts';
import { createAccount, createApplication, type TestAccount } from '../support/factories.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

/** Runs the thread calls of the unchanged official client. */
describe('nylas@6.11.1, threads', () => {
  let server: TestApp;
  let ada: TestAccount;
  let lea: TestAccount;

  beforeAll(async () => {
    server = await startTestApp();
    const application = await createApplication(server.app);
    ada = await createAccount(server.app, application, {
      mirrored: true,
      settings: { sample_messages: false },
    });
    lea = await createAccount(server.app, application, {
      mirrored: true,
      organizationUnit: 'label',
      settings: { organization_unit: 'label', sample_messages: false },
    });
    Nylas.config({
      clientId: application.clientId,
      clientSecret: application.clientSecret,
      apiServer: server.url,
    });
    for (const account of [ada, lea]) {
      const first = await deliver(server, account, ['Subject: Hello', '', 'Good day.']);
      await deliver(server, account, [
        'Subject: Re: Hello',
        `In-Reply-To: ${first}`,
        '',
        'And again.',
      ]);
      await deliver(server, account, ['Subject: Other', '', 'Something else.']);
      const client = Nylas.with(account.token);
      await until('the messages', async () => (await client.messages.count()) === 3);
    }
  });
  afterAll(() => server.close());

  it('searches messages and threads', async () => {
    const client = Nylas.with(ada.token);
    const messages = await client.messages.search('from:somebody "and again"');
    expect(messages.map(({ snippet }) => snippet)).toEqual(['And again.']);
    const threads = await client.threads.search('day OR again');
    expect(threads.map(({ subject }) => subject)).toEqual(['Hello']);
    expect(threads[0]?.messageIds).toHaveLength(2);
    expect(await client.threads.search('hello', { limit: 1, offset: 1 })).toEqual([]);
    await expect(client.messages.search('')).rejects.toThrow();
  });

  it('lists, counts and finds threads', async () => {
    const client = Nylas.with(ada.token);
    const threads = await client.threads.list({ in: 'inbox' });
    expect(threads.map(({ subject }) => subject).sort()).toEqual(['Hello', 'Other']);
    expect(await client.threads.count({ unread: true })).toBe(2);
    expect(await client.threads.list({ view: 'ids' })).toEqual(threads.map(({ id }) => id));
    const thread = await client.threads.first({ subject: 'Hello' });
    expect(thread).toMatchObject({ snippet: 'And again.', unread: true, starred: false });
    expect(thread.labels).toBeUndefined();
    expect(Number(thread.version)).toBeGreaterThan(0);
    expect(thread.messageIds).toHaveLength(2);
    expect(thread.draftIds).toEqual([]);
    expect(thread.folders?.map(({ name }) => name)).toEqual(['inbox']);
    expect(thread.participants?.map(({ email }) => email)).toEqual([
      'somebody@elsewhere.test',
      ada.email,
    ]);
    expect(thread.lastMessageTimestamp?.getTime()).toBeGreaterThan(Date.now() - 600_000);
    expect(await client.threads.find(thread.id ?? '')).toMatchObject({
      id: thread.id,
      subject: 'Hello',
    });
    const expanded = await client.threads.find(thread.id ?? '', { view: 'expanded' });
    expect(expanded.messages?.map(({ snippet }) => snippet)).toEqual(['Good day.', 'And again.']);
    expect(expanded.messages?.map(({ id }) => id)).toEqual(thread.messageIds);
    expect(await client.threads.list({ expanded: true, subject: 'Hello' })).toMatchObject([
      { id: thread.id },
    ]);
    await expect(client.threads.find('019aa1b2-0000-7000-8000-00000000dead')).rejects.toMatchObject(
      {
        statusCode: 404,
      },
    );
  });

  it.each([
    ['folders', () => ada],
    ['labels', () => lea],
  ] as const)('saves flags and %s of all messages in a thread', async (unit, accountOf) => {
    const client = Nylas.with(accountOf().token);
    const thread = await client.threads.first({ subject: 'Hello' });
    thread.unread = false;
    thread.starred = true;
    await thread.save();
    expect(await client.messages.count({ thread_id: thread.id, unread: true })).toBe(0);
    expect(await client.messages.count({ thread_id: thread.id, starred: true })).toBe(2);
    expect(await client.messages.count({ thread_id: thread.id, in: 'inbox' })).toBe(2);
    const trash = (await client[unit].list()).find(({ name }) => name === 'trash');
    const saved = await client.threads.find(thread.id ?? '');
    if (!trash) throw new Error('no trash');
    Object.assign(saved, { [unit]: [trash] });
    await saved.save();
    expect(await client.messages.count({ in: 'trash' })).toBe(2);
    expect((await client.threads.find(thread.id ?? ''))[unit]?.map(({ name }) => name)).toEqual([
      'trash',
    ]);
    expect(await client.threads.count({ in: 'inbox' })).toBe(1);
  });
});
