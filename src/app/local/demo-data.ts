import type { INestApplicationContext } from '@nestjs/common';
import { ApplicationsService } from '../../accounts/applications/applications.service.ts';
import { listApplications } from '../../accounts/applications/list-applications.ts';
import { GrantConnectionsService } from '../../accounts/grants/moves/grant-connections.service.ts';
import { IntegrationsService } from '../../accounts/integrations/integrations.service.ts';
import { Database } from '../../platform/database/sql.ts';

/** Credentials of the demo application. Secrets and tokens exist in clear text only here. */
export interface DemoAccess {
  clientId: string;
  clientSecret: string;
  accounts: readonly { email: string; accessToken: string }[];
}

const PEOPLE = [
  { email: 'ada@sandbox.test', name: 'Ada Example' },
  { email: 'bo@sandbox.test', name: 'Bo Tanaka' },
] as const;

/**
 * Creates the demo application with its two sandbox accounts, on the first start. Users can connect
 * further sandbox accounts on its sign-in pages.
 * @returns `undefined` if an application already exists
 */
export async function createDemoData(
  app: INestApplicationContext,
): Promise<DemoAccess | undefined> {
  const applications = app.get(ApplicationsService);
  if ((await listApplications(app.get(Database))).length > 0) return undefined;
  const { application, clientSecret } = await applications.create({
    name: 'Demo',
    plan: 'standard',
    features: ['sms'],
    region: 'us',
  });
  await app.get(IntegrationsService).create(application.id, {
    provider: 'sandbox',
    name: 'Sandbox',
    settings: {},
    redirectUris: [],
    expiresIn: 3_600,
    scope: null,
    requireProvenAddress: false,
  });
  const connections = app.get(GrantConnectionsService);
  const accounts: { email: string; accessToken: string }[] = [];
  for (const { email, name } of PEOPLE) {
    const { accessToken } = await connections.authenticate(
      application.id,
      { provider: 'sandbox', email, name, settings: { name } },
      { integrationRequired: false },
      () => undefined,
    );
    accounts.push({ email, accessToken });
  }
  return { clientId: application.clientId, clientSecret, accounts };
}
