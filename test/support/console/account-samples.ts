import type { Completeness } from '../../../src/sync/completeness/completeness.service.ts';
import type {
  AccountDetail,
  AccountHealth,
  AccountItem,
} from '../../../src/operator/accounts/account-health.ts';
import type { ApplicationDetail } from '../../../src/operator/applications/application-item.ts';
import type { ManagedToken } from '../../../src/accounts/grants/tokens/grant-tokens.service.ts';
import type { AuditItem } from '../../../src/platform/audit/list-audit.ts';
import type { Capacity } from '../../../src/operator/capacity/capacity.ts';
import type { Text } from './job-samples.ts';

const ID = '019aa1b2-0000-7000-8000-0000000000';
const ago = (now: Date, minutes: number): Date => new Date(now.getTime() - minutes * 60_000);
const DAY = 1_440;

/** Accounts in several states of health. */
export function accountSamples(now: Date, text: Text): AccountItem[] {
  const rows: [AccountHealth, string, string | null][] = [
    ['invalid-credentials', 'ada@example.com', 'AUTHENTICATIONFAILED Invalid credentials'],
    ['circuit-open', 'office@example.net', 'connect ETIMEDOUT 192.0.2.7:587'],
    ['sync-failing', 'grace@example.org', 'UID FETCH failed: mailbox is locked'],
    ['reading-history', 'linus@example.com', null],
    ['sending-paused', 'news@example.com', 'Looks like spam; waiting for the customer'],
    ['healthy', 'mary@example.com', null],
  ];
  return rows.map(([health, email, reason], index) => ({
    id: `${ID}${40 + index}`,
    email: text(email),
    provider: index === 3 ? 'google' : 'imap',
    applicationId: `${ID}02`,
    applicationName: text('Front desk'),
    clientId: text('front-desk'),
    health,
    reason: reason && text(reason),
    syncState: health === 'reading-history' ? 'downloading' : 'running',
    currentSince: ago(now, DAY),
    syncLagSeconds: index === 2 ? 1_900 : 0,
    sendingPaused:
      health === 'sending-paused'
        ? { since: ago(now, 300), reason: text('Looks like spam') }
        : null,
    connectedAt: ago(now, DAY * (index + 3)),
  }));
}

/** An account whose credentials were refused. */
export function accountSample(now: Date, text: Text): AccountDetail {
  return {
    ...(accountSamples(now, text)[0] as AccountItem),
    name: text('Ada Lovelace'),
    grantStatus: 'invalid',
    billingState: 'paid',
    byOauth: false,
    proof: null,
    linkedAt: ago(now, DAY * 3),
    problems: [
      { health: 'invalid-credentials', reason: text('AUTHENTICATIONFAILED Invalid credentials') },
      { health: 'watch-failing', reason: text('IDLE is not supported') },
    ],
    applicationSendingPaused: { since: ago(now, 20), reason: text('Incident 12') },
    applicationSuspended: null,
    sync: {
      state: 'invalid',
      reason: text('credentials refused'),
      currentSince: ago(now, DAY),
      contentsLeft: 412,
      nextPassAt: ago(now, -9),
      running: false,
      lagSeconds: 0,
      failures: 3,
      crashes: 0,
      unreadableMessages: 2,
    },
    audit: {
      checkedAt: ago(now, 400),
      messagesChecked: 12_411,
      differencesFound: 3,
      repaired: 3,
      unrepaired: 0,
      failed: 0,
    },
    gate: { openUntil: ago(now, -4), reason: text('535 Authentication failed'), failures: 5 },
    messages: { open: 14, paused: 2, firstDeadline: ago(now, -600) },
    watches: [
      {
        state: 'failing',
        kind: 'watch',
        provider: 'imap',
        accountId: `${ID}40`,
        name: text('ada@example.com'),
        resource: 'mail',
        expiresAt: null,
        notifiedAt: null,
        failures: 3,
        error: text('IDLE is not supported'),
      },
    ],
    quotas: [{ quota: 'reminders', used: 120, reachedAt: null }],
    errors: [
      {
        at: ago(now, 12),
        what: 'credentials',
        text: text('AUTHENTICATIONFAILED Invalid credentials'),
      },
      { at: ago(now, 90), what: 'send', text: text('535 5.7.8 Authentication failed') },
    ],
  };
}

/** A token that the application uses. */
export const tokenSample = (now: Date): ManagedToken => ({
  id: `${ID}95`,
  createdAt: ago(now, DAY * 3),
  lastUsedAt: ago(now, 2),
  expiresAt: null,
  revokedAt: null,
  scopes: ['email', 'calendar'],
  state: 'valid',
});

