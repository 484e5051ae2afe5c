import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { newId } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { Database, type Sql } from '../../platform/database/sql.ts';
import { recordChanges } from '../../platform/changes/change-log.ts';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import { openProviderWrite } from '../../accounts/provider-writes/provider-jobs.ts';
import type {
  ProviderWriteHandler,
  WriteOutcome,
} from '../../accounts/provider-writes/provider-writes.ts';
import type { MeetingContent, MeetingDetails } from '../../providers/port/conferencing-port.ts';
import type { CalendarPort, NativeMeeting } from '../../providers/port/connector.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { refusalOf } from '../../platform/quotas/quota.ts';
import { eventChange } from '../events/event-changes.ts';
import type { EventWriteHandler } from '../events/ports/event-meetings.ts';
import { showMeeting } from '../events/writes/event-conferencing.ts';
import { ConferencingAccess, type DecryptedService } from './conferencing-access.ts';
import { type EventState, MeetingsRepository, type StoredMeeting } from './meetings.repository.ts';
import { meetingContent, type MeetingStep, nextStep } from './wanted-meeting.ts';

type StepOutcome = Extract<WriteOutcome, { kind: 'continues' }>;
/** Meetings in the name of an address are created only for its proven owner (ADR 0056). */
const UNPROVEN = 'the address of this account is not proven to belong to its mailbox';

type Account = Pick<ConnectedAccount, 'accountId' | 'applicationId' | 'email'>;

/**
 * Creates, changes and releases meetings as steps of the provider writes of their events. Each step
 * is stored before the next begins. The event is written to its calendar first, so trouble with
 * meetings cannot keep it from the calendar.
 */
@Injectable()
export class Meetings {
  constructor(
    private readonly database: Database,
    private readonly repository: MeetingsRepository,
    private readonly access: ConferencingAccess,
    private readonly clock: Clock,
  ) {}

  /**
   * Wraps the write of an event and adds the step for its meeting. The application's own service is
   * preferred to the provider, which creates its meetings with the event.
   */
  writing(write: EventWriteHandler): ProviderWriteHandler {
    return async (port, account, job) => {
      const state = await this.repository.state(account.accountId, job.objectId);
      const step = state ? nextStep(state, state.meeting) : 'nothing';
      if (!state || step === 'nothing') return write(port, account, job, { isLast: true });
      const meeting = step === 'make' ? await this.#nativeMeeting(port, account, state) : null;
      if (meeting) return write(port, account, job, { isLast: true, meeting });
      if (state.atProvider) return this.#perform(account, state, step);
      const outcome = await write(port, account, job, { isLast: step === 'change' });
      return outcome.kind === 'written' ? { ...outcome, kind: 'continues' } : outcome;
    };
  }

  /** Wraps the deletion of an event and marks its meeting for deletion. */
  deleting(write: ProviderWriteHandler): ProviderWriteHandler {
    return async (port, account, job) => {
      const outcome = await write(port, account, job);
      if (outcome.kind !== 'written') return outcome;
      const store: typeof outcome.store = async (sql, at) => {
        await outcome.store?.(sql, at);
        await this.repository.release(sql, job.objectId, at);
      };
      return { kind: 'written', store };
    };
  }

