import { randomUUID } from 'node:crypto';
import type {
  DraftContent,
  MailboxPort,
  MailPort,
  ProviderAccount,
  RemoteMessage,
} from '../../src/providers/port/connector.ts';
import {
  codeOf,
  mimeOf,
  outgoing,
  renamedMessage,
  Replica,
  sendControl,
} from './contract-tools.ts';

function draftOf(account: ProviderAccount, subject: string): DraftContent {
  const { mime, messageIdHeader } = outgoing(account, ['bo@elsewhere.test'], { subject });
  return {
    messageIdHeader,
    mime: Buffer.concat([Buffer.from('Bcc: <hidden@elsewhere.test>\r\n'), mime]),
  };
}

/** Providers may replace the Message-ID of a draft and add header fields, but no more. */
function expectStored(draft: RemoteMessage | undefined, mime: Buffer): void {
  const split = (text: string) => {
    const [header = '', ...body] = text.split('\r\n\r\n');
    return { lines: header.split('\r\n'), body: body.join('\r\n\r\n') };
  };
  const [stored, given] = [split(String(mimeOf(draft))), split(String(mime))];
  const kept = given.lines.filter((line) => !/^message-id:/i.test(line));
  expect(stored.lines).toEqual(expect.arrayContaining(kept));
  expect(stored.body).toBe(given.body);
}

/**
 * Tests for what every `MailboxPort` guarantees: `listChanges` shows each provider write, and
 * repeating a write changes nothing.
 */
