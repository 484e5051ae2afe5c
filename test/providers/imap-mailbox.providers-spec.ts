import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { codeOf } from '../support/contract-tools.ts';
import { type Correspondent, ImapFixture } from '../support/imap-fixture.ts';
import { type ImapReplica, truthOf } from '../support/imap-replica.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { mimeOf } from '../support/mail-servers/mail-servers.ts';

const small = (subject: string, headers: Record<string, string> = {}) =>
  mimeOf({ Subject: subject, ...headers });
const uidsIn = (replica: ImapReplica, path: string) =>
  [...replica.messages.keys()]
    .filter((id) => id.startsWith(`${path};`))
    .map((id) => Number(id.split(';')[2]));

describeWith(['dovecot', 'exim4'], 'ImapMailbox', () => {
  let fixture: ImapFixture;
  beforeAll(async () => {
    fixture = await ImapFixture.start();
  });
  afterEach(() => fixture.closeAll());
  afterAll(() => fixture.stop());

  async function withInbox(subjects: readonly string[], hidden: readonly string[] = []) {
    const one = await fixture.correspondent({ hidden });
    for (const subject of subjects) await one.other.append('INBOX', small(subject));
    const replica = one.replica();
    await replica.follow();
    const ids = [...replica.messages.keys()].toSorted((a, b) => a.localeCompare(b));
    return { ...one, one, replica, ids };
  }
  const agree = async (one: Correspondent, replica: ImapReplica) => {
    await replica.follow();
    expect(replica.messages).toEqual(await truthOf(one.other));
  };

  describe('a server without MOVE and UIDPLUS', () => {
    const LESSER = ['MOVE', 'UIDPLUS'];

    it('deletes no message that another program has marked as deleted', async () => {
      const { one, other, mailbox, account, replica, ids } = await withInbox(
        ['a', 'b', 'c'],
        LESSER,
      );
      await other.mailboxOpen('INBOX');
      await other.messageFlagsAdd('3', ['\\Deleted'], { uid: true });
      const { providerId } = await mailbox.setFolders(account, ids[0] ?? '', ['Archive']);
      expect(providerId).toMatch(/^Archive;\d+;1$/);
      await agree(one, replica);
      expect(uidsIn(replica, 'INBOX').toSorted((a, b) => a - b)).toEqual([2, 3]);
      await other.mailboxOpen('INBOX');
      expect(await other.search({ deleted: true }, { uid: true })).toEqual([3]);
    });

    it('ends with one copy if a move was interrupted before the deletion', async () => {
      const { one, other, mailbox, account, replica, ids } = await withInbox(['a', 'b'], LESSER);
      await other.mailboxOpen('INBOX');
      await other.messageCopy('1', 'Archive', { uid: true });
      const { providerId } = await mailbox.setFolders(account, ids[0] ?? '', ['Archive']);
      await agree(one, replica);
      expect(uidsIn(replica, 'Archive')).toEqual([1]);
      expect(uidsIn(replica, 'INBOX')).toEqual([2]);
      expect(replica.messages.has(providerId)).toBe(true);
    });

    it('finds a moved message without a Message-ID among the newest', async () => {
      const one = await fixture.correspondent({ hidden: LESSER });
      await one.other.append('INBOX', 'Subject: nameless\r\n\r\nbody\r\n', ['\\Seen']);
      const replica = one.replica();
      await replica.follow();
      const [id = ''] = replica.messages.keys();
      const { providerId } = await one.mailbox.setFolders(one.account, id, ['Trash']);
      await agree(one, replica);
      expect([...replica.messages.keys()]).toEqual([providerId]);
    });
  });

  it('returns not-found for a message whose folder was replaced', async () => {
    const one = await fixture.correspondent();
    await one.other.mailboxCreate('Folder');
    await one.other.append('Folder', small('a'));
    const replica = one.replica();
    await replica.follow();
    const [id = ''] = replica.messages.keys();
    await one.other.mailboxDelete('Folder');
    await one.other.mailboxCreate('Folder');
    await one.other.append('Folder', small('b'));
    expect(await codeOf(one.mailbox.setFlags(one.account, id, { starred: true }))).toBe(
      'not-found',
    );
    expect(await codeOf(one.mailbox.setFolders(one.account, id, ['Trash']))).toBe('not-found');
    await one.mailbox.deleteDraft(one.account, id);
    await agree(one, replica);
    expect(replica.messages.size).toBe(1);
  });

  it('accepts exactly one folder for a message', async () => {
    const { mailbox, account, ids } = await withInbox(['a']);
    for (const folders of [[], ['Trash', 'Archive']]) {
      expect(await codeOf(mailbox.setFolders(account, ids[0] ?? '', folders))).toBe('rejected');
    }
  });

  describe('folders', () => {
    it.each(['', ' ', '/', 'a/', '/a', 'a//b', 'line\nbreak', 'nul\0', 'x'.repeat(600), '../etc'])(
      'are not created with the name %j',
      async (name) => {
        const { mailbox, account, replica } = await withInbox([]);
        const before = replica.folders;
        expect(await codeOf(mailbox.createFolder(account, name))).toBe('rejected');
        await replica.follow();
        expect(replica.folders).toEqual(before);
      },
    );

    it.each([
      '"quoted" \\ back',
      'percent % star *',
      '& ampersand',
      '(parens) {1}',
      ' spaces ',
      'émoji 🎉',
    ])('are created with the name %j, or refused permanently', async (name) => {
      const { mailbox, account, replica, other } = await withInbox([]);
      const code = await codeOf(mailbox.createFolder(account, name));
      expect(['succeeded', 'rejected']).toContain(code);
      await replica.follow();
      expect(replica.folders.some(({ displayName }) => displayName === name)).toBe(
        code === 'succeeded',
      );
      expect((await other.list()).length).toBe(replica.folders.length);
    });

    it('are found again if they are created twice at the same time', async () => {
      const { mailbox, account, replica } = await withInbox([]);
      const made = await Promise.all([1, 2].map(() => mailbox.createFolder(account, 'Twice')));
      expect(made[0]).toEqual(made[1]);
      await replica.follow();
      expect(replica.folders.filter(({ displayName }) => displayName === 'Twice')).toHaveLength(1);
    });

    it('are renamed once, and a repeated request gets the same response', async () => {
      const { one, mailbox, account, replica } = await withInbox([]);
      const { providerId } = await mailbox.createFolder(account, 'Before/Inside');
      await one.other.append(providerId, small('a'));
      await replica.follow();
      const first = await mailbox.renameFolder(account, 'Before/Inside', 'After/Elsewhere');
      expect(await mailbox.renameFolder(account, 'Before/Inside', 'After/Elsewhere')).toEqual(
        first,
      );
      expect(first).toEqual({
        providerId: 'After/Elsewhere',
        messagePrefix: { from: 'Before/Inside;', to: 'After/Elsewhere;' },
      });
      await agree(one, replica);
    });

    it('that belong to the server cannot be deleted', async () => {
      const { mailbox, account, replica } = await withInbox(['a']);
      expect(await codeOf(mailbox.renameFolder(account, 'INBOX', 'Mine'))).toBe('rejected');
      expect(await codeOf(mailbox.deleteFolder(account, 'INBOX'))).toBe('rejected');
      await replica.follow();
      expect(replica.messages.size).toBe(1);
    });

    it('are deleted without the folders inside them', async () => {
      const { one, mailbox, account, replica } = await withInbox([]);
      await mailbox.createFolder(account, 'Parent');
      await mailbox.createFolder(account, 'Parent/Child');
      await one.other.append('Parent/Child', small('b'));
      await replica.follow();
      for (let times = 0; times < 2; times += 1) await mailbox.deleteFolder(account, 'Parent');
      await agree(one, replica);
      expect(replica.folders.map(({ displayName }) => displayName)).toContain('Parent/Child');
      expect(replica.folders.map(({ displayName }) => displayName)).not.toContain('Parent');
    });
  });

  it('stores a draft once if the request is repeated', async () => {
    const { one, mailbox, account, replica } = await withInbox([]);
    const messageIdHeader = `<${randomUUID()}@drafts.test>`;
    const draft = {
      messageIdHeader,
      mime: Buffer.from(small('draft', { 'Message-ID': messageIdHeader })),
    };
    const first = await mailbox.saveDraft(account, draft, null);
    expect(await mailbox.saveDraft(account, draft, first.providerId)).toEqual(first);
    await agree(one, replica);
    expect([...replica.messages]).toMatchObject([
      [first.providerId, { unread: false, folderIds: ['Drafts'] }],
    ]);
  });

  it('agrees in the end with another program that changes the same mailbox at the same time', async () => {
    const { one, other, mailbox, account, replica, ids } = await withInbox(
      Array.from({ length: 12 }, (_, n) => `m${n}`),
    );
    await other.mailboxOpen('INBOX');
    const theirs = async () => {
      for (let uid = 1; uid <= 12; uid += 1) {
        if (uid % 3 === 0) await other.messageMove(`${uid}`, 'Trash', { uid: true });
        else await other.messageFlagsAdd(`${uid}`, ['\\Seen'], { uid: true });
      }
    };
    const ours = async () => {
      for (const id of ids) {
        await codeOf(mailbox.setFlags(account, id, { starred: true }));
        if (Number(id.split(';')[2]) % 2 === 0)
          await codeOf(mailbox.setFolders(account, id, ['Archive']));
        await replica.look();
      }
    };
    await Promise.all([theirs(), ours()]);
    await agree(one, replica);
    expect(replica.messages.size).toBe(12);
  });
});
