import type { SeenMessage } from '../remote-side.ts';
import { until } from '../until.ts';
import type { Chains, Shown } from './chain-account.ts';

/** What a request asks of a message. `in`: the index of one of the two folders of the test. */
type Change = { unread?: boolean; starred?: boolean; in?: 0 | 1 };

/** Chains of changes to one message; the answer to the first is held back. */
const CHANGES: readonly (readonly Change[])[] = [
  [{ starred: true }, { starred: false }, { starred: true }],
  [{ starred: true }, { starred: true, unread: false }, { starred: false, unread: true }],
  [{ unread: false }, { unread: true }, { unread: false }],
  [{ in: 0 }, { in: 1 }, { in: 0 }],
  [{ in: 0 }, { in: 1, starred: true }, { unread: false }],
  [{ starred: true }, { in: 0 }, { in: 1 }],
];

/** Names of the folders of a message in lower case, without the one that has every message. */
const foldersOf = (message: SeenMessage | undefined): string[] =>
  (message?.folders ?? []).map((name) => name.toLowerCase()).filter((name) => name !== 'all mail');

/**
 * Registers the tests of messages: chains of changes, and what happens to messages that were just
 * sent.
 */
export function describeMessageChains(account: () => Chains): void {
  const shown = async (tag: string): Promise<Shown[]> => {
    const all = await account().api<Shown[]>('get', '/messages?limit=1000');
    return all.filter(({ subject }) => String(subject).startsWith(tag));
  };
  const placed = (ids: readonly string[], at: 0 | 1 | undefined) => {
    if (at === undefined) return {};
    return account().side.unit === 'folder' ? { folder_id: ids[at] } : { label_ids: [ids[at]] };
  };
  /** Makes two folders or labels that are at the provider. */
  async function twoFolders(tag: string): Promise<{ ids: string[]; names: string[] }> {
    const chains = account();
    const names = [`${tag}a`, `${tag}b`];
    const ids: string[] = [];
    for (const display_name of names)
      ids.push((await chains.api('post', `/${chains.side.unit}s`, { display_name })).id);
    await chains.written();
    return { ids, names };
  }
  async function settled(): Promise<void> {
    await account().synced(['mail']);
    await account().written();
    await account().synced(['mail']);
  }

  it.each(CHANGES.map((steps) => ({ what: JSON.stringify(steps), steps })))(
    'leaves a message as the last of several changes asks when the first is still on its way: $what',
    async ({ steps }) => {
      const chains = account();
      const tag = chains.tag();
      const folders = await twoFolders(tag);
      await chains.side.deliver(`${tag}message`);
      await chains.synced(['mail']);
      const message = await until('the message', async () => (await shown(tag))[0]);
      const path = `/messages/${message.id}`;
      const held = chains.held.hold();
      for (const [index, { in: at, ...flags }] of steps.entries()) {
        await chains.api('put', path, { ...flags, ...placed(folders.ids, at) });
        if (index > 0) continue;
        await held.made;
        await chains.synced(['mail']);
      }
      held.release();
      await settled();
      const wanted: Change = Object.assign({}, ...steps);
      const flags = { unread: wanted.unread ?? true, starred: wanted.starred ?? false };
      const place = wanted.in === undefined ? 'Inbox' : folders.names[wanted.in];
      const [seen, ...others] = await chains.messages(tag);
      expect(others).toEqual([]);
      expect(seen).toMatchObject(flags);
      expect(foldersOf(seen)).toEqual([place?.toLowerCase()]);
      expect(await shown(tag)).toMatchObject([{ id: message.id, ...flags }]);
    },
  );

  it('shows a message at once that was just sent, with its files, and joins it with the copy of the provider', async () => {
    const chains = account();
    const tag = chains.tag();
    const to = [{ email: chains.side.correspondent }];
    const file_ids = [await chains.upload('plan.txt', 'the plan')];
    const body = { subject: `${tag}v1`, body: '<p>Hi</p>', to, file_ids };
    const sent = await chains.api('post', '/send', body);
    const path = `/messages/${sent.id}`;
    const message = await chains.api<Shown & { files: { id: string }[] }>('get', path);
    expect(message).toMatchObject({
      subject: `${tag}v1`,
      body: expect.stringContaining('<p>Hi</p>'),
    });
    const thread = await chains.api('get', `/threads/${sent['thread_id'] as string}`);
    expect(thread).toMatchObject({ message_ids: [sent.id] });
    const expanded = await chains.api('get', `${path}?view=expanded`);
    expect(expanded).toMatchObject({ headers: { 'Message-Id': expect.any(String) } });
    const readAll = async () => {
      expect(await chains.text(path, 'message/rfc822')).toContain(`Subject: ${tag}v1`);
      const files = (await chains.api<{ files: { id: string }[] }>('get', path)).files;
      expect(files).toMatchObject([{ filename: 'plan.txt' }]);
      const download = `/files/${files[0]?.id}/download`;
      expect(await chains.text(download, '*/*')).toBe('the plan');
    };
    await readAll();
    await chains.api('put', path, { starred: true });
    await settled();
    expect(await chains.messages(tag)).toMatchObject([{ subject: `${tag}v1`, starred: true }]);
    expect(await shown(tag)).toMatchObject([{ id: sent.id, starred: true }]);
    await readAll();
  });

  it('carries changes of a sent draft to the provider that were made before its copy was known', async () => {
    const chains = account();
    const tag = chains.tag();
    const folders = await twoFolders(tag);
    const fields = { subject: `${tag}v1`, to: [{ email: chains.side.correspondent }] };
    const held = chains.held.hold();
    const draft = await chains.api('post', '/drafts', fields);
    await held.made;
    const sent = await chains.api('post', '/send', { draft_id: draft.id, version: 0 });
    const path = `/messages/${sent.id}`;
    await chains.api('put', path, { starred: true });
    await chains.api('put', path, { starred: false, unread: true });
    await chains.api('put', path, { starred: true, ...moved(await chains.api('get', path)) });
    held.release();
    await settled();
    const [seen, ...others] = await chains.messages(tag);
    expect(others).toEqual([]);
    expect(seen).toMatchObject({ starred: true, unread: true });
    expect(seen?.folders).toContain(folders.names[1]);
    expect(await chains.seen(tag)).toMatchObject({ drafts: [], sent: [`${tag}v1`] });
    expect((await shown(tag)).map(({ id }) => id)).toEqual([sent.id]);

    function moved(message: Shown & { labels?: { id: string }[] }) {
      const id = folders.ids[1];
      if (chains.side.unit === 'folder') return { folder_id: id };
      return { label_ids: [...(message.labels ?? []).map((label) => label.id), id] };
    }
  });

  it('deletes a message that was just sent when it is moved to the trash', async () => {
    const chains = account();
    const tag = chains.tag();
    const to = [{ email: chains.side.correspondent }];
    const sent = await chains.api('post', '/send', { subject: `${tag}v1`, to });
    const path = `/messages/${sent.id}`;
    const { unit } = chains.side;
    const all = await chains.api<Shown[]>('get', `/${unit}s`);
    const idOf = (name: string) => all.find((one) => one['name'] === name)?.id;
    const trash = idOf('trash');
    const place = unit === 'folder' ? { folder_id: trash } : { label_ids: [idOf('sent'), trash] };
    await chains.api('put', path, place);
    await settled();
    expect(await chains.messages(tag)).toHaveLength(1);
    const [seen] = await chains.messages(tag);
    expect(seen?.folders.join()).toMatch(/trash|deleted/i);
    expect((await shown(tag)).map(({ id }) => id)).toEqual([sent.id]);
  });

  it('keeps the message in Sent and the one in the inbox apart when somebody writes to himself', async () => {
    const chains = account();
    const tag = chains.tag();
    const sent = await chains.api('post', '/send', {
      subject: `${tag}v1`,
      to: [{ email: chains.email }],
    });
    await chains.api('put', `/messages/${sent.id}`, { starred: true });
    await settled();
    const messages = await until('the message in the inbox', async () => {
      const found = await chains.messages(tag);
      return found.some((one) => foldersOf(one).includes('inbox')) && found;
    });
    const starred = messages.filter((one) => one.starred);
    expect(starred.map((one) => foldersOf(one).join())).toEqual([expect.stringMatching(/sent/)]);
    // Gmail has one message with both labels.
    const found = await until('all messages in the mirror', async () => {
      await chains.synced(['mail']);
      const mirrored = await shown(tag);
      return mirrored.length >= messages.length && mirrored;
    });
    expect(found).toHaveLength(messages.length);
    expect(found.filter((one) => one['starred'] === true).map(({ id }) => id)).toEqual([sent.id]);
  });
}
