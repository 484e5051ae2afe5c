import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../platform/base/time/clock.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { backoff } from '../../platform/work/queue/backoff.ts';
import { ConferencingAccess } from './conferencing-access.ts';
import { Meetings } from './meetings.ts';
import { type DueMeeting, MeetingsRepository } from './meetings.repository.ts';

const DAY_MS = 86_400_000;
/** Meetings claimed at a time; each needs a few requests. */
const BATCH = 20;
/** How long a claim lasts. If a worker dies, its meetings wait this long. */
const CLAIM_MS = 300_000;
const MOST_ATTEMPTS = 20;
const BACKOFF_MS = { first: 30_000, longest: 6 * 3_600_000 };
/** A meeting of a single event is forgotten this long after the event ended. */
const PAST_DAYS = 30;

/**
 * Deletes meetings whose events were deleted, and updates meetings whose events were changed at the
 * provider. Works from the tables alone, so nothing is lost if a worker dies: `run` handles the
 * meetings that are due, and `reconcile` finds the others. A failed request is retried after 30 s,
 * doubling up to 6 hours, at most 20 times.
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

  /** Finds meetings that must be deleted or updated, and marks them as due. */
  async reconcile(): Promise<void> {
    const now = this.clock.now();
    await this.repository.reconcile(now, new Date(now.getTime() - PAST_DAYS * DAY_MS));
  }

  /**
   * Processes the meetings that are due. Meetings of one application are processed one after
   * another, different applications in parallel, so that a slow service delays only its own
   * application.
   */
  async run(): Promise<void> {
    const now = this.clock.now();
    const due = await this.repository.claim(now, new Date(now.getTime() + CLAIM_MS), BATCH);
    const groups = Map.groupBy(due, ({ applicationId }) => applicationId);
    await Promise.all(
      [...groups.values()].map(async (meetings) => {
        for (const meeting of meetings) await this.#process(meeting);
      }),
    );
  }

  async #process(meeting: DueMeeting): Promise<void> {
    try {
      if (meeting.released) await this.#delete(meeting);
      else await this.meetings.catchUp(meeting, meeting.eventId, meeting);
    } catch (error) {
      if (error instanceof ProviderError) return this.#postpone(meeting, error);
      // A bug or a database error must not block the meetings behind this one.
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
    // If the service was removed or replaced, its credentials no longer exist, so the meeting
    // cannot be deleted there.
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
    // If the meeting was deleted at the service, the next change of the event creates a new one.
    if (attempts >= MOST_ATTEMPTS || (error.code === 'not-found' && !released)) {
      this.#log.warn(
        `a meeting at ${provider} stays as it is and will not be retried: ${error.message}`,
      );
      await (released ? this.repository.forget(id) : this.repository.giveUp(id));
      return;
    }
    const wait = Math.max(backoff(BACKOFF_MS, attempts), (error.retryAfterSeconds ?? 0) * 1000);
    await this.repository.postpone(id, new Date(this.clock.now().getTime() + wait));
  }
}
