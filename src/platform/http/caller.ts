import type { Request } from 'express';

/** The sender of a request, as limits and logs need it. */
export interface Caller {
  applicationId: string;
  /** Absent if the application itself is the caller. */
  accountId?: string;
}

/** The authenticated caller; `undefined` if the request is not authenticated (yet). */
export function callerOf(request: Request): Caller | undefined {
  return request.user as Caller | undefined;
}
