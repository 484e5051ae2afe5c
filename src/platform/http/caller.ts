import type { Request } from 'express';

/** The sender of a request, as limits and logs need it. */
export interface Caller {
  applicationId: string;
  /** Absent if the application itself is the caller. */
  accountId?: string;
}

/** A request and who has sent it, once that is known. */
type AuthenticatedRequest = Request & { caller?: Caller };

/** Keeps who has sent a request, for `callerOf`. */
export function authenticated(request: Request, caller: Caller): void {
  (request as AuthenticatedRequest).caller = caller;
}

/** The authenticated caller; `undefined` if the request is not authenticated (yet). */
export function callerOf(request: Request): Caller | undefined {
  return (request as AuthenticatedRequest).caller;
}
