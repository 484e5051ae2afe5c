import type {
  DeliveryFigures,
  HourOf,
  Overview,
  SendingFigures,
} from '../../../src/operator/overview/overview.ts';

const MINUTES = 60;

/** Numbers that look like traffic, the same in every run. */
const wave = (index: number, height: number): number =>
  Math.max(0, Math.round(height * (1 + Math.sin(index / 7) + Math.cos(index / 3) / 2)));

function hour<F>(now: Date, figures: F, minute: (index: number) => F): HourOf<F> {
  const since = new Date(now.getTime() - MINUTES * 60_000);
  const minutes = Array.from({ length: MINUTES }, (_, index) => ({
    at: new Date(since.getTime() + index * 60_000),
    figures: minute(index),
  }));
  return { figures, minutes, since };
}

const sendingMinute = (index: number): SendingFigures => ({
  sent: wave(index, 20),
  retried: index % 9 === 0 ? 3 : 0,
  failed: index > 40 && index < 46 ? 4 : 0,
  unknown: index === 30 ? 1 : 0,
  lateP50Seconds: index % 13 === 0 ? null : 0.1 + wave(index, 1) / 20,
  lateP99Seconds: index % 13 === 0 ? null : 0.6 + wave(index, 10) / 12,
});

const deliveryMinute = (index: number): DeliveryFigures => ({
  delivered: wave(index, 34),
  retried: index > 20 && index < 33 ? wave(index, 6) : 0,
  dropped: index === 44 ? 2 : 0,
  tookP50Seconds: 0.04,
  tookP99Seconds: 0.9,
});

/** @param text changes every text that others wrote */
export function overviewSample(now: Date, text: (words: string) => string): Overview {
  return {
    at: now,
    requests: {
      minutes: [{ at: now, requests: 2_140, failed: 131 }],
      failures: [
        {
          method: 'POST',
          route: '/v2/outbox',
          status: 503,
          error: text('the database has no disk space left (53100)'),
          requests: 120,
          requestId: text('019aa1b2-0000-7000-8000-000000000077'),
          lastAt: now,
        },
        {
          method: 'GET',
          route: '/messages/:id',
          status: 500,
          error: 'TypeError',
          requests: 11,
          requestId: null,
          lastAt: now,
        },
      ],
    },
    queues: [
      {
        queue: 'send',
        due: 12,
        oldestDueSeconds: 94,
        claimed: 8,
        overdue: 3,
        estimatedRows: 18_204,
      },
      { queue: 'provider', due: 0, oldestDueSeconds: 0, claimed: 1, overdue: 0, estimatedRows: 41 },
      {
        queue: 'hook',
        due: 230,
        oldestDueSeconds: 41,
        claimed: 16,
        overdue: 112,
        estimatedRows: 2_311,
      },
      {
        queue: 'reminder',
        due: 0,
        oldestDueSeconds: 0,
        claimed: 0,
        overdue: 0,
        estimatedRows: 9_120,
      },
      { queue: 'sync', due: 4, oldestDueSeconds: 12, claimed: 4, overdue: 0, estimatedRows: 310 },
    ],
    sending: hour(
      now,
      {
        sent: 1_284,
        retried: 21,
        failed: 20,
        unknown: 1,
        lateP50Seconds: 0.2,
        lateP99Seconds: 2.4,
      },
      sendingMinute,
    ),
    deliveries: hour(
      now,
      { delivered: 2_118, retried: 74, dropped: 2, tookP50Seconds: 0.04, tookP99Seconds: 0.9 },
      deliveryMinute,
    ),
    webhooks: { active: 14, inactive: 3, failing: 2, failed: 1, paused: 1 },
    sync: [
      { provider: text('imap'), due: 4, lagSeconds: 12, failing: 2 },
      { provider: 'google', due: 1, lagSeconds: 740, failing: 0 },
    ],
    failingServers: [
      { provider: text('imap'), server: text('mail.acme.example:993 (IMAP)'), failing: 12 },
      { provider: 'imap', server: null, failing: 1 },
    ],
    heldMessages: 0,
    failover: {
      from: 1,
      to: 2,
      at: new Date(now.getTime() - 540_000).toISOString(),
      since: new Date(now.getTime() - 545_000).toISOString(),
      synchronous: false,
      rows: 14,
    },
    quarantinedMessages: 1,
    invalidAccounts: 2,
    refusals: [
      {
        kind: 'limit',
        refused: 1_840,
        beganAt: new Date(now.getTime() - 240_000),
        seenAt: now,
        account: { id: '019aa1b2-0000-7000-8000-000000000001', email: text('ada@example.test') },
        application: { clientId: 'acme', name: text('Acme CRM') },
        client: null,
      },
      {
        kind: 'login',
        refused: 64,
        beganAt: new Date(now.getTime() - 20_000),
        seenAt: now,
        account: null,
        application: null,
        client: '192.0.2.7',
      },
    ],
    apiUse: [],
    missingAccess: null,
    disk: { limitBytes: 100e9, source: 'setting', freeBytes: 14e9, fullAt: null },
    workers: [
      {
        id: 12,
        host: text('mail-worker-1'),
        pid: 4_211,
        startedAt: new Date(now.getTime() - 86_400_000 * 3),
        silentSeconds: 0.4,
      },
      {
        id: 13,
        host: 'mail-worker-2',
        pid: 4_187,
        startedAt: new Date(now.getTime() - 7_200_000),
        silentSeconds: 42,
      },
    ],
    lostWorkers: [
      {
        id: 9,
        host: text('mail-worker-3'),
        pid: 977,
        lostAt: new Date(now.getTime() - 600_000),
        againAs: 13,
      },
      {
        id: 7,
        host: 'mail-worker-4',
        pid: 12,
        lostAt: new Date(now.getTime() - 1_800_000),
        againAs: null,
      },
    ],
    processes: [
      {
        host: text('mail-api-1'),
        pid: 3_110,
        roles: ['api'],
        problems: [
          {
            name: 'keys',
            problem: text(
              'ENCRYPTION_KEYS lacks "2026"; secrets in this database are encrypted with it',
            ),
          },
        ],
        clockAheadSeconds: -0.01,
      },
      {
        host: 'mail-worker-2',
        pid: 4_187,
        roles: ['worker'],
        problems: [],
        clockAheadSeconds: 4.2,
      },
    ],
  };
}
