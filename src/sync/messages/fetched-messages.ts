import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import type { ParsableContent } from '../../mail/parsing/message-parser.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type {
  FailedMessage,
  ListedContent,
  MailPort,
  MessageContent,
  ReadMessage,
  RemoteMessage,
} from '../../providers/port/connector.ts';
import type { ReadFailure } from '../failures/sync-failures.ts';

/** What a provider has returned for some messages, by provider id. */
export type FetchedMessages = ReadonlyMap<string, ReadMessage | null>;

/** A message that the mirror does not have, with its content. */
export interface FreshMessage {
  remote: RemoteMessage;
  content: ParsableContent;
}

/** Why a message is requested again that its provider has reported. */
export const NOT_FOUND = 'the provider has reported the message, and does not find it';

/** Providers that do not know when a message was received report it as of 1970. */
export const isDated = ({ receivedAt }: RemoteMessage): boolean => receivedAt.getTime() > 0;

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

/** The failures of the provider, on contents and on whole messages. */
export function failedOf(
  fresh: readonly FreshMessage[],
  failed: readonly FailedMessage[],
): ReadFailure[] {
  const contents = fresh.flatMap(({ remote: { providerId }, content }) =>
    content.kind === 'listed' && content.failed !== undefined
      ? [{ providerId, reason: content.failed }]
      : [],
  );
  return [...contents, ...failed].map((one) => ({ ...one, again: true }));
}
