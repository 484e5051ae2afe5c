import { until } from '../../support/until.ts';
import type { NodeCall, NodeContext } from '../support/node-client.ts';

const BO = { name: 'Bo', email: 'bo@sandbox.test' };
const names = (items: readonly { displayName?: string }[] | undefined) =>
  items?.map(({ displayName }) => displayName);

/** Filters of messages that match the message `Re: The plan`, which has an image. */
const MESSAGE_FILTERS: Record<string, (context: NodeContext) => unknown> = {
  subject: () => 'Re: The plan',
  any_email: () => 'somebody@elsewhere.test',
  to: () => 'ada@sandbox.test',
  from: () => 'somebody@elsewhere.test',
  in: () => 'inbox',
  received_after: () => 1,
  received_before: () => 4_000_000_000,
};

const filtered: NodeCall[] = Object.entries(MESSAGE_FILTERS).map(([name, value]) => ({
  resource: 'messages',
  call: `messages.list({ ${name} })`,
  async run(context) {
    const found = await context.client.messages.list({ [name]: value(context) });
    expect(found.map(({ id }) => id)).toContain(context.value('planId'));
  },
}));

const folderCalls = (unit: 'folders' | 'labels'): NodeCall[] => {
  const client = (context: NodeContext) => (unit === 'folders' ? context.client : context.labels);
  return [
    {
      resource: unit,
      call: `${unit}.list()`,
      async run(context) {
        const listed = await client(context)[unit].list();
        expect(listed.map(({ name }) => name)).toContain('inbox');
      },
    },
    {
      resource: unit,
      call: `${unit}.count()`,
      async run(context) {
        expect(await client(context)[unit].count()).toBeGreaterThan(3);
      },
    },
    {
      resource: unit,
      call: `${unit}.save(), ${unit}.find(), ${unit}.delete()`,
      async run(context) {
        const collection = client(context)[unit];
        const made = await context.make(collection, { displayName: `Node ${unit}` }).save();
        made.displayName = `Renamed ${unit}`;
        await made.save();
        expect((await collection.find(made.id)).displayName).toBe(`Renamed ${unit}`);
        await collection.delete(made.id);
        expect(names(await collection.list())).not.toContain(`Renamed ${unit}`);
      },
    },
  ];
};

const messages: NodeCall[] = [
  {
    resource: 'messages',
    call: 'messages.list()',
    async run({ client }) {
      expect((await client.messages.list()).length).toBeGreaterThan(5);
    },
  },
  ...filtered,
  {
    resource: 'messages',
    call: 'messages.list({ has_attachment, filename })',
    async run({ client, value }) {
      const [found] = await client.messages.list({ has_attachment: true, filename: 'a.txt' });
      expect(found?.id).toBe(value('fileMessageId'));
    },
  },
  {
    resource: 'messages',
    call: 'messages.list({ limit, offset })',
    async run({ client }) {
      const [, second, third] = await client.messages.list({ limit: 3 });
      const page = await client.messages.list({ limit: 2, offset: 1 });
      expect(page.map(({ id }) => id)).toEqual([second?.id, third?.id]);
    },
  },
  {
    resource: 'messages',
    call: "messages.list({ view: 'ids' })",
    async run({ client, value }) {
      expect(await client.messages.list({ view: 'ids' })).toContain(value('planId'));
    },
  },
  {
    resource: 'messages',
    call: 'messages.list({ expanded: true })',
    async run({ client }) {
      const [found] = await client.messages.list({ subject: 'Re: Hello', expanded: true });
      expect(found?.headers).toBeTruthy();
    },
  },
  {
    resource: 'messages',
    call: 'messages.forEach()',
    async run({ client }) {
      let seen = 0;
      await new Promise<void>((resolve, reject) => {
        const done = (error: Error | null | undefined) => (error ? reject(error) : resolve());
        void client.messages.forEach({}, () => (seen += 1), done);
      });
      expect(seen).toBe(await client.messages.count());
    },
  },
  {
    resource: 'messages',
    call: 'messages.count()',
    async run({ client }) {
      expect(await client.messages.count({ subject: 'A file' })).toBe(1);
    },
  },
  {
    resource: 'messages',
    call: 'messages.first()',
    async run({ client, value }) {
      expect((await client.messages.first({ subject: 'A file' })).id).toBe(value('fileMessageId'));
    },
  },
  {
    resource: 'messages',
    call: 'messages.find()',
    async run({ client, value }) {
      const found = await client.messages.find(value('helloId'));
      expect(found).toMatchObject({ subject: 'Hello', threadId: value('threadId'), unread: true });
      expect(found.body).toContain('Good day.');
    },
  },
  {
    resource: 'messages',
    call: 'messages.findMultiple()',
    versions: [6],
    async run({ client, value }) {
      const ids = [value('helloId'), value('planId')];
      expect((await client.messages.findMultiple(ids)).map(({ id }) => id).sort()).toEqual(
        ids.sort(),
      );
    },
  },
  {
    resource: 'messages',
    call: 'messages.findRaw()',
    versions: [6],
    async run({ client, value }) {
      expect(await client.messages.findRaw(value('helloId'))).toContain('Subject: Hello');
    },
  },
  {
    resource: 'messages',
    call: 'message.getRaw()',
    async run({ client, value }) {
      const message = await client.messages.find(value('helloId'));
      expect(await message.getRaw()).toContain('Subject: Hello');
    },
  },
  {
    resource: 'messages',
    call: 'messages.search()',
    async run({ client, value }) {
      const found = await client.messages.search('and again');
      expect(found.map(({ id }) => id)).toContain(value('againId'));
    },
  },
  {
    resource: 'messages',
    call: 'message.save() with flags and a folder',
    async run({ client, value }) {
      const message = await client.messages.find(value('fileMessageId'));
      const archive = (await client.folders.list()).find(({ name }) => name === 'archive');
      Object.assign(message, { unread: false, starred: true, folder: archive });
      await message.save();
      const saved = await client.messages.find(message.id);
      expect(saved).toMatchObject({ unread: false, starred: true });
      expect(saved.folder?.name).toBe('archive');
    },
  },
  {
    resource: 'messages',
    call: 'message.save() with labels',
    async run({ labels, make, value }) {
      const label = await make(labels.labels, { displayName: 'Mine' }).save();
      const message = await labels.messages.find(value('labelsHelloId'));
      message.labels = [...(message.labels ?? []), label];
      await message.save();
      const saved = await labels.messages.find(message.id);
      expect(names(saved.labels)).toContain('Mine');
    },
  },
];

