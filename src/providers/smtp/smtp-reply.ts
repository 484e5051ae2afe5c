/** A reply of a mail server (RFC 5321 section 4.2). */
export interface SmtpReply {
  /** The three digits. */
  code: number;
  /** Enhanced status code (RFC 3463) such as "5.4.5". `null` if the reply has none. */
  enhanced: string | null;
  /** The text of all lines, without codes. */
  text: string;
}

const LINE = /^(\d{3})(?:[ -]|$)(?:(\d\.\d{1,3}\.\d{1,3})(?=\s|$)\s*)?(.*)$/;
const LONGEST_WORDS = 300;
/** Shorter secrets are not hidden: they would also match ordinary words. */
const SHORTEST_SECRET = 4;

/** Reads a reply of one or more lines. `null` if the text is not a reply. */
export function parseReply(response: string): SmtpReply | null {
  const lines = response.split(/\r?\n/).map((line) => LINE.exec(line.trim()));
  const [first] = lines;
  if (!first) return null;
  const enhanced = lines.map((line) => line?.[2]).find((one) => one !== undefined) ?? null;
  const text = lines.map((line) => line?.[3] ?? '').join(' ');
  return { code: Number(first[1]), enhanced, text: text.trim() };
}

/**
 * A server's text as it may be shown and logged: one line, at most 300 characters, without control
 * characters. Secrets are replaced by `***`, because some servers repeat them.
 */
export function wordsOf(response: string, secrets: readonly string[]): string {
  const reply = parseReply(response);
  const words = reply
    ? [reply.code, reply.enhanced, reply.text].filter(Boolean).join(' ')
    : response;
  const hidden = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .flatMap((secret) => [secret, Buffer.from(secret).toString('base64')])
    .reduce((text, secret) => text.replaceAll(secret, '***'), words);
  // With control characters a server could forge log lines.
  const plain = hidden.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return plain.length > LONGEST_WORDS ? `${plain.slice(0, LONGEST_WORDS - 1)}…` : plain;
}
