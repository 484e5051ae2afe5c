/** Longer subjects are compared by their beginning. */
const MOST_COMPARED = 200;

/** What mail programs put before the subject of an answer, in the languages met most; with a count, perhaps: `Re[2]:`. */
const REPLY =
  /^(?:re|aw|antw|antwort|sv|vs|vá|odp|ref|res|rif|r|ynt|ats|回复|回覆|答复|返信)(?:\s?[[(]\d{1,3}[\])])?\s?[:：]\s*/i;
const FORWARD =
  /^(?:fwd?|wg|tr|rv|enc|i|vl|vb|doorst|转发|轉寄|転送)(?:\s?[[(]\d{1,3}[\])])?\s?[:：]\s*/i;

/** Whether the subject says that the message answers another one. */
export function isReplySubject(subject: string): boolean {
  return REPLY.test(subject.trimStart());
}

/** What is left of a subject without the prefixes of answers and forwards, for comparing; null: nothing. */
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
