import { afterAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { SystemClock } from '../../src/platform/base/time/clock.ts';
import { DavCalendars } from '../../src/providers/imap/dav/calendars/dav.calendars.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { davAccount } from '../support/dav-account.ts';
import { sized } from '../support/sized.ts';
import { FakeDav } from './support/fake-dav.ts';
import { fuzzSettings } from './support/fuzz-settings.ts';
import { hostileText } from './support/hostile-values.ts';
import { type Parser, PARSERS } from './support/parsers.ts';

const { seed, factor } = fuzzSettings();
// A limit in case a test hangs.
jest.setTimeout(sized(120_000, 400_000) * factor);

/** Inputs to each parser. */
const RUNS = sized(30, 60);
/** The longest time for one input of any kind. Two cores run other tests too. */
const MOST_MS = 2_000;
/** Twice the input may take at most this many times as long. */
const MOST_GROWTH = 3;
/** Below this time the longest input is harmless, whatever its growth. */
const MEASURABLE_MS = 250;
/** Longer messages are read in parts. Longer objects are not read. */
const USUAL_MOST = 256 * 1024;

const mixed = (tokens: readonly string[]) =>
  fc
    .array(
      fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom(...tokens) },
        { weight: 1, arbitrary: hostileText() },
      ),
      {
        maxLength: 60,
      },
    )
    .map((parts) => parts.join(''));

/** Milliseconds of processor time that all threads of this process have used. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Reads a text.
 * @returns the milliseconds that passed, or what `clock` counts instead
 * @throws every error that is not one of the parser's refusals
 */
async function timed(
  { read, refusals = [] }: Parser,
  text: string,
  clock = () => performance.now(),
) {
  const began = clock();
  try {
    await read(text);
  } catch (error) {
    if (!refusals.some((refusal) => error instanceof refusal)) throw error;
  }
  return clock() - began;
}

/**
 * Processor time, so that other programs do not count. The best of three runs, because garbage
 * collection adds to it.
 */
async function fastest(parser: Parser, text: string): Promise<number> {
  const first = await timed(parser, text, processorMs);
  if (first < MEASURABLE_MS) return first;
  return Math.min(
    first,
    await timed(parser, text, processorMs),
    await timed(parser, text, processorMs),
  );
}

describe(`untrusted input (seed ${seed})`, () => {
  describe.each(PARSERS.map((parser) => [parser.name, parser] as const))('%s', (_, parser) => {
    const { tokens, fragments, wrap = (inner: string) => inner, most = USUAL_MOST } = parser;

    it('is read or refused in time, whatever it contains', async () => {
      const property = fc.asyncProperty(mixed(tokens), fc.boolean(), async (text, wrapped) => {
        const ms = await timed(parser, wrapped ? wrap(text) : text);
        if (ms > MOST_MS) throw new Error(`took ${Math.round(ms)} ms`);
      });
      await fc.assert(property, { seed, numRuns: RUNS * factor });
    });

    it('takes at most three times as long if there is twice as much of it', async () => {
      const found: string[] = [];
      for (const fragment of fragments) {
        for (const outside of [wrap, (inner: string) => inner]) {
          const of = (size: number) => outside(fragment.repeat(Math.floor(size / fragment.length)));
          const measure = async () => {
            const half = await fastest(parser, of(most / 2));
            const whole = await fastest(parser, of(most));
            const grows = whole > MEASURABLE_MS && whole > MOST_GROWTH * half;
            if (whole <= MOST_MS && !grows) return null;
            return `${JSON.stringify(fragment)}: ${Math.round(half)} ms, then ${Math.round(whole)} ms`;
          };
          // A machine that was slow for a moment does not repeat the result; a parser does.
          const slow = (await measure()) && (await measure());
          if (slow) found.push(slow);
        }
      }
      expect(found).toEqual([]);
    });
  });

  describe('XML of a calendar server', () => {
    let body = '';
    let dav: FakeDav | undefined;
    const threads = new WorkThreads();
    afterAll(() => dav?.stop());
    afterAll(() => threads.close());
    const calendarsOf = () =>
      new DavCalendars(
        new EgressClient(new EgressPolicy(['127.0.0.0/8'])),
        new SystemClock(),
        threads,
      );
    const TOKENS = [
      '<d:multistatus xmlns:d="DAV:">',
      '<d:response>',
      '<d:href>/home/x/</d:href>',
      '<d:href>\0</d:href>',
      '<d:propstat>',
      '<d:prop>',
      '<d:resourcetype><c:calendar/></d:resourcetype>',
      '</d:prop>',
      '<d:status>HTTP/1.1 200 OK</d:status>',
      '</d:propstat>',
      '</d:response>',
      '</d:multistatus>',
      '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
      '&e;',
      '<![CDATA[',
      '<__proto__>',
      '<',
      '&',
      '"',
      'x',
    ];

    it('gives all events except the one that cannot be read', async () => {
      dav = await FakeDav.start();
      const event = (uid: string, ...lines: readonly string[]) =>
        [
          'BEGIN:VCALENDAR',
          'VERSION:2.0',
          'BEGIN:VEVENT',
          `UID:${uid}`,
          'DTSTAMP:20260101T000000Z',
          'DTSTART:20300101T100000Z',
          ...lines,
          'END:VEVENT',
          'END:VCALENDAR',
          '',
        ].join('\r\n');
      dav.events.set('1.ics', event('one'));
      dav.events.set('2.ics', event('two', 'RRULE:FREQ=DAILY', 'EXDATE:20300101T100000Z,x'));
      dav.events.set('3.ics', event('three'));
      const { events } = await calendarsOf().listEventChanges(
        davAccount(dav.origin, 'ada', 'x'),
        '/home/calendar/',
        null,
        100,
      );
      expect(events.map(({ icalUid }) => icalUid).filter((uid) => uid !== 'two')).toEqual([
        'one',
        'three',
      ]);
      await dav.stop();
    });

    it('is read, or refused as a provider error, in time', async () => {
      dav = await FakeDav.start({
        answer: ({ method, url }) =>
          method === 'PROPFIND' && url === '/home/' ? { body } : undefined,
      });
      const calendars = calendarsOf();
      const account = davAccount(dav.origin, 'ada', 'secret');
      // The first request finds the calendars and loads the parser.
      await calendars.listCalendars(account).catch(() => undefined);
      const property = fc.asyncProperty(mixed(TOKENS), async (text) => {
        body = `<d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">${text}</d:multistatus>`;
        const began = performance.now();
        await calendars.listCalendars(account).catch((error: unknown) => {
          if (!(error instanceof ProviderError)) throw error;
        });
        if (performance.now() - began > MOST_MS) throw new Error('took too long');
      });
      await fc.assert(property, { seed, numRuns: RUNS * factor });
      expect(dav.requests.length).toBeGreaterThan((2 * RUNS) / 3);
    });
  });
});
