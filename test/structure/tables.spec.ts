import { describe, expect, it } from '@jest/globals';
import { createdTables, foreignTableUses, tableOwners } from './table-uses.ts';

/** Who writes a table of another module, and why that is right. */
const WRITES: Record<string, string> = {
  'mail/outbox > job_status':
    'a message, its job and its schedule are accepted by one statement and one commit',
  'sync > sync_job':
    'others ask for a sync through accounts/sync-schedule; sync claims the row and keeps its cursors there',
};

/** Tables that every module may read: each row belongs to an account, and each account to an application. */
const READ_BY_ALL = ['grant', 'application', 'integration'];

/** Who reads a table of another group, and why that is right. Modules of one group may read each other's tables. */
const READS: Record<string, string> = {
  'accounts/account-management > quota_use': 'accounts are listed with their use of quotas',
  'accounts/grants > message':
    'the mail that proves an address is looked for in the mirrored mailbox',
  'app/keys > worker': 'a key may go only when no living worker uses it',
  'calendar/event-store > message': 'an event that came by mail refers to that mail',
  'calendar/invitations > job_status':
    'an invitation waits for the job of its event, and shows the job of its mail',
  'calendar/invitations > outbox_message': 'an invitation shows who has accepted its mail',
  'calendar/rsvp > job_status': 'an answer that could not be written may be given again',
  'cli > sms_message': 'a report for the operator',
  'cli > webhook': 'a report for the operator',
  'cli > worker': 'a report for the operator',
  'deltas > change': 'deltas are the change log, read by cursor',
  'deltas > change_pruned': 'deltas say how far back the change log reaches',
  'deltas > message_body': 'deltas leave out bodies by their size before they read them',
  'mail/drafts > provider_job': 'payloads of its own jobs',
  'mail/outbox > job_attempt': 'a request to send is answered with the error of its last attempt',
  'mail/outbox > job_status': 'a message and its job are read together',
  'mail/outbox > worker': 'only what no living worker holds is cancelled by the operator',
  'mail/write-back > provider_job': 'payloads of its own jobs',
  'platform/job-statuses > outbox_message': 'the job of a message is listed with the message',
  'sync > sync_job': 'its own queue: see above',
  'sync > worker': 'watches of mailboxes are shared among the workers that live',
};

const groupOf = (module = '') => module.split('/')[0];

describe('tables of the database', () => {
  const owners = tableOwners();
  const uses = foreignTableUses();
  const pairs = (kind: 'read' | 'write') =>
    new Set(uses.filter((use) => use.kind === kind).map(({ by, table }) => `${by} > ${table}`));

  it('may be used by another module only for a reason that is written down', () => {
    for (const reason of Object.values({ ...WRITES, ...READS })) expect(reason).not.toBe('');
  });

  it('have one owner each: the module with the entity', () => {
    expect(createdTables().filter((table) => !owners.has(table))).toEqual([]);
  });

  it('are written by the module that owns them', () => {
    expect([...pairs('write')].toSorted()).toEqual(Object.keys(WRITES).toSorted());
  });

  it('are read by modules of the same group, but for accounts and their applications', () => {
    const foreign = uses
      .filter(({ kind, table }) => kind === 'read' && !READ_BY_ALL.includes(table))
      .filter(({ by, table }) => groupOf(by) !== groupOf(owners.get(table)))
      .map(({ by, table }) => `${by} > ${table}`);
    expect([...new Set(foreign)].toSorted()).toEqual(Object.keys(READS).toSorted());
  });
});
