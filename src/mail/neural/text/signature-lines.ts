/** Words of job titles, in English and a few other languages. */
const TITLE_WORDS = String.raw`account(?:ant| manager| executive)|administrator|advisor|analyst|architect|assistant|associate|attorney|broker|ceo|cfo|chair(?:man|woman|person)?|chef|chief|cmo|consultant|controller|co-?founder|coo|coordinator|counsel|cto|dean|designer|developer|director|editor|engineer|executive|founder|geschäftsführer(?:in)?|gerente|head of|inspector|instructor|intern|journalist|lawyer|lead|leiter(?:in)?|librarian|manager|nurse|officer|owner|paralegal|partner|photographer|physician|planner|president|principal|producer|professor|programmer|proprietor|receptionist|recruiter|representative|researcher|sales|scientist|secretary|specialist|strategist|superintendent|supervisor|teacher|technician|treasurer|trustee|vice president|vp|writer|directeur|directrice|responsable|ingénieur`;
const TITLE = new RegExp(String.raw`(?:^|[^\p{L}])(?:${TITLE_WORDS})(?:[^\p{L}]|$)`, 'iu');
const EMAIL = /[\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}.-]{1,190}\.\p{L}{2,24}/u;
const PHONE = /(?:^|[^\d])(?:\+|\()?\d[\d ().\-/]{6,22}\d(?!\d)/;
const ADDRESS =
  /(?:https?:\/\/|www\.)\S{3,}|\b[a-z0-9-]{2,40}\.(?:com|org|net|io|co|de|fr|es|it|nl|eu|uk|test|example)\b/i;
const SENTENCE_END = /[.!?]["')]?\s*$/;
const MOST_LINE = 80;
const MOST_TITLE = 70;

/** True if the line is a job title and nothing else. */
export function isJobTitle(line: string): boolean {
  const trimmed = line.trim();
  return (
    trimmed.length > 1 &&
    trimmed.length <= MOST_TITLE &&
    !SENTENCE_END.test(trimmed) &&
    !EMAIL.test(trimmed) &&
    !PHONE.test(trimmed) &&
    TITLE.test(trimmed)
  );
}

/**
 * True if the last lines of a message look like an unmarked signature. They must be short, and
 * contain contact data or the sender's name.
 */
export function looksLikeSignature(lines: readonly string[], fromName: string): boolean {
  const filled = lines.map((line) => line.trim()).filter(Boolean);
  if (filled.length === 0 || filled.some((line) => line.length > MOST_LINE)) return false;
  const names = [
    fromName.trim().toLowerCase(),
    (fromName.trim().split(/\s+/)[0] ?? '').toLowerCase(),
  ].filter((name) => name.length > 1);
  const first = (filled[0] ?? '')
    .toLowerCase()
    .replace(/^[-–—]\s*/, '')
    .replace(/[,.!]$/, '');
  const named = names.includes(first);
  if (filled.length === 1) return named;
  // A signature contains no sentences. Short lines may end with the period of an abbreviation
  // ("Ltd.").
  const sentences = filled.filter(
    (line) => SENTENCE_END.test(line) && line.split(' ').length > 5,
  ).length;
  if (sentences > 0) return false;
  const reachable = filled.filter(
    (line) => EMAIL.test(line) || PHONE.test(line) || ADDRESS.test(line),
  ).length;
  return (
    (named && filled.length <= 8) || (reachable > 0 && (reachable > 1 || filled.some(isJobTitle)))
  );
}
