/*
 * Untrusted text, such as a subject, a name or a server's reply, can hold sequences that a terminal
 * obeys. OSC 52 writes the clipboard, CSI moves the cursor, and bidirectional overrides change the
 * order in which text is shown. Each sequence needs one of the characters below. Without that
 * character the rest of it is harmless text.
 */

/** C0, DEL, C1, and the characters that override or isolate the direction of text. */
const CONTROLS = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
const CONTROLS_IN_LINES = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
/** White space between the values of JSON stays as it is. */
const CONTROLS_IN_JSON = /(?![\n\r\t])[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu;

/**
 * Returns text that a terminal can show safely: without control characters, except line breaks and
 * tabs.
 */
export function forTerminal(text: string): string {
  return text.replaceAll(CONTROLS_IN_LINES, '');
}

/**
 * Returns untrusted text on one line, for table cells and names. A run of white space becomes one
 * space.
 */
export function onOneLine(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').replaceAll(CONTROLS, '').trim();
}

/**
 * Removes all control characters, for addresses. Unlike `onOneLine`, it leaves no space in their
 * place.
 */
export function withoutControls(text: string): string {
  return text.replaceAll(CONTROLS, '');
}

/**
 * Writes control characters in JSON text as escapes, which mean the same to every JSON parser.
 * @param json valid JSON, as `JSON.stringify` writes it
 */
export function escapedJson(json: string): string {
  return json.replaceAll(
    CONTROLS_IN_JSON,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
