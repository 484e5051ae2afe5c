import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { MessageStructureObject } from 'imapflow';
import type { GmailPart } from '../../providers/google/gmail/gmail-api.ts';
import { readParts } from '../../providers/google/gmail/gmail-parts.ts';
import { planParts } from '../../providers/imap/messages/imap-parts.ts';
import type { StoredPart } from '../../providers/port/connector.ts';
import { type ParsedMessage, parseMessage, parseParts } from './mime-parser.ts';

/** A part of a generated message. */
interface Model {
  type: string;
  parameters: Record<string, string>;
  disposition: '' | 'inline' | 'attachment';
  filename: string;
  contentId: string;
  encoding: string;
  content: Buffer;
  children: Model[];
}

const leafModel: fc.Arbitrary<Model> = fc
  .record({
    type: fc.constantFrom(
      'text/plain',
      'text/plain',
      'text/html',
      'text/html',
      'text/csv',
      'image/png',
      'application/pdf',
      'message/rfc822',
      'text/calendar',
    ),
    charset: fc.constantFrom('', 'utf-8', 'us-ascii', 'iso-8859-1'),
    format: fc.constantFrom('', '', 'flowed'),
    disposition: fc.constantFrom('', '', 'inline', 'attachment'),
    filename: fc.constantFrom('', '', 'a.txt', 'b.html', 'ä (1).log'),
    name: fc.constantFrom('', '', 'c.txt'),
    contentId: fc.constantFrom('', 'id@x'),
    encoding: fc.constantFrom('', '8bit', 'quoted-printable', 'base64'),
    words: fc.array(fc.constantFrom('letter', 'Grüße', '> quoted ', '', '<b>', '-- '), {
      maxLength: 4,
    }),
  })
  .map(({ charset, format, name, filename, disposition, words, ...leaf }): Model => {
    const shown = disposition as Model['disposition'];
    return {
      ...leaf,
      disposition: shown,
      parameters: {
        ...(charset ? { charset } : {}),
        ...(format ? { format } : {}),
        ...(name ? { name } : {}),
      },
      filename: shown === '' ? '' : filename,
      content: Buffer.from(words.join('\r\n'), charset === 'iso-8859-1' ? 'latin1' : 'utf8'),
      children: [],
    };
  });

const model: fc.Arbitrary<Model> = fc.letrec<{ part: Model }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    leafModel,
    fc
      .record({
        kind: fc.constantFrom('mixed', 'alternative', 'related', 'report'),
        children: fc.array(tie('part'), { minLength: 1, maxLength: 4 }),
      })
      .map(({ kind, children }): Model => {
        const none = { disposition: '', filename: '', contentId: '', encoding: '' } as const;
        const content = Buffer.alloc(0);
        return { ...none, type: `multipart/${kind}`, parameters: {}, content, children };
      }),
  ),
})).part;

