const NOT_ASCII = /[\u0080-\uffff]/g;

/**
 * JSON in ASCII: every other character is an escape, such as `\u00fc`. For responses that arrive in
 * pieces: a client that decodes each piece by itself cannot cut a character in two.
 */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    NOT_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
