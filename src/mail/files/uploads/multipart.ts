import type { IncomingHttpHeaders } from 'node:http';
import { finished, type Readable } from 'node:stream';
import type { Busboy, BusboyHeaders } from '@fastify/busboy';
import { DomainError, InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import { whenNeeded } from '../../../platform/base/when-needed.ts';
import { MOST_FILES_AT_ONCE } from '../file-limits.ts';

const busboy = whenNeeded(
  import.meta.url,
  (require) => require('@fastify/busboy') as typeof import('@fastify/busboy'),
);

/** Maximum number of files and fields in one form. */
const MOST_PARTS = 100;

/** A file of a form, as the client describes it. */
export interface ReceivedPart {
  /** Without folders. Empty if the client sent no name. */
  filename: string;
  /** A media type without parameters. */
  contentType: string;
}

/** Reads the bytes of one part. The next part follows when this one has been read to its end. */
export type PartReceiver = (part: ReceivedPart, bytes: Readable) => Promise<void>;

const malformed = () =>
  new DomainError(
    'request.malformed',
    'invalid',
    'The request body is not valid multipart/form-data',
    {
      type: 'api_error',
    },
  );
const incomplete = () =>
  new DomainError('request.incomplete', 'invalid', 'The request body did not arrive whole');

/** A form as it arrives. */
export interface IncomingForm {
  headers: IncomingHttpHeaders;
  body: Readable;
  /** Called with the name of each form field, which has no effect. May throw to refuse the form. */
  ignored(name: string): void;
}

/**
 * Reads the files of a form (RFC 7578) one after the other, no faster than `receive` reads them.
 * If the form or one part fails, no further part is read; the promise rejects after `receive` has
 * ended.
 * @throws {InvalidInputError} if the body is not a form, is malformed, ends early or has too many
 *   files; also throws the errors of `receive` and `ignored`
 */
export async function readMultipart(
  { headers, body, ignored }: IncomingForm,
  receive: PartReceiver,
) {
  const parser = parserFor(headers);
  const parts = new Set<Readable>();
  let receiving = Promise.resolve();
  let failure: Error | null = null;
  const { promise: parsed, resolve } = Promise.withResolvers<void>();
  const fail = (error: Error) => {
    failure ??= error;
    body.unpipe(parser);
    // Discard the rest of the body. Otherwise the connection stays blocked and the client may not
    // read the error.
    body.resume();
    for (const part of parts) part.destroy(failure);
    resolve();
  };
  parser.on(
    'file',
    (
      _name: string,
      bytes: Readable,
      filename: string | undefined,
      _encoding: string,
      contentType: string,
    ) => {
      parts.add(bytes);
      bytes.on('error', fail);
      receiving = receiving
        .then(() =>
          failure ? undefined : receive({ filename: readable(filename), contentType }, bytes),
        )
        .catch(fail)
        .finally(() => parts.delete(bytes));
    },
  );
  parser.on('field', (name: string) => {
    try {
      ignored(name);
    } catch (error) {
      fail(error as Error);
    }
  });
  const tooMany = (most: string) => () =>
    fail(new InvalidInputError(`There must not be more than ${most}`));
  parser.on('filesLimit', tooMany(`${MOST_FILES_AT_ONCE} files`));
  parser.on('partsLimit', tooMany(`${MOST_PARTS} parts`));
  parser.on('error', () => fail(malformed()));
  parser.on('finish', resolve);
  const stopListening = finished(body, { writable: false }, (error) => error && fail(incomplete()));
  body.pipe(parser);
  await parsed;
  await receiving;
  stopListening();
  if (failure) throw failure;
}

/** Quotes and line ends of a file's name arrive as these three escapes (WHATWG HTML, 4.10.21.8). */
const ESCAPES: Readonly<Record<string, string>> = { '%22': '"', '%0D': '\r', '%0A': '\n' };

const readable = (filename = ''): string =>
  filename.replace(/%(?:22|0D|0A)/g, (escape) => ESCAPES[escape] ?? escape);

function parserFor(headers: IncomingHttpHeaders): InstanceType<typeof Busboy> {
  const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = headers;
  if (coding !== 'identity')
    throw new InvalidInputError('The encoding of the request body is not supported');
  if (!/^multipart\/form-data\b/i.test(type))
    throw new InvalidInputError('Content-Type: must be multipart/form-data');
  try {
    return new (busboy().Busboy)({
      headers: headers as BusboyHeaders,
      // Every part with a file name is a file, even if its media type is text.
      limits: {
        files: MOST_FILES_AT_ONCE,
        parts: MOST_PARTS,
        fields: MOST_PARTS,
        fieldSize: 1024,
        headerSize: 16 * 1024,
      },
    });
  } catch {
    throw new InvalidInputError('Content-Type: multipart/form-data needs a boundary');
  }
}
