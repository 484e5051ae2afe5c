import { type HeaderField, valueOf } from './header-fields.ts';
import { fileNameOf, readStructured } from './parameters.ts';
import { isKnownEncoding, type TransferEncoding, transferEncodingOf } from './transfer-encoding.ts';

/* Thread code: may use only TypeScript whose types Node itself can strip (ADR 0058). */

/** What a part of a message says about itself. Everything is decoded. */
export interface PartDescription {
  /** Lower case, always with a subtype: a malformed type is replaced by what it probably means. */
  type: string;
  /** The type as it is written, in lower case. */
  writtenType: string;
  charset: string;
  /** Parameters of plain text (RFC 3676). */
  isFlowed: boolean;
  delSp: boolean;
  boundary: string;
  encoding: TransferEncoding;
  /** `attachment` for every unknown disposition (RFC 2183 section 2.8); empty if there is none. */
  disposition: '' | 'inline' | 'attachment';
  /** Empty if the part has no name. */
  filename: string;
  /** Whether the name is only a parameter of the type, which some programs add to every text. */
  isNamedByType: boolean;
  /** Without angle brackets. */
  contentId: string | null;
  /** An encoding that is unknown, as it is written; `null` if it is known. */
  unknownEncoding: string | null;
}

/** A part of a message. */
export interface Part extends PartDescription {
  /** Section number (RFC 9051 section 6.4.5), or the provider's name of the part. */
  section: string;
  /**
   * The parts of a multipart; `null` for every other part, also for a message within the message.
   */
  children: readonly Part[] | null;
  /** Size of the decoded content in bytes; maybe an estimate. */
  size: number;
  /** Decoded content; `null` if it was not fetched. It may be cut off. */
  content: Uint8Array | null;
  /** Whether `content` is cut off. */
  isCut: boolean;
}

const TOKEN = "[a-z0-9!#$&^_.+'*%`|~{}-]+";
const TYPE = new RegExp(`^${TOKEN}/${TOKEN}$`);

/**
 * Reads the header of a part.
 * @param fields fields of the part, or of the message for its only part
 * @param usualType type of parts that name none: `message/rfc822` in a digest, else `text/plain`
 */
export function describePart(
  fields: readonly HeaderField[],
  usualType = 'text/plain',
): PartDescription {
  const type = readStructured(valueOf(fields, 'content-type'));
  const disposition = readStructured(valueOf(fields, 'content-disposition'));
  const encoding = valueOf(fields, 'content-transfer-encoding');
  const named =
    fileNameOf(disposition.parameters, 'filename') || fileNameOf(disposition.parameters, 'name');
  const filename =
    named || fileNameOf(type.parameters, 'name') || fileNameOf(type.parameters, 'filename');
  const isFile = disposition.value === 'attachment' || filename !== '';
  return {
    type: plausibleType(type.value, type.parameters, isFile, usualType),
    writtenType: type.value || usualType,
    charset: type.parameters.get('charset') ?? '',
    isFlowed: /^flowed$/i.test(type.parameters.get('format') ?? ''),
    delSp: /^yes$/i.test(type.parameters.get('delsp') ?? ''),
    boundary: (type.parameters.get('boundary') ?? '').trimEnd(),
    encoding: transferEncodingOf(encoding),
    disposition: dispositionOf(disposition.value),
    filename,
    isNamedByType: named === '' && filename !== '',
    contentId: contentIdOf(valueOf(fields, 'content-id')),
    unknownEncoding: isKnownEncoding(encoding) ? null : encoding.slice(0, 40),
  };
}

const dispositionOf = (value: string): PartDescription['disposition'] =>
  value === '' || value === 'inline' ? value : 'attachment';

const contentIdOf = (value: string): string | null =>
  value.replaceAll(/\([^()]*\)/g, '').replaceAll(/[<>\s]/g, '') || null;

/** A type that is not one means plain text (RFC 2045 section 5.2), unless more is known. */
function plausibleType(
  value: string,
  parameters: ReadonlyMap<string, string>,
  isFile: boolean,
  usualType: string,
): string {
  const type = value.replace(/\/$/, '');
  if (TYPE.test(type)) return type;
  if (type === 'html' || type === 'htm') return 'text/html';
  if (type.startsWith('multipart') && parameters.has('boundary')) return 'multipart/mixed';
  if (type === '')
    return isFile && usualType === 'text/plain' ? unknownFile(parameters) : usualType;
  if (type === 'text' || type === 'plain' || type.startsWith('text/')) return 'text/plain';
  return isFile ? 'application/octet-stream' : 'text/plain';
}

/** A file without a type. If it names a charset, it is text. */
const unknownFile = (parameters: ReadonlyMap<string, string>): string =>
  parameters.has('charset') ? 'text/plain' : 'application/octet-stream';