/** What operators, applications and tokens did. */
export function auditSamples(now: Date, text: Text): AuditItem[] {
  const actor = {
    kind: 'operator' as const,
    id: `${ID}90`,
    name: text('ada'),
    address: '192.0.2.4',
  };
  const at = (minutes: number) => ({
    id: `${ID}91`,
    at: ago(now, minutes),
    applicationId: `${ID}02`,
    accountId: null,
  });
  return [
    {
      ...at(2),
      actor,
      action: 'account.pause',
      target: { type: 'account', id: `${ID}44` },
      details: { email: text('news@example.com'), reason: text('Looks like spam') },
    },
    {
      ...at(9),
      actor,
      action: 'job.retry',
      target: { type: 'job', id: `${ID}10` },
      details: { kind: 'message' },
    },
    {
      ...at(61),
      actor: {
        kind: 'application',
        id: `${ID}02`,
        name: text('front-desk'),
        address: '198.51.100.7',
      },
      action: 'webhook.create',
      target: { type: 'webhook', id: text('w1') },
      details: { url: text('https://hooks.example.com/carillon') },
    },
    {
      ...at(80),
      actor: { kind: 'system', id: null, name: 'carillon', address: null },
      action: 'webhook.fail',
      target: { type: 'webhook', id: `${ID}30` },
      details: {},
    },
  ];
}

export function applicationSample(now: Date, text: Text): ApplicationDetail {
  return {
    id: `${ID}02`,
    clientId: text('front-desk'),
    name: text('Front desk'),
    plan: 'standard',
    features: ['sms'],
    region: 'us',
    createdAt: ago(now, DAY * 40),
    accounts: 1_204,
    invalidAccounts: 7,
    sendingPaused: { since: ago(now, 20), reason: text('Incident 12') },
    suspended: null,
    deletion: null,
    contactEmail: text('team@desk.example.com'),
    mailFailure: null,
    redirectUris: [text('https://desk.example.com/callback')],
    allowedScopes: null,
    tokenLifetime: null,
    allowsTokenResponse: false,
    revokesOlderTokens: false,
    integrations: [{ provider: 'imap', name: text('Company mail') }],
    webhooks: { active: 2, failing: 1, failed: 0 },
    pausedMessages: 14,
  };
}

export function capacitySample(now: Date, text: Text): Capacity {
  const sizes: [string, number][] = [
    ['message', 18.2e9],
    ['message_content', 12.4e9],
    ['change', 4.1e9],
    ['webhook_event', 1.9e9],
    ['job_status', 0.8e9],
  ];
  return {
    at: now,
    databaseBytes: 41.2e9,
    bytesPerDay: 310e6,
    tables: sizes.map(([table, bytes]) => ({
      table: text(table),
      rows: Math.round(bytes / 900),
      bytes,
      indexBytes: bytes * 0.3,
      deadRows: 1_204,
      bytesPerDay: bytes / 120,
      rowsPerDay: 12_000,
    })),
    retention: [
      {
        what: 'Changes that /delta reads',
        tables: ['change'],
        kept: '30 days',
        setting: 'CHANGES_DAYS',
      },
      {
        what: 'Sign-in links',
        tables: ['login_request'],
        kept: 'a day after their end',
        setting: null,
      },
    ],
    history: Array.from({ length: 30 }, (_, index) => ({
      day: new Date(now.getTime() - (30 - index) * 86_400_000).toISOString().slice(0, 10),
      bytes: 32e9 + index * 310e6,
    })),
    disk: { limitBytes: 100e9, source: 'setting', freeBytes: 41e9, fullAt: ago(now, -DAY * 132) },
  };
}

/** An account that is not proven to be complete, because a receiver fails. */
export function proofSample(now: Date): Completeness {
  const day = now.toISOString().slice(0, 10);
  const messages = {
    day,
    auditedAt: now,
    skipped: 0,
    unrepaired: 0,
    provider: 412,
    mirror: 415,
    sinceAudit: 3,
    missing: 0,
    missingIds: [],
    surplus: 0,
    surplusIds: [],
    expected: 409,
    withoutEvent: 0,
    withoutEventIds: [],
  };
  const days = [
    { day, complete: false, reasons: ['waiting' as const], messages, changes: [], webhooks: [] },
  ];
  return {
    accountId: `${ID}01`,
    complete: false,
    reasons: ['waiting'],
    audit: null,
    days,
    collections: [],
  };
}
