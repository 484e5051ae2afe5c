import request from 'supertest';
import type { TestApplication } from '../factories.ts';
import type { TestApp } from '../test-app.ts';
import type { Company, CompanyStub, Right } from './company.ts';

/** An account at a company's stub that is connected to a server. */
export interface CompanyAccount {
  id: string;
  email: string;
  bearer: { authorization: string };
}

/**
 * Registers an application of a server at a company's stub.
 * @param settings of the integration, besides those of the client
 * @returns the id of the integration
 */
export async function registerCompany(
  server: TestApp,
  application: TestApplication,
  { provider, title }: Company,
  world: CompanyStub,
  settings: object = {},
): Promise<string> {
  const { body } = await request(server.url)
    .post('/connect/integrations')
    .set(application.basic)
    .send({ name: title, provider, settings: { ...world.client, ...settings } })
    .expect(200);
  return body.data.id as string;
}

/** Connects the account of a person whom the company's stub knows, and who has agreed. */
export async function connectCompany(
  server: TestApp,
  application: TestApplication,
  { provider }: Company,
  world: CompanyStub,
  { email, rights }: { email: string; rights: readonly Right[] },
): Promise<CompanyAccount> {
  const settings = { refresh_token: world.refreshToken(email, rights) };
  const { body } = await request(server.url)
    .post('/connect/grants')
    .set(application.basic)
    .send({ provider, settings });
  expect([body.success, body.error]).toEqual([true, undefined]);
  const { id, access_token: token } = body.data as { id: string; access_token: string };
  return { id, email, bearer: { authorization: `Bearer ${token}` } };
}
