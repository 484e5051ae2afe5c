import { Logger } from '@nestjs/common';

const log = new Logger('Internal');

/**
 * Shown to callers in place of an internal error, whose text may contain statements, rows and
 * hosts.
 */
export const INTERNAL_REASON = 'internal error, described in the log of the server';

/**
 * Writes an internal error to the log.
 * @returns the text for callers
 */
export function internalReason(error: unknown): string {
  log.error(error);
  return INTERNAL_REASON;
}
