import type { RemoteMessage } from '../../providers/port/connector.ts';
import { UNREADABLE, type ParsedMessage } from '../../mail/parsing/mime-parser.ts';
import {
  contentKey,
  type KnownMessage,
  type UnplacedMessage,
} from '../../mail/messages/mirror/mirrored-messages.ts';
import { type SentByUs, storedCopyKey } from '../../mail/outbox/sent-by-us.ts';
import { type Knowledge, type OpenWrite, planBatch } from './mirror-plan.ts';

const FOLDERS = { email: 'me@sandbox.test', drafts: 'drafts', sent: 'sent' };
const NOTHING: Knowledge = {
  known: new Map(),
  unplaced: [],
  writes: new Map(),
  threads: new Map(),
  subjects: new Map(),
  sent: new Map(),
  draftVersions: new Set(),
};

const remote = (providerId: string, overrides: Partial<RemoteMessage> = {}): RemoteMessage => ({
  providerId,
  folderIds: ['inbox'],
  receivedAt: new Date(1_700_000_000_000),
  unread: true,
  starred: false,
  content: null,
  ...overrides,
});
const parsed = (
  messageIdHeader: string | null,
  overrides: Partial<ParsedMessage> = {},
): ParsedMessage => ({
  ...UNREADABLE,
  messageIdHeader,
  ...overrides,
});
const known = (providerId: string, overrides: Partial<KnownMessage> = {}): KnownMessage => ({
  id: `id-${providerId}`,
  providerId,
  threadId: 't',
  date: new Date(0),
  unread: true,
  starred: false,
  draft: false,
  folderIds: ['inbox'],
  folders: [],
  from: [],
  messageIdHeader: `<${providerId}>`,
  ...overrides,
});
const unplaced = (
  providerId: string,
  overrides: Partial<UnplacedMessage> = {},
): UnplacedMessage => ({
  ...known(providerId),
  contentKey: null,
  ...overrides,
});

