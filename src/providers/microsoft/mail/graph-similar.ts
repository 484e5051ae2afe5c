import { z } from 'zod';
import type { ProviderAccount, SentTraces } from '../../port/connector.ts';
import { isLike } from '../../port/mail/sent-lookup.ts';
import type { GraphApi } from '../graph-api.ts';
import { MARK_PROPERTY } from './graph-properties.ts';

/** Newest messages of Sent Items that are compared at most. */
const COMPARED = 100;
/** How much the clock of Exchange may differ from ours. */
const SKEW_MS = 5 * 60_000;

const people = z
  .array(z.object({ emailAddress: z.object({ address: z.string().nullish() }).nullish() }))
  .nullish();
const sent = z.object({
  subject: z.string().nullish(),
  toRecipients: people,
  ccRecipients: people,
  bccRecipients: people,
  singleValueExtendedProperties: z.array(z.unknown()).nullish(),
});

/**
 * Whether Sent Items has a message with these recipients and this subject that bears no mark:
 * Exchange may have removed its mark and its Message-ID. Compares the 100 newest messages.
 */
export async function hasSimilar(
  graph: GraphApi,
  account: ProviderAccount,
  traces: SentTraces,
): Promise<boolean> {
  const since = new Date(traces.since.getTime() - SKEW_MS).toISOString();
  const { value } = await graph.page(account, {
    method: 'GET',
    path: '/mailFolders/sentitems/messages',
    query: {
      $filter: `receivedDateTime ge ${since}`,
      $orderby: 'receivedDateTime desc',
      $top: COMPARED,
      $select: 'id,subject,toRecipients,ccRecipients,bccRecipients',
      $expand: `singleValueExtendedProperties($filter=id eq '${MARK_PROPERTY}')`,
    },
    priority: 'send',
  });
  return value.some((one) => {
    const { success, data } = sent.safeParse(one);
    return success && !data.singleValueExtendedProperties?.length && isLike(traces, shownOf(data));
  });
}

function shownOf({ subject, toRecipients, ccRecipients, bccRecipients }: z.infer<typeof sent>) {
  const all = [toRecipients, ccRecipients, bccRecipients].flatMap((some) => some ?? []);
  const recipients = all.flatMap(({ emailAddress }) => emailAddress?.address ?? []);
  return { recipients, subject: subject ?? null };
}
