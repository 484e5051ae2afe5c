import { isCalendarPart } from '../ical/itip.ts';

/** What a provider says about a part, before anything of it is fetched. */
export interface PartOutline {
  /** Lower case. */
  type: string;
  isAttachment: boolean;
  filename: string;
  /** In bytes, as the provider stores it. */
  size: number;
}

/** Longest part of a text that is fetched. Bytes. */
export const TEXT_BYTES = 2 * 1024 * 1024;
const ALL_TEXTS_BYTES = 8 * 1024 * 1024;
const MOST_TEXTS = 500;
const MOST_CALENDARS = 3;
/** A longer calendar file is an ordinary file. Bytes. */
const LONGEST_CALENDAR = 768 * 1024;
/** A longer report about a delivery is an ordinary file. Bytes. */
const LONGEST_REPORT = 256 * 1024;
const REPORTS = /^(?:message\/(?:global-)?delivery-status|(?:text|message)\/rfc822-headers)$/;

/**
 * Chooses the parts of a large message whose content is fetched: texts, short calendar files and
 * reports about deliveries, up to a limit for the whole message. What the parts are is decided
 * later, by `sortParts`; here a part that might be a text counts as one.
 */
export class WantedParts {
  #texts = 0;
  #textBytes = 0;
  #calendars = 0;

  /** How many bytes to fetch of the next part, 0 for none. Call it once for each part, in order. */
  bytesOf(part: PartOutline): number {
    const { size } = part;
    if (isCalendarPart(part.type, part.filename)) {
      if (size > LONGEST_CALENDAR || this.#calendars >= MOST_CALENDARS) return 0;
      this.#calendars += 1;
      return size;
    }
    if (REPORTS.test(part.type)) return size <= LONGEST_REPORT ? size : 0;
    if (!mayBeText(part) || this.#texts >= MOST_TEXTS) return 0;
    const bytes = Math.min(size, TEXT_BYTES, ALL_TEXTS_BYTES - this.#textBytes);
    this.#texts += 1;
    this.#textBytes += bytes;
    return bytes;
  }
}

/** Types that are malformed mean plain text; servers report some of them as unknown data. */
function mayBeText({ type, isAttachment, filename }: PartOutline): boolean {
  if (isAttachment) return false;
  const isUnknown = type === 'application/octet-stream' && filename === '';
  return type === 'text/plain' || type === 'text/html' || isUnknown || !/^[^/]+\/[^/]+$/.test(type);
}
