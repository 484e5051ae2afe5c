import { parseParts } from '../../src/mail/parsing/mime-parser.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { codeOf } from '../support/contract-tools.ts';
import { type Correspondent, ImapFixture } from '../support/imap-fixture.ts';
import { truthOf } from '../support/imap-replica.ts';
import { describeWith } from '../support/mail-servers/installed.ts';
import { mimeOf } from '../support/mail-servers/mail-servers.ts';
import { until } from '../support/until.ts';

const small = (subject: string, headers: Record<string, string> = {}) =>
  mimeOf({ Subject: subject, ...headers });
const append = async (one: Correspondent, path: string, ...subjects: string[]) => {
  for (const subject of subjects) await one.other.append(path, small(subject));
};
/** Extensions that a server older than CONDSTORE does not have. */
const OLD = [
  'CONDSTORE',
  'QRESYNC',
  'ESEARCH',
  'LIST-STATUS',
  'LIST-EXTENDED',
  'ENABLE',
  'MOVE',
  'UIDPLUS',
  'SPECIAL-USE',
];

describeWith(['dovecot', 'exim4'], 'ImapChanges', () => {
  let fixture: ImapFixture;
  beforeAll(async () => {
    fixture = await ImapFixture.start();
  });
  afterEach(() => fixture.closeAll());
  afterAll(() => fixture.stop());

  describe('the first sync pass over a mailbox', () => {
    it('returns all folders with their standard names, and the newest messages of the inbox', async () => {
      const one = await fixture.correspondent();
      await append(one, 'INBOX', ...Array.from({ length: 30 }, (_, n) => `m${n}`));
      await append(one, 'Sent', 's1', 's2');
      await one.other.mailboxCreate(['Grüße', 'A&B']);
      const first = await one.changes.listChanges(one.account, {
        cursor: null,
        limit: 10,
        since: null,
        known: () => Promise.resolve([]),
      });
      expect(first.folders).toEqual(
        expect.arrayContaining([
          { providerId: 'INBOX', name: 'inbox', displayName: 'INBOX' },
          { providerId: 'Sent', name: 'sent', displayName: 'Sent' },
          { providerId: 'Junk', name: 'spam', displayName: 'Junk' },
          { providerId: 'Grüße/A&B', name: null, displayName: 'Grüße/A&B' },
        ]),
      );
      expect(first).toMatchObject({ more: true, present: false, removed: [], renamed: [] });
      const uids = first.messages.map(({ providerId }) => Number(providerId.split(';')[2]));
      expect(uids).toEqual([30, 29, 28, 27, 26, 25, 24, 23, 22, 21]);
    });

    it('returns new mail before the history, and each message once', async () => {
      const one = await fixture.correspondent();
      await append(one, 'INBOX', ...Array.from({ length: 120 }, (_, n) => `m${n}`));
      await append(one, 'Sent', 's1', 's2');
      await append(one, 'Archive', 'a1');
      const replica = one.replica({ limit: 40 });
      await replica.follow();
      expect(replica.messages).toEqual(await truthOf(one.other));
      const present = replica.batches.findIndex((batch) => batch.present);
      expect(present).toBeGreaterThanOrEqual(0);
      expect(replica.batches.slice(present + 1).some(({ messages }) => messages.length > 0)).toBe(
        true,
      );
      const given = replica.batches.flatMap(({ messages }) =>
        messages.map(({ providerId }) => providerId),
      );
      expect(given).toHaveLength(new Set(given).size);
    });

    it('shows new messages before the history is complete', async () => {
      const one = await fixture.correspondent();
      await append(one, 'INBOX', ...Array.from({ length: 100 }, (_, n) => `m${n}`));
      const replica = one.replica({ limit: 5 });
      for (let looks = 0; looks < 3; looks += 1) await replica.look();
      await one.deliver(small('now'));
      const before = replica.messages.size;
      for (let looks = 0; looks < 5; looks += 1) await replica.look();
      expect(replica.messages.size).toBe(before + 25);
      expect([...replica.messages.keys()].some((id) => id.endsWith(';101'))).toBe(true);
    });
  });

  describe('a sync pass over an unchanged mailbox', () => {
    it('costs one command and keeps its cursor', async () => {
      const one = await fixture.correspondent();
      await append(one, 'INBOX', 'a', 'b');
      await append(one, 'Archive', 'c');
      const replica = one.replica();
      await replica.follow();
      const { cursor } = replica;
      const commands = one.proxy.commands.length;
      const changes = await replica.look();
      expect(one.proxy.commands.slice(commands)).toEqual([expect.stringMatching(/^LIST .*STATUS/)]);
      expect(changes).toEqual({
        cursor,
        more: false,
        present: true,
        folders: null,
        renamed: [],
        messages: [],
        removed: [],
        mayTurnUp: false,
      });
    });
  });

  describe.each([
    ['a server with all extensions', []],
    ['a server without VANISHED', ['QRESYNC']],
    ['a server without CONDSTORE', ['CONDSTORE', 'QRESYNC']],
    ['a server without any extension', OLD],
  ])('%s', (_, hidden) => {
    it('reports flags, moves and deletions by another program', async () => {
      const one = await fixture.correspondent({ hidden });
      await append(one, 'INBOX', 'a', 'b', 'c', 'd', 'e', 'f');
      const replica = one.replica();
      await replica.follow();
      await one.other.mailboxOpen('INBOX');
      await one.other.messageFlagsAdd('2', ['\\Flagged'], { uid: true });
      await one.other.messageFlagsAdd('3', ['\\Seen'], { uid: true });
      await one.other.messageMove('4', 'Archive', { uid: true });
      await one.other.messageDelete('5', { uid: true });
      const { removed, messages } = await replica.look();
      expect(new Set(removed.map((id) => id.split(';')[2]))).toEqual(new Set(['4', '5']));
      expect(messages.some(({ folderIds, content }) => folderIds[0] === 'Archive' && content)).toBe(
        true,
      );
      await replica.follow();
      expect(replica.messages).toEqual(await truthOf(one.other));
    });

    it('reports that a folder was replaced by another one with the same name', async () => {
      const one = await fixture.correspondent({ hidden });
      await one.other.mailboxCreate('Again');
      await append(one, 'Again', 'a', 'b', 'c');
      const replica = one.replica();
      await replica.follow();
      await one.other.mailboxDelete('Again');
      await one.other.mailboxCreate('Again');
      await append(one, 'Again', 'd', 'e');
      const { removed, messages } = await replica.look();
      expect([removed.length, messages.length]).toEqual([3, 2]);
      await replica.follow();
      expect(replica.messages).toEqual(await truthOf(one.other));
    });

    it('recognises a renamed folder and the folders inside it', async () => {
      const one = await fixture.correspondent({ hidden });
      await one.other.mailboxCreate('Old');
      await one.other.mailboxCreate('Old/Inside');
      await append(one, 'Old', 'a', 'b');
      await append(one, 'Old/Inside', 'c');
      const replica = one.replica();
      await replica.follow();
      await one.other.mailboxRename('Old', 'New');
      await append(one, 'New', 'd');
      const { renamed, messages, removed } = await replica.look();
      expect(new Map(renamed.map(({ from, to }) => [from, to]))).toEqual(
        new Map([
          ['Old', 'New'],
          ['Old/Inside', 'New/Inside'],
        ]),
      );
      expect([messages.filter(({ content }) => content).length, removed.length]).toEqual([1, 0]);
      await replica.follow();
      expect(replica.messages).toEqual(await truthOf(one.other));
    });

    it('spreads many changed flags over several sync passes', async () => {
      const one = await fixture.correspondent({ hidden });
      await append(one, 'INBOX', ...Array.from({ length: 60 }, (_, n) => `m${n}`));
      const replica = one.replica({ limit: 7 });
      await replica.follow();
      await one.other.mailboxOpen('INBOX');
      await one.other.messageFlagsAdd('1:*', ['\\Seen']);
      const truth = await truthOf(one.other);
      // Without CONDSTORE each pass reads the flags of a part of the old messages.
      for (let looks = 0; looks < 30; looks += 1) await replica.look();
      await replica.follow();
      expect(replica.messages).toEqual(truth);
    });

    it('ends with the state of the server, whatever another program does and whichever responses are lost', async () => {
      const one = await fixture.correspondent({ hidden });
      const random = generator(hidden.length + 7);
      const replica = one.replica({ limit: 9, isLost: () => random() < 0.25 });
      for (const folder of ['A', 'B', 'C']) await one.other.mailboxCreate(folder);
      await append(one, 'INBOX', ...Array.from({ length: 40 }, (_, n) => `start ${n}`));
      for (let round = 0; round < 40; round += 1) {
        await Promise.all([replica.look().catch(unlessDeleted), mischief(one, random)]);
      }
      const truth = await truthOf(one.other);
      await replica.follow();
      for (let looks = 0; looks < 60; looks += 1) await replica.look();
      expect(replica.folders.map(({ providerId }) => providerId).toSorted()).toEqual(
        (await one.other.list()).map(({ path }) => path).toSorted(),
      );
      expect(replica.messages).toEqual(truth);
    });

    it('skips no message that is delivered during a sync pass', async () => {
      const one = await fixture.correspondent({ hidden });
      const replica = one.replica({ limit: 3 });
      await replica.follow();
      const delivering = one.deliver(...Array.from({ length: 60 }, (_, n) => small(`d${n}`)));
      const done = { is: false };
      await Promise.all([
        delivering.finally(() => (done.is = true)),
        (async () => {
          while (!done.is) await replica.look();
        })(),
      ]);
      await until('all of the messages', async () => {
        await replica.follow();
        return replica.messages.size === 60;
      });
      expect(replica.messages).toEqual(await truthOf(one.other));
    });
  });

  describe('a change made by the mirror itself', () => {
    const hidden = ['QRESYNC'];
    const look = (one: Correspondent, cursor: string | null, known: (folder: string) => string[]) =>
      one.changes.listChanges(one.account, {
        cursor,
        limit: 20,
        since: null,
        known: (folder) => Promise.resolve(known(folder)),
      });

    it('does not make a message look deleted if it was moved during the sync pass', async () => {
      const one = await fixture.correspondent({ hidden });
      await append(one, 'INBOX', 'a', 'b');
      const replica = one.replica();
      await replica.follow();
      await one.other.mailboxOpen('INBOX');
      await one.other.messageDelete('1', { uid: true });
      const ids = [...replica.messages.keys()].sort();
      const moved = ids[1]?.replace(/2$/, '3') ?? '';
      const { removed } = await look(one, replica.cursor, () => [...ids, moved]);
      expect(removed).toEqual([ids[0]]);
    });

    it('may rename a folder, whose deleted messages are still reported', async () => {
      const one = await fixture.correspondent({ hidden });
      await one.other.mailboxCreate('Old');
      await append(one, 'Old', 'a', 'b');
      const replica = one.replica();
      await replica.follow();
      await one.other.mailboxRename('Old', 'New');
      await one.other.mailboxOpen('New');
      await one.other.messageDelete('1', { uid: true });
      const ids = [...replica.messages.keys()].map((id) => id.replace(/^Old/, 'New')).sort();
      const { removed } = await look(one, replica.cursor, (folder) =>
        folder === 'New' ? ids : [],
      );
      expect(removed).toEqual([ids[0]]);
    });
  });

  describe('the date before which mail is not mirrored', () => {
    const day = (days: number) => new Date(Date.now() - days * 86_400_000);
    async function withAges(ages: readonly number[]) {
      const one = await fixture.correspondent();
      for (const age of ages) await one.other.append('INBOX', small(`age ${age}`), [], day(age));
      return one;
    }
    const count = (messages: ReadonlyMap<string, unknown>) => messages.size;

    it('leaves out older messages and their flags', async () => {
      const one = await withAges([400, 300, 40, 200, 10, 1]);
      const replica = one.replica({ since: day(100) });
      await replica.follow();
      expect(count(replica.messages)).toBe(3);
      await one.other.mailboxOpen('INBOX');
      await one.other.messageFlagsAdd('1:*', ['\\Seen']);
      await replica.follow();
      expect([...replica.messages.values()].map(({ unread }) => unread)).toEqual([
        false,
        false,
        false,
      ]);
    });

    it('can be set to an earlier date, and then the older messages are returned', async () => {
      const one = await withAges([400, 300, 40, 200, 10, 1]);
      const replica = one.replica({ since: day(100) });
      await replica.follow();
      replica.since = day(250);
      await replica.follow();
      expect(count(replica.messages)).toBe(4);
      replica.since = null;
      await replica.follow();
      expect(replica.messages).toEqual(await truthOf(one.other));
    });
  });

  describe('messages that cannot be read normally', () => {
    it('are returned as far as they can be read, and do not stop the sync pass', async () => {
      const one = await fixture.correspondent();
      const parts = Array.from(
        { length: 16_000 },
        (_, n) => `--b\r\nContent-Type: text/plain\r\n\r\npart ${n}\r\n`,
      );
      const big = Buffer.alloc(3_000_000, 'QUJD').toString().replace(/.{76}/g, '$&\r\n');
      const odd = [
        'no header at all\r\n',
        '\r\n',
        '\r\n\r\nonly a body\r\n',
        'Subject: =?nonsense?Q?=FF?=\r\nContent-Type: text/plain; charset=klingon\r\n\r\n\u00ff\u00fe\r\n',
        mimeOf(
          { Subject: 'never ends', 'Content-Type': 'multipart/mixed; boundary=b' },
          '--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c',
        ),
        mimeOf({ Subject: '16000 parts' }, `${parts.join('')}--b--`, 'multipart/mixed; boundary=b'),
        mimeOf(
          { Subject: 'large' },
          '--b\r\nContent-Type: text/html; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<p>Gr=FC=DFe</p>\r\n' +
            '--b\r\nContent-Type: image/png; name="p.png"\r\nContent-ID: <p@x>\r\nContent-Disposition: inline\r\nContent-Transfer-Encoding: base64\r\n\r\nAAAA\r\n' +
            `--b\r\nContent-Type: application/pdf; name="x.pdf"\r\nContent-Transfer-Encoding: base64\r\n\r\n${big}\r\n--b--`,
          'multipart/mixed; boundary=b',
        ),
        mimeOf(
          { Subject: 'large text' },
          'x'.repeat(70).concat('\r\n').repeat(50_000),
          'text/plain; charset=klingon',
        ),
        small('last'),
      ];
      for (const mime of odd) await one.other.append('INBOX', mime);
      const replica = one.replica();
      await replica.follow();
      const messages = replica.batches.flatMap((batch) => batch.messages);
      const contentOf = (uid: number) =>
        messages.find(({ providerId }) => providerId.endsWith(`;${uid}`))?.content;
      expect(odd.map((_, n) => contentOf(n + 1)?.kind)).toEqual([
        'mime',
        'mime',
        'mime',
        'mime',
        'mime',
        'parts',
        'parts',
        'parts',
        'mime',
      ]);
      const many = contentOf(6);
      const large = contentOf(7);
      const text = contentOf(8);
      if (many?.kind !== 'parts' || large?.kind !== 'parts' || text?.kind !== 'parts')
        throw new Error('not in parts');
      const [manyTexts, largeTexts, texts] = [many, large, text].map(({ parts }) =>
        parseParts(parts),
      );
      expect(manyTexts?.body).toContain('part 0');
      expect(String(many.parts.headers)).toContain('16000 parts');
      expect(largeTexts?.body).toBe('<p>Grüße</p>');
      expect(largeTexts?.files).toMatchObject([
        {
          section: '2',
          filename: 'p.png',
          contentType: 'image/png',
          contentDisposition: 'inline',
          contentId: 'p@x',
        },
        {
          section: '3',
          filename: 'x.pdf',
          contentType: 'application/pdf',
          contentDisposition: 'attachment',
        },
      ]);
      expect(texts?.body.length).toBeGreaterThan(1_000_000);
      const pdf = messages.find(({ providerId }) => providerId.endsWith(';7'));
      const stream = await one.changes.openFile(one.account, pdf?.providerId ?? '', '3');
      let bytes = 0;
      for await (const chunk of stream) bytes += (chunk as Buffer).length;
      expect(bytes).toBe(2_250_000);
    });

    it('are skipped if the server refuses to return them', async () => {
      const one = await fixture.correspondent({
        judge: (command) =>
          /^UID FETCH (3|3:\d+|[12]:[3-9]|[12]:\d\d) .*BODY\.PEEK\[\]/.test(command)
            ? { answer: 'NO Damaged message' }
            : 'pass',
      });
      await append(one, 'INBOX', 'a', 'b', 'c', 'd', 'e');
      const replica = one.replica();
      await replica.follow();
      expect(replica.messages.size).toBe(5);
      const contents = [...replica.messages].map(([id, { content }]) => [
        id.split(';')[2],
        content,
      ]);
      expect(contents.filter(([, content]) => content?.startsWith('The server'))).toEqual([
        ['3', 'The server refuses this message: Damaged message'],
      ]);
    });

    it('are skipped if the server closes the connection over them', async () => {
      const one = await fixture.correspondent({
        judge: (command) =>
          /^UID FETCH (3|3:\d+|[12]:[3-9]|[12]:\d\d) .*BODY\.PEEK\[\]/.test(command)
            ? 'end'
            : 'pass',
      });
      await append(one, 'INBOX', 'a', 'b', 'c', 'd', 'e');
      const replica = one.replica();
      await replica.follow();
      const contents = [...replica.messages].map(([id, { content }]) => [
        id.split(';')[2],
        content,
      ]);
      expect(contents).toHaveLength(5);
      expect(contents.filter(([, content]) => content?.startsWith('The '))).toEqual([
        ['3', 'The connection ends whenever this message is requested'],
      ]);
    });
  });

  describe('a message that is moved during a sync pass', () => {
    /** Runs an action once, when the next sync pass sends a command that matches. */
    async function during(pattern: RegExp) {
      let act: (() => Promise<unknown>) | null = null;
      const one = await fixture.correspondent({
        judge: async (command) => {
          const now = pattern.test(command) ? act : null;
          if (now) act = null;
          await now?.();
          return 'pass' as const;
        },
      });
      await append(one, 'INBOX', 'a', 'b', 'c');
      const replica = one.replica();
      await replica.follow();
      await one.other.mailboxOpen('INBOX');
      return { one, replica, next: (action: () => Promise<unknown>) => (act = action) };
    }

    it('is not reported as deleted if its new folder was already read', async () => {
      const { one, replica, next } = await during(/^(SELECT|EXAMINE) "?INBOX/);
      await one.other.messageFlagsAdd('3', ['\\Seen']);
      next(() => one.other.messageMove('1:2', 'Archive'));
      const look = await replica.look();
      expect(look.removed).toHaveLength(2);
      expect(look).toMatchObject({ messages: [{ unread: false }], more: true, present: false });
      expect(await replica.look()).toMatchObject({
        messages: [{}, {}],
        more: false,
        present: true,
      });
      expect(replica.messages).toEqual(await truthOf(one.other));
    });

    it('is found if its folder is renamed before it is opened', async () => {
      const { one, replica, next } = await during(/^(SELECT|EXAMINE) "?Archive/);
      await one.other.messageMove('1:2', 'Archive');
      next(() => one.other.mailboxRename('Archive', 'Renamed'));
      expect(await replica.look()).toMatchObject({ messages: [], more: true, present: false });
      expect(await replica.look()).toMatchObject({
        renamed: [{ to: 'Renamed' }],
        messages: [{}, {}],
      });
      await replica.follow();
      expect(replica.messages).toEqual(await truthOf(one.other));
    });

    it('causes one attempt per sync pass to open a forbidden folder', async () => {
      const one = await fixture.correspondent({
        judge: (command) =>
          /^(SELECT|EXAMINE) "?Archive/.test(command)
            ? { answer: 'NO [NOPERM] Not for you' }
            : 'pass',
      });
      await append(one, 'Archive', 'a');
      const replica = one.replica();
      await replica.follow(10);
      await append(one, 'Archive', 'b');
      await replica.follow(2);
      expect(await replica.look()).toMatchObject({ messages: [], more: false });
    });
  });

  it('converges even if a fifth of all commands is refused', async () => {
    const random = generator(99);
    const broken = { is: true };
    const one = await fixture.correspondent({
      judge: (command) =>
        broken.is && /^(UID|LIST|SELECT|EXAMINE|FETCH|SEARCH)/.test(command) && random() < 0.2
          ? { answer: 'NO [UNAVAILABLE] Try again later' }
          : 'pass',
    });
    await append(one, 'INBOX', ...Array.from({ length: 40 }, (_, n) => `m${n}`));
    const replica = one.replica({ limit: 9 });
    for (let round = 0; round < 60; round += 1) {
      await Promise.all([codeOf(replica.look()), round < 30 ? mischief(one, random) : null]);
    }
    broken.is = false;
    await replica.follow();
    expect(replica.messages).toEqual(await truthOf(one.other));
  });

  it('fetches a message and its files again, and reports deleted ones', async () => {
    const one = await fixture.correspondent();
    const mime = mimeOf(
      { Subject: 'with a file' },
      '--b\r\nContent-Type: text/plain\r\n\r\nSee.\r\n--b\r\nContent-Type: application/octet-stream; name=f\r\nContent-Transfer-Encoding: base64\r\n\r\nAAECAw==\r\n--b--',
      'multipart/mixed; boundary=b',
    );
    await one.other.append('INBOX', mime);
    const replica = one.replica();
    await replica.follow();
    const [id = ''] = [...replica.messages.keys()];
    expect(String(await one.changes.fetchRaw(one.account, id))).toBe(mime);
    const read = async (section: string) => {
      const chunks: Buffer[] = [];
      for await (const chunk of await one.changes.openFile(one.account, id, section))
        chunks.push(chunk as Buffer);
      return Buffer.concat(chunks);
    };
    expect(await read('#0')).toEqual(Buffer.from([0, 1, 2, 3]));
    expect(await read('2')).toEqual(Buffer.from([0, 1, 2, 3]));
    for (const section of ['#1', '7', '1.2.3', 'nonsense']) {
      expect([section, await codeOf(read(section))]).toEqual([section, 'not-found']);
    }
    const [path, validity] = id.split(';');
    for (const deleted of [
      `${path};${validity};99`,
      `${path};1;1`,
      `Nowhere;${validity};1`,
      'nonsense',
    ]) {
      expect([deleted, await codeOf(one.changes.fetchRaw(one.account, deleted))]).toEqual([
        deleted,
        'not-found',
      ]);
    }
  });
});

/** Numbers from 0 to 1 that are the same in each run (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * Dovecot ends the connection of a sync pass that reads a folder while another program deletes it.
 * The next pass goes on.
 */
function unlessDeleted(error: unknown): void {
  const isDeleted =
    error instanceof ProviderError &&
    error.code === 'temporary' &&
    error.message.includes('Mailbox was deleted under us');
  if (!isDeleted) throw error;
}

/** Changes a mailbox at random as users do. */
async function mischief({ other }: Correspondent, random: () => number): Promise<void> {
  const paths = (await other.list()).map(({ path }) => path);
  const any = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const own = paths.filter((path) => /^[A-Z](-|$)/.test(path));
  const path = any(['INBOX', 'Archive', ...own]);
  const kind = Math.floor(random() * 10);
  if (kind <= 2)
    return void (await other.append(path, small(`n${random()}`), random() < 0.5 ? ['\\Seen'] : []));
  if (kind === 3 && own.length < 6)
    return void (await other.mailboxCreate(
      `${any(['D', 'E', 'F'])}-${Math.floor(random() * 1e6)}`,
    ));
  if (kind === 4 && own.length > 2 && random() < 0.5)
    return void (await other.mailboxDelete(any(own)));
  if (kind === 5 && own.length > 0)
    return void (await other.mailboxRename(any(own), `R-${Math.floor(random() * 1e6)}`));
  if (kind === 6 && own.includes('A')) {
    await other.mailboxDelete('A');
    await other.mailboxCreate('A');
    return void (await other.append('A', small('again')));
  }
  const { exists } = await other.mailboxOpen(path);
  if (exists === 0) return;
  const [a, b] = [1 + Math.floor(random() * exists), 1 + Math.floor(random() * exists)];
  const range = `${Math.min(a, b)}:${Math.min(Math.max(a, b), Math.min(a, b) + 5)}`;
  if (kind === 7) return void (await other.messageMove(range, any(['Trash', 'Archive', ...own])));
  if (kind === 8) return void (await other.messageDelete(range));
  const flag = any(['\\Seen', '\\Flagged']);
  await (random() < 0.5
    ? other.messageFlagsAdd(range, [flag])
    : other.messageFlagsRemove(range, [flag]));
}