const threads: NodeCall[] = [
  {
    resource: 'threads',
    call: 'threads.list(), threads.count(), threads.first()',
    async run({ client, value }) {
      expect((await client.threads.list({ in: 'inbox' })).length).toBeGreaterThan(2);
      expect(await client.threads.count({ subject: 'Hello' })).toBe(1);
      expect((await client.threads.first({ subject: 'Hello' })).id).toBe(value('threadId'));
    },
  },
  {
    resource: 'threads',
    call: "threads.find(), also with view: 'expanded'",
    async run({ client, value, version }) {
      const thread = await client.threads.find(value('threadId'));
      expect(thread.messageIds).toEqual([value('helloId'), value('againId')]);
      const view = { view: 'expanded' };
      const expanded = await client.threads.find(
        thread.id,
        ...(version === 4 ? [null, view] : [view]),
      );
      expect(expanded.messages?.map(({ snippet }) => snippet)).toEqual(['Good day.', 'And again.']);
    },
  },
  {
    resource: 'threads',
    call: 'threads.search()',
    async run({ client, value }) {
      const found = await client.threads.search('again', { limit: 5, offset: 0 });
      expect(found.map(({ id }) => id)).toContain(value('threadId'));
    },
  },
  {
    resource: 'threads',
    call: 'thread.save() with flags and folders',
    async run({ client, value }) {
      const thread = await client.threads.find(value('threadId'));
      Object.assign(thread, { unread: false, starred: true });
      await thread.save();
      expect(await client.threads.find(thread.id)).toMatchObject({ unread: false, starred: true });
    },
  },
  {
    resource: 'threads',
    call: 'thread.save() with labels',
    async run({ labels, value }) {
      const thread = await labels.threads.find(value('labelsThreadId'));
      const mine = (await labels.labels.list()).find(({ displayName }) => displayName === 'Mine');
      thread.labels = [...(thread.labels ?? []), ...(mine ? [mine] : [])];
      await thread.save();
      expect(names((await labels.threads.find(thread.id)).labels)).toContain('Mine');
    },
  },
];

