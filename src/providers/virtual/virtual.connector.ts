import { z } from 'zod';
import type { Connector, ProviderAccount } from '../port/connector.ts';
import { VIRTUAL_PROVIDER } from '../port/provider-name.ts';
import { primaryCalendar, VirtualCalendars } from './virtual.calendar.ts';

/**
 * Virtual accounts: they have calendars and nothing else, and no provider
 * (docs/virtual-calendars.md). There are no credentials to check.
 */
export class VirtualConnector implements Connector {
  readonly name = VIRTUAL_PROVIDER;
  readonly scopes = ['calendar'] as const;
  readonly settingsSchema = z.object({});
  readonly calendar = new VirtualCalendars();

  async verify({ email, name }: Omit<ProviderAccount, 'accountId'>) {
    return { email: email.toLowerCase(), name, organizationUnit: 'folder' as const };
  }

  firstCalendar = primaryCalendar;
}
