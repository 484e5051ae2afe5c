import { parseParts } from '../../src/mail/parsing/mime-parser.ts';
import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type {
  MailPort,
  MessageIdsRequest,
  OutgoingMessage,
  ProviderAccount,
  RemoteFolder,
} from '../../src/providers/port/connector.ts';
import { codeOf, mimeOf, outgoing, Replica, sendControl } from './contract-tools.ts';
import { until } from './until.ts';

const BYTES = Buffer.from(Array.from({ length: 5_000 }, (_, index) => (index * 7) % 256));

/** A message whose attachment is `BYTES`. */
function withAttachment(from: ProviderAccount, to: ProviderAccount): OutgoingMessage {
  const message = outgoing(from, [to.email]);
  const header = message.mime.toString().split('Content-Type:', 1)[0];
  const encoded = BYTES.toString('base64').replace(/.{76}/g, '$&\r\n');
  const parts = [
    'Content-Type: text/plain\r\n\r\nSee the attachment.',
    'Content-Type: application/octet-stream; name="data.bin"\r\nContent-Transfer-Encoding: base64\r\n' +
      `Content-Disposition: attachment; filename="data.bin"\r\n\r\n${encoded}`,
  ];
  const body = parts.map((part) => `--contract\r\n${part}\r\n`).join('');
  const mime = `${header}Content-Type: multipart/mixed; boundary=contract\r\n\r\n${body}--contract--\r\n`;
  return { ...message, mime: Buffer.from(mime) };
}

/**
 * Tests for what every `MailPort` guarantees. Changes made by another server may take some time to
 * appear.
 */
