import { Injectable, Logger } from '@nestjs/common';
import type { ConnectedAccount } from '../../accounts/grants/provider-accounts.ts';
import { type PushCoverage, PushWants } from '../../accounts/push/push-wants.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { BudgetExhaustedError } from '../../platform/budgets/budget-exhausted-error.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import type { CalendarPort, Connector, ContactsPort } from '../../providers/port/connector.ts';
import type { BudgetWait } from '../budget-wait.ts';
import { type CalendarPassResult, CalendarSync } from './calendar-sync.ts';
import { type ContactPassResult, ContactSync } from './contact-sync.ts';
import type { MirrorClaim, MirrorState } from '../mirror.repository.ts';
import type { PassTimes } from '../pass-schedule.ts';

const NOTHING_COVERED: PushCoverage = { mail: false, calendars: false, contacts: false };

/** What a pass has found so far, for the settlement of its row. */
export interface PassNotes {
  changed: boolean;
  times: PassTimes;
}

/** Reads the calendars and the address book of an account within a sync pass. */
@Injectable()
export class CollectionPasses {
  readonly #log = new Logger(CollectionPasses.name);

  constructor(
    private readonly connectors: ConnectorRegistry,
    private readonly calendars: CalendarSync,
    private readonly contacts: ContactSync,
    private readonly push: PushWants,
  ) {}

  /**
   * Reads calendars and contacts. They follow the mailbox, because users wait for new mail. A
   * history that waits for its budget must not keep them waiting.
   * @returns `more`: contacts can be fetched at once; `watched` as `#isWatched` returns it
   */
  async run(
    account: ConnectedAccount,
    { mail, calendar, contacts }: Pick<Connector, 'mail' | 'calendar' | 'contacts'>,
    claim: MirrorClaim,
    state: MirrorState,
    [goOn, budget, notes]: readonly [() => boolean, BudgetWait, PassNotes],
  ): Promise<{ watched: boolean; more: boolean }> {
    const hasMailbox = mail !== undefined;
    const calendars =
      calendar &&
      (await budget.within(this.#calendars(account, calendar, claim, state, hasMailbox)));
    const book =
      contacts &&
      (await budget.within(this.#contacts(account, contacts, claim, state, [goOn, hasMailbox])));
    notes.changed ||= calendars?.changed === true || book?.changed === true;
    if (calendars?.time) notes.times.calendars = calendars.time;
    if (book?.time) notes.times.contacts = book.time;
    const watched = await this.#isWatched(account, state, {
      // Calendars whose pass waits for the budget are not all known.
      calendars: calendars?.calendars ?? (calendar ? null : []),
      hasMailbox,
      hasBook: book?.hasBook ?? false,
    });
    return { watched, more: book?.more ?? false };
  }

  /**
   * Whether the provider reports every change of the account, so that it can be polled less often.
   * A watch covers the mailbox only; subscriptions may cover everything. Also keeps the account's
   * subscriptions in line with its calendars.
   */
  async #isWatched(
    account: ConnectedAccount,
    { watched }: Pick<MirrorState, 'watched'>,
    has: { calendars: readonly string[] | null; hasMailbox: boolean; hasBook: boolean },
  ): Promise<boolean> {
    const { push } = this.connectors.require(account.provider);
    const covered: PushCoverage =
      push && has.calendars
        ? await this.push.settle(account, push, has.calendars)
        : NOTHING_COVERED;
    return (
      (has.hasMailbox ? watched || covered.mail : covered.calendars) &&
      (covered.calendars || has.calendars?.length === 0) &&
      (covered.contacts || !has.hasBook)
    );
  }

  /**
   * Reads the calendars. Returns `null` after an error, because they may not all be known.
   *
   * Calendar errors must not slow down the mailbox: they are logged, and the mailbox keeps its poll
   * interval. A refused calendar password does not invalidate credentials that the mail server
   * accepts.
   */
  async #calendars(
    account: ConnectedAccount,
    calendar: CalendarPort,
    claim: MirrorClaim,
    state: MirrorState,
    hasMailbox: boolean,
  ): Promise<CalendarPassResult | null> {
    try {
      return await this.calendars.run(account, calendar, claim, state);
    } catch (error) {
      if (!(error instanceof ProviderError) || !hasMailbox) throw error;
      if (error instanceof BudgetExhaustedError) throw error;
      this.#log.warn(
        `account ${account.accountId}: calendar sync failed and will be retried: ${error.message}`,
      );
      return null;
    }
  }

  /**
   * Handles contact errors as `#calendars` handles calendar errors. `unsupported` means that the
   * account has no address book that may be read.
   */
  async #contacts(
    account: ConnectedAccount,
    contacts: ContactsPort,
    claim: MirrorClaim,
    state: MirrorState,
    [goOn, hasMailbox]: readonly [goOn: () => boolean, hasMailbox: boolean],
  ): Promise<ContactPassResult> {
    try {
      return await this.contacts.run(account, contacts, claim, state, goOn);
    } catch (error) {
      if (error instanceof ProviderError && error.code === 'unsupported')
        return { hasBook: false, more: false };
      if (!(error instanceof ProviderError) || !hasMailbox) throw error;
      if (error instanceof BudgetExhaustedError) throw error;
      this.#log.warn(
        `account ${account.accountId}: contact sync failed and will be retried: ${error.message}`,
      );
      return { hasBook: true, more: false };
    }
  }
}
