import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/sql.ts';
import { CODE_IN_SUBJECT } from './address-loop-mail.ts';
import type { Grant } from '../grant.entity.ts';
import type { RowOf } from '../../../platform/database/rows/row-of.ts';

/**
 * Maximum number of mails to one address in 24 hours, for all accounts and applications together.
 */
export const MOST_PER_ADDRESS = 3;
/** Maximum number of mails in 24 hours for the accounts of one application. */
export const MOST_PER_APPLICATION = 500;

/** An account whose address a mail may prove. */
export interface LoopAccount extends RowOf<Grant, 'email'> {
  accountId: string;
  applicationId: string;
  applicationName: string;
}

/**
 * An account whose mail has arrived: the mail with the right code is in the mailbox of the account
 * it was sent for.
 */
export interface ReturnedMail extends RowOf<Grant, 'settingsSealed'> {
  accountId: string;
}

/**
 * Address without its `+` part, in SQL. Most servers deliver `+` addresses to the same mailbox, so
 * all of them share one limit.
 */
const inboxOf = (email: string): string => `regexp_replace(${email}, '\\+.*@', '@')`;

const isBelowLimits = (address: string, applicationId: string, now: string): string => `
  (select count(*) from address_loop l
   where l.address = ${address} and not l.failed and l.sent_at > ${now}::timestamptz - interval '1 day') < ${MOST_PER_ADDRESS}
  and (select count(*) from address_loop l
       where l.application_id = ${applicationId} and not l.failed and l.sent_at > ${now}::timestamptz - interval '1 day')
      < ${MOST_PER_APPLICATION}`;

// Only accounts for which discovery has found nothing. An account gets one mail a day; a mail that
// could not be sent is retried after ten minutes.
const WAITING = `
  select g.id as "accountId", g.email, a.id as "applicationId", a.name as "applicationName"
  from "grant" g join application a on a.id = g.application_id
  where g.prove_at is not null and g.proof is null and g.prove_failures > 0 and g.status = 'valid'
    and g.provider = any($1::text[])
    and not exists (
      select 1 from address_loop l where l.account_id = g.id
        and l.sent_at > $2::timestamptz - case when l.failed then interval '10 minutes' else interval '1 day' end)
    and ${isBelowLimits(inboxOf('g.email'), 'a.id', '$2')}
  order by g.prove_at limit 10`;

// Sends to one address run one after another, so that the limit is exact.
const LOCK_ADDRESS = `select pg_advisory_xact_lock(hashtextextended(${inboxOf('$1')}, 560001))`;
const BEGIN = `
  insert into address_loop (id, account_id, address, code_hash, sent_at, application_id)
  select $1, $2, ${inboxOf('$3::text')}, $4, $5, $6
  where ${isBelowLimits(inboxOf('$3::text'), '$6::uuid', '$5')} and not exists (
      select 1 from address_loop l where l.account_id = $2
        and l.sent_at > $5::timestamptz - case when l.failed then interval '10 minutes' else interval '1 day' end)
  returning 1`;

// SQL compares the codes, so that mails with wrong codes do not use up the limit of 100 and delay
// other accounts.
const RETURNED = `
  select distinct g.id as "accountId", g.settings_sealed as "settingsSealed"
  from address_loop l
  join "grant" g on g.id = l.account_id and g.proof is null and ${inboxOf('g.email')} = l.address
  join message m on m.account_id = g.id and m.message_id_header = '<address-check.' || l.id || '@' || $1 || '>'
  where l.sent_at > $2::timestamptz - interval '7 days' and not l.failed
    and l.code_hash = sha256(convert_to(substring(m.subject from '${CODE_IN_SUBJECT}'), 'UTF8'))
  limit 100`;

/** SQL for the mails that prove addresses. */
@Injectable()
export class AddressLoopRepository {
  constructor(private readonly database: Database) {}

  /** Up to ten accounts that have no proof and whose address may get a mail now. */
  waiting(providers: readonly string[], now: Date): Promise<LoopAccount[]> {
    return this.database.query<LoopAccount>(WAITING, [providers, now]);
  }

  /**
   * Records that a mail is about to be sent.
   * @returns `false` if the account, its address or its application has reached its limit
   */
  begin(
    id: string,
    { accountId, email, applicationId }: LoopAccount,
    codeHash: Buffer,
    now: Date,
  ): Promise<boolean> {
    return this.database.transaction(async (sql) => {
      await sql.query(LOCK_ADDRESS, [email]);
      return (
        (await sql.query(BEGIN, [id, accountId, email, codeHash, now, applicationId])).length > 0
      );
    });
  }

  /** Records that the mail was certainly not sent. */
  async failed(id: string): Promise<void> {
    await this.database.query('update address_loop set failed = true where id = $1', [id]);
  }

  /**
   * Accounts whose mirror contains the mail that was sent for them, at most 100.
   * @param domain right side of the mails' Message-IDs
   */
  returned(domain: string, now: Date): Promise<ReturnedMail[]> {
    return this.database.query<ReturnedMail>(RETURNED, [domain, now]);
  }
}
