import { bufferOf } from '../../formats/mime/reading/transfer-encoding.ts';
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

/**
 * Parses a message. A listed message has nothing but its headers and its snippet. Never throws
 * because of the content.
 */
export function readMessage(input: MessageInput): ReadMessage {
  if (input.kind === 'listed') {
    const { headers, snippet } = input;
    const parsed = headers ? readHeaders(headers) : UNREADABLE;
    return { parsed: withSnippet(parsed, snippet ?? ''), failure: null };
  }
  const parsed =
    input.kind === 'mime'
      ? parseMessage(bufferOf(input.mime))
      : parseParts({ ...input, headers: bufferOf(input.headers) });
  return { parsed, failure: null };
}

/** Parses the headers of a message. Never throws because of their content. */
export function readHeaders(mime: Uint8Array): ParsedMessage {
  return parseHeaders(bufferOf(mime));
}
