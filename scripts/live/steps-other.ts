import { field, items, text } from '../lib/api-client.ts';
import { StepFailure } from '../lib/report.ts';
import type { Walk } from './walk.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
const SYNC_SECONDS = 60;
const WATCH_SECONDS = 60;
const TITLE = 'Carillon live check (can be deleted)';

const writable = (calendar: unknown): boolean => field(calendar, 'read_only') === false;

/** The primary calendar, or another one that can be changed. */
async function ownCalendar(walk: Walk): Promise<string> {
  const found = await walk.until(SYNC_SECONDS, async () => {
    const own = items(await walk.expect('GET', '/calendars')).filter(writable);
    return own.find((one) => field(one, 'is_primary') === true) ?? own[0];
  });
  if (found === undefined) throw new StepFailure('the account has no calendar that can be changed');
  return text(found, 'id');
}

const overlaps = (start: number) => (slot: unknown) =>
  Number(field(slot, 'start_time')) < start + HOUR && Number(field(slot, 'end_time')) > start;

async function isBusy(walk: Walk, start: number): Promise<boolean> {
  const answer = await walk.expect('POST', '/calendars/free-busy', {
    start_time: start - HOUR,
    end_time: start + 2 * HOUR,
    emails: [walk.account.email],
  });
  return items(answer).some((one) => items(field(one, 'time_slots')).some(overlaps(start)));
}

async function event(walk: Walk): Promise<void> {
  const calendar = await ownCalendar(walk);
  const start = (Math.floor(Date.now() / 1000 / DAY) + 7) * DAY + 3 * HOUR;
  const later = start + DAY;
  const made = await walk.expect('POST', '/events?notify_participants=false', {
    calendar_id: calendar,
    title: TITLE,
    busy: true,
    when: { start_time: start, end_time: start + HOUR },
  });
  const path = `/events/${text(made, 'id')}`;
  const remove = walk.made(`the event "${TITLE}"`, async () =>
    walk.job(
      await walk.expect('DELETE', `${path}?notify_participants=false`),
      'the event is deleted',
    ),
  );
  await walk.job(made, 'an event is created');
  const moved = await walk.expect('PUT', `${path}?notify_participants=false`, {
    when: { start_time: later, end_time: later + HOUR },
  });
  await walk.job(moved, 'the event is moved');
  const busy = await walk.until(SYNC_SECONDS, async () =>
    (await isBusy(walk, later)) ? true : undefined,
  );
  walk.report.verify('free/busy reports the new time as busy', busy === true);
  await remove();
}

async function contact(walk: Walk): Promise<void> {
  const made = await walk.expect('POST', '/contacts', {
    given_name: 'Carillon',
    surname: 'Live check (can be deleted)',
    emails: [{ type: 'work', email: 'live-check@example.com' }],
  });
  const remove = walk.made('the contact "Carillon Live check"', async () =>
    walk.job(
      await walk.expect('DELETE', `/contacts/${text(made, 'id')}`),
      'the contact is deleted',
    ),
  );
  await walk.job(made, 'a contact is created');
  await remove();
}

/** The subscriptions at the provider, as the operator sees them. */
async function push(walk: Walk): Promise<void> {
  const { server, settings, report } = walk;
  const active = await walk.until(WATCH_SECONDS, async () => {
    const watches = items(
      field(JSON.parse(await server.operator(['--json', 'watches'])), 'watches'),
    );
    const failure = watches.map((one) => field(one, 'error')).find(Boolean);
    if (failure) throw new StepFailure(`the subscription is refused: ${String(failure)}`);
    const here = watches.filter((one) => field(one, 'state') === 'live');
    return here.length > 0 ? here : undefined;
  });
  report.verify(
    `${settings.provider.title} reports changes (subscriptions: ${active?.length ?? 0})`,
    active !== undefined,
    'no subscription became active within a minute',
  );
}

/** Whether the provider is to report changes in this run. */
const wantsPush = ({ settings }: Walk): boolean =>
  settings.server['PUSH_URL'] !== undefined ||
  Object.keys(settings.integration).some((name) => /pubsub|push/.test(name));

async function refresh(walk: Walk): Promise<void> {
  const { server, account, report } = walk;
  const result: unknown = JSON.parse(
    await server.operator(['--json', 'account', 'refresh-token', account.id]),
  );
  report.verify(
    `a new access token, until ${String(field(result, 'expires_at'))}`,
    field(result, 'account_id') === account.id,
    result,
  );
  await walk.expect('GET', '/account');
}

/** Calendar, contacts, notifications and the token. */
export async function checkOthers(walk: Walk): Promise<void> {
  await walk.step('An event and free/busy', ['calendar'], () => event(walk));
  await walk.step('A contact', ['contacts'], () => contact(walk));
  if (walk.settings.provider.password) return;
  await walk.step('The token is refreshed', [], () => refresh(walk));
  await walk.step('Notifications', [], async () => {
    if (wantsPush(walk)) await push(walk);
    else walk.skip('notifications', 'not configured (PUSH_URL, or LIVE_SETTINGS with Pub/Sub)');
  });
}
