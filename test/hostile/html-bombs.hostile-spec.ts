import zlib from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EgressClient } from '../../src/platform/egress/egress-client.ts';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import { parseCalendar } from '../../src/formats/ical/ical-parse.ts';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import { SystemClock } from '../../src/platform/base/time/clock.ts';
import type { AppConfig } from '../../src/platform/config/app-config.ts';
import { NeuralThreads } from '../../src/mail/neural/threads/neural-threads.ts';
import { DavContacts } from '../../src/providers/imap/dav/contacts/dav.contacts.ts';
import { ProviderError } from '../../src/platform/base/errors/provider-error.ts';
import { Tracker } from '../../src/mail/tracking/tracker.ts';
import { TrackingTokens } from '../../src/mail/tracking/tracking-tokens.ts';
import { davAccount } from '../support/dav-account.ts';
import { FakeDav } from './support/fake-dav.ts';

const MB = 2 ** 20;
/** The longest that other requests may wait, including garbage collection of large texts. */
const LONGEST_PAUSE_MS = 700;
const ACCOUNT = '019aa1b2-0000-7000-8000-000000000001';
const CARD = '/home/contacts/1.vcf';

const filled = (length: number, ...pieces: readonly string[]) =>
  pieces.map((piece) => piece.repeat(Math.floor(length / pieces.length / piece.length))).join('');

const HTML: Record<string, string> = {
  'tags without end': filled(MB, '<a '),
  'addresses without end': filled(MB, '<a href="http://x/'),
  'deep elements': filled(MB, '<div>'),
  'deep tables': filled(MB, '<table><tr><td>'),
  'open elements with end tags of others': filled(MB, '<select>', '</template>'),
  'a tag with many attributes': `<a ${Array.from({ length: 150_000 }, (_, n) => n.toString(36)).join(' ')}>`,
  'a long attribute': `<a title="${filled(MB, 'x')}">`,
  'comments without end': filled(MB, '<!--'),
  'names of entities': filled(MB, '&CounterClockwiseContourIntegra'),
  'nested drawings': filled(MB, '<svg><desc>'),
  links: Array.from({ length: 40_000 }, (_, n) => `<a href="http://h${n}.test/">`).join(''),
  'tracking marks of another sender': filled(8 * MB, 'http:///t/c?l=a'),
};

/**
 * The longest time that the main thread worked without a break, in milliseconds of its processor
 * time: a busy machine does not make it longer.
 */
async function longestPause(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = process.threadCpuUsage();
  const turn = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, user + system);
    before = process.threadCpuUsage();
  };
  const timer = setInterval(turn, 5);
  await work().finally(() => clearInterval(timer));
  turn();
  return longest / 1000;
}

/** The largest growth of the process's memory, in megabytes. */
async function mostMemory(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 20);
  await work().finally(() => clearInterval(timer));
  return (most - before) / MB;
}

/**
 * A stream of a PDF file that inflates to this many megabytes of spaces, compressed about a
 * thousandfold.
 */
function spaces(megabytes: number): Buffer {
  const { Z_FULL_FLUSH } = zlib.constants;
  // A full flush makes the block independent of others, so that it can be repeated.
  const block = zlib.deflateRawSync(Buffer.alloc(MB, ' '), { finishFlush: Z_FULL_FLUSH });
  const blocks = Array.from({ length: megabytes }, () => block);
  return Buffer.concat([
    Buffer.from([0x78, 0x9c]),
    ...blocks,
    zlib.deflateRawSync(Buffer.alloc(0)),
  ]);
}

function pdfOf(content: Buffer, count = 1): Uint8Array {
  return new Uint8Array(
    Buffer.concat([
      Buffer.from(
        `%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count ${count}>>\nendobj\n` +
          '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>\nendobj\n' +
          `4 0 obj<</Filter/FlateDecode/Length ${content.length}>>stream\n`,
      ),
      content,
      Buffer.from('\nendstream\nendobj\ntrailer<</Root 1 0 R/Size 5>>\n%%EOF'),
    ]),
  );
}

/** The first bytes of a PNG image that claims this size. */
function pngOf(width: number, height: number): Uint8Array {
  const header = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR........\x08\x02\0\0\0....', 'latin1');
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  return new Uint8Array(header);
}

