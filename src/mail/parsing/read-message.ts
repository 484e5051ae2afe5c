import type { MessageParts } from '../../providers/port/connector.ts';
import { type ParsedMessage, parseHeaders, parseMessage, parseParts } from './mime-parser.ts';

/*
 * What threads do with messages (`MessageParser`). Node loads this file as it is, in tests too: it may import only what Node
 * itself can strip of types.
 */

/** A message as a thread gets it: bytes are plain there. */
export type MessageInput =
  | { kind: 'mime'; mime: Uint8Array }
  | ({ kind: 'parts'; headers: Uint8Array } & Omit<MessageParts, 'headers'>);

/** `failure` says why the content could not be read; `parsed` has what is known then. */
export interface ReadMessage {
  parsed: ParsedMessage;
  failure: string | null;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Reads a message. If its content cannot be read, its headers are. */
export async function readMessage(input: MessageInput): Promise<ReadMessage> {
  try {
    const parsed =
      input.kind === 'mime'
        ? await parseMessage(bufferOf(input.mime))
        : await parseParts({ ...input, headers: bufferOf(input.headers) });
    return { parsed, failure: null };
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    return {
      parsed: await readHeaders(input.kind === 'mime' ? input.mime : input.headers),
      failure,
    };
  }
}

/** Reads what the headers of a message say of it. Never throws for what they contain. */
export async function readHeaders(mime: Uint8Array): Promise<ParsedMessage> {
  return parseHeaders(bufferOf(mime));
}