describe('planBatch', () => {
  it('adds a reply to the thread of the message it replies to', () => {
    const threads = new Map([['<parent>', { threadId: 'T', firstMessageAt: new Date(0) }]]);
    const of = (overrides: Partial<ParsedMessage>) =>
      planBatch(
        [{ remote: remote('1'), parsed: parsed('<new>', overrides) }],
        { ...NOTHING, threads },
        FOLDERS,
      ).added[0]?.threadId;
    expect(of({ inReplyTo: '<parent>' })).toBe('T');
    expect(of({ references: ['<unknown>', '<parent>'] })).toBe('T');
    expect(of({ inReplyTo: '<unknown>' })).not.toBe('T');
  });

  it('does not add the version of a draft that is being replaced', () => {
    const incoming = [
      { remote: remote('old', { folderIds: ['drafts'] }), parsed: parsed('<old>') },
      { remote: remote('other', { folderIds: ['drafts'] }), parsed: parsed('<other>') },
    ];
    const { added } = planBatch(incoming, { ...NOTHING, draftVersions: new Set(['old']) }, FOLDERS);
    expect(added.map((message) => message.remote.providerId)).toEqual(['other']);
  });

  it('joins messages of one batch in any order', () => {
    const plan = planBatch(
      [
        {
          remote: remote('2', { receivedAt: new Date(2) }),
          parsed: parsed('<b>', { inReplyTo: '<a>' }),
        },
        { remote: remote('1', { receivedAt: new Date(1) }), parsed: parsed('<a>') },
      ],
      NOTHING,
      FOLDERS,
    );
    expect(new Set(plan.added.map(({ threadId }) => threadId)).size).toBe(1);
  });

  it('never joins messages without Message-ID', () => {
    const plan = planBatch(
      [1, 2].map((n) => ({ remote: remote(String(n)), parsed: parsed(null) })),
      NOTHING,
      FOLDERS,
    );
    expect(new Set(plan.added.map(({ threadId }) => threadId)).size).toBe(2);
  });

  describe('with a message that we sent', () => {
    const own: SentByUs = {
      messageIdHeader: '<own>',
      messageId: 'promised',
      threadId: 'promised-thread',
      metadata: { a: 'b' },
      mirrored: false,
      storedProviderId: null,
    };
    const plan = (copies: RemoteMessage[], mirrored = false) =>
      planBatch(
        copies.map((copy) => ({ remote: copy, parsed: parsed('<own>') })),
        { ...NOTHING, sent: new Map([['<own>', { ...own, mirrored }]]) },
        FOLDERS,
      ).added;

    it('gives the promised message id only to the Sent copy, and the promised thread to both copies', () => {
      const added = plan([remote('in'), remote('out', { folderIds: ['sent'] })]);
      expect(added.map(({ threadId }) => threadId)).toEqual(['promised-thread', 'promised-thread']);
      expect(added.map(({ id }) => id === 'promised')).toEqual([false, true]);
      expect(added.map(({ metadata }) => metadata)).toEqual([{ a: 'b' }, { a: 'b' }]);
    });

    it('gives the promised id only once', () => {
      const twice = plan([
        remote('1', { folderIds: ['sent'] }),
        remote('2', { folderIds: ['sent'] }),
      ]);
      expect(twice.filter(({ id }) => id === 'promised')).toHaveLength(1);
      expect(plan([remote('1', { folderIds: ['sent'] })], true)[0]?.id).not.toBe('promised');
    });
  });

  it('gives the promised ids to the copy that the provider has named, whatever its Message-ID and folder', () => {
    const own: SentByUs = {
      messageIdHeader: '<own>',
      messageId: 'promised',
      threadId: 'promised-thread',
      metadata: null,
      mirrored: false,
      storedProviderId: 'copy',
    };
    const sent = new Map([
      ['<own>', own],
      [storedCopyKey('copy'), own],
    ]);
    const incoming = [
      { remote: remote('copy', { folderIds: ['archive'] }), parsed: parsed('<changed>') },
      { remote: remote('other', { folderIds: ['archive'] }), parsed: parsed('<other>') },
    ];
    const { added } = planBatch(incoming, { ...NOTHING, sent }, FOLDERS);
    expect(added.map(({ id }) => id === 'promised')).toEqual([true, false]);
    expect(added.map(({ threadId }) => threadId === 'promised-thread')).toEqual([true, false]);
  });

  it('changes nothing if the mirror already has the message', () => {
    const plan = planBatch(
      [{ remote: remote('1'), parsed: parsed('<a>') }],
      { ...NOTHING, known: new Map([['1', known('1')]]) },
      FOLDERS,
    );
    expect(plan).toEqual({
      added: [],
      changed: [],
      merged: [],
      named: [],
      knownThreadIds: [],
      reported: [],
      drafts: [],
      copies: [],
      missing: [],
    });
  });

  describe('with a message that was sent from here and not reported yet', () => {
    const own: SentByUs = {
      messageIdHeader: '<own>',
      messageId: 'announced',
      threadId: 't',
      metadata: null,
      mirrored: true,
      storedProviderId: 'copy',
    };
    const waiting = unplaced('', {
      id: 'announced',
      providerId: null,
      messageIdHeader: '<own>',
      folderIds: ['sent'],
    });
    const knowledge = (sent: ReadonlyMap<string, SentByUs>): Knowledge => {
      return { ...NOTHING, unplaced: [waiting], sent };
    };
    const inFolder = (folder: string, providerId = folder, header = '<own>') => {
      const content = { kind: 'mime', mime: Buffer.from('') } as const;
      const message = remote(providerId, { folderIds: [folder], content });
      return { remote: message, parsed: parsed(header) };
    };
    const joined = (incoming: Parameters<typeof planBatch>[0], sent: Knowledge['sent']) => {
      const { added, changed, copies } = planBatch(incoming, knowledge(sent), FOLDERS);
      return {
        added: added.map((message) => [message.remote.providerId, message.id === 'announced']),
        joined: changed.map((change) => [change.remote.providerId, change.known.id]),
        copies: copies.map(({ id }) => id),
      };
    };
    const byHeader = new Map([['<own>', own]]);

    it.each([
      ['the inbox first', ['inbox', 'sent']],
      ['Sent first', ['sent', 'inbox']],
    ])(
      'joins it with the message in Sent and never with the one in the inbox: %s',
      (_, folders) => {
        const all = folders.map((folder) => inFolder(folder));
        const wanted = {
          added: [['inbox', false]],
          joined: [['sent', 'announced']],
          copies: ['announced'],
        };
        expect(joined(all, byHeader)).toEqual(wanted);
      },
    );

    it('leaves it alone when only the inbox has the message', () => {
      const wanted = { added: [['inbox', false]], joined: [], copies: [] };
      expect(joined([inFolder('inbox')], byHeader)).toEqual(wanted);
    });

    it('joins it with the copy that the provider has named, whatever its Message-ID', () => {
      const named = new Map([[storedCopyKey('copy'), own]]);
      const wanted = { added: [], joined: [['copy', 'announced']], copies: ['announced'] };
      expect(joined([inFolder('sent', 'copy', '<changed>')], named)).toEqual(wanted);
    });

    it('waits for the copy while the provider still shows it as the draft that it sends', () => {
      const named = new Map([[storedCopyKey('copy'), own]]);
      const wanted = { added: [], joined: [], copies: [] };
      expect(joined([inFolder('drafts', 'copy')], named)).toEqual(wanted);
    });
  });

  it.each<[Partial<RemoteMessage>, boolean, boolean]>([
    [{ unread: false }, false, false],
    [{ starred: true }, false, false],
    [{ folderIds: ['archive'] }, true, false],
    [{ folderIds: [] }, true, false],
    [{ folderIds: ['inbox', 'important'] }, true, false],
    [{ folderIds: ['drafts'] }, true, true],
  ])('detects the change %j', (overrides, foldersChanged, draft) => {
    const plan = planBatch(
      [{ remote: remote('1', overrides), parsed: null }],
      { ...NOTHING, known: new Map([['1', known('1')]]) },
      FOLDERS,
    );
    expect(plan).toMatchObject({ added: [], changed: [{ foldersChanged, draft }] });
  });

  describe('with a message that disappeared from its old folder', () => {
    const arrive = (
      providerId: string,
      header: string | null,
      overrides: Partial<ParsedMessage> = {},
    ) => ({
      remote: remote(providerId, { folderIds: ['archive'] }),
      parsed: parsed(header, overrides),
    });

    it('recognises the moved message by its Message-ID', () => {
      const strays = [unplaced('old', { messageIdHeader: '<a>' }), unplaced('other')];
      const plan = planBatch([arrive('new', '<a>')], { ...NOTHING, unplaced: strays }, FOLDERS);
      expect(plan).toMatchObject({
        added: [],
        changed: [{ known: { id: 'id-old' }, remote: { providerId: 'new' }, foldersChanged: true }],
      });
    });

    it('matches each moved message once and prefers the copy received at the same time', () => {
      const [early, late] = [new Date(1), new Date(2)];
      const strays = [
        unplaced('1', { messageIdHeader: '<a>', date: early }),
        unplaced('2', { messageIdHeader: '<a>', date: late }),
      ];
      const incoming = [arrive('x', '<a>'), arrive('y', '<a>'), arrive('z', '<a>')];
      for (const { remote: one } of incoming) one.receivedAt = late;
      const { added, changed } = planBatch(incoming, { ...NOTHING, unplaced: strays }, FOLDERS);
      expect(changed.map((change) => [change.known.id, change.remote.providerId])).toEqual([
        ['id-2', 'x'],
        ['id-1', 'y'],
      ]);
      expect(added.map((message) => message.remote.providerId)).toEqual(['z']);
    });

    it('compares the contents if there is no Message-ID', () => {
      const content = { subject: 'S', body: 'B' };
      const strays = [
        unplaced('1', { messageIdHeader: null, contentKey: contentKey(parsed(null)) }),
        unplaced('2', { messageIdHeader: null, contentKey: contentKey(parsed(null, content)) }),
      ];
      const { changed } = planBatch(
        [arrive('x', null, content)],
        { ...NOTHING, unplaced: strays },
        FOLDERS,
      );
      expect(changed.map((change) => change.known.id)).toEqual(['id-2']);
    });

    it('hides a change of the provider id alone from clients', () => {
      const { changed } = planBatch(
        [{ remote: remote('new'), parsed: parsed('<old>') }],
        { ...NOTHING, unplaced: [unplaced('old')] },
        FOLDERS,
      );
      expect(changed).toMatchObject([{ visible: false, remote: { providerId: 'new' } }]);
    });

    it('takes a recognised message first, because it comes without its content', () => {
      const recognised = remote('x', { messageIdHeader: '<same>', receivedAt: new Date(2_000) });
      const { changed, added, missing } = planBatch(
        [arrive('y', '<same>'), { remote: recognised, parsed: null }],
        { ...NOTHING, unplaced: [unplaced('1', { messageIdHeader: '<same>' })] },
        FOLDERS,
      );
      expect(changed.map((change) => [change.known.id, change.remote.providerId])).toEqual([
        ['id-1', 'x'],
      ]);
      expect(added.map((message) => message.remote.providerId)).toEqual(['y']);
      expect(missing).toEqual([]);
    });

    it('names a recognised message that the mirror no longer has', () => {
      const recognised = remote('x', { messageIdHeader: '<gone>' });
      const incoming = [{ remote: recognised, parsed: null }];
      expect(planBatch(incoming, NOTHING, FOLDERS).missing).toEqual(['x']);
    });

    it('takes the copy of the same folder before one that was received at the same time', () => {
      const copies = [
        unplaced('1', { messageIdHeader: '<same>', folderIds: ['sent'], date: new Date(1_000) }),
        unplaced('2', { messageIdHeader: '<same>', date: new Date(5_000) }),
      ];
      const { changed } = planBatch(
        [{ remote: remote('x', { receivedAt: new Date(1_000) }), parsed: parsed('<same>') }],
        { ...NOTHING, unplaced: copies },
        FOLDERS,
      );
      expect(changed.map((change) => change.known.id)).toEqual(['id-2']);
    });
  });

  it('keeps fields with an open provider write as requested, and remembers what the provider reported', () => {
    const said = remote('1', { unread: false, starred: true, folderIds: ['archive'] });
    const of = (write: Partial<OpenWrite>) =>
      planBatch(
        [{ remote: said, parsed: null }],
        {
          ...NOTHING,
          known: new Map([['1', known('1')]]),
          writes: new Map([['id-1', { unread: false, starred: false, folders: false, ...write }]]),
        },
        FOLDERS,
      );
    expect(of({ unread: true, folders: true })).toMatchObject({
      changed: [
        { remote: { unread: true, starred: true, folderIds: ['inbox'] }, foldersChanged: false },
      ],
      reported: [{ id: 'id-1', remote: said }],
    });
    expect(of({ unread: true, starred: true, folders: true }).changed).toEqual([]);
  });
});