describe('HTML, pictures and files made to take time or memory', () => {
  const threads = new WorkThreads();
  const neural = new NeuralThreads(threads);
  const config = { baseUrl: 'https://mail.test' } as AppConfig;
  const tracker = new Tracker(
    config,
    new TrackingTokens([{ id: 'a', key: Buffer.alloc(32, 1) }]),
    threads,
  );
  let card = '';
  let dav: FakeDav;

  beforeAll(async () => {
    dav = await FakeDav.start({
      answer: ({ method, url }) =>
        method === 'GET' && url === CARD
          ? { status: 200, headers: { etag: '"1"', 'content-type': 'text/vcard' }, body: card }
          : undefined,
    });
  });
  afterAll(async () => {
    await dav.stop();
    await threads.close();
  });

  it.each(Object.keys(HTML))('%s are tracked while other requests are answered', async (name) => {
    const html = HTML[name] ?? '';
    const message = {
      accountId: ACCOUNT,
      messageId: ACCOUNT,
      messageIdHeader: '<1@mail.test>',
      sendAt: new Date(0),
      html,
    };
    let marked = '';
    const pause = await longestPause(async () => {
      marked = (await tracker.prepare(message, { opens: true, links: true })).html;
      tracker.withoutMarks(marked);
    });
    expect(marked.length).toBeGreaterThan(html.length);
    expect(pause).toBeLessThan(LONGEST_PAUSE_MS);
  });

  it('bodies are read by the neural endpoints while other requests are answered', async () => {
    const options = {
      ignoreLinks: false,
      ignoreImages: false,
      ignoreTables: false,
      imagesAsMarkdown: true,
      removeConclusionPhrases: true,
    };
    const messages = Object.values(HTML)
      .slice(0, 6)
      .map((body) => ({
        body,
        files: [],
        fromName: 'Eve',
        fromEmail: 'e@x.test',
      }));
    const results: unknown[] = [];
    const pause = await longestPause(async () => {
      for (const message of messages) {
        const input = { messages: [message], options };
        results.push(...(await neural.text(ACCOUNT, 'conversation', input)));
      }
    });
    expect(results).toHaveLength(messages.length);
    expect(pause).toBeLessThan(LONGEST_PAUSE_MS);
  });

  it('a PDF file with a gigabyte of compressed spaces is refused before it takes much memory', async () => {
    const bytes = pdfOf(spaces(1_000));
    const memory = await mostMemory(async () => {
      const reading = neural.ocr(ACCOUNT, () => Promise.resolve(bytes), null);
      await expect(reading).rejects.toMatchObject({
        kind: 'invalid',
        message: expect.stringContaining('expands to more than 100 MB'),
      });
    });
    expect(bytes.length).toBeLessThan(3 * MB);
    expect(memory).toBeLessThan(700);
  });

  it('files that claim a huge size are refused because of that claim', async () => {
    const read = (bytes: Uint8Array, pages: number[] | null) =>
      neural.ocr(ACCOUNT, () => Promise.resolve(bytes), pages);
    await expect(read(pngOf(50_000, 50_000), null)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(read(pdfOf(spaces(1), 2 ** 31 - 1), [2_000_000_000])).rejects.toMatchObject({
      kind: 'invalid',
    });
  });

  it('a contact card with hundreds of thousands of properties is read or refused while other requests are answered', async () => {
    const lines = 'EMAIL;TYPE=home:a@x.test\r\n'.repeat(400_000).trimEnd();
    card = `BEGIN:VCARD\r\nVERSION:3.0\r\nFN:A\r\n${lines}\r\nEND:VCARD\r\n`;
    const egress = new EgressClient(new EgressPolicy(['127.0.0.0/8']));
    const contacts = new DavContacts(egress, new SystemClock(), threads);
    const account = davAccount(dav.origin, 'ada', 'x');
    const pause = await longestPause(async () => {
      // A fast machine reads the card within its time limit.
      const picture = await contacts.contactPicture(account, CARD).catch((error: unknown) => error);
      if (picture !== null) expect(picture).toMatchObject({ code: 'rejected' });
      // This server accepts no writes.
      const update = contacts.updateContact(account, CARD, { given_name: 'Ada' });
      await expect(update).rejects.toBeInstanceOf(ProviderError);
    });
    expect(pause).toBeLessThan(LONGEST_PAUSE_MS);
  });

  it.each(['A=b;', 'A=b;\r\n '])(
    'an event with 15,000 parameters (%j) is refused before it is parsed',
    (parameter) => {
      const lines = [
        'BEGIN:VCALENDAR',
        'VERSION:2.0',
        'BEGIN:VEVENT',
        'UID:1',
        `X-A;${parameter.repeat(15_000)}X=y:1`,
      ];
      const event = [...lines, 'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n');
      expect(() => parseCalendar(event)).toThrow('semicolons in a line');
    },
  );
});
