import { Logger } from '@nestjs/common';

const log = new Logger('Internal');

/** What callers are told of an error that is ours. The error itself may quote statements, rows and hosts. */
export const INTERNAL_REASON = 'internal error, described in the log of the server';

/** Writes an error that is ours to the log. @returns what callers may be told of it */
export function internalReason(error: unknown): string {
  log.error(error);
  return INTERNAL_REASON;
}
