import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeWith } from '../support/mail-servers/installed.ts';
import type { MailUser } from '../support/mail-servers/mail-servers.ts';
import { until } from '../support/until.ts';
import { ChainWorld, LONG_TEXT, type SeenAccount } from './support/chain-world.ts';
import { GO_MODELS } from './support/go-models.ts';
import { JAVA_MODELS } from './support/java-models.ts';
import { parseAsPython, PYTHON_MODELS } from './support/python-models.ts';
import {
  declareCalls,
  jsonOrText,
  readAs,
  readRecording,
  type ReadingRules,
  type Replay,
} from './support/recorded-client.ts';
import { parseAsRuby, RUBY_MODELS } from './support/ruby-models.ts';
import { goStream, javaStream, pythonStream, rubyStream } from './support/stream-readers.ts';

const CLIENTS: Record<string, ReadingRules & Required<Pick<ReadingRules, 'stream'>>> = {
  python: { parse: parseAsPython, models: PYTHON_MODELS, stream: pythonStream },
  ruby: { parse: parseAsRuby, models: RUBY_MODELS, stream: rubyStream },
  java: { parse: jsonOrText, models: JAVA_MODELS, stream: javaStream },
  go: { parse: jsonOrText, models: GO_MODELS, stream: goStream },
};

/** The mailbox after the chain of a client that also makes folders. */
const MAIL = [
  String.raw`Drafts: Draft 3 to bo@elsewhere.test \Draft \Seen`,
  String.raw`INBOX: Hello to me \Flagged \Seen`,
  String.raw`INBOX: Re: Hello to me \Flagged \Seen`,
  'INBOX: Sent to me',
  String.raw`Plans for 2031: A file to me \Flagged \Seen`,
  String.raw`Sent: Sent to me \Flagged \Seen`,
];
const BO = 'ATTENDEE;CN=Bo;PARTSTAT=NEEDS-ACTION;ROLE=REQ-PARTICIPANT;SCHEDULE-AGENT=CLIENT';
const CY = 'ATTENDEE;PARTSTAT=NEEDS-ACTION;ROLE=REQ-PARTICIPANT;SCHEDULE-AGENT=CLIENT';

/** What the chains ask for. Everything else is as it was before. */
function wishOf(before: SeenAccount): SeenAccount {
  const changed = (lines: string[], changes: Record<string, string>): string[] => {
    const kept = lines.filter((line) => !Object.keys(changes).some((key) => line.startsWith(key)));
    return [...kept, ...Object.values(changes)].toSorted();
  };
  const [review = [], standup = [], holiday = []] = before.events;
  const [zoe = []] = before.contacts;
  const lunch = [
    `${BO}:mailto:bo@elsewhere.test`,
    `${CY}:mailto:cy@elsewhere.test`,
    'DTEND;TZID=Europe/Berlin:20300317T201640',
    'DTSTART;TZID=Europe/Berlin:20300317T184640',
    'ORGANIZER;CN=Somebody:mailto:me',
    'STATUS:CONFIRMED',
    'SUMMARY:Lunch',
    'TRANSP:OPAQUE',
  ];
  return {
    mail: MAIL,
    calendars: ['Team: Of the whole team', ...before.calendars],
    events: [
      changed(review, { 'SUMMARY:': 'SUMMARY:Review of the plan', 'LOCATION:': 'LOCATION:Room 2' }),
      lunch,
      changed(holiday, { DESCRIPTION: 'DESCRIPTION:No work' }),
      changed(standup, { LOCATION: 'LOCATION:Hall' }),
    ],
    contacts: [
      changed(zoe, { 'BDAY:': 'BDAY:19900204', NICKNAME: 'NICKNAME:Z' }),
      [
        'EMAIL;TYPE=work:kai@elsewhere.test',
        'FN:Kai Lund',
        'N:Lund;Kai;;;',
        'TEL;TYPE=mobile:+4930123456',
      ],
    ],
  };
}

