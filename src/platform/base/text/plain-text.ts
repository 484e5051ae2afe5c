/*
 * Text of strangers (subjects, names, answers of servers) can hold sequences that a terminal obeys: OSC 52 writes the
 * clipboard, CSI moves the cursor, bidirectional overrides show text in another order than it is. Each of them needs one of
 * the characters below. What is left of a sequence without it is harmless text.
 */

/** C0, DEL, C1, and the characters that override or isolate the direction of text. */
const CONTROLS = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
const CONTROLS_IN_LINES = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
/** In JSON, white space between values is left alone. */
const CONTROLS_IN_JSON = /(?![\n\r\t])[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu;

/** Text as a terminal may show it: without control characters except line breaks and tabs. */
export function forTerminal(text: string): string {
  return text.replaceAll(CONTROLS_IN_LINES, '');
}

/** The same on one line, for cells of tables and for names: runs of white space become one space. */
export function onOneLine(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').replaceAll(CONTROLS, '').trim();
}

/** Text without any control character, for addresses: what is left of them stays together. */
export function withoutControls(text: string): string {
  return text.replaceAll(CONTROLS, '');
}

/**
 * JSON text in which control characters are written as escapes. It means the same to every reader of JSON.
 * @param json valid JSON, as `JSON.stringify` writes it
 */
export function escapedJson(json: string): string {
  return json.replaceAll(
    CONTROLS_IN_JSON,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
