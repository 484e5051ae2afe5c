import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { isId } from '../base/ids/ids.ts';
import { NO_FILTERS, type WebhookFilters } from './webhook-filters.ts';

/** Values of one filter. */
const MOST_VALUES = 100;

const id = (what: string) =>
  z
    .string()
    .refine((value) => isId(value), `must be the id of ${what}`)
    .transform((value) => value.toLowerCase());

const domain = z
  .string()
  .max(253)
  .transform((value, context): string => {
    const ascii = domainToASCII(value.trim());
    if (/^(?!-)[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(ascii)) return ascii;
    context.addIssue({ code: 'custom', message: 'must be a domain such as example.com' });
    return z.NEVER;
  });

const list = (value: z.ZodType<string>, description: string, example: string[]) =>
  z
    .array(value)
    .min(1, 'must have at least one value; leave the filter out to get every event')
    .max(MOST_VALUES, `must have at most ${MOST_VALUES} values`)
    .transform((values) => [...new Set(values)])
    .nullish()
    .describe(description)
    .meta({ example });

const ID = '019aa1b2-0000-7000-8000-00000000000a';

/** `filters` of a new webhook. */
export const filtersSchema = z
  .object({
    accounts: list(id('an account'), 'Only events of these accounts of the application', [ID]),
    folders: list(
      id('a folder or label'),
      'Only events about messages that are, or were before the change, in one of these folders or labels, and about these folders themselves',
      [ID],
    ),
    from_domains: list(
      domain,
      'Only events about messages whose sender has an address at one of these domains; subdomains are other domains',
      ['example.com'],
    ),
  })
  .meta({ id: 'CreateWebhookFilters' });

/** `filters` of a webhook, as the API shows them. */
export const filtersView = z
  .object({
    accounts: z.array(z.string()).optional().describe('Only events of these accounts'),
    folders: z.array(z.string()).optional().describe('Only events about these folders or labels'),
    from_domains: z.array(z.string()).optional().describe('Only messages from these domains'),
  })
  .meta({ id: 'WebhookFilters', example: { from_domains: ['example.com'] } });

/** The filters of a request. */
export function toFilters(given: z.infer<typeof filtersSchema> | null | undefined): WebhookFilters {
  if (!given) return NO_FILTERS;
  const { accounts = null, folders = null, from_domains: fromDomains = null } = given;
  return { accounts, folders, fromDomains };
}
