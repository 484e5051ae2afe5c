import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProviderAccount } from '../../../src/providers/port/connector.ts';
import { fuzzSettings } from '../../hostile/support/fuzz-settings.ts';
import { createAccount, createApplication } from '../factories.ts';
import { PassingClock } from '../passing-clock.ts';
import { startTestApp, type TestApp } from '../test-app.ts';
import { AccountSteps } from './account-steps.ts';
import type { CollectionProvider } from './collection-provider.ts';
import { CollectionWalk } from './collection-walk.ts';
import { Dice } from './dice.ts';

const { seed, factor } = fuzzSettings();
const HOUR_MS = 3_601_000;
/** Random changes. */
const STEPS = 45 * factor;

/** An event as the API shows it. */
type Shown = Record<string, unknown> & { id: string; master_event_id: string };

/** What is compared of events and contacts: what does not belong to one account of Carillon. */
const EVENT_FIELDS = [
  'title',
  'description',
  'location',
  'when',
  'status',
  'recurrence',
  'original_start_time',
];
const CONTACT_FIELDS = ['given_name', 'surname', 'emails', 'notes'];

const only = (fields: readonly string[], one: Record<string, unknown>) =>
  JSON.stringify(fields.map((name) => [name, one[name] ?? null]));

/**
 * The mirror of calendars and contacts at a provider that another program changes. In the end, the
 * account must show what a second one shows that reads everything anew.
 */
export function describeCollections(
  name: string,
  start: (server: TestApp) => Promise<CollectionProvider>,
): void {
  describe(`the mirror of calendars and contacts at ${name}`, () => {
    const clock = new PassingClock();
    let server: TestApp;
    let provider: CollectionProvider;

    beforeAll(async () => {
      server = await startTestApp({ ROLES: 'api', SYNC_AUDIT_SECONDS: '0' }, { clock });
      provider = await start(server);
    });
    afterAll(async () => {
      await server.close();
      await provider.stop();
    });

    async function connect({ email, settings }: Pick<ProviderAccount, 'email' | 'settings'>) {
      const steps = new AccountSteps(server, clock);
      const application = await createApplication(server.app);
      const own = { sample_messages: false, ...settings };
      steps.account = await createAccount(server.app, application, {
        provider: provider.name,
        email,
        settings: own,
      });
      return steps;
    }
    /** Reads all changes, whenever the last pass was. */
    const pass = async (steps: AccountSteps) => {
      const due = `update sync_job set calendars_at = case when calendars_at is null then null else 'epoch'::timestamptz end,
        contacts_at = case when contacts_at is null then null else 'epoch'::timestamptz end where account_id = $1`;
      await steps.query(due, steps.account.id);
      await steps.pass();
    };
    async function shown(steps: AccountSteps) {
      const events: Shown[] = await steps.api('get', '/events?limit=500');
      const span = `starts_after=${CollectionWalk.FROM}&ends_before=${CollectionWalk.UNTIL}`;
      const expanded: Shown[] = await steps.api(
        'get',
        `/events?limit=500&expand_recurring=true&${span}`,
      );
      const contacts: Shown[] = await steps.api('get', '/contacts?limit=500');
      const titles = new Map(events.map(({ id, title }) => [id, title]));
      // Of a cancelled instance, the mirror keeps what it knew of it before.
      const eventOf = (one: Shown) =>
        one.status === 'cancelled'
          ? JSON.stringify(['cancelled', titles.get(one.master_event_id), one.original_start_time])
          : only(EVENT_FIELDS, one);
      // Cancelled instances are always listed, even those of a series that was deleted.
      const whole = events.filter(
        (one) => one.status !== 'cancelled' || titles.has(one.master_event_id),
      );
      const held = expanded.filter(({ status }) => status !== 'cancelled');
      return {
        events: whole.map(eventOf).toSorted(),
        expanded: held.map((one) => only(['title', 'when'], one)).toSorted(),
        contacts: contacts.map((one) => only(CONTACT_FIELDS, one)).toSorted(),
      };
    }

    it(
      `shows what another program and the API change at random (seed ${seed})`,
      async () => {
        const person = await provider.addPerson();
        const steps = await connect(person);
        const remote = {
          ...person,
          accountId: randomUUID(),
          applicationId: randomUUID(),
          name: '',
          organizationUnit: 'folder',
        } as ProviderAccount;
        await pass(steps);
        const walk = new CollectionWalk(steps, provider, remote, new Dice(seed), () => pass(steps));
        try {
          await walk.run(STEPS);
          await steps.write();
          await pass(steps);
          // What a list lacks is removed by an audit, an hour after it began: first of the
          // calendar, then of the address book.
          for (let hours = 0; hours < 3; hours += 1) {
            await clock.pass(HOUR_MS);
            await pass(steps);
          }
          const fresh = await connect(person);
          await pass(fresh);
          expect(await shown(steps)).toEqual(await shown(fresh));
        } catch (error) {
          console.error(walk.log.join('\n'));
          throw error;
        }
        const { events, contacts } = await shown(steps);
        expect(Math.min(events.length, contacts.length)).toBeGreaterThan(1);
      },
      180_000 * factor,
    );
  });
}
