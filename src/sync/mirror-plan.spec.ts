import type { RemoteMessage } from '../providers/connector.ts';
import { UNREADABLE, type ParsedMessage } from './mime-parser.ts';
import { type Knowledge, type KnownMessage, planBatch, type SentByUs } from './mirror-plan.ts';

const FOLDERS = { drafts: 'drafts', sent: 'sent' };
const NOTHING: Knowledge = { known: new Map(), threads: new Map(), sent: new Map() };

const remote = (providerId: string, overrides: Partial<RemoteMessage> = {}): RemoteMessage => ({
  providerId,
  folderIds: ['inbox'],
  receivedAt: new Date(1_700_000_000_000),
  unread: true,
  starred: false,
  mime: null,
  ...overrides,
});
const parsed = (messageIdHeader: string | null, overrides: Partial<ParsedMessage> = {}): ParsedMessage => ({
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
  ...overrides,
});

describe('planBatch', () => {
  it('joins a reply to the thread of what it answers, nearest ancestor first', () => {
    const threads = new Map([
      ['<root>', 'T1'],
      ['<parent>', 'T2'],
    ]);
    const of = (overrides: Partial<ParsedMessage>) =>
      planBatch(
        [{ remote: remote('1'), parsed: parsed('<new>', overrides) }],
        { ...NOTHING, threads },
        FOLDERS,
      ).added[0]?.threadId;
    expect(of({ inReplyTo: '<parent>', references: ['<root>'] })).toBe('T2');
    expect(of({ references: ['<root>', '<unknown>'] })).toBe('T1');
    expect(of({ references: ['<root>', '<parent>'] })).toBe('T2');
    expect(['T1', 'T2']).not.toContain(of({ inReplyTo: '<unknown>' }));
  });

  it('joins messages of one batch, whatever their order in it', () => {
    const plan = planBatch(
      [
        { remote: remote('2', { receivedAt: new Date(2) }), parsed: parsed('<b>', { inReplyTo: '<a>' }) },
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

  describe('with a message of our own', () => {
    const own: SentByUs = {
      messageIdHeader: '<own>',
      messageId: 'promised',
      threadId: 'promised-thread',
      metadata: { a: 'b' },
      mirrored: false,
    };
    const plan = (copies: RemoteMessage[], mirrored = false) =>
      planBatch(
        copies.map((copy) => ({ remote: copy, parsed: parsed('<own>') })),
        { ...NOTHING, sent: new Map([['<own>', { ...own, mirrored }]]) },
        FOLDERS,
      ).added;

    it('gives the promised ids to the Sent copy alone, and the thread to both', () => {
      const added = plan([remote('in'), remote('out', { folderIds: ['sent'] })]);
      expect(added.map(({ threadId }) => threadId)).toEqual(['promised-thread', 'promised-thread']);
      expect(added.map(({ id }) => id === 'promised')).toEqual([false, true]);
      expect(added.map(({ metadata }) => metadata)).toEqual([{ a: 'b' }, { a: 'b' }]);
    });

    it('gives the promised id once', () => {
      const twice = plan([remote('1', { folderIds: ['sent'] }), remote('2', { folderIds: ['sent'] })]);
      expect(twice.filter(({ id }) => id === 'promised')).toHaveLength(1);
      expect(plan([remote('1', { folderIds: ['sent'] })], true)[0]?.id).not.toBe('promised');
    });
  });

  it('changes nothing for what the mirror already has', () => {
    const plan = planBatch(
      [{ remote: remote('1'), parsed: parsed('<a>') }],
      { ...NOTHING, known: new Map([['1', known('1')]]) },
      FOLDERS,
    );
    expect(plan).toEqual({ added: [], changed: [] });
  });

  it.each<[Partial<RemoteMessage>, boolean, boolean]>([
    [{ unread: false }, false, false],
    [{ starred: true }, false, false],
    [{ folderIds: ['archive'] }, true, false],
    [{ folderIds: [] }, true, false],
    [{ folderIds: ['inbox', 'important'] }, true, false],
    [{ folderIds: ['drafts'] }, true, true],
  ])('sees the change %j', (overrides, foldersChanged, draft) => {
    const plan = planBatch(
      [{ remote: remote('1', overrides), parsed: null }],
      { ...NOTHING, known: new Map([['1', known('1')]]) },
      FOLDERS,
    );
    expect(plan).toMatchObject({ added: [], changed: [{ foldersChanged, draft }] });
  });
});
