import { storable } from '../../platform/base/text/storable.ts';

/** Most warnings stored with an event or a contact. */
const MOST_WARNINGS = 20;
/** Longest warning stored, in characters. */
const LONGEST_WARNING = 300;

/** The warnings of a provider about one event or contact, as they can be stored. */
export function storableWarnings(warnings: readonly string[] = []): string[] {
  return warnings.slice(0, MOST_WARNINGS).map((one) => storable(one, LONGEST_WARNING));
}
