import type { ListedOperatorToken } from '../../../src/operator/access/operator-tokens.service.ts';
import type { ListedOperator } from '../../../src/operator/access/operators.service.ts';
import type { InstanceReport } from '../../../src/operator/instance/operator-instance.ts';
import type { Text } from './job-samples.ts';

const ID = '019aa1b2-0000-7000-8000-0000000000';
const ago = (now: Date, minutes: number): Date => new Date(now.getTime() - minutes * 60_000);

/** Operators who sign in by password, at a provider, and one who is disabled. */
export function operatorSamples(now: Date, text: Text): ListedOperator[] {
  const ada: ListedOperator = {
    id: `${ID}71`,
    name: text('ada'),
    role: 'operate',
    hasPassword: true,
    issuer: null,
    createdAt: ago(now, 90_000),
    disabledAt: null,
    lastSignInAt: ago(now, 12),
    sessions: 1,
    tokens: 2,
  };
  const issuer = text('https://login.example.com');
  return [
    ada,
    { ...ada, id: `${ID}72`, name: text('grace'), role: 'read', hasPassword: false, issuer },
    { ...ada, id: `${ID}73`, name: text('linus'), disabledAt: ago(now, 300), sessions: 0 },
  ];
}

export const operatorTokenSample = (now: Date, text: Text): ListedOperatorToken => ({
  id: `${ID}81`,
  operatorId: `${ID}71`,
  operatorName: text('ada'),
  note: text('backup script'),
  role: 'read',
  createdAt: ago(now, 9_000),
  expiresAt: null,
  lastUsedAt: ago(now, 3),
});

/** A database that was restored on another server. */
export function refusalSample(text: Text): InstanceReport {
  const recorded = {
    server: '7431',
    database: text('16384 mail'),
    address: text('old.example:5432/mail'),
    name: text('carillon'),
  };
  return {
    recorded,
    confirmed_at: '2026-11-20T09:00:00.000Z',
    here: { ...recorded, server: '9120', address: text('new.example:5432/mail') },
    agrees: false,
    differences: text('server was 7431, is 9120'),
    workers: 0,
    messages: { open: 31, overdue: 12 },
    reminders: { open: 4, overdue: 0 },
    deliveries: { open: 210, overdue: 210 },
    provider_writes: { open: 0, overdue: 0 },
    active_webhooks: 3,
  };
}
