import { Injectable } from '@nestjs/common';
import { ProviderAccounts } from '../../accounts/grants/provider-accounts.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { CalendarPort, ProviderAccount } from '../../providers/port/connector.ts';
import { ConnectorRegistry } from '../../providers/port/connector-registry.ts';
import { providerFailure } from '../../providers/port/provider-failure.ts';
import { withinLimit } from '../../providers/port/within-limit.ts';
import type { Span } from './spans.ts';

/** A request waits this long for the provider. */
const LIMIT_MS = 10_000;
/** Unknown people that an error names. */
const SHOWN = 10;

/** Reads the busy times of people without an account from the provider of the asking account. */
@Injectable()
export class RemoteBusy {
  constructor(
    private readonly connectors: ConnectorRegistry,
    private readonly accounts: ProviderAccounts,
  ) {}

  /**
   * Busy times in a range, by address. Uses no network if no addresses are given or if the provider
   * does not show other people's times.
   * @throws {InvalidInputError} naming the people who are unknown at the provider too
   * @throws {DomainError} if the provider fails or does not answer within 10 seconds
   */
  async read(
    account: AccountPrincipal,
    emails: readonly string[],
    range: Span,
  ): Promise<Map<string, readonly Span[]>> {
    if (emails.length === 0) return new Map();
    const { calendar: port } = this.connectors.require(account.provider);
    if (!port?.freeBusy) throw new UnknownPeopleError(emails.map((email) => ({ email })));
    const connected = await this.accounts.find(account.accountId);
    if (!connected) throw new UnknownPeopleError(emails.map((email) => ({ email })));
    return readRemoteBusy(port, connected, emails, range, LIMIT_MS).catch((error: unknown) => {
      throw error instanceof ProviderError
        ? providerFailure(error, 'read the busy times of people without an account')
        : error;
    });
  }
}

/** People who have no account, and whom the provider does not know either. */
export class UnknownPeopleError extends InvalidInputError {
  /** @param people each with the provider's reason, if it was asked */
  constructor(people: readonly { email: string; reason?: string }[]) {
    const shown = people
      .slice(0, SHOWN)
      .map(
        ({ email, reason }) => email.slice(0, 100) + (reason ? ` (${reason.slice(0, 200)})` : ''),
      );
    const more = people.length > SHOWN ? ` and ${people.length - SHOWN} more` : '';
    super(
      `emails: ${shown.join(', ')}${more}: no account of this application whose calendar may be read; ` +
        `give the times of other people in free_busy`,
    );
  }
}

/**
 * @throws {ProviderError} `temporary` also if the provider does not answer in time
 * @throws {UnknownPeopleError}
 */
export async function readRemoteBusy(
  port: Pick<CalendarPort, 'freeBusy'>,
  account: ProviderAccount,
  emails: readonly string[],
  range: Span,
  limitMs: number,
): Promise<Map<string, readonly Span[]>> {
  const answered = await withinLimit(
    limitMs,
    async (signal) => (await port.freeBusy?.(account, { ...range, emails, signal })) ?? [],
  );
  const byEmail = new Map(answered.map((one) => [one.email.toLowerCase(), one]));
  const busy = new Map<string, readonly Span[]>();
  const unknown: { email: string; reason?: string }[] = [];
  for (const email of emails) {
    const person = byEmail.get(email);
    if (person && 'busy' in person) busy.set(email, person.busy);
    else unknown.push({ email, ...(person ? { reason: person.unknown } : {}) });
  }
  if (unknown.length > 0) throw new UnknownPeopleError(unknown);
  return busy;
}
