import { describe, expect, it } from '@jest/globals';
import { createdTables, foreignTableUses, tableOwners } from './table-uses.ts';

/** Who writes a table of another room, and why that is right. */
const WRITES: Record<string, string> = {
  'mail/outbox > job_status': '',
  'sync > sync_job':
    'others ask for a sync through accounts/sync-schedule; sync claims the row and keeps its cursors there',
};

/** Tables that every room may read: each row belongs to an account, and each account to an application. */
const READ_BY_ALL = ['grant', 'application', 'integration'];

/** Who reads a table of another group, and why that is right. Rooms of one group may read each other's tables. */
const READS: Record<string, string> = {
  'accounts/account-management > quota_use': '',
  'accounts/grants > message': '',
  'app/keys > worker': '',
  'calendar/event-store > message': '',
  'calendar/invitations > job_status': '',
  'calendar/invitations > outbox_message': '',
  'calendar/rsvp > job_status': '',
  'cli > sms_message': '',
  'cli > webhook': '',
  'cli > worker': '',
  'deltas > change': '',
  'deltas > change_pruned': '',
  'deltas > message_body': '',
  'mail/drafts > provider_job': 'payloads of its own jobs',
  'mail/outbox > job_attempt': '',
  'mail/outbox > job_status': '',
  'mail/outbox > worker': '',
  'mail/write-back > provider_job': 'payloads of its own jobs',
  'platform/job-statuses > outbox_message': '',
  'sync > sync_job': 'its own queue: see above',
  'sync > worker': 'watches of mailboxes are shared among the workers that live',
};

const groupOf = (room = '') => room.split('/')[0];

describe('tables of the database', () => {
  const owners = tableOwners();
  const uses = foreignTableUses();
  const pairs = (kind: 'read' | 'write') =>
    new Set(uses.filter((use) => use.kind === kind).map(({ by, table }) => `${by} > ${table}`));

  it('have one owner each: the room with the entity', () => {
    expect(createdTables().filter((table) => !owners.has(table))).toEqual([]);
  });

  it('are written by the room that owns them', () => {
    expect([...pairs('write')].toSorted()).toEqual(Object.keys(WRITES).toSorted());
  });

  it('are read by rooms of the same group, but for accounts and their applications', () => {
    const foreign = uses
      .filter(({ kind, table }) => kind === 'read' && !READ_BY_ALL.includes(table))
      .filter(({ by, table }) => groupOf(by) !== groupOf(owners.get(table)))
      .map(({ by, table }) => `${by} > ${table}`);
    expect([...new Set(foreign)].toSorted()).toEqual(Object.keys(READS).toSorted());
  });
});
