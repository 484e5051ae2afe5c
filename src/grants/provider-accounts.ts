import { Injectable } from '@nestjs/common';
import { SecretBox } from '../common/crypto/secret-box.ts';
import { Database } from '../database/sql.ts';
import type { ProviderAccount } from '../providers/connector.ts';
import { openGrantSettings } from './grant-secrets.ts';
import type { GrantStatus, OrganizationUnit } from './grant-status.ts';

/** What a worker needs to act for an account. */
export interface ConnectedAccount extends ProviderAccount {
  provider: string;
  grantStatus: GrantStatus;
  /** The stored form of `settings`; another one after each authentication. */
  settingsSealed: string;
}

const LOAD = `
  select id, application_id, provider, email, name, organization_unit, status, settings_sealed
  from "grant" where id = any($1::uuid[])`;

interface Row {
  id: string;
  application_id: string;
  provider: string;
  email: string;
  name: string;
  organization_unit: OrganizationUnit;
  status: GrantStatus;
  settings_sealed: string;
}

/** Loads accounts with their credentials opened, for dispatchers and the few synchronous provider calls. */
@Injectable()
export class ProviderAccounts {
  constructor(
    private readonly database: Database,
    private readonly secretBox: SecretBox,
  ) {}

  /** @returns undefined when the grant is gone */
  async find(accountId: string): Promise<ConnectedAccount | undefined> {
    return (await this.findMany([accountId])).get(accountId);
  }

  /** Several in one query; those that are gone are missing. */
  async findMany(accountIds: readonly string[]): Promise<Map<string, ConnectedAccount>> {
    const rows = await this.database.query<Row>(LOAD, [accountIds]);
    return new Map(
      rows.map((row) => [
        row.id,
        {
          accountId: row.id,
          applicationId: row.application_id,
          provider: row.provider,
          email: row.email,
          name: row.name,
          organizationUnit: row.organization_unit,
          grantStatus: row.status,
          settingsSealed: row.settings_sealed,
          settings: openGrantSettings(this.secretBox, row.id, row.settings_sealed),
        },
      ]),
    );
  }
}