export function describeMailbox(
  make: () => Promise<{
    mail: MailPort;
    mailbox: MailboxPort;
    account: () => Promise<ProviderAccount>;
  }>,
): void {
  describe('mailbox', () => {
    /** A mailbox with one unread message in its inbox, and a replica that follows it. */
    async function withMessage() {
      const { mail, mailbox, account } = await make();
      const one = await account();
      const replica = new Replica(mail, one);
      await replica.follow();
      const { messageIdHeader } = await deliver(mail, await account(), one);
      const message = await replica.until(
        'the delivery',
        (now) => now.withText(messageIdHeader)[0],
      );
      return { mail, mailbox, account, one, replica, message, messageIdHeader };
    }
    async function deliver(mail: MailPort, from: ProviderAccount, to: ProviderAccount) {
      const message = outgoing(from, [to.email]);
      await mail.send(from, message, sendControl());
      return message;
    }
    /** The only message with this header that is not in Sent. */
    const received = (replica: Replica, header: string) =>
      replica
        .withText(header)
        .find(({ folderIds }) => !folderIds.includes(replica.standard('sent').providerId));

    describe('flags', () => {
      it('sets the given flags and leaves the others unchanged', async () => {
        const { mailbox, one, replica, message, messageIdHeader } = await withMessage();
        const now = () => received(replica, messageIdHeader);
        await mailbox.setFlags(one, message.providerId, { starred: true });
        await replica.until('the star', () => now()?.starred);
        expect(now()).toMatchObject({
          providerId: message.providerId,
          unread: true,
          starred: true,
        });
        await mailbox.setFlags(one, message.providerId, { unread: false });
        await replica.until('the message to be read', () => now()?.unread === false);
        expect(now()).toMatchObject({ unread: false, starred: true });
        await mailbox.setFlags(one, message.providerId, { unread: true, starred: false });
        await replica.until('the message to be unread again', () => now()?.unread);
        expect(now()).toMatchObject({ unread: true, starred: false });
      });

      it('leaves the flags unchanged when they are set again', async () => {
        const { mailbox, one, replica, message, messageIdHeader } = await withMessage();
        for (let times = 0; times < 3; times++)
          await mailbox.setFlags(one, message.providerId, { unread: false, starred: true });
        await replica.until('the flags', () => received(replica, messageIdHeader)?.starred);
        expect(received(replica, messageIdHeader)).toMatchObject({ unread: false, starred: true });
        expect(replica.messages.size).toBe(new Set(replica.messages.keys()).size);
      });

      it('reports not-found for a message that does not exist', async () => {
        const { mailbox, one } = await withMessage();
        for (const id of [randomUUID(), 'no such id'])
          expect(await codeOf(mailbox.setFlags(one, id, { unread: false }))).toBe('not-found');
      });
    });

    describe('folders of a message', () => {
      it('moves the message into exactly the given folders and returns its new id', async () => {
        const { mail, mailbox, one, replica, message, messageIdHeader } = await withMessage();
        const { providerId: folder } = await mailbox.createFolder(one, `Filed ${randomUUID()}`);
        const before = await mail.fetchRaw(one, message.providerId);
        const { providerId } = await mailbox.setFolders(one, message.providerId, [folder]);
        const moved = await replica.until('the move', () =>
          replica.inFolder(folder).find((copy) => copy.providerId === providerId),
        );
        expect(
          moved.folderIds.filter(
            (id) => id !== replica.folders.find((f) => f.name === 'all')?.providerId,
          ),
        ).toEqual([folder]);
        expect(replica.inFolder(replica.standard('inbox').providerId)).toEqual([]);
        expect(await mail.fetchRaw(one, providerId)).toEqual(before);
        expect(await mailbox.setFolders(one, providerId, [folder])).toEqual({ providerId });
        // A client that did not receive the first response repeats the request.
        const again = await codeOf(mailbox.setFolders(one, message.providerId, [folder]));
        expect(['succeeded', 'not-found']).toContain(again);
        await replica.follow();
        expect(replica.inFolder(folder)).toHaveLength(1);
        const back = await mailbox.setFolders(one, providerId, [
          replica.standard('inbox').providerId,
        ]);
        await replica.until(
          'the message to be back in the inbox',
          () => received(replica, messageIdHeader)?.providerId === back.providerId,
        );
        await replica.until('the folder to be empty', () => replica.inFolder(folder).length === 0);
      });

      it('keeps the flags of the message', async () => {
        const { mailbox, one, replica, message, messageIdHeader } = await withMessage();
        await mailbox.setFlags(one, message.providerId, { unread: false, starred: true });
        const trash = replica.standard('trash').providerId;
        await mailbox.setFolders(one, message.providerId, [trash]);
        await replica.until('the move', () =>
          received(replica, messageIdHeader)?.folderIds.includes(trash),
        );
        expect(received(replica, messageIdHeader)).toMatchObject({ unread: false, starred: true });
      });

      it('reports not-found for a folder or message that does not exist, and moves nothing', async () => {
        const { mailbox, one, replica, message, messageIdHeader } = await withMessage();
        const inbox = replica.standard('inbox').providerId;
        expect(
          await codeOf(mailbox.setFolders(one, message.providerId, [`none-${randomUUID()}`])),
        ).toBe('not-found');
        for (const id of [randomUUID(), 'no such id'])
          expect(await codeOf(mailbox.setFolders(one, id, [inbox]))).toBe('not-found');
        await replica.follow();
        expect(received(replica, messageIdHeader)?.folderIds).toContain(inbox);
      });
    });

    describe('folders', () => {
      it.each(['Invoices', 'Grüße & Küsse', '請求書', 'Projects/2026'])(
        'creates only one folder when the creation is repeated: %s',
        async (name) => {
          const { mail, mailbox, account } = await make();
          const one = await account();
          const replica = new Replica(mail, one);
          const { providerId } = await mailbox.createFolder(one, name);
          expect(await mailbox.createFolder(one, name)).toEqual({ providerId });
          await replica.until('the folder', () => replica.named(name));
          expect(replica.named(name)).toEqual({ providerId, name: null, displayName: name });
          if (mail.listFolders)
            expect(await mail.listFolders(one)).toContainEqual(replica.named(name));
          expect(replica.folders.filter(({ displayName }) => displayName === name)).toHaveLength(1);
        },
      );

      it('refuses to create a folder with an invalid name', async () => {
        const { mailbox, account } = await make();
        const one = await account();
        for (const name of ['', 'a//b'])
          expect(await codeOf(mailbox.createFolder(one, name))).toBe('rejected');
      });

      it('renames a folder and keeps its messages in it', async () => {
        const { mail, mailbox, one, replica, message, messageIdHeader } = await withMessage();
        const before = await mailbox.createFolder(one, 'Before');
        const { providerId } = await mailbox.setFolders(one, message.providerId, [
          before.providerId,
        ]);
        await replica.until('the move', () => replica.inFolder(before.providerId).length === 1);
        const { providerId: after, messagePrefix } = await mailbox.renameFolder(
          one,
          before.providerId,
          'After',
        );
        const renamedId = renamedMessage(providerId, messagePrefix);
        if (messagePrefix) expect(providerId.startsWith(messagePrefix.from)).toBe(true);
        await replica.until(
          'the new name',
          () => replica.named('After') && !replica.named('Before'),
        );
        expect(replica.named('After')?.providerId).toBe(after);
        const inside = await replica.until(
          'the message in the folder',
          () => replica.inFolder(after)[0],
        );
        expect(replica.inFolder(after)).toHaveLength(1);
        expect(
          replica
            .withText(messageIdHeader)
            .filter((copy) => copy.folderIds.includes(before.providerId)),
        ).toEqual(after === before.providerId ? [inside] : []);
        expect(inside.providerId).toBe(renamedId);
        expect(String(await mail.fetchRaw(one, renamedId))).toContain(messageIdHeader);
      });

      it('keeps the name of a folder when the new name is taken or invalid, or the folder does not exist', async () => {
        const { mail, mailbox, account } = await make();
        const one = await account();
        const [first] = [
          await mailbox.createFolder(one, 'First'),
          await mailbox.createFolder(one, 'Second'),
        ];
        expect(await codeOf(mailbox.renameFolder(one, first.providerId, 'Second'))).toBe(
          'conflict',
        );
        expect(await codeOf(mailbox.renameFolder(one, first.providerId, 'a//b'))).toBe('rejected');
        expect(await codeOf(mailbox.renameFolder(one, `none-${randomUUID()}`, 'Third'))).toBe(
          'not-found',
        );
        const replica = new Replica(mail, one);
        await replica.follow();
        expect([
          replica.named('First'),
          replica.named('Second'),
          replica.named('Third'),
        ]).toMatchObject([{ providerId: first.providerId }, {}, undefined] as object[]);
      });

      it('deletes a folder, and accepts a repeated deletion', async () => {
        const { mailbox, one, replica } = await withMessage();
        const { providerId: folder } = await mailbox.createFolder(one, 'Short-lived');
        await replica.until('the beginning', () => replica.named('Short-lived'));
        await mailbox.deleteFolder(one, folder);
        await mailbox.deleteFolder(one, folder);
        await replica.until('the end', () => !replica.named('Short-lived'));
      });

      it('keeps the messages of a folder that is to be deleted', async () => {
        const { mailbox, one, replica, message, messageIdHeader } = await withMessage();
        const { providerId: folder } = await mailbox.createFolder(one, 'Full');
        await mailbox.setFolders(one, message.providerId, [folder]);
        await replica.until('the move', () => replica.inFolder(folder).length === 1);
        const code = await codeOf(mailbox.deleteFolder(one, folder));
        expect(code).toBe(one.organizationUnit === 'label' ? 'succeeded' : 'rejected');
        await replica.follow();
        expect(received(replica, messageIdHeader)).toBeDefined();
      });
    });

    describe('drafts', () => {
      it('stores a draft unchanged and only once, and replaces it with the next version', async () => {
        const { mail, mailbox, account } = await make();
        const one = await account();
        const replica = new Replica(mail, one);
        await replica.follow();
        const drafts = () => replica.inFolder(replica.standard('drafts').providerId);
        const [first, second] = [draftOf(one, 'First'), draftOf(one, 'Second')];
        const stored = await mailbox.saveDraft(one, first, null);
        expect(await mailbox.saveDraft(one, first, null)).toEqual(stored);
        await replica.until('the draft', () => drafts().length > 0);
        expect(drafts().map(({ providerId }) => providerId)).toEqual([stored.providerId]);
        const [draft] = drafts();
        expectStored(draft, first.mime);
        expect(draft?.unread).toBe(false);
        const next = await mailbox.saveDraft(one, second, stored.providerId);
        expect(await mailbox.saveDraft(one, second, stored.providerId)).toEqual(next);
        await replica.until('the next version', () => drafts()[0]?.providerId === next.providerId);
        expect(drafts()).toHaveLength(1);
        expectStored(drafts()[0], second.mime);
      });

      it('stores a draft whose previous version was deleted, and accepts a repeated deletion', async () => {
        const { mail, mailbox, account } = await make();
        const one = await account();
        const replica = new Replica(mail, one);
        await replica.follow();
        const drafts = () => replica.inFolder(replica.standard('drafts').providerId);
        const first = await mailbox.saveDraft(one, draftOf(one, 'First'), null);
        await mailbox.deleteDraft(one, first.providerId);
        await mailbox.deleteDraft(one, first.providerId);
        const { providerId } = await mailbox.saveDraft(
          one,
          draftOf(one, 'Second'),
          first.providerId,
        );
        await replica.until('the draft', () => drafts().length > 0);
        expect(drafts().map((draft) => draft.providerId)).toEqual([providerId]);
        await mailbox.deleteDraft(one, providerId);
        await replica.until('the end', () => drafts().length === 0);
      });
    });

    it('keeps accounts apart', async () => {
      const { mail, mailbox, account, replica, message, messageIdHeader } = await withMessage();
      const theirs = await account();
      expect(await codeOf(mailbox.setFlags(theirs, message.providerId, { starred: true }))).toBe(
        'not-found',
      );
      await mailbox.deleteDraft(theirs, message.providerId);
      await mailbox.createFolder(theirs, 'Theirs');
      await replica.follow();
      expect(received(replica, messageIdHeader)).toMatchObject({ unread: true, starred: false });
      expect(replica.named('Theirs')).toBeUndefined();
      const other = new Replica(mail, theirs);
      await other.follow();
      expect(other.withText(messageIdHeader)).toEqual([]);
    });
  });
}
