const SHOWN_RECIPIENTS = 20;

/**
 * Reason of a cancellation.
 * @param by who cancelled it, such as `cancelled by the user`
 * @param accepted recipients that accepted the message in an earlier attempt; they keep it
 */
export function cancellationReason(by: string, accepted: readonly string[]): string {
  if (accepted.length === 0) return by;
  const shown = accepted.slice(0, SHOWN_RECIPIENTS).join(', ');
  const more = accepted.length - SHOWN_RECIPIENTS;
  return `${by}; already accepted for ${shown}${more > 0 ? ` and ${more} more` : ''}`;
}
