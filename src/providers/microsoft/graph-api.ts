import { z } from 'zod';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { BudgetPriority, BudgetShare } from '../../platform/budgets/budget-limit.ts';
import type { ProviderBudget } from '../../platform/budgets/provider-budget.ts';
import type { BudgetConfig } from '../../platform/config/sections/budget-config.ts';
import type { EgressClient, EgressResponse } from '../../platform/egress/egress-client.ts';
import type { ProviderAccount } from '../port/connector.ts';
import { pagesOf } from '../rest/pages.ts';
import { RestClient, type RestRequest } from '../rest/rest-client.ts';
import { GraphError, toGraphError } from './graph-error.ts';
import { missingPermission, permissionFor } from './graph-permissions.ts';
import { microsoftSettings } from './microsoft.settings.ts';

/** Address of Microsoft Graph in the worldwide cloud. */
export const GRAPH_ADDRESS = 'https://graph.microsoft.com';

/**
 * Ids that stay when an item is moved. Without it a move gives a message another id
 * (https://learn.microsoft.com/graph/outlook-immutable-id).
 */
const IMMUTABLE = 'IdType="ImmutableId"';

/** A request to Graph. */
export interface GraphRequest extends Omit<RestRequest, 'url'> {
  /** Begins with a slash, below the mailbox (`/me`). */
  path: string;
  /** True if `path` is below the version of the API instead, as links are. Default `false`. */
  root?: boolean;
  priority: BudgetPriority;
  /** Further preferences, besides immutable ids. */
  prefer?: readonly string[];
  /** Whether a message leaves: those have a limit of their own. */
  sends?: boolean;
  /** Whether `reserve` has taken the budget already. Default `false`. */
  reserved?: boolean;
}

const page = z.object({
  value: z.array(z.unknown()).default([]),
  '@odata.nextLink': z.string().optional(),
  '@odata.deltaLink': z.string().optional(),
});

/** A page of a list, each entry once. Its links are paths for the next request, with `root`. */
export interface GraphPage {
  value: unknown[];
  next: string | null;
  delta: string | null;
}

/** Codes that say that there is no such mailbox. */
const NO_MAILBOX: readonly string[] = [
  'ErrorInvalidUser',
  'Request_ResourceNotFound',
  'ResourceNotFound',
];
/** Parts that every mailbox has. If Graph does not find one, it will find it again (ADR 0124). */
const ALWAYS_THERE =
  /^\/(?:sendMail|calendar|calendars|messages|contacts|contactFolders|mailFolders|mailFolders\/(?:delta|(?:inbox|drafts|sentitems)(?:\/messages)?))$/;

/** Name of Graph in the counts of use. */
const API = 'microsoft-graph';

/** Pause in seconds if Graph refuses a request as too fast and names no pause itself. */
const USUAL_PAUSE = 10;

/** Calls Microsoft Graph for an account, within the quota. */
export class GraphApi {
  readonly #rest: RestClient;
  readonly #base: string;

  constructor(
    egress: EgressClient,
    clock: Clock,
    private readonly budget: ProviderBudget,
    private readonly limits: BudgetConfig['graph'],
    address: string = GRAPH_ADDRESS,
  ) {
    this.#rest = new RestClient(egress, clock, { service: 'Microsoft', toError: toGraphError });
    this.#base = `${address}/v1.0`;
  }

  /**
   * Makes a request when the quota allows it, at most four for one mailbox at the same time. A
   * request that Graph refuses with a passing error (`GraphError.isPassing`) is made once more,
   * unless it sends a message: the outbox tries that again.
   * @throws {BudgetExhaustedError} if the quota or the ceiling of the application is used up; Graph
   *   was not asked
   * @throws {GraphError} for an unsuccessful response
   */
  async send(account: ProviderAccount, request: GraphRequest): Promise<EgressResponse> {
    try {
      return await this.#sendOnce(account, request);
    } catch (error) {
      const isPassing = error instanceof GraphError && error.isPassing;
      if (!isPassing || request.sends) throw error;
      return this.#sendOnce(account, request);
    }
  }

