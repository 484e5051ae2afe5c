import { DomainError } from '../../base/errors/domain-error.ts';

/** Smaller bodies are always quick to parse. */
const HARMLESS_BYTES = 64 * 1024;
/**
 * Three times the limit of validation. A body that is slightly too large is then still refused with
 * the name of the field.
 */
const MOST_VALUES = 300_000;
/**
 * A name of a field counts as this many values: an object with 99,000 different names takes as long
 * as an array with a million numbers.
 */
const VALUES_OF_NAME = 5;
/** Higher than the limit of validation (100). */
const MOST_LEVELS = 200;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Position after the string that begins at `start`. */
function endOfString(json: Buffer, start: number): number {
  for (let end = json.indexOf(QUOTE, start + 1); end !== -1; end = json.indexOf(QUOTE, end + 1)) {
    let backslashes = 0;
    while (json[end - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return json.length;
}

function tooMuch(what: string): DomainError {
  return new DomainError('request.too-complex', 'too-large', `The request body ${what}`);
}

/**
 * Refuses JSON that is far more expensive to parse than to send. Ten megabytes of `[],[],[]…`
 * create three million objects, block the process for half a second and take 300 MB. Strings are
 * skipped, so long texts cost almost nothing.
 * @param json UTF-8; may be invalid JSON
 * @throws {DomainError} 413
 */
export function assertModestJson(json: Buffer): void {
  if (json.length <= HARMLESS_BYTES) return;
  let values = 0;
  let level = 0;
  for (let at = 0; at < json.length;) {
    switch (json[at]) {
      case QUOTE:
        at = endOfString(json, at);
        continue;
      case 0x5b: // [
      case 0x7b: // {
        level += 1;
        values += 1;
        if (level > MOST_LEVELS) throw tooMuch(`is nested deeper than ${MOST_LEVELS} levels`);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        level -= 1;
        break;
      case 0x2c: // ,
        values += 1;
        break;
      case 0x3a: // :
        values += VALUES_OF_NAME - 1;
        break;
    }
    if (values > MOST_VALUES)
      throw tooMuch(
        `has more than ${MOST_VALUES} values; each name of a field counts as ${VALUES_OF_NAME}`,
      );
    at += 1;
  }
}
