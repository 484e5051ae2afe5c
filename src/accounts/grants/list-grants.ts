import type { EntityManager } from '@mikro-orm/postgresql';
import type { GrantStatus } from '../../platform/auth/grant-status.ts';
import { Conditions } from '../../platform/database/conditions.ts';
import type { Page } from '../../platform/database/listing.ts';
import {
  addMetadataCondition,
  type MetadataFilter,
} from '../../platform/database/metadata-filter.ts';
import { sqlOf } from '../../platform/database/orm-transactions.ts';
import { Grant } from './grant.entity.ts';

/** Which grants to list. All given values must match. */
export interface GrantFilter {
  provider?: string | undefined;
  /** In upper or lower case. */
  email?: string | undefined;
  status?: GrantStatus | undefined;
  metadata?: MetadataFilter | undefined;
}

/** Grants of the application that match the filter, oldest first. */
export async function listGrants(
  em: EntityManager,
  applicationId: string,
  { limit, offset }: Page,
  { provider, email, status, metadata }: GrantFilter,
): Promise<Grant[]> {
  if (limit === 0) return [];
  const where = new Conditions();
  where.add(`g.application_id = ${where.value(applicationId)}`);
  if (provider) where.add(`g.provider = ${where.value(provider)}`);
  if (email) where.add(`g.email = ${where.value(email.toLowerCase())}`);
  if (status) where.add(`g.status = ${where.value(status)}`);
  if (metadata) addMetadataCondition(where, 'g.metadata', metadata);
  const paging = `limit ${where.value(limit)} offset ${where.value(offset)}`;
  const rows = await sqlOf(em).query<{ id: string }>(
    `select g.id from "grant" g where ${where.text} order by g.id ${paging}`,
    where.values,
  );
  const ids = rows.map(({ id }) => id);
  return em.find(Grant, { id: { $in: ids } }, { orderBy: { id: 'asc' } });
}
