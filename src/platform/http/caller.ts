import type { Request } from 'express';

/** Who a request comes from, as far as limits and logs need it. */
export interface Caller {
  applicationId: string;
  /** Absent: the application itself calls. */
  accountId?: string;
}

/** Who has authenticated this request; undefined: nobody has, or not yet. */
export function callerOf(request: Request): Caller | undefined {
  return request.user as Caller | undefined;
}
