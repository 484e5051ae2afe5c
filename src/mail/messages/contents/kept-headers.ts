/** Header fields that say how a message was sent: to many people, by a program, or as a reply. */
const KEPT = new Set([
  'auto-submitted',
  'in-reply-to',
  'list-id',
  'list-post',
  'list-unsubscribe',
  'precedence',
  'x-autoreply',
]);

/** Header fields that programs for bulk mail add. */
export const BULK_HEADERS =
  /^(?:x-mc-user|x-campaign(?:-?id)?|x-campaignid|x-mailgun-(?:sid|tag)|x-sg-eid|x-ses-outgoing|feedback-id|x-feedback-id|x-pm-message-id|x-mailchimp.*|x-report-abuse|x-csa-complaints|x-mailer-recptid|x-mandrill-user|x-list-.*)$/;

const MOST_HEADERS = 100_000;

/**
 * The lines of a header block that categorising reads (`mail/neural`), with their continuation
 * lines. The others are at the provider.
 * @param block decoded header block; only its first 100,000 characters are searched
 */
export function keptHeaders(block: string): string {
  let keeps = false;
  return block
    .slice(0, MOST_HEADERS)
    .split(/\r?\n/)
    .filter((line) => {
      if (/^[ \t]/.test(line)) return keeps;
      const name = line.slice(0, Math.max(0, line.indexOf(':'))).toLowerCase();
      keeps = KEPT.has(name) || BULK_HEADERS.test(name);
      return keeps;
    })
    .join('\n');
}
