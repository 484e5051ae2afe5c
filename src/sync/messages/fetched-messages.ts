import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type {
  FailedMessage,
  ListedContent,
  MailPort,
  MessageContent,
  ReadMessage,
  RemoteMessage,
} from '../../providers/port/connector.ts';

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

/**
 * Reads messages one by one, from a provider without `readMessages`. Messages that were deleted
 * after they were listed are left out.
 */
export async function fetchRaws(
  account: ConnectedAccount,
  mail: MailPort,
  messages: readonly RemoteMessage[],
): Promise<FetchedMessages> {
  const fetched = new Map<string, ReadMessage>();
  for (const { providerId } of messages) {
    try {
      const mime = await mail.fetchRaw(account, providerId);
      fetched.set(providerId, { state: null, content: { kind: 'mime', mime } });
    } catch (error) {
      if (!(error instanceof ProviderError) || error.code !== 'not-found') throw error;
    }
  }
  return fetched;
}
