import { describe, expect, it } from '@jest/globals';
import { createdTables, foreignTableUses, tableOwners } from './table-uses.ts';

/** Modules that may write another module's table, each with the reason. */
const WRITES: Record<string, string> = {
  'mail/outbox > job_status':
    'one statement and one commit accept a message with its job and its schedule',
  'sync > sync_job':
    'other modules ask for a sync pass through accounts/sync-schedule; sync claims the row and stores its cursors in it',
};

/**
 * Every module may read these tables: each row of any table belongs to an account, and each account
 * to an application.
 */
const READ_BY_ALL = ['grant', 'application', 'integration'];

/**
 * Modules that may read a table of another group, each with the reason. Modules of one group may
 * read each other's tables.
 */
const READS: Record<string, string> = {
  'accounts/account-management > quota_use': 'the list of accounts shows their use of quotas',
  'accounts/grants > message':
    'the mail that proves an address is searched for in the mirrored mailbox',
  'accounts/provider-writes > job_status': 'an operator may hurry only writes whose job is open',
  'app/keys > worker': 'a key may be deleted only if no living worker uses it',
  'calendar/events > message': 'an event that arrived by mail refers to that mail',
  'calendar/invitations > job_status':
    'an invitation waits for the job of its event and shows the job of its mail',
  'calendar/invitations > outbox_message':
    'an invitation shows which recipients the mail server accepted',
  'calendar/rsvp > job_status':
    'a response to an invitation that could not be written may be given again',
  'cli/carillon > sms_message': 'a report for the operator',
  'deltas > change': '`/delta` reads the change log by cursor',
  'deltas > change_pruned': '`/delta` reports how far back the change log reaches',
  'mail/drafts > provider_job': 'reads the payloads of its own jobs',
  'mail/messages > change': 'a message that is gone was deleted if the log says so',
  'mail/outbox > job_attempt': 'the response to POST /send contains the error of the last attempt',
  'mail/outbox > job_status': 'a message and its job are read together',
  'mail/outbox > worker': 'an operator may cancel only rows that no living worker has claimed',
  'mail/write-back > provider_job': 'reads the payloads of its own jobs',
  'job-statuses > account_gate':
    'a timeline shows for how long the circuit breaker of the account delays the next attempt',
  'job-statuses > outbox_message': 'the list of jobs shows the message of each',
  'job-statuses > send_job': 'a timeline shows when the next attempt is due',
  'sync > audited_day': 'completeness: what an audit has compared is not missing',
  'sync > calendar': 'completeness compares all calendars with their audits in one statement',
  'sync > change': 'completeness compares the change log with all tables of the mirror',
  'sync > contact': 'completeness compares the address book with its audit in one statement',
  'sync > event': 'completeness compares all events with their audits in one statement',
  'sync > sync_job': 'its own queue: see WRITES',
  'sync > worker': 'living workers share the watches of mailboxes',
};

/** This group may read every table: operators look at everything. It writes only its own tables. */
const READS_ALL = 'operator';

const groupOf = (module = '') => module.split('/')[0];

describe('database tables', () => {
  const owners = tableOwners();
  const uses = foreignTableUses();
  const pairs = (kind: 'read' | 'write') =>
    new Set(uses.filter((use) => use.kind === kind).map(({ by, table }) => `${by} > ${table}`));

  it('are used by another module only for a written reason', () => {
    for (const reason of Object.values({ ...WRITES, ...READS })) expect(reason).not.toBe('');
  });

  it('have exactly one owner, the module with the entity', () => {
    expect(createdTables().filter((table) => !owners.has(table))).toEqual([]);
  });

  it('are written only by the module that owns them', () => {
    expect([...pairs('write')].toSorted()).toEqual(Object.keys(WRITES).toSorted());
  });

  it('are read only by modules of the same group, except accounts, their applications, and what operators see', () => {
    const foreign = uses
      .filter(({ kind, table }) => kind === 'read' && !READ_BY_ALL.includes(table))
      .filter(({ by, table }) => groupOf(by) !== groupOf(owners.get(table)))
      .filter(({ by }) => groupOf(by) !== READS_ALL)
      .map(({ by, table }) => `${by} > ${table}`);
    expect([...new Set(foreign)].toSorted()).toEqual(Object.keys(READS).toSorted());
  });
});
