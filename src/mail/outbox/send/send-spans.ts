import { forLog } from '../../../platform/base/text/for-log.ts';
import { failSpan, spanned, SpanKind } from '../../../platform/tracing/spans.ts';
import type { SendReceipt } from '../../../providers/port/connector.ts';
import type { LoadedAttempt } from './send-attempt.ts';
import { receiptText } from './send-recipients.ts';

/**
 * Hands a message over in a span of its own, which has the server's reply. It has no recipient and
 * no word of the message.
 */
export function inHandOverSpan(
  { route, row, message }: LoadedAttempt,
  send: () => Promise<SendReceipt>,
): Promise<SendReceipt> {
  const describe = () => ({
    name: 'hand over message',
    kind: SpanKind.CLIENT,
    attributes: {
      'carillon.job_id': row.id,
      'carillon.account_id': message.account.accountId,
      'carillon.provider': message.account.provider,
      'carillon.route': route,
      'carillon.bytes': message.bytes,
    },
  });
  return spanned(describe, async (span) => {
    const receipt = await send();
    if (!span) return receipt;
    const { accepted, refused } = receipt;
    span.setAttributes({
      'carillon.reply': forLog(receiptText(receipt)),
      'carillon.accepted': accepted.length,
      'carillon.refused': refused.length,
    });
    if (accepted.length === 0) failSpan(span, receiptText(receipt));
    return receipt;
  });
}
