import { z } from 'zod';
import type { EgressResponse } from '../../../platform/egress/egress-client.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import { provenGone } from '../../rest/gone.ts';
import type { GoogleApi, GoogleRequest } from '../google-api.ts';
import { GoogleError } from '../google-error.ts';

/** Every method of the Calendar API counts as one request. */
export const CALENDAR_COST = { units: 1, priority: 'interactive' } as const;

const object = z.object({ status: z.string().optional() });

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

  /**
   * Waits for a request about an event or a calendar. See `provenGone`. Google says 410 of what was
   * deleted, and shows deleted events as cancelled.
   * @param path of the object
   */
  unlessPassing<T>(account: ProviderAccount, path: string, work: Promise<T>): Promise<T> {
    const read = (one: string) => this.read(account, { method: 'GET', path: one }, object);
    return provenGone(work, {
      object: async () => {
        const found = await read(path);
        return found.status === 'cancelled' ? null : found;
      },
      anchor: () => read('/calendars/primary'),
      isProof: (error) => error instanceof GoogleError && error.status === 410,
    });
  }
}
