import type { MessageParts } from '../../providers/port/connector.ts';
import {
  type ParsedMessage,
  parseHeaders,
  parseMessage,
  parseParts,
  UNREADABLE,
  withSnippet,
} from './mime-parser.ts';

/*
 * Thread code that parses messages (`MessageParser`). Node loads this file directly, in tests as
 * well, so it may import only modules whose types Node can strip.
 */

/** A message as a thread receives it: buffers arrive as plain byte arrays. */
export type MessageInput =
  | { kind: 'mime'; mime: Uint8Array }
  | ({ kind: 'parts'; headers: Uint8Array } & Omit<MessageParts, 'headers'>)
  | { kind: 'listed'; headers: Uint8Array | null; snippet: string | null };

/**
 * A parsed message. If the content could not be parsed, `failure` gives the reason and `parsed` has
 * only what the headers contain.
 */
export interface ReadMessage {
  parsed: ParsedMessage;
  failure: string | null;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Parses a message, or only its headers if that fails. A listed message has nothing but its headers
 * and its snippet.
 */
export async function readMessage(input: MessageInput): Promise<ReadMessage> {
  if (input.kind === 'listed') {
    const { headers, snippet } = input;
    const parsed = headers ? await readHeaders(headers) : UNREADABLE;
    return { parsed: withSnippet(parsed, snippet ?? ''), failure: null };
  }
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

/** Parses the headers of a message. Never throws because of their content. */
export async function readHeaders(mime: Uint8Array): Promise<ParsedMessage> {
  return parseHeaders(bufferOf(mime));
}
