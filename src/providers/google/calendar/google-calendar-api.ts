import type { z } from 'zod';
import type { EgressResponse } from '../../../platform/egress/egress-client.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import type { GoogleApi, GoogleRequest } from '../google-api.ts';

/** Every method of the Calendar API counts as one request. */
export const CALENDAR_COST = { units: 1, priority: 'interactive' } as const;

/** A request to the Calendar API; `path` follows `/calendar/v3`. */
export type CalendarRequest = Omit<GoogleRequest, 'units' | 'priority'>;

/** Calls the Calendar API. */
export class CalendarApi {
  constructor(private readonly api: GoogleApi) {}

  /** See `GoogleApi.send`. */
  send(account: ProviderAccount, { path, ...request }: CalendarRequest): Promise<EgressResponse> {
    return this.api.send(account, { ...request, path: `/calendar/v3${path}`, ...CALENDAR_COST });
  }

  /** See `GoogleApi.read`. */
  read<T>(
    account: ProviderAccount,
    { path, ...request }: CalendarRequest,
    shape: z.ZodType<T>,
  ): Promise<T> {
    const whole = { ...request, path: `/calendar/v3${path}`, ...CALENDAR_COST };
    return this.api.read(account, whole, shape);
  }
}
