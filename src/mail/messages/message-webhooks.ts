import { domainToASCII } from 'node:url';
import type { Address } from '../../platform/base/text/address.ts';
import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import type { ChangeWebhook } from '../../platform/changes/change-log.ts';
import { dedupeKey } from '../../platform/changes/usual-webhooks.ts';

/** What webhooks say about a message. */
export interface NotifiedMessage {
  id: string;
  threadId: string;
  /** When it was received. */
  date: Date;
  /** Ids of its folders or labels before and after the change. */
  folders: readonly string[];
  from: readonly Address[];
}

/**
 * The webhook of a change of a message.
 * @param dedupe as in `ChangeWebhook`; absent: each call is an event of its own
 */
export function messageWebhook(
  trigger: 'message.created' | 'message.updated' | 'message.deleted',
  { id, threadId, date, folders, from }: NotifiedMessage,
  dedupe = dedupeKey(trigger, id),
): ChangeWebhook {
  const attributes = { thread_id: threadId, received_date: toUnixSeconds(date) };
  return { trigger, dedupe, attributes, folders, fromDomains: domainsOf(from) };
}

/** Senders of a message whose domains are compared with filters. */
const MOST_SENDERS = 10;

/** Domains of the first ten addresses: lower case, IDNA in ASCII. Unusable ones are left out. */
function domainsOf(addresses: readonly Address[]): string[] {
  const domains = addresses
    .slice(0, MOST_SENDERS)
    .map(({ email }) => domainToASCII(email.slice(email.lastIndexOf('@') + 1)));
  return [...new Set(domains)].filter((domain) => domain !== '' && !domain.includes(','));
}