export function describeMail(
  make: () => Promise<{ mail: MailPort; account: () => Promise<ProviderAccount> }>,
): void {
  describe('mail', () => {
    /** Sends a message, and files the copy in Sent if sending does not do it. */
    async function send(mail: MailPort, from: ProviderAccount, message: OutgoingMessage) {
      const control = sendControl();
      const receipt = await mail.send(from, message, control);
      await mail.fileSent?.(from, message.messageIdHeader, message.mime);
      return { receipt, phases: control.phases };
    }
    async function follow(mail: MailPort, account: ProviderAccount): Promise<Replica> {
      const replica = new Replica(mail, account);
      await replica.follow();
      return replica;
    }

    it('delivers a message, has a copy in Sent, and shows both as they were sent', async () => {
      const { mail, account } = await make();
      const [from, to] = [await account(), await account()];
      const [sender, receiver] = [await follow(mail, from), await follow(mail, to)];
      const message = outgoing(from, [to.email], { subject: 'Grüße' });
      const { receipt, phases } = await send(mail, from, message);
      expect(receipt.accepted).toEqual([to.email]);
      expect(receipt.refused).toEqual([]);
      expect(phases).toEqual(['connect', 'login', 'envelope', 'content', 'confirmation']);
      expect(await mail.findSent(from, message.messageIdHeader)).toMatchObject({ found: true });

      const copy = await receiver.until(
        'the delivery',
        (one) => one.withText(message.messageIdHeader)[0],
      );
      expect(copy).toMatchObject({ unread: true, starred: false });
      expect(copy.folderIds).toContain(receiver.standard('inbox').providerId);
      expect(await mail.fetchRaw(to, copy.providerId)).toEqual(mimeOf(copy));
      const own = await sender.until(
        'the copy in Sent',
        (one) => one.withText(message.messageIdHeader)[0],
      );
      expect(own).toMatchObject({ unread: false });
      expect(own.folderIds).toContain(sender.standard('sent').providerId);
      if (receipt.stored) expect(own.providerId).toBe(receipt.stored.providerId);
      if (receipt.stored) expect(own.threadId ?? null).toBe(receipt.stored.threadId);
    });

    it('delivers to Bcc recipients, and shows them to nobody else', async () => {
      const { mail, account } = await make();
      const [from, to, hidden] = [await account(), await account(), await account()];
      const [receiver, hiddenReceiver] = [await follow(mail, to), await follow(mail, hidden)];
      const message = outgoing(from, [to.email], { bcc: [hidden.email] });
      const { receipt } = await send(mail, from, message);
      expect(new Set(receipt.accepted)).toEqual(new Set([to.email, hidden.email]));
      expect([...receipt.refused, ...receipt.deferred]).toEqual([]);
      const arrival = (replica: Replica) =>
        replica.until('the delivery', (one) => one.withText(message.messageIdHeader)[0]);
      const copy = mimeOf(await arrival(receiver))?.toString('latin1');
      expect(copy).toContain(to.email);
      expect(copy).not.toContain(hidden.email);
      expect(mimeOf(await arrival(hiddenReceiver))?.toString('latin1')).not.toMatch(/^bcc:/im);
    });

    it('files only one copy in Sent when it is asked repeatedly', async () => {
      const { mail, account } = await make();
      if (!mail.fileSent) return;
      const one = await account();
      const replica = await follow(mail, one);
      const { messageIdHeader, mime } = outgoing(one, [one.email]);
      for (let times = 0; times < 3; times++) await mail.fileSent(one, messageIdHeader, mime);
      const sent = replica.standard('sent').providerId;
      await replica.until('the copy', () => replica.inFolder(sent).length > 0);
      expect(replica.inFolder(sent)).toHaveLength(1);
    });

    it('files only one copy of a message that a mailing service has sent', async () => {
      const { mail, account } = await make();
      const one = await account();
      const replica = await follow(mail, one);
      const { messageIdHeader, mime } = outgoing(one, ['bo@elsewhere.test']);
      for (let times = 0; times < 3; times++) await mail.fileRelayed(one, messageIdHeader, mime);
      const sent = replica.standard('sent').providerId;
      const copy = await replica.until('the copy', () => replica.inFolder(sent)[0]);
      expect(copy).toMatchObject({ unread: false });
      expect(replica.inFolder(sent)).toHaveLength(1);
    });

    it('does not find a message that was never sent', async () => {
      const { mail, account } = await make();
      const looked = await mail.findSent(await account(), `<${randomUUID()}@contract.test>`);
      expect(looked.found).toBe(false);
      // If the copy is filed after sending, a missing copy proves nothing.
      if (mail.fileSent || mail.provesAbsence === false) expect(looked.conclusive).toBe(false);
    });

    it('sends nothing after the caller has aborted', async () => {
      const { mail, account } = await make();
      const [from, to] = [await account(), await account()];
      const message = outgoing(from, [to.email]);
      expect(await codeOf(mail.send(from, message, sendControl(AbortSignal.abort())))).toBe(
        'temporary',
      );
      expect((await mail.findSent(from, message.messageIdHeader)).found).toBe(false);
    });

    it('resumes at a cursor and pages without loss or repetition', async () => {
      const { mail, account } = await make();
      const [from, to] = [await account(), await account()];
      const replica = await follow(mail, to);
      const sent = Array.from({ length: 7 }, () => outgoing(from, [to.email]));
      for (const message of sent) await mail.send(from, message, sendControl());
      await new Replica(mail, to).until(
        'all messages to be delivered',
        ({ messages }) => messages.size === 7,
      );
      await until('all messages to be listed', async () => {
        const before = replica.messages.size;
        const calls = await replica.follow(3);
        expect(replica.messages.size - before).toBeLessThanOrEqual(3 * calls);
        return replica.messages.size >= 7;
      });
      await replica.until('their contents', ({ arrivals }) => arrivals.length >= 7);
      const texts = replica.arrivals.map((one) => String(mimeOf(one)));
      for (const { messageIdHeader } of sent)
        expect(texts.filter((text) => text.includes(messageIdHeader))).toHaveLength(1);
      await replica.follow();
      expect(replica.arrivals).toHaveLength(7);
    });

    it('never skips messages that arrive while it lists changes', async () => {
      const { mail, account } = await make();
      const [to, ...senders] = await Promise.all(Array.from({ length: 5 }, account));
      if (!to) throw new Error('unreachable');
      const replica = await follow(mail, to);
      const sending = { going: true };
      const looking = (async () => {
        while (sending.going) await replica.follow(2);
      })();
      await Promise.all(
        senders.map(async (from) => {
          for (let n = 0; n < 10; n++)
            await mail.send(from, outgoing(from, [to.email]), sendControl());
        }),
      );
      sending.going = false;
      await looking;
      await replica.until('all deliveries', ({ arrivals }) => arrivals.length >= 40);
      expect(replica.arrivals).toHaveLength(40);
      expect(replica.messages.size).toBe(40);
    });

    it('returns the bytes of an attachment unchanged', async () => {
      const { mail, account } = await make();
      const [from, to] = [await account(), await account()];
      const replica = await follow(mail, to);
      const message = withAttachment(from, to);
      await mail.send(from, message, sendControl());
      const copy = await replica.until('the delivery', ({ arrivals }) => arrivals[0]);
      const [file] = copy.content?.kind === 'parts' ? parseParts(copy.content.parts).files : [];
      const section = file?.section ?? '#0';
      const stream = await mail.openFile(to, copy.providerId, section);
      expect((await buffer(stream)).equals(BYTES)).toBe(true);
      expect(await codeOf(mail.openFile(to, copy.providerId, '#7'))).toBe('not-found');
    });

    it('lists the ids of a folder page by page, and only those of the requested time', async () => {
      const { mail, account } = await make();
      if (!mail.listIds) return;
      const [from, to] = [await account(), await account()];
      const replica = await follow(mail, to);
      for (let n = 0; n < 5; n++) await mail.send(from, outgoing(from, [to.email]), sendControl());
      await replica.until('all messages to be delivered', ({ messages }) => messages.size >= 5);
      const folderId = replica.standard('inbox').providerId;
      const there = replica.inFolder(folderId).map(({ providerId }) => providerId);
      const list = async (limit: number, since: Date | null, until: Date | null) => {
        const ids: string[] = [];
        for (let cursor: string | null = null, pages = 1; pages < 100; pages++) {
          const request: MessageIdsRequest = { folderId, since, until, cursor, limit };
          const page = await mail.listIds?.(to, request);
          expect(page?.ids.length).toBeLessThanOrEqual(limit);
          ids.push(...(page?.ids ?? []));
          cursor = page?.cursor ?? null;
          if (cursor === null) break;
        }
        return [...new Set(ids)].toSorted();
      };
      const week = 7 * 86_400_000;
      const dates = replica.inFolder(folderId).map(({ receivedAt }) => receivedAt.getTime());
      const [first, last] = [Math.min(...dates), Math.max(...dates)];
      expect(await list(1_000, null, null)).toEqual(there.toSorted());
      expect(await list(2, null, null)).toEqual(there.toSorted());
      const around = await list(2, new Date(first), new Date(last + 1_000));
      expect(around).toEqual(there.toSorted());
      expect(await list(2, null, new Date(first - week))).toEqual([]);
    });

    it('reports not-found when it lists the ids of a folder that does not exist', async () => {
      const { mail, account } = await make();
      if (!mail.listIds) return;
      const one = await account();
      await follow(mail, one);
      const request = { since: null, until: null, cursor: null, limit: 10 };
      const listed = mail.listIds(one, { folderId: `no-folder-${randomUUID()}`, ...request });
      expect(await codeOf(listed)).toBe('not-found');
    });

    it('lists the folders that sync passes report', async () => {
      const { mail, account } = await make();
      expect(typeof mail.listFolders).toBe(typeof mail.listIds);
      if (!mail.listFolders) return;
      const one = await account();
      const { folders } = await follow(mail, one);
      const byId = (some: readonly RemoteFolder[]) =>
        some.toSorted((a, b) => (a.providerId < b.providerId ? -1 : 1));
      expect(byId(await mail.listFolders(one))).toEqual(byId(folders));
    });

    it('counts the messages of each folder', async () => {
      const { mail, account } = await make();
      if (!mail.countMessages) return;
      const [from, to] = [await account(), await account()];
      const replica = await follow(mail, to);
      for (let n = 0; n < 3; n++) await mail.send(from, outgoing(from, [to.email]), sendControl());
      await replica.until('all messages to be delivered', ({ messages }) => messages.size >= 3);
      const counts = await mail.countMessages(to);
      for (const { providerId } of replica.folders) {
        const count = counts.get(providerId);
        if (count !== undefined) expect(count).toBe(replica.inFolder(providerId).length);
      }
      expect(counts.get(replica.standard('inbox').providerId)).toBeGreaterThan(0);
    });

    it('reads messages by their ids and names those that do not exist', async () => {
      const { mail, account } = await make();
      expect(typeof mail.readMessages).toBe(typeof mail.listIds);
      if (!mail.readMessages) return;
      const [from, to] = [await account(), await account()];
      const replica = await follow(mail, to);
      const message = outgoing(from, [to.email]);
      await mail.send(from, message, sendControl());
      const copy = await replica.until('the delivery', ({ arrivals }) => arrivals[0]);
      const missing = [randomUUID(), `${copy.providerId}0000`, 'no such id'];
      const providerIds = [...missing, copy.providerId];
      const request = { providerIds, priority: 'interactive' } as const;
      const known = await mail.readMessages(to, { ...request, content: false });
      const { content, ...state } = copy;
      const nothing = Object.fromEntries(missing.map((id) => [id, null]));
      const states = { ...nothing, [copy.providerId]: { state, content: null } };
      expect(Object.fromEntries(known)).toEqual(states);
      const full = await mail.readMessages(to, { ...request, content: true });
      const read = full.get(copy.providerId);
      const contents = { ...nothing, [copy.providerId]: { ...read, content } };
      expect(Object.fromEntries(full)).toEqual(contents);
      expect([null, state]).toContainEqual(read?.state);
    });

    it('reports not-found for a message that does not exist', async () => {
      const { mail, account } = await make();
      const one = await account();
      for (const id of [randomUUID(), 'no such id']) {
        expect(await codeOf(mail.fetchRaw(one, id))).toBe('not-found');
        expect(await codeOf(mail.openFile(one, id, '#0'))).toBe('not-found');
      }
    });
  });
}
