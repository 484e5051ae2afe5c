import type { GoogleCall, GoogleMethod } from '../call.ts';
import { GoogleError } from '../errors.ts';
import type { AccessRole, StubCalendar } from './stub-calendar.ts';

/** A method of Calendar. Every call is one unit. */
export function calendarMethod(
  needs: readonly string[],
  handle: GoogleMethod['handle'],
): GoogleMethod {
  return { service: 'calendar', units: 1, needs, handle };
}

/** 404 in the words of Calendar. */
export function missing(): GoogleError {
  return new GoogleError(404, 'notFound', 'Not Found');
}

/** Roles, weakest first. */
export const RANK: Record<AccessRole, number> = {
  freeBusyReader: 0,
  reader: 1,
  writer: 2,
  owner: 3,
};

/** The calendar that a call names, if the person's role in it suffices. */
export function calendarOf(
  { world, user, params }: GoogleCall,
  role: AccessRole,
  id: string = params['calendarId'] ?? '',
): StubCalendar {
  const calendar = world.calendars.all.get(id === 'primary' ? user.email : id);
  const own = calendar?.access.get(user.email);
  if (!calendar || own === undefined) throw missing();
  if (RANK[own] < RANK[role])
    throw new GoogleError(
      403,
      'requiredAccessLevel',
      `You need to have ${role} access to this calendar.`,
      { entry: { domain: 'calendar' } },
    );
  return calendar;
}

/** Version that a sync token names. Throws what Google answers for others. */
export function versionOf(token: string, oldest: number): number {
  const [, version] = /^sync_(\d+)$/.exec(token) ?? [];
  if (version === undefined)
    throw new GoogleError(400, 'invalid', 'Invalid sync token value.', {
      entry: { location: 'syncToken', locationType: 'parameter' },
    });
  if (Number(version) >= oldest) return Number(version);
  throw new GoogleError(
    410,
    'fullSyncRequired',
    'Sync token is no longer valid, a full sync is required.',
    { entry: { domain: 'calendar', location: 'syncToken', locationType: 'parameter' } },
  );
}

/** Throws 412 if a request is meant for another version of an object. */
export function checkIfMatch({ request }: GoogleCall, etag: string): void {
  const wanted = request.headers['if-match'];
  if (wanted === undefined || wanted === '*' || wanted === etag) return;
  throw new GoogleError(412, 'conditionNotMet', 'Precondition Failed', {
    entry: { location: 'If-Match', locationType: 'header' },
  });
}