  /**
   * Updates the meeting of an event that was changed at the provider, not through the API.
   * @throws {ProviderError}
   */
  async catchUp(account: Account, eventId: string, meeting: StoredMeeting): Promise<void> {
    const state = await this.repository.state(account.accountId, eventId);
    const current = state?.meeting?.id === meeting.id;
    if (!state || !current || nextStep(state, state.meeting) !== 'change') {
      await this.repository.settle(meeting.id, state?.version ?? 0);
      return;
    }
    const service = await this.#service(account, state);
    // Created at another service, whose credentials no longer exist.
    if (service.driver.kind !== meeting.kind)
      return this.repository.settle(meeting.id, state.version);
    const content = meetingContent(state);
    const details = await this.#update(service, meeting, content);
    const now = this.clock.now();
    const { accountId } = account;
    await this.database.transaction(async (sql) => {
      const made = { remoteId: meeting.remoteId ?? '', details, content };
      if (!(await this.#store(sql, account, state, meeting.id, made, now))) return;
      const job = {
        id: newId(),
        accountId,
        action: 'update_event',
        object: 'event',
        objectId: eventId,
      } as const;
      await openProviderWrite(sql, { ...job, at: now });
    });
  }

  async #perform(account: Account, state: EventState, step: MeetingStep): Promise<WriteOutcome> {
    const { meeting } = state;
    if (step === 'restore' && meeting?.remoteId && meeting.details) {
      const { id, remoteId, details, written } = meeting;
      return this.#continues(account, state, id, { remoteId, details, content: written });
    }
    const service = await this.#service(account, state);
    if (step === 'make' || !meeting?.remoteId || meeting.kind !== service.driver.kind)
      return this.#make(account, state, service);
    const content = meetingContent(state);
    try {
      const details = await this.#update(service, meeting, content);
      const outcome = this.#continues(account, state, meeting.id, {
        remoteId: meeting.remoteId,
        details,
        content,
      });
      // The event shows the same details as before, so it need not be written again.
      return isDeepStrictEqual(details, meeting.details)
        ? { ...outcome, kind: 'written' }
        : outcome;
    } catch (error) {
      // The meeting was deleted at the service, but the event still wants one: create a new
      // meeting.
      if (!(error instanceof ProviderError) || error.code !== 'not-found') throw error;
      await this.repository.forget(meeting.id);
      return this.#make(account, state, service);
    }
  }

  async #make(
    account: Account,
    state: EventState,
    service: DecryptedService,
  ): Promise<WriteOutcome> {
    const { email } = account;
    const { provider, driver } = service;
    if (
      driver.actsAsAddress?.(service.settings) &&
      !(await this.repository.isProven(account.accountId))
    )
      throw new ProviderError('rejected', `the meeting was not made: ${UNPROVEN}`);
    const of = { provider, kind: driver.kind };
    const start = await this.repository.begin(account, state.eventId, of, this.clock.now());
    if (start.kind === 'refused')
      throw new ProviderError('rejected', `the meeting was not made: ${refusalOf(start.by)}`);
    const { id, key, askedBefore } = start;
    const content = meetingContent(state);
    const found = askedBefore
      ? await this.access.ask(service, (driver, settings) => driver.find(settings, { email, key }))
      : null;
    const made =
      found ??
      (await this.access
        .ask(service, (driver, settings) => driver.create(settings, { email, key }, content))
        .catch(neverNotFound));
    const meeting = { remoteId: made.id, details: made.details, content: found ? null : content };
    return this.#continues(account, state, id, meeting);
  }

  async #update(
    service: DecryptedService,
    meeting: StoredMeeting,
    content: MeetingContent,
  ): Promise<MeetingDetails> {
    const { remoteId, details } = meeting;
    if (remoteId === null || details === null)
      throw new Error('a meeting without a remote id cannot be updated');
    const changed = await this.access.ask(service, (driver, settings) =>
      driver.update(settings, remoteId, content),
    );
    return changed ?? details;
  }

  /** The meeting to create with the event; `null` if the provider creates no such meetings. */
  async #nativeMeeting(
    { conferencing = [] }: CalendarPort,
    { applicationId }: Account,
    { eventId: key, autocreate }: EventState,
  ): Promise<NativeMeeting | null> {
    const provider = conferencing.find((name) => name === autocreate.provider);
    if (!provider || (await this.access.has(applicationId, provider))) return null;
    return { provider, key };
  }

  /** @throws {ProviderError} `rejected` if the application no longer has the service */
  async #service(
    { applicationId }: Account,
    { autocreate }: EventState,
  ): Promise<DecryptedService> {
    const service = await this.access.open(applicationId, autocreate.provider);
    if (service) return service;
    throw new ProviderError(
      'rejected',
      `No conferencing service is set up for ${autocreate.provider}`,
    );
  }

  /** Stores the meeting. The event is then written again, because it now shows the meeting. */
  #continues(account: Account, state: EventState, id: string, meeting: MadeMeeting): StepOutcome {
    return {
      kind: 'continues',
      store: async (sql, at) => {
        await this.#store(sql, account, state, id, meeting, at);
      },
    };
  }

  /** @returns `true` if the details shown in the event have changed */
  async #store(
    sql: Sql,
    { accountId, applicationId }: Account,
    state: EventState,
    id: string,
    { remoteId, details, content }: MadeMeeting,
    at: Date,
  ): Promise<boolean> {
    const conferencing = { provider: state.autocreate.provider, details };
    const shown = await showMeeting(sql, accountId, state, conferencing, at);
    const version = shown ? state.version + 1 : state.version;
    await this.repository.storeMeeting(sql, id, { remoteId, details }, content, version, at);
    if (!shown) return false;
    const owner = { accountId, applicationId, at };
    const dedupe = `meeting:${id}:${newId()}`;
    await recordChanges(sql, [
      eventChange(owner, { id: state.eventId, ...shown }, 'updated', dedupe),
    ]);
    return true;
  }
}

/**
 * A meeting as the service has it; `content` is `null` if its content at the service is unknown.
 */
interface MadeMeeting {
  remoteId: string;
  details: MeetingDetails;
  content: MeetingContent | null;
}

/**
 * A "not found" while creating a meeting becomes `rejected`: a retry would not help, and the event
 * itself is not missing.
 */
function neverNotFound(error: unknown): never {
  if (error instanceof ProviderError && error.code === 'not-found')
    throw new ProviderError('rejected', error.message, { cause: error });
  throw error;
}
