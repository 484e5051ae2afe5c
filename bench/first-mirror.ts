import { auditRow, dovecotAuditRow } from './rows/audit.ts';
import { firstMirrorRow } from './rows/first-mirror.ts';
import type { Bench } from './run.ts';

/**
 * Measures the first mirror of a large mailbox at the stubs of Google and Microsoft, and an audit
 * of such a mailbox there and at a real Dovecot.
 */
export const FIRST_MIRROR_BENCH: Bench = {
  name: 'first-mirror',
  rows: [
    firstMirrorRow('google'),
    firstMirrorRow('microsoft'),
    auditRow('google'),
    auditRow('microsoft'),
    dovecotAuditRow,
  ],
};