const drafts: NodeCall[] = [
  {
    resource: 'drafts',
    call: 'draft.save() with a file, drafts.find(), drafts.delete()',
    async run({ client, make }) {
      const data = Buffer.from('Menu: soup');
      const file = await make(client.files, {
        filename: 'menu.txt',
        data,
        contentType: 'text/plain',
        size: data.length,
      }).upload();
      const draft = await make(client.drafts, { subject: 'Node', to: [BO], files: [file] }).save();
      draft.subject = 'Node, better';
      await draft.save();
      const found = await client.drafts.find(draft.id);
      expect(found).toMatchObject({ subject: 'Node, better', version: draft.version });
      expect(found.files?.map(({ id }) => id)).toEqual([file.id]);
      await found.save();
      await client.drafts.delete(found);
      await expect(client.drafts.find(draft.id)).rejects.toMatchObject({ statusCode: 404 });
    },
  },
  {
    resource: 'drafts',
    call: 'drafts.list(), drafts.count()',
    async run({ client, make }) {
      await make(client.drafts, { subject: 'Listed', to: [BO] }).save();
      const listed = await client.drafts.list({ any_email: BO.email });
      expect(listed.map(({ subject }) => subject)).toEqual(['Listed']);
      expect(await client.drafts.count()).toBe(1);
    },
  },
  {
    resource: 'sending',
    call: 'draft.send() of a stored draft',
    async run({ client, make }) {
      const draft = await make(client.drafts, { subject: 'Stored', to: [BO], body: 'Hi' }).save();
      expect((await draft.send()).subject).toBe('Stored');
      await expect(client.drafts.find(draft.id)).rejects.toMatchObject({ statusCode: 404 });
    },
  },
  {
    resource: 'sending',
    call: 'draft.send() with tracking',
    async run({ client, make, version }) {
      const tracking = { opens: true, links: true, thread_replies: true, payload: 'p' };
      const draft = make(client.drafts, { subject: 'Tracked', to: [BO], body: '<p>Hi</p>' });
      const sent = await draft.send(...(version === 4 ? [null, tracking] : [tracking]));
      expect(sent).toMatchObject({ subject: 'Tracked', id: expect.any(String) });
    },
  },
  {
    resource: 'sending',
    call: 'draft.send() as a reply',
    async run({ client, make, value }) {
      const reply = { to: [BO], body: 'Yes', replyToMessageId: value('helloId') };
      expect((await make(client.drafts, reply).send()).threadId).toBe(value('threadId'));
    },
  },
  {
    resource: 'sending',
    call: 'draft.send() of raw MIME',
    async run({ client, make }) {
      const rawMime = 'From: ada@sandbox.test\r\nTo: bo@sandbox.test\r\nSubject: Raw\r\n\r\nHi';
      expect((await make(client.drafts, { rawMime, to: [] }).send()).subject).toBe('Raw');
    },
  },
];

const files: NodeCall[] = [
  {
    resource: 'files',
    call: 'file.upload(), file.download(), files.delete()',
    async run({ client, make }) {
      const data = Buffer.from('Own content');
      const properties = { filename: 'own.txt', data, contentType: 'text/plain' };
      const file = await make(client.files, { ...properties, size: data.length }).upload();
      expect(file.size).toBe(data.length);
      expect(String((await file.download()).body)).toBe('Own content');
      await client.files.delete(file.id);
      await expect(client.files.find(file.id)).rejects.toMatchObject({ statusCode: 404 });
    },
  },
  {
    resource: 'files',
    call: 'file.metadata()',
    versions: [4, 5],
    async run({ client, value }) {
      const file = await client.files.find(value('textFileId'));
      const { metadata } = file as unknown as { metadata(): Promise<object> };
      expect(await metadata.call(file)).toMatchObject({ id: file.id, filename: 'a.txt' });
    },
  },
  {
    resource: 'files',
    call: 'files.list(), files.find(), files.count()',
    async run({ client, value }) {
      const listed = await client.files.list({ filename: 'a.txt' });
      expect(listed.map(({ id }) => id)).toEqual([value('textFileId')]);
      expect((await client.files.find(value('textFileId'))).size).toBeGreaterThan(0);
      expect(await client.files.count()).toBeGreaterThan(1);
    },
  },
];

const outbox: NodeCall[] = [
  {
    resource: 'outbox',
    call: 'outbox.send(), outbox.update(), outbox.delete()',
    versions: [6],
    async run({ client, make }) {
      const sendAt = Math.floor(Date.now() / 1000) + 3600;
      const draft = make(client.drafts, { subject: 'Later', to: [BO], body: 'Hi' });
      const sent = await client.outbox.send(draft, { sendAt, retryLimitDatetime: sendAt + 60 });
      const id = sent.jobStatusId ?? '';
      expect(id).toBeTruthy();
      const updatedMessage = make(client.drafts, { subject: 'Moved', to: [BO] });
      expect((await client.outbox.update(id, { updatedMessage, sendAt })).jobStatusId).toBe(id);
      await client.outbox.delete(id);
      expect((await client.jobStatuses.find(id)).status).toBe('cancelled');
    },
  },
  {
    resource: 'outbox',
    call: 'outbox.sendGridVerificationStatus(), outbox.deleteSendGridSubUser()',
    versions: [6],
    async run({ client, value }) {
      expect((await client.outbox.sendGridVerificationStatus()).senderVerified).toBe(false);
      await client.outbox.deleteSendGridSubUser(value('email'));
    },
  },
  {
    resource: 'job statuses',
    call: 'jobStatuses.list(), jobStatuses.find(), jobStatuses.count()',
    versions: [5, 6],
    async run({ client, make }) {
      await make(client.folders, { displayName: 'A job' }).save();
      const [job] = await client.jobStatuses.list();
      const id = job?.jobStatusId ?? job?.id ?? '';
      const ended = await until('the job to end', async () => {
        const found = await client.jobStatuses.find(id);
        return found.status !== 'pending' && found;
      });
      expect(ended.isSuccessful()).toBe(ended.status === 'successful');
      expect(await client.jobStatuses.count()).toBeGreaterThan(0);
    },
  },
];

/** Calls about mail. */
export const MAIL_CALLS: readonly NodeCall[] = [
  ...folderCalls('folders'),
  ...folderCalls('labels'),
  ...messages,
  ...threads,
  ...files,
  ...drafts,
  ...outbox,
];
