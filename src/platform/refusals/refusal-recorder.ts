import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '../database/sql.ts';
import { reportIncident } from '../logs/incidents.ts';
import { type CountedRefusals, refusals } from './refusals.ts';
import { TokenOwners } from './token-owners.ts';

/** A count starts again if a sender had no refused request for this time. */
const QUIET_MINUTES = 15;

/**
 * $1 kinds, $2 accounts, $3 applications, $4 client ids, $5 network addresses, $6 counts. A sender
 * that is known loses its address. Rows are locked in the order of their keys.
 */
const STORE = `
  with given as (
    select u.kind, g.id as account_id, coalesce(g.application_id, a.id) as application_id,
      case when g.id is null and (a.id is null or u.kind = 'login') then u.client end as client, u.refused
    from unnest($1::text[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::bigint[])
      u(kind, account_id, application_id, client_id, client, refused)
    left join "grant" g on g.id = u.account_id
    left join application a on a.id = u.application_id or a.client_id = u.client_id),
  summed as (
    select kind || ' ' || concat_ws(' ', account_id, application_id, client) as key, kind, account_id,
      application_id, client, sum(refused)::bigint as refused
    from given where coalesce(account_id::text, application_id::text, client) is not null
    group by kind, account_id, application_id, client order by 1)
  insert into refusal as r (key, kind, account_id, application_id, client, refused, began_at, seen_at)
  select key, kind, account_id, application_id, client, refused, now(), now() from summed
  on conflict (key) do update set
    refused = case when r.seen_at < now() - interval '${QUIET_MINUTES} min' then excluded.refused
      else r.refused + excluded.refused end,
    began_at = case when r.seen_at < now() - interval '${QUIET_MINUTES} min' then excluded.began_at else r.began_at end,
    seen_at = excluded.seen_at`;

/**
 * Adds what this process has refused to the counts of all processes, so that operators see who
 * hammers. It runs every ten seconds, and runs no statement if nothing was refused.
 */
@Injectable()
export class RefusalRecorder {
  constructor(
    private readonly database: Database,
    private readonly owners: TokenOwners,
  ) {}

  async store(): Promise<void> {
    const counted = refusals.take();
    if (counted.length === 0) return;
    const accounts = await this.#accountsOf(counted);
    counted.forEach((each, index) => reportOwner(each, accounts[index] ?? null));
    await this.database.query(STORE, [
      counted.map(({ kind }) => kind),
      accounts,
      counted.map(({ sender }) => sender.application ?? null),
      counted.map(({ sender }) => withoutNull(sender.clientId)),
      counted.map(({ sender }) => withoutNull(sender.client)),
      counted.map(({ count }) => count),
    ]);
  }

  async #accountsOf(counted: readonly CountedRefusals[]): Promise<(string | null)[]> {
    const hashes = counted.flatMap(({ sender }) => sender.tokenHash ?? []);
    const owners = hashes.length === 0 ? null : await this.owners.accountsOf(hashes);
    return counted.map(
      ({ sender: { account, tokenHash } }) =>
        account ?? owners?.get(tokenHash?.toString('base64') ?? '') ?? null,
    );
  }
}

/** The line of each refused login cannot name the account: its token is looked up later. */
function reportOwner({ kind, sender, count }: CountedRefusals, account: string | null): void {
  if (kind !== 'login' || !sender.tokenHash || account === null) return;
  const { client } = sender;
  const fields = { account, of: 'access token', ...(client ? { client } : {}) };
  const requests = count === 1 ? '1 request' : `${count} requests`;
  reportIncident(
    'login.refused',
    fields,
    `${requests} with a token that was revoked or has expired`,
  );
}

/** PostgreSQL has no null characters in texts, and clients may send them. */
const withoutNull = (text: string | undefined): string | null =>
  text === undefined || text === '' || text.includes('\0') ? null : text;

const PRUNE = `
  delete from refusal
  where key in (select key from refusal where seen_at < $1 order by key limit 1000 for update skip locked)
  returning 1`;
const KEPT_MS = 3_600_000;

/**
 * Removes counts of senders without a refused request for an hour.
 * @returns the number of removed rows, at most 1000
 */
export async function pruneRefusals(sql: Sql, now: Date): Promise<number> {
  return (await sql.query(PRUNE, [new Date(now.getTime() - KEPT_MS)])).length;
}
