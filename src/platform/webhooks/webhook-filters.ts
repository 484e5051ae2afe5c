import { InvalidInputError } from '../base/errors/domain-error.ts';
import type { Sql } from '../database/sql.ts';
import { type Trigger, TRIGGERS } from './webhook-state.ts';

/**
 * Which events of its triggers a webhook wants. Every filter that is set must match; `null`: any
 * value matches. Lists have no duplicates.
 */
export interface WebhookFilters {
  /** Ids of accounts. */
  accounts: string[] | null;
  /** Ids of folders or labels: an object that is, or was before the change, in one of them. */
  folders: string[] | null;
  /** Domains of senders, in lower case and ASCII. */
  fromDomains: string[] | null;
}

export const NO_FILTERS: WebhookFilters = { accounts: null, folders: null, fromDomains: null };

const OF_MESSAGES = ['message.created', 'message.updated', 'message.deleted'] as const;
const OF_FOLDERS = ['folder', 'label'].flatMap((kind) =>
  (['created', 'updated', 'deleted'] as const).map((verb) => `${kind}.${verb}` as Trigger),
);

/** The triggers with which each filter can be used; accounts: all but those of webhooks. */
export const FILTERED_TRIGGERS = {
  accounts: TRIGGERS.filter((trigger) => !trigger.startsWith('webhook.')),
  folders: [...OF_MESSAGES, ...OF_FOLDERS],
  fromDomains: OF_MESSAGES,
} as const satisfies Partial<Record<keyof WebhookFilters, readonly Trigger[]>>;

const FIELDS = {
  accounts: 'filters.accounts',
  folders: 'filters.folders',
  fromDomains: 'filters.from_domains',
} as const satisfies Record<keyof WebhookFilters, string>;

/**
 * Refuses a filter together with a trigger whose events do not have what the filter compares. Such
 * events would silently never come.
 * @throws {InvalidInputError}
 */
export function assertFilterable(filters: WebhookFilters, triggers: readonly Trigger[]): void {
  for (const key of ['accounts', 'folders', 'fromDomains'] as const) {
    if (filters[key] === null) continue;
    const known: readonly Trigger[] = FILTERED_TRIGGERS[key];
    const other = triggers.find((trigger) => !known.includes(trigger));
    if (other !== undefined)
      throw new InvalidInputError(
        `${FIELDS[key]}: cannot be used with the trigger ${other}${key === 'accounts' ? '' : `, only with ${known.join(', ')}`}; create another webhook for ${other}`,
      );
  }
}

const OWN_ACCOUNTS = `
  select id from "grant" where application_id = $1 and id = any($2::uuid[])`;

/**
 * Refuses accounts that the application does not have.
 * @throws {InvalidInputError} names the first of them
 */
export async function assertOwnAccounts(
  sql: Sql,
  applicationId: string,
  { accounts }: WebhookFilters,
): Promise<void> {
  if (accounts === null) return;
  const rows = await sql.query<{ id: string }>(OWN_ACCOUNTS, [applicationId, accounts]);
  const own = new Set(rows.map(({ id }) => id));
  const other = accounts.findIndex((id) => !own.has(id));
  if (other >= 0)
    throw new InvalidInputError(
      `${FIELDS.accounts}.${other}: this application has no account ${accounts[other]}`,
    );
}

/** Whether two webhooks filter alike, whatever the order of the values. */
export function sameFilters(one: WebhookFilters, other: WebhookFilters): boolean {
  const text = ({ accounts, folders, fromDomains }: WebhookFilters) =>
    JSON.stringify([accounts, folders, fromDomains].map((list) => list?.toSorted() ?? null));
  return text(one) === text(other);
}

/** The columns of a webhook that have its filters. */
export interface FilterColumns {
  filterAccounts?: string[] | null;
  filterFolders?: string[] | null;
  filterDomains?: string[] | null;
}

/** The filters of a stored webhook. */
export function filtersOf(webhook: FilterColumns): WebhookFilters {
  const { filterAccounts, filterFolders, filterDomains } = webhook;
  return {
    accounts: filterAccounts ?? null,
    folders: filterFolders ?? null,
    fromDomains: filterDomains ?? null,
  };
}

/** The filters that are set, under their names in the API; `null` if there is none. */
export function shownFilters(filters: WebhookFilters): ShownFilters | null {
  const { accounts, folders, fromDomains } = filters;
  const shown = {
    ...(accounts ? { accounts } : {}),
    ...(folders ? { folders } : {}),
    ...(fromDomains ? { from_domains: fromDomains } : {}),
  };
  return Object.keys(shown).length === 0 ? null : shown;
}

interface ShownFilters {
  accounts?: string[];
  folders?: string[];
  from_domains?: string[];
}
