import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { backoff } from '../../platform/work/backoff.ts';
import { ConferencingAccess } from './conferencing-access.ts';
import { Meetings } from './meetings.ts';
import { type DueMeeting, MeetingsRepository } from './meetings.repository.ts';

const DAY_MS = 86_400_000;
/** Meetings at a time; each is a few requests. */
const BATCH = 20;
/** A worker that dies with a meeting in hand keeps it from others so long. */
const CLAIM_MS = 300_000;
const MOST_ATTEMPTS = 20;
const BACKOFF_MS = { first: 30_000, longest: 6 * 3_600_000 };
/** Single events that ended so long ago have no meeting any more that anybody could change. */
const PAST_DAYS = 30;

/**
 * Deletes meetings whose events are gone, and brings those up to date whose events were changed elsewhere: whatever ended or
 * changed them, and whoever was killed in between. Found in the tables: `run` takes what jobs have released, `reconcile`
 * finds the rest. A service that fails is asked again after 30 s, then after twice as long each time, 20 times.
 */
@Injectable()
export class MeetingUpkeep {
  readonly #log = new Logger('Conferencing');

  constructor(
    private readonly repository: MeetingsRepository,
    private readonly access: ConferencingAccess,
    private readonly meetings: Meetings,
    private readonly clock: Clock,
  ) {}

  /** Finds what has to be looked after. */
  async reconcile(): Promise<void> {
    const now = this.clock.now();
    await this.repository.reconcile(now, new Date(now.getTime() - PAST_DAYS * DAY_MS));
  }

  /** Looks after the meetings that are due: those of an application one after the other, so that none waits for another's service. */
  async run(): Promise<void> {
    const now = this.clock.now();
    const due = await this.repository.claim(now, new Date(now.getTime() + CLAIM_MS), BATCH);
    const groups = Map.groupBy(due, ({ applicationId }) => applicationId);
    await Promise.all(
      [...groups.values()].map(async (meetings) => {
        for (const meeting of meetings) await this.#lookAfter(meeting);
      }),
    );
  }

  async #lookAfter(meeting: DueMeeting): Promise<void> {
    try {
      if (meeting.released) await this.#delete(meeting);
      else await this.meetings.catchUp(meeting, meeting.eventId, meeting);
    } catch (error) {
      if (error instanceof ProviderError) return this.#postpone(meeting, error);
      // A bug, or the database: it must not keep the meetings behind it waiting.
      this.#log.error(error);
      const words = error instanceof Error ? error.message : String(error);
      await this.#postpone(meeting, new ProviderError('temporary', words, { cause: error }));
    }
  }

  async #delete({
    id,
    applicationId,
    provider,
    kind,
    remoteId,
    email,
    key,
  }: DueMeeting): Promise<void> {
    const service = await this.access.open(applicationId, provider);
    // Nobody has the credentials any more.
    if (service?.driver.kind === kind) {
      await this.access.ask(service, async (driver, settings) => {
        const found = remoteId ?? (await driver.find(settings, { email, key }))?.id;
        if (found !== undefined) await driver.delete(settings, found);
      });
    }
    await this.repository.forget(id);
  }

  async #postpone(
    { id, provider, attempts, released }: DueMeeting,
    error: ProviderError,
  ): Promise<void> {
    // Of one that is not there any more the next change of the event makes another.
    if (attempts >= MOST_ATTEMPTS || (error.code === 'not-found' && !released)) {
      this.#log.warn(`a meeting at ${provider} is left as it is: ${error.message}`);
      await (released ? this.repository.forget(id) : this.repository.giveUp(id));
      return;
    }
    const wait = Math.max(backoff(BACKOFF_MS, attempts), (error.retryAfterSeconds ?? 0) * 1000);
    await this.repository.postpone(id, new Date(this.clock.now().getTime() + wait));
  }
}
