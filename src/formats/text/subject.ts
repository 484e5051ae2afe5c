/** Longer subjects are compared by their first characters. */
const MOST_COMPARED = 200;

/** Prefixes of replies in the most common languages. */
const REPLIES =
  're|aw|antw|antwort|sv|vs|vá|odp|ref|res|rif|r|ynt|ats|отв|ответ|на|σχετ|απ|απάντηση|رد|回复|回覆|回復|答复|答覆|返信|回信|회신|답장|답변';
const FORWARDS =
  'fwd?|wg|tr|rv|enc|i|vl|vb|doorst|пер|пересл|προώθ|προωθ|πρθ|إعادة توجيه|转发|轉寄|轉發|転送|전달';
/**
 * Marks that mail systems put before a subject, such as `[EXT]` and `[EXTERNAL]`. Others, such as
 * the names of lists, belong to the subject.
 */
const MARK =
  '(?:\\[(?:ext|extern|external|extérieur|externe|externo)(?:[ :-][^\\]]{0,30})?\\]\\s*)*';
const COUNT = '(?:\\s?[[(]\\d{1,3}[\\])])?';
const prefix = (words: string) =>
  new RegExp(`^${MARK}(?:${words})${COUNT}\\s?[:：]\\s*${MARK}`, 'iu');

/** Optionally with a count, `Re[2]:`, and behind or before a mark, `[EXT] Re:`. */
const REPLY = prefix(REPLIES);
const FORWARD = prefix(FORWARDS);
/** A mark without a prefix. */
const MARKS = new RegExp(`^${MARK}`, 'iu');

/** True if the subject is that of a reply. */
export function isReplySubject(subject: string): boolean {
  return REPLY.test(subject.trimStart());
}

/**
 * The subject without the prefixes of replies and forwards, for comparison. `null` if nothing is
 * left.
 */
export function subjectKey(subject: string): string | null {
  let rest = subject
    .slice(0, 4 * MOST_COMPARED)
    .trimStart()
    .replace(MARKS, '');
  for (;;) {
    const shorter = rest.replace(REPLY, '').replace(FORWARD, '');
    if (shorter === rest) break;
    rest = shorter;
  }
  const key = rest.replace(/\s+/g, ' ').trim().toLowerCase().slice(0, MOST_COMPARED).toWellFormed();
  return key === '' ? null : key;
}
