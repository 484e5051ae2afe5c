/** Longer subjects are compared by their first characters. */
const MOST_COMPARED = 200;

/** Prefixes of replies in the most common languages, optionally with a count: `Re[2]:`. */
const REPLY =
  /^(?:re|aw|antw|antwort|sv|vs|vá|odp|ref|res|rif|r|ynt|ats|回复|回覆|答复|返信)(?:\s?[[(]\d{1,3}[\])])?\s?[:：]\s*/i;
const FORWARD =
  /^(?:fwd?|wg|tr|rv|enc|i|vl|vb|doorst|转发|轉寄|転送)(?:\s?[[(]\d{1,3}[\])])?\s?[:：]\s*/i;

/** True if the subject is that of a reply. */
export function isReplySubject(subject: string): boolean {
  return REPLY.test(subject.trimStart());
}

/**
 * The subject without the prefixes of replies and forwards, for comparison. `null` if nothing is
 * left.
 */
export function subjectKey(subject: string): string | null {
  let rest = subject.slice(0, 4 * MOST_COMPARED).trimStart();
  for (;;) {
    const shorter = rest.replace(REPLY, '').replace(FORWARD, '');
    if (shorter === rest) break;
    rest = shorter;
  }
  const key = rest.replace(/\s+/g, ' ').trim().toLowerCase().slice(0, MOST_COMPARED).toWellFormed();
  return key === '' ? null : key;
}
