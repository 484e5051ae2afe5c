import { setTimeout as delay } from 'node:timers/promises';
import { ProviderError } from '../../../platform/base/errors/provider-error.ts';
import type { Clock } from '../../../platform/base/time/clock.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import { senderRefused } from '../../rest/sender-refused.ts';
import type { GraphOutgoing } from './graph-outgoing.ts';

/** Milliseconds for which a replaced address is refused: the setting may be changed. */
const REFUSED_MS = 86_400_000;
/** Replaced addresses that are kept in memory. */
const MOST_KEPT = 10_000;
/** Waits before the copy is looked at: Exchange files it within seconds as a rule. Milliseconds. */
const WAITS_MS = [0, 1_000, 2_000] as const;
const SETTING =
  'Exchange replaces aliases by the address of the mailbox until an administrator allows them: Set-OrganizationConfig -SendFromAliasEnabled $true.';

/** A message that Exchange has accepted. */
interface Accepted {
  from: string;
  messageIdHeader: string;
  /** Its id, if that is known. */
  providerId: string | null;
}

/**
 * Addresses in From that Exchange replaces without a word: aliases of the mailbox, unless the
 * organization allows them. Only the copy in Sent Items shows it (ADR 0124).
 */
export class GraphSenders {
  readonly #replaced = new Map<string, { by: string; untilMs: number }>();

  constructor(
    private readonly outgoing: GraphOutgoing,
    private readonly clock: Clock,
  ) {}

  /** @throws {ProviderError} `rejected` if Exchange has replaced the address within a day */
  assertKept(account: ProviderAccount, from: string): void {
    const known = this.#replaced.get(keyOf(account, from));
    if (!known || known.untilMs <= this.clock.now().getTime()) return;
    throw senderRefused(from, `Microsoft would send the message from ${known.by}. ${SETTING}`);
  }

  /**
   * What to say about a message from another address than the mailbox's: whether Exchange has
   * replaced it. Looks for the copy for up to three seconds.
   * @returns `null` if the address was kept, or the copy is not there yet
   */
  async warningAbout(account: ProviderAccount, accepted: Accepted): Promise<string | null> {
    const { from } = accepted;
    const shown = await this.#shown(account, accepted);
    if (shown === null || shown === from.toLowerCase()) return null;
    if (this.#replaced.size >= MOST_KEPT) this.#replaced.clear();
    const untilMs = this.clock.now().getTime() + REFUSED_MS;
    this.#replaced.set(keyOf(account, from), { by: shown, untilMs });
    return `but it was sent from ${shown} instead of ${from}. ${SETTING}`;
  }

  /** The message has left: a failure here says nothing about it. */
  async #shown(account: ProviderAccount, accepted: Accepted): Promise<string | null> {
    try {
      for (const ms of WAITS_MS) {
        if (ms > 0) await delay(ms);
        const from = await this.#fromOf(account, accepted);
        if (from !== null) return from;
      }
      return null;
    } catch (error) {
      if (error instanceof ProviderError) return null;
      throw error;
    }
  }

  async #fromOf(account: ProviderAccount, { providerId, messageIdHeader }: Accepted) {
    if (providerId !== null) return this.outgoing.fromOf(account, providerId);
    const [copy] = await this.outgoing.findSent(account, messageIdHeader);
    return copy ? this.outgoing.fromOf(account, copy.providerId) : null;
  }
}

const keyOf = ({ applicationId, email }: ProviderAccount, from: string): string =>
  `${applicationId}:${email}:${from.toLowerCase()}`;
