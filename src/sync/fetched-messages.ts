import type {
  FailedMessage,
  ListedContent,
  MessageContent,
  ReadMessage,
} from '../providers/port/connector.ts';

/** What a provider has returned for some messages, by provider id. */
export type FetchedMessages = ReadonlyMap<string, ReadMessage | null>;

/** The messages on which the provider failed. */
export function failuresOf(fetched: FetchedMessages): FailedMessage[] {
  return [...fetched].flatMap(([providerId, message]) =>
    message?.failed === undefined ? [] : [{ providerId, reason: message.failed }],
  );
}

/**
 * The content with which a message is added to the mirror: nothing is known of it if the provider
 * failed on it. `undefined` if it was not read.
 */
export function contentOf(
  message: ReadMessage | null | undefined,
): MessageContent | ListedContent | undefined {
  if (message?.failed !== undefined)
    return { kind: 'listed', headers: null, snippet: null, failed: message.failed };
  return message?.content ?? undefined;
}