  async #sendOnce(account: ProviderAccount, request: GraphRequest): Promise<EgressResponse> {
    const { path, root, priority, prefer = [], sends = false, reserved, ...rest } = request;
    if (account.accessToken === undefined)
      throw new ProviderError('temporary', 'There is no access token for this account');
    const { accessToken } = account;
    const shares = this.#shares(account, sends);
    const headers = { prefer: [IMMUTABLE, ...prefer].join(', '), ...rest.headers };
    const url = this.#base + (root ? path : mailboxPath(account) + path);
    const work = async () => {
      if (!reserved) await this.#take(account, shares, priority, request.signal);
      this.budget.use.count(account.applicationId, API, 1);
      return this.#rest.send(accessToken, { ...rest, headers, url });
    };
    try {
      const { concurrent } = this.limits;
      return await this.budget.withSlot(keyOf(account), concurrent, priority, work, request.signal);
    } catch (error) {
      await this.#slowDown(shares, sends, error);
      if (!root && ALWAYS_THERE.test(path) && isMissingPart(error)) throw error.asPassing();
      if (!(error instanceof GraphError) || !error.isWithoutConsent) throw error;
      throw error.with(missingPermission(account, permissionFor(request)));
    }
  }

  /**
   * Makes a request and returns the fields of its JSON that `shape` names.
   * @throws as `send`; `temporary` if the response has another form
   */
  async read<T>(account: ProviderAccount, request: GraphRequest, shape: z.ZodType<T>): Promise<T> {
    const { body } = await this.send(account, request);
    return this.#rest.parse(body, shape);
  }

  /** Reads a page of a list. */
  async page(account: ProviderAccount, request: GraphRequest): Promise<GraphPage> {
    const found = await this.read(account, request, page);
    const { '@odata.nextLink': next, '@odata.deltaLink': delta } = found;
    return {
      value: withoutRepeats(found.value),
      next: next === undefined ? null : this.linkPath(next),
      delta: delta === undefined ? null : this.linkPath(delta),
    };
  }

  /** Reads all pages of a list, each entry once. Entries of another form are left out. */
  async all<T>(account: ProviderAccount, request: GraphRequest, shape: z.ZodType<T>): Promise<T[]> {
    const found: T[] = [];
    const { query: _first, ...rest } = request;
    const pages = pagesOf(
      'Microsoft',
      (path) => this.page(account, path === undefined ? request : { ...rest, path, root: true }),
      ({ next }) => next,
    );
    for await (const { value } of pages) {
      for (const one of value) {
        const { success, data } = shape.safeParse(one);
        if (success) found.push(data);
      }
    }
    return withoutRepeats(found);
  }

  /**
   * The path of a link. It is stored in cursors, and requested with the user's token.
   * @throws {ProviderError} `temporary` if the link leads to another server
   */
  linkPath(link: string): string {
    if (!link.startsWith(`${this.#base}/`))
      throw new ProviderError('temporary', 'Microsoft: a link leads to another server');
    return link.slice(this.#base.length);
  }

  /**
   * Asks an upload session, whose address is secret and refuses tokens.
   * @throws {ProviderError}
   */
  async uploadSession(request: RestRequest): Promise<EgressResponse> {
    return this.#rest.send(undefined, { deadlineMs: 120_000, ...request });
  }

  /**
   * Takes the budget of a message that leaves. Its request is then made with `reserved`.
   * @throws {BudgetExhaustedError} if the quota is used up
   */
  async reserve(account: ProviderAccount, signal?: AbortSignal): Promise<void> {
    await this.#take(account, this.#shares(account, true), 'send', signal);
  }

  async #take(
    { applicationId }: ProviderAccount,
    shares: readonly BudgetShare[],
    priority: BudgetPriority,
    signal?: AbortSignal,
  ): Promise<void> {
    await this.budget.use.assertBelowCeiling(applicationId, API, priority);
    await this.budget.take(shares, priority, signal);
  }

  #shares(account: ProviderAccount, sends: boolean): BudgetShare[] {
    const key = keyOf(account);
    const { account: mailbox, application, messages } = this.limits;
    return [
      { key, limit: mailbox, cost: 1 },
      { key: `graph:${account.applicationId}`, limit: application, cost: 1 },
      ...(sends ? [{ key: `${key}:messages`, limit: messages, cost: 1 }] : []),
    ];
  }

  /** A refused message says nothing about requests that do not send one. */
  async #slowDown(shares: readonly BudgetShare[], sends: boolean, error: unknown): Promise<void> {
    const limited = sends ? shares.at(-1) : shares[0];
    const isTooFast = error instanceof GraphError && error.code === 'rate-limited';
    if (limited && isTooFast)
      await this.budget.penalize(limited, error.retryAfterSeconds ?? USUAL_PAUSE);
  }
}

/** Whether Graph does not find a part of a mailbox, and does not say that there is no mailbox. */
const isMissingPart = (error: unknown): error is GraphError =>
  error instanceof GraphError && error.isNotFound && !NO_MAILBOX.includes(error.reason);

const identified = z.object({ id: z.string() });

/** Lists may repeat an entry (microsoft-graph-docs#6785). The last one is the newest. */
function withoutRepeats<T>(entries: readonly T[]): T[] {
  const last = new Map<unknown, T>();
  for (const one of entries) {
    const key = identified.safeParse(one).data?.id ?? one;
    last.delete(key);
    last.set(key, one);
  }
  return [...last.values()];
}

const keyOf = ({ applicationId, email }: ProviderAccount): string =>
  `graph:${applicationId}:${email}`;

/**
 * The mailbox in paths: the signed-in user's own, or one that is named because the application acts
 * by itself, or because the mailbox is shared.
 */
export function mailboxPath({ email, settings }: ProviderAccount): string {
  const { app_only, shared_mailbox } = microsoftSettings.parse(settings);
  return app_only || shared_mailbox ? `/users/${encodeURIComponent(email)}` : '/me';
}
