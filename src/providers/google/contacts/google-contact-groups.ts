import { z } from 'zod';
import { type ContactFields, groupName } from '../../port/contact-content.ts';
import type { ProviderAccount } from '../../port/connector.ts';
import { type GoogleApi, googlePages } from '../google-api.ts';
import { GoogleError } from '../google-error.ts';

/** Every method of the People API counts as one request. */
export const PEOPLE_COST = { units: 1, priority: 'interactive' } as const;
const MOST_PER_PAGE = 1_000;

const group = z.object({
  resourceName: z.string(),
  name: z.string().default(''),
  groupType: z.string().optional(),
});
const groupList = z.object({
  contactGroups: z.array(group).default([]),
  nextPageToken: z.string().optional(),
});

/** The groups of an account's contacts that users have made. */
export class GoogleContactGroups {
  constructor(private readonly api: GoogleApi) {}

  /** Names of the groups that users made, by resource name. */
  async names(account: ProviderAccount): Promise<Map<string, string>> {
    const names = new Map<string, string>();
    const pages = googlePages((pageToken) => {
      const query = { pageSize: MOST_PER_PAGE, groupFields: 'name,groupType', pageToken };
      const request = { method: 'GET', path: '/v1/contactGroups', query } as const;
      return this.api.read(account, { ...request, ...PEOPLE_COST }, groupList);
    });
    for await (const { contactGroups } of pages) {
      for (const { resourceName, name, groupType } of contactGroups) {
        const shown = groupName(name);
        if (groupType === 'USER_CONTACT_GROUP' && shown) names.set(resourceName, shown);
      }
    }
    return names;
  }

  /** Resource names of the groups of a contact; groups that do not exist are created. */
  async ids(
    account: ProviderAccount,
    { groups }: ContactFields,
    known?: ReadonlyMap<string, string>,
  ): Promise<string[]> {
    if (groups.length === 0) return [];
    const names = known ?? (await this.names(account));
    const ids: string[] = [];
    for (const name of groups) {
      const there = [...names].find(([, one]) => one === name)?.[0];
      ids.push(there ?? (await this.#create(account, name)));
    }
    return ids;
  }

  async #create(account: ProviderAccount, name: string): Promise<string> {
    const json = { contactGroup: { name } };
    try {
      const request = { method: 'POST', path: '/v1/contactGroups', json } as const;
      return (await this.api.read(account, { ...request, ...PEOPLE_COST }, group)).resourceName;
    } catch (error) {
      if (!(error instanceof GoogleError) || error.code !== 'conflict') throw error;
      const names = await this.names(account);
      const there = [...names].find(([, one]) => one === name)?.[0];
      if (there === undefined) throw error;
      return there;
    }
  }
}
