import request from 'supertest';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { ProviderAccounts } from '../../src/accounts/grants/provider-accounts.ts';
import { ConnectorRegistry } from '../../src/providers/port/connector-registry.ts';
import { rowsOf } from '../support/connect.ts';
import { mimeOf, outgoing, Replica } from '../support/contract-tools.ts';
import { deliver } from '../support/deliver.ts';
import {
  createAccount,
  createApplication,
  type TestAccount,
  type TestApplication,
} from '../support/factories.ts';
import { PassingClock } from '../support/passing-clock.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

const UNKNOWN = '019aa1b2-0000-7000-8000-00000000dead';
const BO = { email: 'bo@example.test', name: 'Bo' };

interface Draft {
  id: string;
  version: number;
  subject: string;
  thread_id: string;
  job_status_id: string;
}

describe('/drafts', () => {
  const clock = new PassingClock();
  let server: TestApp;
  let application: TestApplication;
  let ada: TestAccount;

  beforeAll(async () => {
    server = await startTestApp({}, { clock });
    application = await createApplication(server.app);
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    ada = await createAccount(server.app, application, { mirrored: true });
    await until('the folders', async () => (await api('get', '/folders?view=ids')).body.length > 0);
  });

  const api = (method: 'get' | 'post' | 'put' | 'delete', path: string, body?: object) =>
    request(server.url)[method](path).set(ada.bearer).send(body);
  const ok = async <T = Draft>(...parameters: Parameters<typeof api>): Promise<T> => {
    const response = await api(...parameters);
    expect([response.status, response.body.message]).toEqual([200, undefined]);
    return response.body;
  };
  const outcome = (id: string) =>
    until(`the end of job ${id}`, async () => {
      const job = await ok<{ status: string; reason?: string; action: string; object: string }>(
        'get',
        `/job-statuses/${id}`,
      );
      return job.status === 'pending' ? false : job;
    });
  const done = async ({ job_status_id: id }: Pick<Draft, 'job_status_id'>) =>
    expect(await outcome(id)).toMatchObject({ status: 'successful' });
  async function connected() {
    const account = await server.app.get(ProviderAccounts).find(ada.id);
    if (!account) throw new Error('no such account');
    return account;
  }
  async function atProvider() {
    const replica = new Replica(
      server.app.get(ConnectorRegistry).requireMail('sandbox'),
      await connected(),
    );
    await replica.follow();
    return replica.inFolder('drafts').map((draft) => String(mimeOf(draft)));
  }

  it('creates, changes and deletes a draft, here at once and then at the provider', async () => {
    const draft = await ok('post', '/drafts', {
      to: [BO],
      cc: [],
      bcc: [{ email: 'hidden@example.test' }],
      from: [],
      reply_to: [],
      date: null,
      events: [],
      labels: [],
      file_ids: [],
      subject: 'Grüße',
      body: '<p>Hello Bo</p>',
      metadata: { team: 'sales' },
    });
    expect(draft).toMatchObject({
      object: 'draft',
      version: 0,
      subject: 'Grüße',
      snippet: 'Hello Bo',
      unread: false,
      to: [BO],
      cc: [],
      from: [{ email: ada.email, name: 'Test User' }],
      metadata: { team: 'sales' },
      reply_to_message_id: null,
      folder: { name: 'drafts' },
      thread_id: expect.any(String),
    });
    await done(draft);
    expect(await atProvider()).toEqual([expect.stringContaining('Bcc: hidden@example.test')]);
    const changed = await ok('put', `/drafts/${draft.id}`, {
      version: 0,
      subject: 'Again',
      to: [],
    });
    expect(changed).toMatchObject({
      id: draft.id,
      version: 1,
      subject: 'Again',
      to: [],
      thread_id: draft.thread_id,
    });
    await done(changed);
    expect(await atProvider()).toEqual([expect.stringContaining('Subject: Again')]);
    expect(await ok('get', '/drafts')).toMatchObject([
      { id: draft.id, version: 1, body: '<p>Hello Bo</p>' },
    ]);
    expect(await ok('get', `/drafts/${draft.id}`)).toMatchObject({ subject: 'Again' });
    expect(await ok('get', '/drafts?view=count')).toEqual({ count: 1 });
    expect(await ok('get', '/messages')).toEqual([]);
    const removal = await ok('delete', `/drafts/${draft.id}`, { version: 1 });
    expect((await api('get', `/drafts/${draft.id}`)).status).toBe(404);
    expect(await ok('get', '/drafts')).toEqual([]);
    expect(await outcome(removal.job_status_id)).toMatchObject({
      status: 'successful',
      action: 'delete_draft',
    });
    expect(await atProvider()).toEqual([]);
    expect(await rowsOf(server, `select 1 from message where account_id = $1`, [ada.id])).toEqual(
      [],
    );
  });

  it('requires the current version to change or delete a draft', async () => {
    const { id } = await ok('post', '/drafts', {});
    for (const [method, body, status] of [
      ['put', {}, 400],
      ['put', { version: 'x' }, 400],
      ['put', { version: 1 }, 409],
      ['delete', {}, 400],
      ['delete', { version: null }, 400],
      ['delete', { version: 7 }, 409],
      ['delete', { version: '0' }, 200],
    ] as const)
      expect([method, body, (await api(method, `/drafts/${id}`, body)).status]).toEqual([
        method,
        body,
        status,
      ]);
  });

  it('accepts only one of several simultaneous changes to the same version', async () => {
    const draft = await ok('post', '/drafts', { subject: 'v0' });
    const responses = await Promise.all(
      [1, 2, 3, 4].map((n) =>
        api('put', `/drafts/${draft.id}`, { version: 0, subject: `by ${n}` }),
      ),
    );
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200, 409, 409, 409,
    ]);
    const winner = responses.find(({ status }) => status === 200)?.body as Draft;
    await done(winner);
    expect(await atProvider()).toEqual([expect.stringContaining(`Subject: ${winner.subject}`)]);
  });

  it('leaves one draft at the provider, even if the draft changes many times in quick succession', async () => {
    const draft = await ok('post', '/drafts', { subject: 'v0' });
    const jobs = [draft];
    for (let version = 0; version < 6; version++)
      jobs.push(await ok('put', `/drafts/${draft.id}`, { version, subject: `v${version + 1}` }));
    for (const job of jobs) await done(job);
    expect(await atProvider()).toEqual([expect.stringContaining('Subject: v6')]);
    await deliver(server, ada, ['Subject: x', '', 'x']);
    await until('a sync pass', async () => (await ok<object[]>('get', '/messages')).length === 1);
    expect(await ok('get', '/drafts')).toMatchObject([{ id: draft.id, version: 6, subject: 'v6' }]);
  });

  it('leaves one draft at the provider, even if the response to the first provider write was lost and the draft then changes', async () => {
    const registry = server.app.get(ConnectorRegistry);
    const mailbox = registry.requireMailbox('sandbox');
    const save = mailbox.saveDraft.bind(mailbox);
    let stored = 0;
    mailbox.saveDraft = async (...parameters) => {
      const answer = await save(...parameters);
      stored += 1;
      if (stored === 1) throw new ProviderError('temporary', 'the answer was lost');
      return answer;
    };
    try {
      const draft = await ok('post', '/drafts', { subject: 'v0' });
      await until('the lost response', async () => stored === 1);
      const changed = await ok('put', `/drafts/${draft.id}`, { version: 0, subject: 'v1' });
      await until('the job to succeed', async () => {
        await clock.pass(60_000);
        return (
          (await ok<{ status: string }>('get', `/job-statuses/${changed.job_status_id}`)).status ===
          'successful'
        );
      });
      expect(await atProvider()).toEqual([expect.stringContaining('Subject: v1')]);
    } finally {
      mailbox.saveDraft = save;
    }
  });

  /**
   * Pauses the next sync pass that lists a draft, after the provider's response and before the
   * mirror stores the list.
   */
  function pauseSyncPass() {
    const mail = server.app.get(ConnectorRegistry).requireMail('sandbox');
    const list = mail.listChanges.bind(mail);
    const [paused, release, stored] = [
      Promise.withResolvers(),
      Promise.withResolvers(),
      Promise.withResolvers(),
    ];
    let passes = 0;
    mail.listChanges = async (...parameters) => {
      if (passes > 0) {
        // The paused sync pass has been stored.
        stored.resolve(undefined);
        return list(...parameters);
      }
      const changes = await list(...parameters);
      if (changes.messages.length === 0) return changes;
      passes += 1;
      paused.resolve(undefined);
      await release.promise;
      return changes;
    };
    const end = () => {
      mail.listChanges = list;
    };
    return {
      paused: paused.promise,
      release: () => release.resolve(undefined),
      stored: stored.promise,
      end,
    };
  }
  const draftRows = () =>
    rowsOf(server, `select subject from message where account_id = $1 and draft order by id`, [
      ada.id,
    ]);

  it.each(['changed', 'deleted'])(
    'does not show an old version that a sync pass read just before the draft was %s',
    async (how) => {
      const pass = pauseSyncPass();
      try {
        const draft = await ok('post', '/drafts', { subject: 'v0' });
        await done(draft);
        await pass.paused;
        const path = `/drafts/${draft.id}`;
        if (how === 'changed') await done(await ok('put', path, { version: 0, subject: 'v1' }));
        else await done(await ok('delete', path, { version: 0 }));
        pass.release();
        await deliver(server, ada, ['Subject: wakes the mirror', '', 'x']);
        await pass.stored;
        expect(await draftRows()).toEqual(how === 'changed' ? [{ subject: 'v1' }] : []);
        await until(
          'the other message',
          async () => (await ok<object[]>('get', '/messages')).length === 1,
        );
        expect(await draftRows()).toEqual(how === 'changed' ? [{ subject: 'v1' }] : []);
      } finally {
        pass.end();
      }
    },
  );

  it('does not show an old version next to the new one that is being written to the provider', async () => {
    const mailbox = server.app.get(ConnectorRegistry).requireMailbox('sandbox');
    const save = mailbox.saveDraft.bind(mailbox);
    const [saving, goOn] = [Promise.withResolvers(), Promise.withResolvers()];
    const pass = pauseSyncPass();
    try {
      const draft = await ok('post', '/drafts', { subject: 'v0' });
      await done(draft);
      await pass.paused;
      mailbox.saveDraft = async (...parameters) => {
        saving.resolve(undefined);
        await goOn.promise;
        return save(...parameters);
      };
      const changed = await ok('put', `/drafts/${draft.id}`, { version: 0, subject: 'v1' });
      await saving.promise;
      pass.release();
      await deliver(server, ada, ['Subject: wakes the mirror', '', 'x']);
      await pass.stored;
      expect(await draftRows()).toEqual([{ subject: 'v1' }]);
      goOn.resolve(undefined);
      await done(changed);
      expect(await draftRows()).toEqual([{ subject: 'v1' }]);
    } finally {
      pass.end();
      mailbox.saveDraft = save;
      goOn.resolve(undefined);
    }
  });

  it('creates a reply in the thread of its message', async () => {
    const header = await deliver(server, ada, ['Subject: Lunch?', '', 'x']);
    const [message] = await until('the message', async () => {
      const found = await ok<Draft[]>('get', '/messages');
      return found.length > 0 && found;
    });
    const { id, thread_id: threadId } = message as Draft;
    const reply = await ok('post', '/drafts', { reply_to_message_id: id });
    expect(reply).toMatchObject({
      subject: 'Re: Lunch?',
      thread_id: threadId,
      reply_to_message_id: id,
    });
    await done(reply);
    expect(await atProvider()).toEqual([expect.stringContaining(`In-Reply-To: ${header}`)]);
    expect(await ok('post', '/drafts', { thread_id: threadId, subject: 'Own' })).toMatchObject({
      subject: 'Own',
      thread_id: threadId,
    });
    const other = await ok('post', '/drafts', {});
    for (const [body, word] of [
      [{ reply_to_message_id: UNKNOWN }, 'reply_to_message_id'],
      [{ reply_to_message_id: other.id }, 'reply_to_message_id'],
      [{ thread_id: UNKNOWN }, 'thread_id'],
      [{ thread_id: other.thread_id, reply_to_message_id: id }, 'thread_id'],
      [{ file_ids: [UNKNOWN] }, 'file_ids'],
      [{ subject: 5 }, 'subject'],
      [{ to: [{ name: 'x' }] }, 'to.0.email'],
    ] as const) {
      const response = await api('post', '/drafts', body);
      expect([body, response.status, response.body.message]).toEqual([
        body,
        400,
        expect.stringContaining(word),
      ]);
    }
  });

  it('keeps its conversation when a client sends back the whole draft', async () => {
    const subjects = ['Lunch?', 'Re: Lunch?'];
    const first = await deliver(server, ada, [`Subject: ${subjects[0]}`, '', 'x']);
    await deliver(server, ada, [`Subject: ${subjects[1]}`, `In-Reply-To: ${first}`, '', 'x']);
    const messages = await until('the messages', async () => {
      const found = await ok<Draft[]>('get', '/messages');
      return found.length === 2 && found;
    });
    const lunch = messages.find(({ subject }) => subject === 'Lunch?') as Draft;
    const reply = await ok('post', '/drafts', { reply_to_message_id: lunch.id });
    const saved = await ok('put', `/drafts/${reply.id}`, { ...reply, body: 'Yes' });
    expect(saved).toMatchObject({ version: 1, reply_to_message_id: lunch.id, body: 'Yes' });
    await done(saved);
    expect(await atProvider()).toEqual([expect.stringContaining(`In-Reply-To: ${first}`)]);
    await rowsOf(server, 'delete from message where id = $1', [lunch.id]);
    const again = await ok('put', `/drafts/${reply.id}`, { ...saved, body: 'No' });
    expect(again).toMatchObject({ version: 2, thread_id: lunch.thread_id, body: 'No' });
    await done(again);
    expect(await atProvider()).toEqual([expect.stringContaining(`In-Reply-To: ${first}`)]);
  });

  it('stays as it is if a change names only its version', async () => {
    const tracking = { opens: true };
    const draft = await ok('post', '/drafts', { subject: 'Same', tracking });
    await done(draft);
    const before = await ok('get', `/drafts/${draft.id}`);
    const jobs = await ok<object[]>('get', '/job-statuses');
    for (const rest of [
      {},
      { subject: null, to: null, file_ids: null, tracking: {}, metadata: null },
      { thread_id: draft.thread_id, reply_to_message_id: '', tracking: { links: null } },
    ])
      expect(await ok('put', `/drafts/${draft.id}`, { version: 0, ...rest })).toEqual(before);
    expect(await ok('get', '/job-statuses')).toEqual(jobs);
    expect((await api('put', `/drafts/${draft.id}`, { version: 1 })).status).toBe(409);
  });

  it('keeps its tracking, also if the booleans are texts', async () => {
    const tracking = { opens: 'true', links: 'False', thread_replies: true, payload: 'offer' };
    const stored = { opens: true, links: false, thread_replies: true, payload: 'offer' };
    const draft = await ok('post', '/drafts', { subject: 'Tracked', tracking });
    expect(draft).toMatchObject({ tracking: stored });
    const changed = await ok('put', `/drafts/${draft.id}`, { version: 0, subject: 'Still' });
    expect(changed).toMatchObject({ tracking: stored });
    expect(await ok('get', '/drafts')).toMatchObject([{ tracking: stored }]);
    const off = { version: 1, tracking: { opens: false } };
    expect(await ok('put', `/drafts/${draft.id}`, off)).toMatchObject({
      tracking: { opens: false },
    });
    expect(await ok('post', '/drafts', {})).not.toHaveProperty('tracking');
    const refused = await api('post', '/drafts', { tracking: { opens: 'yes' } });
    expect([refused.status, refused.body.message]).toEqual([
      400,
      expect.stringContaining('tracking.opens'),
    ]);
  });

  it('shows drafts of other mail programs, and lets clients change them', async () => {
    const mailbox = server.app.get(ConnectorRegistry).requireMailbox('sandbox');
    const account = await connected();
    const { mime, messageIdHeader } = outgoing(account, ['bo@example.test'], {
      subject: 'From elsewhere',
    });
    await mailbox.saveDraft(account, { mime, messageIdHeader }, null);
    const [draft] = await until('the draft', async () => {
      const found = await ok<Draft[]>('get', '/drafts');
      return found.length > 0 && found;
    });
    expect(draft).toMatchObject({ subject: 'From elsewhere', version: 0 });
    await done(await ok('put', `/drafts/${draft?.id}`, { version: 0, subject: 'From here' }));
    expect(await atProvider()).toEqual([expect.stringContaining('Subject: From here')]);
  });

  it('keeps a draft that the provider refuses to store, and restores a draft that the provider refuses to delete', async () => {
    const draft = await ok('post', '/drafts', { subject: '[sandbox:rejected]' });
    expect(await outcome(draft.job_status_id)).toMatchObject({ status: 'failed', object: 'draft' });
    expect(await ok('get', '/drafts')).toMatchObject([{ id: draft.id }]);
    await done(
      await ok('put', `/drafts/${draft.id}`, { version: 0, subject: '[sandbox:delete-rejected]' }),
    );
    const removal = await ok('delete', `/drafts/${draft.id}`, { version: 1 });
    expect(await outcome(removal.job_status_id)).toMatchObject({ status: 'failed' });
    expect(await ok('get', '/drafts')).toMatchObject([{ id: draft.id, version: 1 }]);
  });
});