/** Only the mailbox has writes in the client for Go, and it makes no folders. */
const goWishOf = (before: SeenAccount): SeenAccount => ({
  ...before,
  mail: MAIL.map((line) => line.replace('Plans for 2031:', 'Archive:')).toSorted(),
});

interface Delta {
  id: string;
  object: string;
  event: string;
  cursor: string;
  attributes?: Record<string, unknown>;
}

/**
 * Fetches objects, changes them and saves what the client's models then send, and looks at the mail
 * server and the calendar server afterwards. Streams of deltas are open meanwhile.
 */
describeWith(['dovecot', 'exim4', 'radicale'], 'the chains of recorded clients', () => {
  let world: ChainWorld;
  beforeAll(async () => {
    world = await ChainWorld.start();
  });
  afterAll(() => world.stop());

  describe.each(Object.entries(CLIENTS))('%s', (name, rules) => {
    const replay: Replay = { url: '', values: {}, streams: [] };
    let user: MailUser;
    let wish: SeenAccount;
    beforeAll(async () => {
      user = await world.addUser();
      replay.url = world.server.url;
      Object.assign(replay.values, await world.connect(user));
      const before = await world.seen(user);
      wish = name === 'go' ? goWishOf(before) : wishOf(before);
    });
    afterAll(() => {
      for (const stream of replay.streams) stream.close();
    });

    declareCalls(readRecording(`chains/${name}`), rules, replay);

    it('leave at the providers what the client asked for, and nothing else', async () => {
      let seen: SeenAccount | undefined;
      try {
        await until('the writes', async () => {
          seen = await world.seen(user);
          return isDeepStrictEqual(seen, wish);
        });
      } finally {
        // Shows the difference, too, if the writes do not end.
        expect(seen).toEqual(wish);
      }
    });

    it('are streamed, each change once, as models of the client', async () => {
      expect(replay.streams).not.toHaveLength(0);
      for (const stream of replay.streams) {
        const query = stream.path.slice(stream.path.indexOf('?'));
        const { page, deltas } = await until(stream.call, async () => {
          const read = (await deltasSince(query)) as Delta[];
          const received = stream.deltas as Delta[];
          return (
            (stream.problem !== undefined || received.at(-1)?.cursor === read.at(-1)?.cursor) && {
              page: read,
              deltas: [...received],
            }
          );
        });
        expect(stream.problem).toBeUndefined();
        for (const delta of deltas) readAs('delta', delta, rules);
        const numbers = deltas.map(({ cursor }) => Number.parseInt(cursor.split('-')[0] ?? '', 36));
        expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
        const last = new Map(deltas.map((delta) => [delta.id, delta]));
        expect(new Set(last.keys())).toEqual(new Set(page.map(({ id }) => id)));
        for (const { id, event, attributes } of page) {
          expect(last.get(id)?.attributes).toEqual(attributes);
          expect(last.get(id)?.event === 'delete').toBe(event === 'delete');
        }
      }
    });

    it('are streamed so that a stream may be cut anywhere', () => {
      for (const { bytes, deltas } of replay.streams)
        for (const size of [1021, 1460, 8192]) {
          const read = rules.stream();
          const again = piecesOf(bytes, size).flatMap((piece) => read(piece));
          expect(again).toEqual(deltas);
        }
      const all = (replay.streams[0]?.deltas ?? []) as Delta[];
      const bodies = all.map(({ attributes }) => attributes?.['body']);
      expect(bodies).toContain(`Second ${LONG_TEXT}`);
    });

    const deltasSince = async (query: string): Promise<unknown[]> => {
      const answer = await fetch(`${replay.url}/delta${query}&limit=1000`, {
        headers: { authorization: `Bearer ${replay.values['accessToken']}` },
      });
      return ((await answer.json()) as { deltas: unknown[] }).deltas;
    };
  });
});

function piecesOf(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}
