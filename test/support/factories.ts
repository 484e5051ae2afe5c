import { EntityManager } from '@mikro-orm/postgresql';
import type { INestApplicationContext } from '@nestjs/common';
import { Application } from '../../src/accounts/applications/application.entity.ts';
import { SecretBox } from '../../src/platform/base/crypto/secret-box.ts';
import { hashToken } from '../../src/platform/base/crypto/token-hash.ts';
import { newId, randomBase36, SECRET_LENGTH } from '../../src/platform/base/ids/ids.ts';
import { Signals } from '../../src/platform/work/signals.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { AccessToken } from '../../src/accounts/grants/tokens/access-token.entity.ts';
import { sealGrantSettings } from '../../src/accounts/grants/credentials/grant-secrets.ts';
import { Grant } from '../../src/accounts/grants/grant.entity.ts';
import { scheduleSync } from '../../src/accounts/sync-schedule/schedule-sync.ts';
import { secret } from './log-watch.ts';

/** An application and its secrets. */
export interface TestApplication {
  id: string;
  clientId: string;
  clientSecret: string;
  /** Headers for the integrations endpoints. */
  basic: Record<string, string>;
  /** Headers for the endpoints under /a/{client_id}. */
  secretBasic: Record<string, string>;
}

/** A connected sandbox account with a token. */
export interface TestAccount {
  id: string;
  email: string;
  token: string;
  bearer: Record<string, string>;
}

const basic = (user: string, password = '') => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});

/** Stores an application. */
export async function createApplication(
  app: INestApplicationContext,
  overrides: {
    plan?: 'quickstart' | 'standard';
    features?: string[];
    name?: string;
    contactEmail?: string;
  } = {},
): Promise<TestApplication> {
  const em = app.get(EntityManager).fork();
  const id = newId();
  const clientId = randomBase36(25);
  const clientSecret = secret('client secret', randomBase36(SECRET_LENGTH));
  const now = new Date();
  em.create(Application, {
    id,
    clientId,
    name: overrides.name ?? 'Test application',
    secretHash: hashToken(clientSecret),
    secretSealed: app.get(SecretBox).seal(clientSecret, `application.secret:${id}`),
    plan: overrides.plan ?? 'standard',
    features: overrides.features ?? [],
    region: 'us',
    contactEmail: overrides.contactEmail ?? null,
    redirectUris: [],
    createdAt: now,
    updatedAt: now,
  });
  await em.flush();
  return {
    id,
    clientId,
    clientSecret,
    basic: basic(clientId, clientSecret),
    secretBasic: basic(clientSecret),
  };
}

/** Stores a valid grant and a token for it. The provider is the sandbox unless given otherwise. */
export async function createAccount(
  app: INestApplicationContext,
  application: TestApplication,
  overrides: Partial<
    Pick<
      Grant,
      | 'email'
      | 'name'
      | 'provider'
      | 'proof'
      | 'scope'
      | 'status'
      | 'organizationUnit'
      | 'billingState'
    >
  > & {
    settings?: Record<string, unknown>;
    /** When the token expires. */
    tokenExpiresAt?: Date;
    tokenRevokedAt?: Date;
    /**
     * Whether the worker mirrors the mailbox, without the sandbox's sample messages; default:
     * false.
     */
    mirrored?: boolean;
  } = {},
): Promise<TestAccount> {
  const em = app.get(EntityManager).fork();
  const id = newId();
  const now = new Date();
  const {
    tokenExpiresAt = null,
    tokenRevokedAt = null,
    mirrored = false,
    settings = mirrored ? { sample_messages: false } : {},
    ...columns
  } = overrides;
  const grant = em.create(Grant, {
    id,
    application: em.getReference(Application, application.id),
    provider: 'sandbox',
    email: `user-${randomBase36(8)}@sandbox.test`,
    name: 'Test User',
    proof: 'sandbox',
    status: 'valid',
    syncState: 'running',
    organizationUnit: 'folder',
    billingState: 'paid',
    metadata: {},
    settingsSealed: sealGrantSettings(app.get(SecretBox), id, settings),
    linkedAt: now,
    createdAt: now,
    updatedAt: now,
    ...columns,
  });
  const token = secret('access token', randomBase36(SECRET_LENGTH));
  em.create(AccessToken, {
    id: newId(),
    grant,
    hash: hashToken(token),
    createdAt: now,
    expiresAt: tokenExpiresAt,
    revokedAt: tokenRevokedAt,
  });
  await em.flush();
  if (mirrored) {
    await scheduleSync(app.get(Database), id);
    app.get(Signals).wake('sync');
  }
  return { id, email: grant.email, token, bearer: { authorization: `Bearer ${token}` } };
}