function encoded({ content, encoding }: Model): Buffer {
  if (encoding === 'base64')
    return Buffer.from(content.toString('base64').replaceAll(/(.{76})/g, '$1\r\n'));
  if (encoding !== 'quoted-printable') return content;
  const text = content.toString('latin1').replaceAll(/[=\x80-\xff]| (?=\r\n|$)/g, (char) => {
    return `=${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
  return Buffer.from(text, 'latin1');
}

const quoted = (value: string) => `"${value}"`;

/** Header fields of a part. The boundary of a multipart names its place. */
function fieldsOf(part: Model, section: string): { name: string; value: string }[] {
  const parameters = {
    ...part.parameters,
    ...(part.children.length > 0 ? { boundary: `b${section}b` } : {}),
  };
  const all = Object.entries(parameters).map(([key, value]) => `; ${key}=${quoted(value)}`);
  const filename = part.filename ? `; filename=${quoted(part.filename)}` : '';
  return [
    { name: 'Content-Type', value: `${part.type}${all.join('')}` },
    ...(part.disposition
      ? [{ name: 'Content-Disposition', value: part.disposition + filename }]
      : []),
    ...(part.contentId ? [{ name: 'Content-ID', value: `<${part.contentId}>` }] : []),
    ...(part.encoding ? [{ name: 'Content-Transfer-Encoding', value: part.encoding }] : []),
  ];
}

const headerOf = (part: Model, section: string): Buffer =>
  Buffer.from(
    fieldsOf(part, section)
      .map(({ name, value }) => `${name}: ${value}\r\n`)
      .join(''),
  );

const childSection = (section: string, index: number) =>
  section === '' ? `${index + 1}` : `${section}.${index + 1}`;

function mimeOf(part: Model, section: string): Buffer {
  const header = Buffer.concat([headerOf(part, section), Buffer.from('\r\n')]);
  if (part.children.length === 0) return Buffer.concat([header, encoded(part)]);
  const children = part.children.flatMap((child, index) => [
    Buffer.from(`\r\n--b${section}b\r\n`),
    mimeOf(child, childSection(section, index)),
  ]);
  return Buffer.concat([header, ...children, Buffer.from(`\r\n--b${section}b--\r\n`)]);
}

function structureOf(part: Model, section: string): MessageStructureObject {
  const { type, parameters, disposition, filename, contentId, encoding } = part;
  return {
    type,
    parameters,
    ...(section ? { part: section } : {}),
    ...(disposition ? { disposition, dispositionParameters: filename ? { filename } : {} } : {}),
    ...(contentId ? { id: `<${contentId}>` } : {}),
    ...(encoding ? { encoding } : {}),
    ...(part.children.length > 0
      ? {
          childNodes: part.children.map((child, index) =>
            structureOf(child, childSection(section, index)),
          ),
        }
      : { size: encoded(part).length }),
  };
}

function payloadOf(part: Model, section: string): GmailPart {
  const { type, filename, parameters, content, children } = part;
  return {
    partId: section,
    mimeType: type,
    filename: filename || (parameters['name'] ?? ''),
    headers: fieldsOf(part, section),
    body: { size: content.length, data: content.toString('base64url') },
    parts: children.map((child, index) => payloadOf(child, childSection(section, index))),
  };
}

/** What an IMAP server answers to the requests of a plan; some servers know no headers of parts. */
function fetched(root: Model, withHeaders: boolean): ParsedMessage {
  const byPart = new Map<string, Model>();
  const collect = (part: Model, section: string): void => {
    byPart.set(section, part);
    for (const [index, child] of part.children.entries())
      collect(child, childSection(section, index));
  };
  collect(root, '');
  if (root.children.length === 0) byPart.set('1', root);
  const headers = headerOf(root, '');
  const plan = planParts(structureOf(root, ''), headers);
  const complete = (part: StoredPart): StoredPart => {
    const { children } = part;
    if (children) return { ...part, children: children.map(complete) };
    const known = byPart.get(part.section);
    if (!known) throw new Error(`no part ${part.section}`);
    const bytes = plan.wanted.get(part);
    return {
      ...part,
      ...(withHeaders ? { header: headerOf(known, part.section) } : {}),
      content: bytes === undefined ? part.content : encoded(known).subarray(0, bytes),
    };
  };
  return parseParts({ headers, root: complete(plan.root) });
}

/** @param hasSizes false if the sizes are estimates, because only encoded sizes are known */
function comparable({ body, snippet, searchable, files }: ParsedMessage, hasSizes: boolean) {
  const shown = files.map(({ section: _section, size, ...file }) => ({
    ...file,
    ...(hasSizes ? { size } : {}),
  }));
  return { body, snippet, searchable, files: shown };
}

describe('a message', () => {
  it('has the same body, snippet, files and words whether it is read whole, by its parts or from Gmail', () => {
    fc.assert(
      fc.property(model, (root) => {
        const whole = parseMessage(mimeOf(root, ''));
        for (const withHeaders of [true, false]) {
          const imap = fetched(root, withHeaders);
          expect(comparable(imap, false)).toEqual(comparable(whole, false));
          expect(imap.warnings).toEqual(whole.warnings);
        }
        const { headers, root: payload } = readParts(payloadOf(root, ''));
        const gmail = comparable(parseParts({ headers, root: payload }), true);
        expect(gmail).toEqual(comparable(whole, true));
      }),
      { numRuns: 1_000 },
    );
  });
});
